# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import (
    Kernel,
    compile_function,
    derivative,
    derivative_at,
    less,
    maximum,
    minimum,
    sign,
    trace,
    where,
)
from robodyn_ros.compile import operations as op

# One function per operation, of two numbers between 0.1 and 0.9.
FUNCTIONS = {
    op.ADD: lambda x: x[0] + x[1],
    op.SUBTRACT: lambda x: x[0] - x[1],
    op.MULTIPLY: lambda x: x[0] * x[1] * x[0],
    op.DIVIDE: lambda x: x[0] / x[1],
    op.NEGATE: lambda x: -x[0],
    op.SQRT: lambda x: np.sqrt(x[0]),
    op.ABSOLUTE: lambda x: abs(x[0] - x[1]),
    op.SIGN: lambda x: x[0] * sign(x[1] - 0.5),
    op.MINIMUM: lambda x: minimum(x[0], x[1] * x[1]),
    op.MAXIMUM: lambda x: maximum(x[0], x[1] * x[1]),
    op.SIN: lambda x: np.sin(x[0] * x[1]),
    op.COS: lambda x: np.cos(x[0] * x[1]),
    op.TAN: lambda x: np.tan(x[0]),
    op.ARCSIN: lambda x: np.arcsin(x[0]),
    op.ARCCOS: lambda x: np.arccos(x[0]),
    op.ARCTAN: lambda x: np.arctan(x[0]),
    op.ARCTAN2: lambda x: np.arctan2(x[0] - 0.5, x[1] - 0.5),
    op.EXP: lambda x: np.exp(x[0]),
    op.EXPM1: lambda x: np.expm1(x[0]),
    op.RINT: lambda x: x[0] * np.rint(x[0] + 10.0 * x[1]),
    op.LOG: lambda x: np.log(x[0]),
    op.TANH: lambda x: np.tanh(x[0]),
    op.POWER: lambda x: x[0] ** x[1] + x[0] ** 2.5 + 1.7 ** x[1],
    op.LESS: lambda x: x[0] * less(x[0], x[1]),
    op.LESS_EQUAL: lambda x: x[0] * (x[0] <= x[1]),
    op.EQUAL: lambda x: x[0] * (x[0] == x[1]),
    op.WHERE: lambda x: where(less(x[0], x[1]), x[0] * x[1], np.sin(x[1])),
    op.MULTIPLY_ADD: lambda x: np.sin(x[0]) * x[1] + np.cos(x[0]),
    op.MULTIPLY_SUBTRACT: lambda x: np.sin(x[0]) * x[1] - np.cos(x[0]),
    op.SUBTRACT_PRODUCT: lambda x: np.cos(x[0]) - np.sin(x[0]) * x[1],
}


def differences(function, x, step=1e-6):
    slopes = [(function(x + h) - function(x - h)) / (2 * step) for h in step * np.eye(x.size)]
    return np.stack(slopes, axis=-1)


def test_every_operation_is_tested():
    assert set(FUNCTIONS) == set(range(len(op.OPERATIONS))) - {op.INPUT, op.CONSTANT, *op.ROUTINE}


@pytest.mark.parametrize("code", FUNCTIONS, ids=lambda code: op.OPERATIONS[code].name)
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_derivative_of_each_operation(code, mode):
    function = FUNCTIONS[code]
    tape = trace(function, {"x": (2,)}).contracted(shared=False)
    assert code in tape.codes
    slopes = derivative(tape, "x", mode)
    rng = np.random.default_rng(code)
    for x in rng.uniform(0.1, 0.9, (10, 2)):
        if min(abs(x[0] - x[1]), abs(x[0] - x[1] ** 2), *abs(x - 0.5)) > 0.01:  # not at a kink
            np.testing.assert_allclose(slopes(x), differences(tape, x), rtol=1e-7, atol=1e-8)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_forward_reverse_and_differences_agree(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=2), rng.normal(size=(2, 2))

    def function(x, y):
        z = np.array([[np.cos(x[0]), -np.sin(x[0])], [np.sin(x[0]), np.cos(x[0])]]) @ y
        return np.array(
            [[z[0, 0] * z[1, 1], np.exp(-x[1] * z[0, 1])], [x[1], 2.0], [y[0, 0] / (1.0 + z[1, 0] ** 2), y[1, 1]]]
        )

    tape = trace(function, {"x": (2,), "y": (2, 2)})
    for wrt, shape, slope in [
        ("x", (3, 2, 2), differences(lambda value: tape(value, y), x)),
        ("y", (3, 2, 2, 2), differences(lambda value: tape(x, value.reshape(2, 2)), y.reshape(-1))),
    ]:
        for mode in ("forward", "reverse", None):
            slopes = derivative(tape, wrt, mode)
            assert slopes.output_shape == shape
            np.testing.assert_allclose(slopes(x, y), slope.reshape(shape), rtol=1e-6, atol=1e-7)
    both = derivative(tape, ("y", "x"))(x, y)
    assert both.shape == (3, 2, 6)
    np.testing.assert_allclose(both[..., :4], derivative(tape, "y")(x, y).reshape(3, 2, 4), rtol=1e-12)
    np.testing.assert_allclose(both[..., 4:], derivative(tape, "x")(x, y), rtol=1e-12)


