# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import ctypes

import numpy as np
import pytest

from robodyn_ros.compile.llvm_text import FunctionText, function, literal, table
from robodyn_ros.compile.machine import Code, compile_module

WIDTHS = [1, 2, 4, 8]


def compiled(text, tables=""):
    """``f(a, b, count)`` of two arrays and an integer, with the lines of a text."""
    module = tables + function("void @f(ptr %a, ptr %b, i64 %count)", text.lines)
    code = Code(compile_module(module), ("f",), {})
    array = np.ctypeslib.ndpointer(np.float64, flags="C_CONTIGUOUS")
    call = code.function("f", None, array, array, ctypes.c_int64)
    call.code = code  # lives as long as the function
    return call


@pytest.mark.parametrize("at_least_once", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
def test_loops_carry_vectors_from_round_to_round(width, at_least_once):
    """B = the sum of A's rows, and their Horner polynomial in 2: inside the loop there is a branch."""
    text = FunctionText(width)
    two = literal(2.0, width)

    def round_(index, total, polynomial):
        value = text.load(text.at("%a", text.let(f"mul i64 {index}, {width}")))
        text.when(text.let(f"icmp eq i64 {index}, 1"), lambda: text.store(value, text.at("%b", 2 * width)))
        twice = text.let(f"fmul {text.kind} {polynomial}, {two}")
        return [text.let(f"fadd {text.kind} {each}, {value}") for each in (total, twice)]

    zero = literal(0.0, width)
    results = text.loop("0", "%count", 1, round_, [zero, zero], at_least_once=at_least_once)
    for place, result in enumerate(results):
        text.store(result, text.at("%b", place * width))
    sums = compiled(text)
    rows = np.random.default_rng(0).normal(size=(5, width))
    for count in range(int(at_least_once), 6):
        found = np.full((3, width), np.nan)
        sums(rows, found, count)
        np.testing.assert_allclose(found[0], rows[:count].sum(axis=0), rtol=1e-14)
        np.testing.assert_allclose(found[1], [np.polyval(row, 2.0) if count else 0.0 for row in rows[:count].T])
        np.testing.assert_array_equal(found[2], rows[1] if count > 1 else np.nan)


def test_loops_within_loops_with_a_distance():
    """B[i] counts how often the inner loop runs in round i of the outer one."""
    text = FunctionText(1)

    def outer(i):
        place = text.at("%b", i)
        one = literal(1.0, 1)
        text.loop(i, "%count", 3, lambda _: text.store(text.let(f"fadd double {text.load(place)}, {one}"), place))

    text.loop("0", "%count", 2, outer)
    found = np.zeros(9)
    compiled(text)(found, found, 9)
    np.testing.assert_array_equal(found, [len(range(i, 9, 3)) if i % 2 == 0 else 0 for i in range(9)])


@pytest.mark.parametrize(("then", "otherwise"), [(True, True), (True, False), (False, True), (False, False)])
def test_branches(then, otherwise):
    text = FunctionText(1)
    bodies = [lambda value=value: text.store(literal(value, 1), "%b") for value in (1.0, 2.0)]
    text.when(text.let("icmp sgt i64 %count, 4"), bodies[0] if then else None, bodies[1] if otherwise else None)
    text.store(literal(3.0, 1), text.at("%b", 1))
    branches = compiled(text)
    for count in (4, 5):
        found = np.zeros(2)
        branches(found, found, count)
        assert found.tolist() == [float(then) if count == 5 else 2.0 * otherwise, 3.0]


@pytest.mark.parametrize("width", WIDTHS[1:])
def test_masked_vectors(width):
    text = FunctionText(width)
    mask = f"<{', '.join(f'i1 {str(lane < width - 1).lower()}' for lane in range(width))}>"
    text.masked_store(text.masked_load("%a", mask), "%b", mask)
    text.store(text.masked_load("%a", mask), text.at("%b", width))
    given, found = np.arange(1.0, width + 1), np.full(2 * width, -1.0)
    compiled(text)(given, found, 0)
    np.testing.assert_array_equal(found, [*given[:-1], -1.0, *given[:-1], 0.0])


@pytest.mark.parametrize("width", WIDTHS)
def test_any_lane_and_tables(width):
    text = FunctionText(width)
    positive = text.let(f"fcmp ogt {text.kind} {text.load('%a')}, {literal(0.0, width)}")
    number = text.read("@numbers", "%count", "i32")
    value = text.let(f"sitofp i32 {number} to double")
    text.when(text.any(positive), lambda: text.line(f"store double {value}, ptr %b"))
    look_up = compiled(text, table("numbers", "i32", [7, -3]))
    for last, expected in ((1.0, -3.0), (-1.0, 5.0), (np.nan, 5.0)):
        given, found = np.full(width, -1.0), np.array([5.0])
        given[-1] = last
        look_up(given, found, 1)
        assert found[0] == expected
