"""Solving M x = b from the leaves of the tree to its root."""

from __future__ import annotations

from numbers import Real

import numpy as np

from robodyn_ros.description.model import Array
from robodyn_ros.errors import InputError


def solve_mass(matrix: Array, right: Array) -> Array:
    """Solution of M x = b by the factorisation M = L^T D L, [Featherstone] 6.5.

    Eliminating the joints from the last (leaves) to the first (root) keeps every zero that branches leave in M a zero
    of L, so a tape of this does no arithmetic on them. It takes no square roots, and M no pivoting, being positive
    definite.

    Args:
        matrix: M, symmetric and positive definite, shape (n, n).
        right: b, shape (n,), or several in the columns of shape (n, m).

    Returns:
        x, of the shape of b.

    Raises:
        InputError: M is singular by structure: a joint moves no inertia.
    """
    return solve_positive_definite(
        matrix,
        right,
        "the mass matrix is singular: joint {}, counted from 0, moves no inertia while the joints after it are free, "
        "so that no effort determines its acceleration; give the links it carries an inertia",
    )


def solve_positive_definite(matrix: Array, right: Array, singular: str) -> Array:
    """As ``solve_mass``, for any symmetric positive definite matrix.

    Args:
        matrix: Shape (n, n).
        right: Shape (n,) or (n, m).
        singular: What to say where the matrix is singular by structure, with {} for the row.

    Returns:
        x, of the shape of the right side.

    Raises:
        InputError: A pivot is 0 by structure.
    """
    n = len(right)
    lower = matrix.copy()  # below the diagonal it becomes L, whose diagonal is 1
    x = right.astype(np.result_type(matrix, right))
    inverse_pivots = []
    for k in reversed(range(n)):
        if isinstance(lower[k, k], Real) and lower[k, k] == 0.0:  # a number, not a traced value
            raise InputError(singular.format(k))
        inverse_pivot = 1.0 / lower[k, k]
        row = lower[k, :k] * inverse_pivot
        lower[:k, :k] = lower[:k, :k] - np.outer(row, lower[k, :k])
        lower[k, :k] = row
        x[:k] = x[:k] - np.multiply.outer(row, x[k])  # L^T y = b
        inverse_pivots.append(inverse_pivot)
    x = (x.T * np.array(inverse_pivots[::-1])).T  # D z = y
    for k in range(1, n):
        x[k] = x[k] - lower[k, :k] @ x[:k]  # L x = z
    return x
