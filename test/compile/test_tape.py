# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import gc
import pickle

import numpy as np
import pytest

from robodyn_ros.base.errors import CompileError, InputError
from robodyn_ros.compile import Tape, trace, where
from robodyn_ros.compile import operations as op


def rotate(q, p):
    c, s, unused = np.cos(q[0]), np.sin(q[0]), np.exp(q[1])
    rotation = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    return rotation @ rotation.T @ p + unused * 0.0


def test_only_what_is_needed_once():
    tape = trace(rotate, {"q": (2,), "p": (3,)})
    names = [op.OPERATIONS[code].name for code in tape.codes]
    assert names.count("sin") == names.count("cos") == 1
    assert "exp" not in names
    assert tape.inputs == {"q": (2,), "p": (3,)}
    assert tape.output_shape == (3,)
    assert 1 not in tape.inputs_read  # q[1]


def test_operands_come_first():
    tape = trace(lambda x: where(x[0] < x[1], np.sin(x), x[::-1] / 3.0 + 1.0), {"x": (2,)})
    computed = tape.codes > 1
    assert np.all(tape.operands[computed].max(axis=1) < np.flatnonzero(computed))


def test_evaluate_is_the_function():
    rng = np.random.default_rng(1)
    q, p = rng.normal(size=(2, 4, 3))[..., :2], rng.normal(size=(2, 4, 3))
    tape = trace(rotate, {"q": (2,), "p": (3,)})
    np.testing.assert_allclose(tape(q[0, 0], p[0, 0]), rotate(q[0, 0], p[0, 0]), rtol=1e-14)
    result = tape(q, p)
    assert result.shape == (2, 4, 3)
    np.testing.assert_array_equal(result[1, 2], tape(q[1, 2], p[1, 2]))


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x, [[1.0, 2.0]]),
        (lambda x: 3, 3.0),
        (lambda x: [x[1], 0.0, [x[0]][0]], [2.0, 0.0, 1.0]),
        (lambda x: np.zeros((0, 2)), np.zeros((0, 2))),
        (lambda x: x[0] + x[1], 3.0),
    ],
)
def test_results_without_operations_and_of_all_shapes(function, expected):
    tape = trace(lambda x: function(x[None] if np.ndim(expected) == 2 else x), {"x": (2,)})
    result = tape([1.0, 2.0])
    np.testing.assert_array_equal(result, expected)
    assert result.shape == np.shape(expected)


def test_tape_can_be_pickled():
    tape = trace(rotate, {"q": (2,), "p": (3,)})
    again: Tape = pickle.loads(pickle.dumps(tape))
    assert repr(again) == repr(tape) == f"<Tape (q[2], p[3]) -> [3], {tape.operation_count} operations>"
    np.testing.assert_array_equal(again([1, 2], [3, 4, 5]), tape([1, 2], [3, 4, 5]))


def test_repeated_tracing_gives_the_same_tape():
    first, second = (trace(rotate, {"q": (2,), "p": (3,)}) for _ in range(2))
    for field in ("codes", "operands", "constants", "outputs"):
        np.testing.assert_array_equal(getattr(first, field), getattr(second, field))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x if x[0] > 0 else -x, "used as a condition"),
        (lambda x: np.array(x, dtype=float), "turned into a float"),
        (lambda x: np.spacing(x), "this function has no traced form"),
        (lambda x: np.sqrt(np.array([x[0], 1.0])), "an array of objects among which are constants: .*np.stack"),
        (lambda x: "text", r"must return one array of numbers; element \[\] is str"),
        (lambda x: [x[0], None], r"must return one array of numbers; element \[1\] is NoneType"),
        (lambda x: [[x[0]], [x[0], x[1]]], "must return one array of numbers"),
        (lambda x: None, "must return one array of numbers"),
    ],
)
def test_what_cannot_be_traced_is_explained(function, message):
    with pytest.raises(CompileError, match=message):
        trace(function, {"x": (2,)})


def test_own_errors_of_the_function_pass():
    def broken(x):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        trace(broken, {"x": (2,)})


@pytest.mark.parametrize("shape", [7, [7], (7.0,), (-1,), "7"])
def test_bad_shape_of_an_input(shape):
    with pytest.raises(CompileError, match="input q: expected a shape such as"):
        trace(lambda q: q, {"q": shape})


def test_evaluate_refuses_other_shapes():
    tape = trace(rotate, {"q": (2,), "p": (3,)})
    with pytest.raises(InputError, match=r"takes 2 arrays \(q, p\), received 1"):
        tape([1.0, 2.0])
    with pytest.raises(InputError, match=r"p: expected shape \(3,\), received \(2,\)"):
        tape([1.0, 2.0], [1.0, 2.0])


def test_a_part_of_the_result_takes_a_part_of_the_operations():
    tape = trace(lambda x, y: np.array([np.sin(x[0]) + 2.0, x[1] * y[0], np.exp(y[1]), 3.0, y[1]]),
                 {"x": (2,), "y": (2,)})
    x, y = np.array([0.3, 0.4]), np.array([1.5, -0.2])
    whole = tape(x, y)
    for elements, operations, read in (([1], 1, {1, 2}), ([4, 0, 0], 2, {0, 3}), ([3], 0, set()), ([], 0, set())):
        part = tape.with_outputs(elements)
        np.testing.assert_array_equal(part(x, y), whole[elements])
        assert part.operation_count == operations
        assert part.inputs_read == read
    assert tape.inputs_read == {0, 1, 2, 3}


def sums_of_products(x):
    shared = x[0] * x[1]
    return [shared + x[2], shared - x[2], x[2] - shared, shared + x[1] * x[2], x[0] + x[1], shared]


@pytest.mark.parametrize("shared", [False, True])
def test_contracted_tapes_compute_the_same(shared):
    tape = trace(sums_of_products, {"x": (3,)})
    x = np.random.default_rng(3).normal(size=3)
    np.testing.assert_array_equal(tape.contracted(shared=shared)(x), tape(x))


def test_contraction_joins_products_with_sums():
    tape = trace(sums_of_products, {"x": (3,)})
    assert all(tape.contracted(shared=shared).operation_count < tape.operation_count for shared in (False, True))
    single = trace(lambda x: [x[0] * x[1] + x[2]], {"x": (3,)})
    assert [single.contracted(shared=shared).operation_count for shared in (False, True)] == [1, 1]
    twice = trace(lambda x: [x[0] * x[1] + x[2], x[0] * x[1] - x[2]], {"x": (3,)})
    assert [twice.contracted(shared=shared).operation_count for shared in (False, True)] == [3, 2]


def test_an_input_beyond_the_length_of_a_part_of_the_tape():
    tape = trace(lambda x: [x[0] + x[1], x[40]], {"x": (41,)})
    np.testing.assert_array_equal(tape.with_outputs([1])(np.arange(41.0)), [40.0])


@pytest.mark.parametrize("running", [True, False])
def test_the_garbage_collector_pauses_while_a_function_is_traced(running):
    def function(x):
        seen.append(gc.isenabled())
        if len(seen) == 2:
            raise ValueError("told so by the test")
        return x

    seen: list[bool] = []
    try:
        if not running:
            gc.disable()
        trace(function, {"x": (2,)})
        with pytest.raises(ValueError, match="told so"):
            trace(function, {"x": (2,)})
        assert gc.isenabled() is running
        assert seen == [False, False]
    finally:
        gc.enable()
