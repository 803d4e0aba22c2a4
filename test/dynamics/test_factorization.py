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
from pin_reference import SEEDS, random_state, relative_error
from random_robots import urdf_robots
from scipy.linalg import cho_factor, cho_solve

from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import trace
from robodyn_ros.description.urdf import load_urdf_text
from robodyn_ros.dynamics.articulated_body import mass_matrix_tree_factors
from robodyn_ros.dynamics.factorization import TreeFactors, inverse_mass, solve_mass, solve_mass_partly_given
from robodyn_ros.dynamics.mass_matrix import mass_matrix


@settings(deadline=None)
@given(st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_it_solves_what_cholesky_solves(n, seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    matrix, right = root @ root.T + np.eye(n), rng.normal(size=n)
    given_matrix, given_right = matrix.copy(), right.copy()
    np.testing.assert_allclose(solve_mass(matrix, right), cho_solve(cho_factor(matrix), right), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(matrix, given_matrix)
    np.testing.assert_array_equal(right, given_right)


@settings(deadline=None, max_examples=15)
@given(urdf_robots(mimic=False), SEEDS)
def test_known_factors_stand_in_the_place_of_the_mass_matrix(urdf, seed):
    robot = load_urdf_text(urdf)
    (q,) = random_state(robot, seed, 1)
    matrix, right = mass_matrix(robot, q), np.random.default_rng(seed).normal(size=(robot.n, 3))
    factors = TreeFactors(robot, mass_matrix_tree_factors(robot, q))
    tolerance = max(1e-10, 1e-14 * np.linalg.cond(matrix))
    for b in (right, right[:, 0]):
        given_right = b.copy()
        assert relative_error(solve_mass(factors, b), solve_mass(matrix, b)) < tolerance
        np.testing.assert_array_equal(b, given_right)


@settings(deadline=None)
@given(st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_the_inverse_is_the_solution_for_unit_columns(n, seed):
    root = np.random.default_rng(seed).normal(size=(n, n))
    matrix = root @ root.T + np.eye(n)
    inverse = inverse_mass(matrix)
    np.testing.assert_allclose(inverse, solve_mass(matrix, np.eye(n)), rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(inverse, inverse.T)


def test_the_inverse_takes_half_the_operations():
    counts = [trace(form, {"matrix": (9, 9)}).operation_count
              for form in (inverse_mass, lambda matrix: solve_mass(matrix, np.eye(9)))]
    assert counts[0] < 0.75 * counts[1]  # the factorisation is the same in both


def arrow_tape(branches):
    """The solution of a root with as many leaves."""
    n = branches + 1

    def arrow(entries):
        matrix = np.full((n, n), 0.0, dtype=object)
        matrix[range(n), range(n)] = entries[:n]
        matrix[0, 1:] = matrix[1:, 0] = entries[n:]
        return solve_mass(matrix, np.ones(n).astype(object))

    return trace(arrow, {"entries": (2 * n - 1,)})


@pytest.mark.parametrize("branches", [2, 5])
def test_branches_cost_no_arithmetic_between_them(branches):
    """The operations grow with the number of leaves, not with its cube."""
    n, tape = branches + 1, arrow_tape(branches)
    assert arrow_tape(4 * branches).operation_count <= 4 * tape.operation_count
    entries = np.concatenate([np.full(n, 5.0), np.linspace(0.1, 1.0, n - 1)])
    matrix = np.diag(entries[:n])
    matrix[0, 1:] = matrix[1:, 0] = entries[n:]
    np.testing.assert_allclose(tape(entries), np.linalg.solve(matrix, np.ones(n)), rtol=1e-12)


def test_nan_stays_nan():
    assert np.all(np.isnan(solve_mass(np.full((2, 2), np.nan), np.ones(2))))


@settings(deadline=None)
@given(st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_partly_given_is_the_rows_of_the_free_unknowns(n, seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    matrix, right = root @ root.T + np.eye(n), rng.normal(size=n)
    free = rng.integers(0, 2, n).astype(float)
    held = np.where(free, 0.0, rng.normal(size=n))
    x, residual = solve_mass_partly_given(matrix, right, free, held)
    rows = free == 1.0
    expected = held.copy()
    expected[rows] = np.linalg.solve(matrix[np.ix_(rows, rows)], right[rows] - matrix[rows] @ held)
    np.testing.assert_allclose(x, expected, rtol=1e-8, atol=1e-9)
    np.testing.assert_array_equal(x[~rows], held[~rows])
    np.testing.assert_allclose(residual, np.where(rows, 0.0, matrix @ x - right), rtol=1e-7, atol=1e-8)


def test_partly_given_can_be_compiled_and_singular_matrices_are_named():
    tape = trace(lambda free: np.concatenate(solve_mass_partly_given(np.diag([2.0, 3.0]), np.ones(2), free,
                                                                     1.0 - free)), {"free": (2,)})
    np.testing.assert_allclose(tape(np.array([1.0, 0.0])), [0.5, 1.0, 0.0, 2.0], rtol=1e-15)
    with pytest.raises(InputError, match="joint 1, counted from 0, moves no inertia"):
        solve_mass_partly_given(np.diag([1.0, 0.0]), np.ones(2), np.ones(2), np.zeros(2))
