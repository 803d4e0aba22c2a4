import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import cho_factor, cho_solve

from robodyn_ros.compile import trace
from robodyn_ros.dynamics.factorization import solve_mass


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


@pytest.mark.parametrize("branches", [2, 5])
def test_branches_cost_no_arithmetic_between_them(branches):
    """With a root and k leaves the operations grow with k, not with k^3."""
    n = branches + 1

    def arrow(entries):
        matrix = np.full((n, n), 0.0, dtype=object)
        matrix[range(n), range(n)] = entries[:n]
        matrix[0, 1:] = matrix[1:, 0] = entries[n:]
        return solve_mass(matrix, np.ones(n).astype(object))

    tape = trace(arrow, {"entries": (2 * n - 1,)})
    per_branch = 7  # 1 / d, its ratio, product and difference in D_0, its product and difference twice in x
    assert tape.operation_count <= per_branch * branches + 2
    entries = np.concatenate([np.full(n, 5.0), np.linspace(0.1, 1.0, n - 1)])
    matrix = np.diag(entries[:n])
    matrix[0, 1:] = matrix[1:, 0] = entries[n:]
    np.testing.assert_allclose(tape.evaluate(entries), np.linalg.solve(matrix, np.ones(n)), rtol=1e-12)


def test_nan_stays_nan():
    assert np.all(np.isnan(solve_mass(np.full((2, 2), np.nan), np.ones(2))))
