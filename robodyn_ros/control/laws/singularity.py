# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Inverses that stay bounded at singular positions, vary smoothly around them and are exact away from them.

A task-space law solves A x = b, where A is J J^T or J M^-1 J^T and singular at a singular position. The trace of A^-1
grows without bound there; so its reciprocal measures the distance from singular positions without eigenvalues.
Translations and rotations each have their own unit and threshold.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from robodyn_ros.control.default_gains import sampled_mass_matrices, sampled_positions
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.factorization import solve_positive_definite
from robodyn_ros.robot import Robot

DEFAULT_SHARE = 0.5
"""Default of the parameter `singularity` of laws that choose an acceleration."""

_SINGULAR = "axes: the robot cannot move its tip link along axis {} (counted from 0) of those given; leave it out"
_REGULAR = 1e-3  # share of the thresholds added to A, so that the distance of a singular A can be computed
_NULL = 1e-12  # share of the greatest eigenvalue below which an eigenvalue counts as zero


def singularity_damping(matrix: Array, thresholds: Array) -> Any:
    """Return the damping mu = max(0, 1 - s)^2, 0 to 1, for the distance s = 1 / trace(S A^-1) from singular positions.

    The rule of [NakamuraHanafusa] with the distance s instead of the manipulability. Like the least eigenvalue used by
    [MaciejewskiKlein], s does not depend on eigenvalues far from zero. It is at most the least eigenvalue of S^-1/2 A
    S^-1/2. mu and its slope are continuous in the posture.

    Args:
        matrix: A, symmetric and positive semi-definite, shape (m, m).
        thresholds: Diagonal of S, positive, in units of A, shape (m,).
    """
    rest, inverse, trace = matrix + _REGULAR * np.diag(thresholds), np.eye(len(matrix)), 0.0
    for threshold in thresholds:  # A = L D L^T, so that trace(S A^-1) sums the squares of L^-1 over D
        pivot_inverse = 1.0 / np.maximum(rest[0, 0], _REGULAR * threshold)
        trace = trace + pivot_inverse * (thresholds @ inverse[0] ** 2)
        factors = rest[1:, 0] * pivot_inverse
        inverse = inverse[1:] - np.outer(factors, inverse[0])
        rest = rest[1:, 1:] - np.outer(factors, rest[0, 1:])
    return np.maximum(1.0 - 1.0 / trace, 0.0) ** 2


def solve_damped(matrix: Array, thresholds: Array, damping: Any, right: Array) -> Array:
    """Return (A + mu S)^-1 b; this is A^-1 b away from singular positions, and bounded at them.

    With mu of `singularity_damping`, the least eigenvalue of S^-1/2 (A + mu S) S^-1/2 is at least 3/4, so that the norm
    of S^1/2 x is at most 4/3 of the norm of S^-1/2 b.

    Args:
        matrix: A, symmetric and positive semi-definite, shape (m, m).
        thresholds: Diagonal of S, shape (m,).
        damping: mu.
        right: b, shape (m,).
    """
    return solve_positive_definite(matrix + damping * np.diag(thresholds), right, _SINGULAR)


def singularity_thresholds(robot: Robot, rows: list[int], share: float, with_inertia: bool) -> Array:
    """Return the diagonal of S with which damping begins at a share of the median distance, shape (m,).

    Args:
        robot: The robot.
        rows: Rows of the Jacobian.
        share: Share of the median distance from singular positions, over random positions.
        with_inertia: Whether A is J M^-1 J^T instead of J J^T.
    """
    traces = _median_traces(robot, tuple(rows), with_inertia)
    parts = np.count_nonzero(traces)
    of_parts = share / np.where(traces > 0.0, parts * traces, share)
    return of_parts[[int(row >= 3) for row in rows]]


@lru_cache(maxsize=32)
def _median_traces(robot: Robot, rows: tuple[int, ...], with_inertia: bool) -> Array:
    """Return the medians of the trace of A^-1 over random positions, for translations and rotations, shape (2,).

    A row along which the robot can never move is handled by the pseudo-inverse.
    """
    chain = np.flatnonzero(robot.model.moves(robot.tip_link))
    jacobians = robot.dynamics().batch.jacobian(sampled_positions(robot))[:, list(rows)][:, :, chain]
    transposed = np.swapaxes(jacobians, 1, 2)
    inertia = sampled_mass_matrices(robot)[:, chain[:, None], chain] if with_inertia else None
    matrices = jacobians @ (transposed if inertia is None else np.linalg.solve(inertia, transposed))
    values, vectors = np.linalg.eigh(matrices)
    inverses = np.where(values > _NULL * values[:, -1:], 1.0 / np.where(values > 0.0, values, 1.0), 0.0)
    diagonals = np.einsum("kij,kj->ki", vectors**2, inverses)
    rotation = np.array(rows) >= 3
    return np.array([np.median(diagonals[:, part].sum(axis=1)) for part in (~rotation, rotation)])
