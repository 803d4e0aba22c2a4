"""Inverses of the Jacobian that bear singular positions: damped there, exact elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from robodyn_ros.compile import maximum
from robodyn_ros.control.laws.task_space import by_part
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.factorization import solve_positive_definite

_SINGULAR = "axes: the robot cannot move its tip link along axis {} (counted from 0) of those given; leave it out"
_LEVER = 1e-3  # square of a row of the Jacobian below which it is as good as zero
_TINY = 1e-300


def damping_near_singularity(jacobian: Array, singular: Any, most: Any) -> Any:
    """lambda^2 = most^2 (1 - w/w_0)^2 where the manipulability w = sqrt(det(J J^T)) is below w_0, else 0.

    [NakamuraHanafusa].

    Args:
        jacobian: J, shape (m, n).
        singular: w_0.
        most: lambda at a singular position.
    """
    manipulability = np.sqrt(_determinant(jacobian @ jacobian.T))
    return (most * maximum(1.0 - manipulability / singular, 0.0)) ** 2


def damped_inverse(jacobian: Array, damping: Any) -> Array:
    """J^T (J J^T + lambda^2)^-1, shape (n, m): the pseudo-inverse, where it is sound, and bounded by 1/(2 lambda).

    Args:
        jacobian: J, shape (m, n).
        damping: lambda^2.
    """
    m = len(jacobian)
    square = jacobian @ jacobian.T + damping * np.eye(m)
    return solve_positive_definite(square, jacobian, _SINGULAR).T


def damped_task_inertia(mobility: Array, jacobian: Array, rows: list[int], damping: Any) -> Array:
    """Lambda = (J M^-1 J^T)^-1, with lambda^2 added in the scale of each axis's mobility, shape (m, m).

    An axis along which the joints cannot move the hand at all has no scale; that of its kind stands in.

    Args:
        mobility: J M^-1 J^T, shape (m, m).
        jacobian: J, shape (m, n).
        rows: Which rows of the whole Jacobian these are, to tell translations from rotations.
        damping: lambda^2, for J J^T.
    """
    parts = by_part(rows, 1.0, 0.0), by_part(rows, 0.0, 1.0)
    gained, squares = mobility.diagonal(), (jacobian**2).sum(axis=1)
    mean = by_part(rows, *((part @ gained) / maximum(part @ squares, _TINY) for part in parts))
    scale = (gained + _LEVER * mean) / (squares + _LEVER)
    return solve_positive_definite(mobility + damping * np.diag(scale), np.eye(len(jacobian)), _SINGULAR)


def _determinant(matrix: Array) -> Any:
    """Of a positive semi-definite matrix, by elimination."""
    rest, product = matrix, 1.0
    while len(rest):
        pivot = maximum(rest[0, 0], _TINY)
        product = product * pivot
        rest = rest[1:, 1:] - np.outer(rest[1:, 0] / pivot, rest[0, 1:])
    return product
