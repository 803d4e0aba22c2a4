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

from robodyn_ros.compile import python_entry


@pytest.fixture
def unasked():
    """`unsupported_reason` without what it remembers."""
    return python_entry.unsupported_reason.__wrapped__


def test_this_python_and_numpy_are_as_assumed():
    assert python_entry.unsupported_reason() is None


def test_other_interpreters_are_left_alone(unasked, monkeypatch):
    monkeypatch.setattr(sys.implementation, "name", "pypy")
    assert "pypy" in unasked()


def test_builds_without_the_lock_are_left_alone(unasked, monkeypatch):
    monkeypatch.setattr(sysconfig, "get_config_var", lambda name: 1 if name == "Py_GIL_DISABLED" else None)
    assert "no global interpreter lock" in unasked()


@pytest.mark.parametrize("field", ["DATA", "DIMENSION_COUNT", "DIMENSIONS", "DESCRIPTION", "FLAGS", "TYPE"])
def test_every_moved_field_is_noticed(unasked, monkeypatch, field):
    """The field being read 24 bytes on, still inside the object, is as if it had moved."""
    monkeypatch.setattr(python_entry, field, getattr(python_entry, field) + (24 if field != "FLAGS" else -24))
    assert "is kept elsewhere" in unasked()


def test_another_table_is_noticed(unasked, monkeypatch):
    monkeypatch.setattr(python_entry, "_TYPE_ENTRY", 3)
    assert "arranged differently" in unasked()
    monkeypatch.undo()
    monkeypatch.setattr(python_entry, "_KNOWN_INTERFACES", (0x03000000,))
    assert "of which nothing is known" in unasked()
    monkeypatch.undo()
    monkeypatch.setattr(python_entry, "FLOAT64", 11)
    assert "another array than asked for" in unasked()


def test_an_unreadable_table_is_noticed(unasked, monkeypatch):
    monkeypatch.setattr(np._core._multiarray_umath, "_ARRAY_API", object())
    assert "cannot be read" in unasked()


def test_symbols_are_addresses():
    symbols = python_entry.symbols()
    assert ctypes.cast(symbols["numpy_array_type"], ctypes.py_object).value is np.ndarray
    assert ctypes.cast(symbols["numpy_float64"], ctypes.py_object).value is np.dtype(np.float64)
