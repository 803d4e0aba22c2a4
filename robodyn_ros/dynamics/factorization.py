# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Solution of M x = b, with joints eliminated from the leaves of the tree to its root."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import where
from robodyn_ros.description.model import Array, RobotModel


class TreeFactors(NamedTuple):
    """Factors of M; functions that solve systems accept them instead of M."""

    model: RobotModel  # the robot; each joint has a degree of freedom of its own
    factors: Array  # result of ``mass_matrix_tree_factors``, shape (n, 13)

    def solution(self, right: Array) -> Array:
        """X of M X = B in O(n) per column, with the algorithm of `TreeSystem` as a formula.

        Args:
            right: B, shape (n,) or (n, m).
        """
        joints, n = self.model.joints, self.model.n
        axes, handles, inverses = self.factors[:, :6], self.factors[:, 6:12], self.factors[:, 12]
        result = right.reshape(n, -1).astype(np.result_type(self.factors, right))
        none = np.zeros((6, result.shape[1]))
        sums: list[Array] = [none] * n  # p, over the joints that a joint carries
        for index in reversed(range(n)):
            dof, parent = joints[index].dof, joints[index].parent
            result[dof] = result[dof] - axes[dof] @ sums[index]
            if parent >= 0:
                sums[parent] = sums[parent] + sums[index] + np.outer(handles[dof], result[dof])
        for index, joint in enumerate(joints):
            dof, before = joint.dof, sums[joint.parent] if joint.parent >= 0 else none  # a, over those that carry it
            result[dof] = result[dof] * inverses[dof] - handles[dof] @ before
            sums[index] = before + np.outer(axes[dof], result[dof])
        return result.reshape(right.shape)


def solve_mass(matrix: Array | TreeFactors, right: Array) -> Array:
    """Solution of M x = b by the factorisation M = L^T D L, [Featherstone] 6.5.

    Joints are eliminated from the last (leaves) to the first (root). Every zero that branches cause in M is then a zero
    of L, and a tape contains no arithmetic for it. The factors need no square roots, and no pivoting because M is
    positive definite.

    Args:
        matrix: M, symmetric and positive definite, shape (n, n); or its factors, if known.
        right: b, shape (n,), or several in the columns of shape (n, m).

    Returns:
        x, of the shape of b.

    Raises:
        InputError: M is singular by structure: a joint moves no inertia.
    """
    if isinstance(matrix, TreeFactors):
        return matrix.solution(right)
    return solve_positive_definite(matrix, right, _SINGULAR)


def solve_mass_partly_given(
    matrix: NDArray[Any], right: NDArray[Any], free: NDArray[Any], given: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Solve those rows of M x = b whose unknown is free; the other unknowns are given.

    The elimination is that of ``solve_mass``; a given unknown is inserted into the rows above instead of eliminated.

    Args:
        matrix: M, symmetric and positive definite, shape (n, n).
        right: b, shape (n,).
        free: 1 where x is unknown, 0 where it is given, shape (n,); may be traced.
        given: x where it is given, 0 elsewhere, shape (n,).

    Returns:
        x, shape (n,); and M x - b where x is given, 0 elsewhere, shape (n,).

    Raises:
        InputError: M is singular by structure: a joint moves no inertia.
    """
    n = len(right)
    reduced, b = matrix.copy(), right.astype(np.result_type(matrix, right, free, given))
    rows, x, residual = [np.zeros(0)] * n, b.copy(), b.copy()
    for k in reversed(range(n)):
        _check_pivot(reduced[k, k], k, _SINGULAR)
        inverse_pivot = where(free[k], 1.0 / reduced[k, k], 0.0)
        rows[k] = reduced[k, :k] * inverse_pivot
        x[k] = b[k] * inverse_pivot + given[k]
        reduced[:k, :k] = reduced[:k, :k] - np.outer(rows[k], reduced[k, :k])
        b[:k] = b[:k] - reduced[k, :k] * x[k]
    for k in range(n):
        x[k] = x[k] - rows[k] @ x[:k]
        residual[k] = where(free[k], 0.0, reduced[k, k] * x[k] + reduced[k, :k] @ x[:k] - b[k])
    return x, residual


_SINGULAR = (
    "the mass matrix is singular: joint {}, counted from 0, moves no inertia while the joints after it are free, "
    "so that no effort determines its acceleration; give the links it carries an inertia"
)


def _check_pivot(pivot: Any, k: int, singular: str) -> None:
    if isinstance(pivot, Real) and pivot == 0.0:  # a number, not a traced value
        raise InputError(singular.format(k))


def solve_positive_definite(matrix: Array, right: Array, singular: str) -> Array:
    """Like ``solve_mass``, for any symmetric positive definite matrix.

    Args:
        matrix: Shape (n, n).
        right: Shape (n,) or (n, m).
        singular: Message for a matrix that is singular by structure, with {} for the row.

    Returns:
        x, of the shape of the right side.

    Raises:
        InputError: A pivot is 0 by structure.
    """
    lower, inverse_pivots = _factors(matrix, singular)
    if right.ndim == 1:
        return _substituted(lower, inverse_pivots, right)
    # Column by column, so that compiled code still has the values of a column in registers.
    columns = [_substituted(lower, inverse_pivots, column) for column in right.T]
    return np.array(columns).T.reshape(right.shape)


def _substituted(lower: Array, inverse_pivots: Array, right: Array) -> Array:
    """The solution for one right side, shape (n,)."""
    x = right.astype(np.result_type(lower, right))
    for k in reversed(range(1, len(x))):
        x[:k] = x[:k] - lower[k, :k] * x[k]  # L^T y = b
    x = x * inverse_pivots  # D z = y
    for k in range(1, len(x)):
        x[k] = x[k] - lower[k, :k] @ x[:k]  # L x = z
    return x


def inverse_mass(matrix: Array) -> Array:
    """M^-1 by the factorisation of ``solve_mass``, as the solution for each column of the unit matrix.

    Only the elements on and above the diagonal are computed, because M^-1 is symmetric.

    Args:
        matrix: M, symmetric and positive definite, shape (n, n).

    Returns:
        Symmetric, shape (n, n).

    Raises:
        InputError: M is singular by structure: a joint moves no inertia.
    """
    n = len(matrix)
    lower, inverse_pivots = _factors(matrix, _SINGULAR)
    inverse = np.eye(n).astype(matrix.dtype)
    for column in range(n):
        x = inverse[: column + 1, column].copy()  # below it y is 0, and x equals the row of another column
        for k in reversed(range(1, column + 1)):
            x[:k] = x[:k] - lower[k, :k] * x[k]  # L^T y = e
        x = x * inverse_pivots[: column + 1]
        for k in range(1, column + 1):
            x[k] = x[k] - lower[k, :k] @ x[:k]
        inverse[: column + 1, column] = inverse[column, : column + 1] = x
    return inverse


def _factors(matrix: Array, singular: str) -> tuple[Array, Array]:
    """L and 1 / D of M = L^T D L, shapes (n, n) and (n,); L is below the diagonal, with ones on its own diagonal."""
    lower, inverse_pivots = matrix.copy(), []
    for k in reversed(range(len(matrix))):
        _check_pivot(lower[k, k], k, singular)
        inverse_pivots.append(1.0 / lower[k, k])
        row = lower[k, :k] * inverse_pivots[-1]
        lower[:k, :k] = lower[:k, :k] - np.outer(row, lower[k, :k])
        lower[k, :k] = row
    return lower, np.array(inverse_pivots[::-1])