def test_derivatives_compile():
    tape = trace(lambda x: np.array([np.sin(x[0]) * x[1], x[1] ** 3]), {"x": (2,)})
    kernel = Kernel(derivative(tape, "x"), "slopes")
    np.testing.assert_allclose(kernel(np.array([0.3, 2.0])), [[2 * np.cos(0.3), np.sin(0.3)], [0, 12]], rtol=1e-14)


def test_zero_costs_nothing():
    """Each element depends on one input: of 100 slopes, 10 are computed."""
    tape = derivative(trace(lambda x: np.sin(x), {"x": (10,)}), "x")
    assert tape.operation_count == 10


def test_what_is_not_chosen_does_not_spoil_the_slope():
    """At 0 the square root has no slope, but the other branch is selected there."""
    tape = trace(lambda x: where(less(x, 0.5), x, np.sqrt(x)), {"x": ()})
    assert derivative(tape, "x", "forward")(0.0) == 1.0


def test_mode_is_chosen_by_the_shapes():
    wide = trace(lambda x: np.sum(np.sin(x) * np.cumsum(x)), {"x": (30,)})
    assert derivative(wide, "x").operation_count == derivative(wide, "x", "reverse").operation_count
    assert derivative(wide, "x").operation_count < derivative(wide, "x", "forward").operation_count


def test_derivative_at_is_the_same_on_floats_and_traced():
    def slope(x, y):
        return derivative_at(lambda first, second: np.array([first @ second, first[0] ** 3]), (x, y))

    x, y = np.array([0.5, -2.0]), np.array([3.0, 4.0])
    np.testing.assert_allclose(slope(x, y), [[3.0, 4.0], [0.75, 0.0]])
    np.testing.assert_allclose(compile_function(slope, {"x": (2,), "y": (2,)})(x, y), slope(x, y))


def test_derivatives_of_derivatives():
    def gradient(x):
        return derivative_at(lambda x: np.sin(x[0]) * x[1] ** 2, (x,))

    x = np.array([0.4, 1.5])
    hessian = [[-np.sin(0.4) * 1.5**2, 3 * np.cos(0.4)], [3 * np.cos(0.4), 2 * np.sin(0.4)]]
    np.testing.assert_allclose(derivative_at(gradient, (x,)), hessian, rtol=1e-14)


def test_a_tape_inside_a_formula_mixes_floats_and_traced_values():
    tape = trace(lambda x, y: np.array([x[0] / y[0], y[0] ** 0.5]), {"x": (1,), "y": (1,)})
    outer = trace(lambda x: tape(x, np.array([4.0])), {"x": (1,)})
    np.testing.assert_array_equal(outer([2.0]), [0.5, 2.0])
    assert outer.operation_count == 1
    np.testing.assert_array_equal(tape([2.0], [4.0]), [0.5, 2.0])


def test_bad_arguments_are_named():
    tape = trace(lambda x: x[0], {"x": (2,)})
    with pytest.raises(InputError, match=r"'z'.*\['x'\]"):
        derivative(tape, "z")
    with pytest.raises(InputError, match=r"wrt.*1 arguments.*received 3"):
        derivative_at(lambda x: x, (np.zeros(2),), wrt=3)
    symbol = []
    trace(lambda x: symbol.append(x) or x, {"x": (3,)})
    with pytest.raises(InputError, match=r"x.*\(2,\).*received \(3,\)"):
        tape(symbol[0])
