# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import ctypes
import os
from pathlib import Path

import pytest

from bench.process_trace import ProcessSample
from robodyn_ros.base.errors import CompileError
from robodyn_ros.compile.machine import Code, compile_module, host

ADD_ONE = "define i64 @add_one(i64 %x) {\n  %y = add i64 %x, 1\n  ret i64 %y\n}\n"


def test_text_becomes_a_function():
    code = Code(compile_module(ADD_ONE), ("add_one",), {})
    assert code.function("add_one", ctypes.c_int64, ctypes.c_int64)(41) == 42


def test_object_code_can_be_linked_more_than_once():
    image = compile_module(ADD_ONE)
    first, second = (Code(image, ("add_one",), {}) for _ in range(2))
    assert first["add_one"] != second["add_one"]
    del first
    assert second.function("add_one", ctypes.c_int64, ctypes.c_int64)(1) == 2


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the memory of a process is read from /proc")
def test_linking_and_freeing_code_takes_no_memory():
    """As each swap of a controller does; some code lives on, as that of the robot's dynamics does."""
    image = compile_module(ADD_ONE)
    kept = [Code(image, ("add_one",), {}) for _ in range(100)]
    before = ProcessSample.of(os.getpid()).memory
    for _ in range(1000):
        Code(image, ("add_one",), {})
    assert (ProcessSample.of(os.getpid()).memory - before) * 2**20 < 1000 * 1024
    assert kept[0].function("add_one", ctypes.c_int64, ctypes.c_int64)(1) == 2


def test_symbols_are_found():
    text = "@there = external global i8\ndefine ptr @where_is() {\n  ret ptr @there\n}\n"
    code = Code(compile_module(text), ("where_is",), {"there": 0x123456789A})
    assert code.function("where_is", ctypes.c_void_p)() == 0x123456789A


def test_invalid_text_is_refused():
    with pytest.raises(CompileError, match="LLVM refused the generated module"):
        compile_module("define void @f() {\n  ret i64 %nothing\n}\n")


def test_missing_symbol_is_named():
    text = "declare void @nowhere()\ndefine void @f() {\n  call void @nowhere()\n  ret void\n}\n"
    with pytest.raises(CompileError, match="could not be linked"):
        Code(compile_module(text), ("f",), {})


def test_host_is_described():
    assert host().lanes in (2, 4, 8)
    assert host().triple
    assert host() is host()
