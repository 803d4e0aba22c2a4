import numpy as np
import pytest

from robodyn_ros.compile import ManyRightSides
from robodyn_ros.compile.many_right_sides import _filled
from robodyn_ros.errors import InputError

RNG = np.random.default_rng(0)


def positive_definite(size, samples, pattern):
    matrices = RNG.normal(size=(samples, size, size))
    matrices = np.where(pattern, matrices + matrices.transpose(0, 2, 1), 0.0)
    return matrices + 4.0 * size * np.eye(size)


def check(pattern, samples=3, count=2, columns=5):
    matrices = positive_definite(len(pattern), samples, pattern)
    right = RNG.normal(size=(samples, count, len(pattern), columns))
    expected, given = np.linalg.solve(matrices[:, None], right), matrices.copy()
    upper = np.triu_indices(len(pattern), 1)
    ManyRightSides(pattern, columns).solve(matrices, right)
    np.testing.assert_allclose(right, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    np.testing.assert_array_equal(matrices[:, *upper], given[:, *upper])


@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 33])
@pytest.mark.parametrize("columns", [1, 8, 31, 70])
def test_full_matrices(size, columns):
    check(np.ones((size, size), dtype=bool), columns=columns)


def test_branches_leave_zeros():
    pattern = np.eye(12, dtype=bool)
    for limb in (range(0, 4), range(4, 9), (0, 1, 9, 10, 11)):
        pattern[np.ix_(limb, limb)] = True
    check(pattern, columns=36)
    check(pattern, columns=100)
    assert np.array_equal(_filled(pattern), np.tril(pattern, -1))


def test_patterns_that_fill_up():
    pattern = np.eye(6, dtype=bool)
    pattern[5, [0, 1, 2]] = pattern[[0, 1, 2], 5] = True
    check(pattern)
    assert _filled(pattern)[2, 0]
    assert not _filled(pattern)[3].any()


def test_other_numbers_of_columns_are_refused():
    with pytest.raises(InputError, match="expected 3 columns, received 2"):
        ManyRightSides(np.ones((2, 2), dtype=bool), 3).solve(np.empty((1, 2, 2)), np.empty((1, 1, 2, 2)))


def test_no_samples():
    ManyRightSides(np.ones((2, 2), dtype=bool), 2).solve(np.empty((0, 2, 2)), np.empty((0, 3, 2, 2)))


def test_only_the_lower_triangle_is_read():
    matrices, right = positive_definite(5, 1, np.ones((5, 5), dtype=bool)), RNG.normal(size=(1, 1, 5, 3))
    expected = np.linalg.solve(matrices, right[:, 0])
    ManyRightSides(np.ones((5, 5), dtype=bool), 3).solve(np.tril(matrices), right)
    np.testing.assert_allclose(right[:, 0], expected, rtol=0, atol=1e-12)
