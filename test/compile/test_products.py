# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import pickle

import numpy as np
import pytest

from robodyn_ros.base.errors import CompileError
from robodyn_ros.compile import Kernel, Products, Term, compile_function, derivative, trace
from robodyn_ros.compile.products import ProductsTape, products_text, trace_products

ROWS, COLUMNS = 7, 21
RNG = np.random.default_rng(0)
MASK = RNG.random((ROWS, COLUMNS)) < 0.6
REST = ~MASK & (RNG.random((ROWS, COLUMNS)) < 0.5)
INPUTS = {"x": (ROWS,), "y": (COLUMNS,)}


def products(x, y):
    left = np.array([np.sin(x), x, 1.0 + 0.0 * x])
    right = np.array([y, np.cos(y), y * y])
    both = np.concatenate([left, left]), np.concatenate([right, 2.0 * right])
    return Products([[Term(left, right, MASK), Term(right[:, :ROWS], right, REST)], [Term(*both, REST)]])


def expected(x, y):
    left = np.array([np.sin(x), x, np.ones(ROWS)])
    right = np.array([y, np.cos(y), y * y])
    first = np.where(MASK, left.T @ right, 0.0) + np.where(REST, right[:, :ROWS].T @ right, 0.0)
    return np.array([first, np.where(REST, 3.0 * left.T @ right, 0.0)])


@pytest.fixture(scope="module")
def kernel():
    return compile_function(products, INPUTS)


def test_one_sample_in_every_form(kernel):
    x, y = RNG.random(ROWS), RNG.random(COLUMNS)
    given = products(x, y)
    for result in (given.pattern.array(given.factors), kernel(x, y), kernel.tape(x, y)):
        np.testing.assert_allclose(result, expected(x, y), rtol=1e-14, atol=1e-14)


def test_batches_of_any_length(kernel):
    for count in (0, 1, 8, 13):
        x, y = RNG.random((count, ROWS)), RNG.random((count, COLUMNS))
        result = kernel.batch(x, y)
        assert result.shape == (count, 2, ROWS, COLUMNS)
        for sample in range(count):
            np.testing.assert_allclose(result[sample], expected(x[sample], y[sample]), rtol=1e-14, atol=1e-14)


def test_elements_of_no_term_are_zero_even_beside_nan(kernel):
    result = kernel(np.full(ROWS, np.nan), np.full(COLUMNS, np.nan))
    assert np.array_equal(np.isnan(result[0]), MASK | REST)
    assert not result[0][~(MASK | REST)].any()


def test_one_matrix_has_no_axis_for_matrices():
    one = Products([[Term(np.ones((2, 3)), np.ones((2, 5)), np.ones((3, 5), dtype=bool))]])
    np.testing.assert_array_equal(one.pattern.array(one.factors), np.full((3, 5), 2.0))


def test_written_out_differentiated_and_pickled(kernel):
    x, y = RNG.random(ROWS), RNG.random(COLUMNS)
    assert isinstance(kernel.tape, ProductsTape)
    np.testing.assert_allclose(trace(kernel.tape, INPUTS)(x, y), expected(x, y), rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(
        kernel.tape.with_outputs([3, 5])(x, y), expected(x, y).reshape(-1)[[3, 5]], rtol=1e-14
    )
    slope, step = derivative(kernel.tape, "y")(x, y), 1e-6
    h = step * np.eye(COLUMNS)[4]
    np.testing.assert_allclose(slope[..., 4], (expected(x, y + h) - expected(x, y - h)) / (2 * step), atol=1e-8)
    again = pickle.loads(pickle.dumps(kernel))
    np.testing.assert_array_equal(again(x, y), kernel(x, y))
    np.testing.assert_allclose(Kernel(kernel.tape.contracted(shared=True), "f")(x, y), kernel(x, y), rtol=1e-14)


def test_processors_without_masked_loads_take_one_column_at_a_time():
    pattern = trace_products(products, INPUTS).pattern
    assert "masked" in products_text("f", pattern, 1, 4, "nounwind")
    assert "masked" not in products_text("f", pattern, 1, 2, "nounwind")


def test_factors_are_kept_once():
    left = np.ones((2, 3))
    assert len(Products([[Term(left, left, np.eye(3, dtype=bool))]]).factors) == 6


def test_terms_that_do_not_fit_are_refused():
    one = np.ones((2, 3))
    with pytest.raises(CompileError, match="fit each other"):
        Products([[Term(one, np.ones((3, 3)), np.ones((3, 3), dtype=bool))]])
    with pytest.raises(CompileError, match="in two"):
        Products([[Term(one, one, np.ones((3, 3), dtype=bool))] * 2])
