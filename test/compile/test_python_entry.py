# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import ctypes
import sys
import sysconfig

import numpy as np
import pytest

from robodyn_ros import Robot
from robodyn_ros.base.errors import CompileError
from robodyn_ros.compile import compile_function, python_entry


@pytest.fixture(autouse=True)
def _symbols_anew():
    python_entry.symbols.cache_clear()
    yield
    python_entry.symbols.cache_clear()


def test_another_interpreter_is_refused(monkeypatch):
    monkeypatch.setattr(sys.implementation, "name", "pypy")
    with pytest.raises(CompileError, match="expected CPython of 64 bits with a global interpreter lock, received"):
        compile_function(np.sin, {"x": (2,)})


def test_a_build_without_the_lock_is_refused(monkeypatch):
    monkeypatch.setattr(sysconfig, "get_config_var", lambda name: 1 if name == "Py_GIL_DISABLED" else None)
    with pytest.raises(CompileError, match="with a global interpreter lock, received 3"):
        python_entry.symbols()


def test_a_numpy_of_another_interface_is_refused(monkeypatch):
    monkeypatch.setattr(python_entry, "_SUPPORTED_INTERFACES", (0x03000000,))
    with pytest.raises(CompileError, match=f"expected NumPy 1 or 2, received {np.__version__} with the binary inter"):
        python_entry.symbols()
    dynamics, zero = Robot.named("planar_2r").dynamics(compiled=False), np.zeros(2)
    assert dynamics.inverse_dynamics(zero, zero, zero)[1] > 0.0


def test_symbols_are_addresses():
    symbols = python_entry.symbols()
    assert all(symbols.values())
    assert ctypes.cast(symbols["numpy_array_type"], ctypes.py_object).value is np.ndarray
    assert ctypes.cast(symbols["numpy_float64"], ctypes.py_object).value is np.dtype(np.float64)


def _field(array, offset, kind):
    return kind.from_address(id(array) + offset).value


@pytest.mark.parametrize("array", [np.zeros((2, 3)), np.zeros((3, 2)).T, np.zeros(4)[::2], np.zeros(()),
                                   np.zeros(3, dtype=np.int32)], ids=["matrix", "turned", "distances", "number", "int"])
def test_the_fields_of_an_array_are_where_entries_read_them(array):
    e, pointer = python_entry, ctypes.c_void_p
    assert _field(array, e.TYPE, pointer) == id(np.ndarray)
    assert _field(array, e.DATA, pointer) == array.ctypes.data
    assert _field(array, e.DIMENSION_COUNT, ctypes.c_int) == array.ndim
    lengths = _field(array, e.DIMENSIONS, pointer)
    assert tuple((ctypes.c_ssize_t * array.ndim).from_address(lengths) if array.ndim else ()) == array.shape
    assert _field(array, e.DESCRIPTION, pointer) == id(array.dtype)
    flags = _field(array, e.FLAGS, ctypes.c_int)
    assert bool(flags & e.C_CONTIGUOUS) == array.flags.c_contiguous and bool(flags & e.ALIGNED) == array.flags.aligned
