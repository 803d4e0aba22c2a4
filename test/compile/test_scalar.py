# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import math
import operator

import numpy as np
import pytest

from robodyn_ros.base.errors import CompileError
from robodyn_ros.compile import operations as op
from robodyn_ros.compile.scalar import Recorder, Scalar
from robodyn_ros.compile.tape import trace


@pytest.fixture
def xy():
    recorder = Recorder()
    return recorder.record((op.INPUT, 0)), recorder.record((op.INPUT, 1))


def same(first, second):
    """Whether two results are one: both the same number, or the same recorded scalar."""
    return first is second if isinstance(first, Scalar) else first == second


FOLDED = {
    "0 x": (lambda x, y: 0 * x, lambda x, y: 0.0),
    "x 0": (lambda x, y: x * 0.0, lambda x, y: 0.0),
    "0 / x": (lambda x, y: 0.0 / x, lambda x, y: 0.0),
    "1 x": (lambda x, y: 1.0 * x, lambda x, y: x),
    "x / 1": (lambda x, y: x / 1, lambda x, y: x),
    "-1 x": (lambda x, y: -1.0 * x, lambda x, y: -x),
    "x + 0": (lambda x, y: x + 0.0, lambda x, y: x),
    "0 + x": (lambda x, y: 0 + x, lambda x, y: x),
    "x - 0": (lambda x, y: x - 0.0, lambda x, y: x),
    "0 - x": (lambda x, y: 0.0 - x, lambda x, y: -x),
    "x - x": (lambda x, y: x - x, lambda x, y: 0.0),
    "x + (-x)": (lambda x, y: x + -x, lambda x, y: 0.0),
    "--x": (lambda x, y: operator.neg(-x), lambda x, y: x),
    "+x": (lambda x, y: +x, lambda x, y: x),
    "x + y": (lambda x, y: x + y, lambda x, y: y + x),
    "x y": (lambda x, y: x * y, lambda x, y: y * x),
    "x - y": (lambda x, y: x - y, lambda x, y: -(y - x)),
    "x + (-y)": (lambda x, y: x + -y, lambda x, y: x - y),
    "-x + y": (lambda x, y: -x + y, lambda x, y: y - x),
    "x - (-y)": (lambda x, y: x - -y, lambda x, y: x + y),
    "-x - y": (lambda x, y: -x - y, lambda x, y: -(x + y)),
    "(-x)(-y)": (lambda x, y: -x * -y, lambda x, y: x * y),
    "x (-y)": (lambda x, y: x * -y, lambda x, y: -(x * y)),
    "(-x) / y": (lambda x, y: -x / y, lambda x, y: -(x / y)),
    "x / (-y)": (lambda x, y: x / -y, lambda x, y: -(x / y)),
    "1 / (-y)": (lambda x, y: 1 / -y, lambda x, y: -(1 / y)),
    "2 (3 x)": (lambda x, y: 2 * (3 * x), lambda x, y: 6 * x),
    "-2 x": (lambda x, y: -2 * x, lambda x, y: -(2 * x)),
    "x / 4": (lambda x, y: x / 4, lambda x, y: 0.25 * x),
    "(x + 1) + 2": (lambda x, y: (x + 1) + 2, lambda x, y: x + 3),
    "(x + 1) - 1": (lambda x, y: (x + 1) - 1, lambda x, y: x),
    "2 - x": (lambda x, y: 2 - x, lambda x, y: -x + 2),
    "sin(-x)": (lambda x, y: np.sin(-x), lambda x, y: -np.sin(x)),
    "cos(-x)": (lambda x, y: np.cos(-x), lambda x, y: np.cos(x)),
    "tanh(-x)": (lambda x, y: np.tanh(-x), lambda x, y: -np.tanh(x)),
    "|-x|": (lambda x, y: abs(-x), lambda x, y: np.abs(x)),
    "x^0": (lambda x, y: x**0, lambda x, y: 1.0),
    "x^1": (lambda x, y: x**1, lambda x, y: x),
    "x^2": (lambda x, y: x**2, lambda x, y: x * x),
    "x^3": (lambda x, y: x**3, lambda x, y: x * (x * x)),
    "x^-1": (lambda x, y: x**-1, lambda x, y: 1.0 / x),
    "x^0.5": (lambda x, y: x**0.5, lambda x, y: np.sqrt(x)),
}


@pytest.mark.parametrize("name", FOLDED)
def test_equal_expressions_are_one(xy, name):
    first, second = FOLDED[name]
    assert same(first(*xy), second(*xy))


def test_different_expressions_stay_different(xy):
    x, y = xy
    different = [
        x,
        y,
        -x,
        x + y,
        x - y,
        x * y,
        x / y,
        y / x,
        2 * x,
        3 * x,
        x + 1,
        x + 2,
        1 - x,
        1 / x,
        x**3,
        x < y,
        y < x,
    ]
    assert len({id(scalar) for scalar in different}) == len(different)


@pytest.mark.parametrize("number", [3, np.int64(3), np.float64(3.0), np.float32(3.0), True, np.bool_(True)])
def test_numbers_of_all_kinds(xy, number):
    x, _ = xy
    value = float(number)
    assert same(number * x, value * x)
    assert same(x + number, x + value)
    assert same(number - x, value - x)
    assert same(x / number, x / value)
    assert same(number / x, value / x)


def test_arrays_on_either_side(xy):
    x, y = xy
    numbers = np.array([2.0, 0.0])
    for product in (numbers * x, x * numbers):
        assert same(product[0], 2.0 * x)
        assert product[1] == 0.0
    assert same((np.array([x, y]) @ np.array([[0.0, 1.0], [1.0, 0.0]]))[0], y)


def test_division_by_zero_is_left_to_run_time():
    tape = trace(lambda x: np.concatenate([x / 0.0, x / 5e-324, 1.0 / x]), {"x": (1,)})
    np.testing.assert_array_equal(tape([2.0]), [math.inf, math.inf, 0.5])
    assert np.isnan(tape([0.0])[0])


def test_condition_is_refused_with_advice(xy):
    x, y = xy
    attempts = [lambda: 1 if x > 0 else 2, lambda: max(x, y), lambda: not x, lambda: x in [y], lambda: 0 < x < 1]
    for attempt in attempts:
        with pytest.raises(CompileError, match="used as a condition.*np.where.*np.minimum"):
            attempt()


@pytest.mark.parametrize("convert", [float, int, math.sin, range, lambda x: np.zeros(2).__setitem__(0, x)])
def test_conversion_is_refused_with_advice(xy, convert):
    with pytest.raises(CompileError, match="turned into a float.*np.zeros.*np.sin"):
        convert(xy[0])


def test_scalar_of_another_trace_is_refused():
    kept = []
    trace(lambda x: [kept.append(x[0]) or x[0]], {"x": (1,)})
    for use in (
        lambda x: x + kept[0],
        lambda x: x * kept[0],
        lambda x: x - kept[0],
        lambda x: np.arctan2(x, kept[0]),
        lambda x: [kept[0]],
    ):
        with pytest.raises(CompileError, match="belongs to another trace"):
            trace(use, {"x": (1,)})


def test_text_stays_text(xy):
    with pytest.raises(TypeError):
        xy[0] + "1"
    with pytest.raises(TypeError):
        xy[0] ** "1"
    assert (xy[0] == "1") is False
