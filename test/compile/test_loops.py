# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Functions with loops: machine code repeats Python, and unsupported constructs are named."""

import ctypes
from math import sqrt
from typing import NamedTuple

import numpy as np
import pytest

from robodyn_ros import CompileError
from robodyn_ros.compile.loops import functions_of
from robodyn_ros.compile.loops_in_llvm import llvm_functions
from robodyn_ros.compile.machine import Code, compile_module

Array = np.ndarray
HALF = 0.5


def grown(value: float, count: int) -> float:
    """Called by the next one."""
    while not (value > 100.0 or count == 0):
        value = value * 2.0 - HALF
        count -= 1
    return value


def sums(n: int, a: Array, b: Array) -> None:
    """Branches, loops, slices and every kind of number."""
    for i in range(n):
        rest = a[i:]
        total, most = 0.0, -1e30
        for k in range(n - i):
            if rest[k] < 0.0 and k // 2 * 2 == k:
                continue
            total += rest[k]
            most = max(most, rest[k])
        b[i] = grown(total, 3) if total > most or n < 0 else sqrt(abs_of(most)) / float(int(total) + 2 * n)
    b[n] = -b[0]


class Pair(NamedTuple):
    first: Array
    second: Array


def reads_one(n: int, pair: Pair) -> float:
    """Called with a record, of which it reads one field."""
    return pair.second[n]


def swaps(n: int, a: Array, b: Array) -> None:
    """Makes a record, reads and writes its fields, and gives it to another function."""
    pair = Pair(a, b)
    for k in range(n):
        pair.second[k], pair.first[k] = 2.0 * pair.first[k] + reads_one(k, pair), reads_one(n, pair)


def abs_of(value: float) -> float:
    """Returns from a branch."""
    if value < 0.0:
        return -value
    return value


def unknown(a: Array) -> None:
    a[0] = sorted(a)


def mixed(n: int, a: Array) -> None:
    a[0] = a[0] * n


@pytest.mark.parametrize("function", [sums, swaps])
def test_machine_code_repeats_python(function):
    entry = ("define void @run(i64 %n, ptr %a, ptr %b) {\n"
             f"  call void @{function.__name__}(i64 %n, ptr %a, ptr %b)\n  ret void\n}}\n")
    plain = Code(compile_module(llvm_functions(function) + entry), ("run",), {})
    full = Code(compile_module("declare void @run(i64, ptr, ptr)\n"
                               "define void @go(i64 %n, ptr %a, ptr %b) {\n"
                               "  call void @run(i64 %n, ptr %a, ptr %b)\n  ret void\n}\n",
                               [llvm_functions(function) + entry]), ("go",), {})
    rng = np.random.default_rng(0)
    for n in (1, 4, 9):
        given, expected = rng.normal(0.0, 5.0, n), np.ones(n + 1)
        function(n, given.copy(), expected)
        for code, name in ((plain, "run"), (full, "go")):
            a, found = given.copy(), np.ones(n + 1)
            code.function(name, None, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(n, a.ctypes.data,
                                                                                        found.ctypes.data)
            np.testing.assert_array_equal(found, expected)


def test_functions_stand_after_those_that_they_call():
    assert functions_of(sums) == [grown, abs_of, sums]


@pytest.mark.parametrize("function, text", [(unknown, "sorted"), (mixed, "one kind, received float and int")])
def test_what_has_no_form_is_named(function, text):
    with pytest.raises(CompileError, match=text):
        llvm_functions(function)
