# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Weighted least squares for the parameters, optionally with physically possible inertias of every link."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag, cho_factor, cho_solve

from robodyn_ros.base.errors import InputError
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.pseudo_inertia import PARAMETER_COUNT, PriorLink

PRIOR_DEVIATION = 0.5
"""Prior standard deviation of links from the description, roughly that of the logarithm of a mass."""

MAX_STEPS = 1000

_BARRIER = 1e-3  # keeps friction positive; it shifts a friction of 0 by a thirtieth of its standard deviation
_START_SHARE = 1e-3
_TOLERANCE = 1e-6  # of the square of a Newton step [variances]
_SUFFICIENT, _MIN_STEP, _ROUNDING = 0.1, 1e-12, 1e-9
_SHARE_OF_REACH = 0.7  # longer steps come so close to the border that many more are needed
_GROWTH = 3.0
_SINGULAR = 1e-9


@dataclass(frozen=True, eq=False)
class LinearFit:
    """Sum of squares |A x - b|^2 of any number of rows, stored as a triangular matrix."""

    matrix: Array  # A, shape (r, p)
    target: Array  # b, shape (r,)

    @classmethod
    def from_rows(cls, matrix: Array, target: Array) -> LinearFit:
        """Compress rows to at most p + 1 with the same sum of squares, up to a constant."""
        triangle: Array = np.asarray(np.linalg.qr(np.column_stack([matrix, target]), mode="r"))[:matrix.shape[1]]
        return cls(triangle[:, :-1], triangle[:, -1])

    def solution(self) -> Array:
        """The x with the least sum of squares, shape (p,)."""
        return np.asarray(np.linalg.lstsq(self.matrix, self.target, rcond=None)[0], dtype=np.float64)

    def deviations(self) -> Array:
        """Standard deviations of the solution for rows of unit variance, infinite if not identifiable, shape (p,)."""
        _, values, axes = np.linalg.svd(self.matrix, full_matrices=False)
        resolved = values > _SINGULAR * values.max(initial=0.0)
        deviations = np.sqrt(((axes[resolved].T / values[resolved]) ** 2).sum(axis=1))
        return np.where((axes[resolved] ** 2).sum(axis=0) > 1.0 - _SINGULAR, deviations, np.inf)


class Prior:
    """Prior of all parameters, before the measurement.

    Args:
        inertial: Inertial parameters of the description, shape (10 links,).
        joint_values: Joint parameters: friction, rotors and offsets, shape (m,).
        joint_deviations: Their standard deviations; 0: known exactly, shape (m,).
        signed: Which joint parameters may be negative, shape (m,); None: none.

    Attributes:
        expected: All p = 10 links + m parameters, shape (p,).
        free: Indices of the free parameters: those with a deviation, of links with mass, shape (f,).
        curvature: Inverse covariance of the free parameters, shape (f, f).
    """

    def __init__(self, inertial: Array, joint_values: Array, joint_deviations: Array,
                 signed: NDArray[np.bool_] | None = None) -> None:
        rows = inertial.reshape(-1, PARAMETER_COUNT)
        self._links = [PriorLink(row) if row[0] > 0.0 else None for row in rows]
        self._deviations = joint_deviations[joint_deviations > 0.0]
        self._expected_joints = joint_values[joint_deviations > 0.0]
        may_be_negative = np.zeros(len(joint_values), dtype=bool) if signed is None else signed
        self._positive = ~may_be_negative[joint_deviations > 0.0]
        self.expected = np.concatenate([*(row if link is None else link.parameters
                                          for row, link in zip(rows, self._links, strict=True)), joint_values])
        has_mass = np.repeat([link is not None for link in self._links], PARAMETER_COUNT)
        self.free = np.flatnonzero(np.concatenate([has_mass, joint_deviations > 0.0]))
        self.curvature = block_diag(*(link.curvature / PRIOR_DEVIATION**2 for link in self._links if link),
                                    np.diag(self._deviations**-2.0))

    @property
    def start(self) -> Array:
        """The expected free parameters, with friction above 0, shape (f,)."""
        start = self.expected[self.free]
        joints = len(self._deviations)
        start[len(start) - joints:] = np.where(
            self._positive, np.maximum(self._expected_joints, _START_SHARE * self._deviations), self._expected_joints)
        return start

    def cost(self, free: Array) -> float:
        """Negative log probability, up to a constant; infinite for impossible bodies or friction."""
        links, joints = self._split(free)
        bounded = joints[self._positive]
        if (bounded <= 0.0).any():
            return float("inf")
        distance = (joints - self._expected_joints) / self._deviations
        return float(sum(link.divergence(row) for link, row in links) / PRIOR_DEVIATION**2
                     + 0.5 * distance @ distance - _BARRIER * np.log(bounded / self._deviations[self._positive]).sum())

    def slopes(self, free: Array) -> tuple[Array, Array]:
        """First and second derivatives of `cost`, shapes (f,) and (f, f)."""
        links, joints = self._split(free)
        of_links = [link.gradient_and_hessian(row) for link, row in links]
        inverse = np.where(self._positive, 1.0 / np.where(self._positive, joints, 1.0), 0.0)
        first = (joints - self._expected_joints) / self._deviations**2 - _BARRIER * inverse
        second = self._deviations**-2.0 + _BARRIER * inverse**2
        return (np.concatenate([*(one / PRIOR_DEVIATION**2 for one, _ in of_links), first]),
                block_diag(*(two / PRIOR_DEVIATION**2 for _, two in of_links), np.diag(second)))

    def reach(self, free: Array, step: Array) -> float:
        """Multiple of a step that reaches the border of the possible parameters."""
        (links, joints), (steps, joint_steps) = self._split(free), self._split(step)
        of_links = [link.steps_to_border(row, along) for (link, row), (_, along) in zip(links, steps, strict=True)]
        joints, joint_steps = joints[self._positive], joint_steps[self._positive]
        return min([*of_links, *(joints / np.maximum(-joint_steps, 1e-300)), np.inf])

    def _split(self, free: Array) -> tuple[list[tuple[PriorLink, Array]], Array]:
        count = len(free) - len(self._deviations)
        links = [link for link in self._links if link]
        return list(zip(links, free[:count].reshape(-1, PARAMETER_COUNT), strict=True)), free[count:]

    def covariance(self, measured: LinearFit | None = None) -> Array:
        """Covariance of all parameters before or after a measurement, shape (p, p); 0 for known parameters."""
        inverse = self.curvature
        if measured is not None:
            inverse = inverse + measured.matrix[:, self.free].T @ measured.matrix[:, self.free]
        size = 1.0 / np.sqrt(np.diagonal(inverse))
        covariance = np.zeros((len(self.expected), len(self.expected)))
        covariance[np.ix_(self.free, self.free)] = np.linalg.inv(inverse * np.outer(size, size)) * np.outer(size, size)
        return covariance


def consistent_solution(measured: LinearFit, prior: Prior) -> Array:
    """Find the most probable parameters with positive definite pseudo-inertias of all links, shape (p,).

    The sum of both costs is convex, and infinite at the border of the possible parameters, so it has one minimum
    inside. Newton's method follows it while the weight of the measurement grows to 1 ([BoydVandenberghe] 9.5, 11.3).

    Args:
        measured: Rows in units of the standard deviations of the measurement.
        prior: Knowledge before the measurement.

    Raises:
        InputError: The search does not converge.
    """
    matrix = measured.matrix[:, prior.free]
    target = measured.target - measured.matrix @ prior.expected + matrix @ prior.expected[prior.free]
    free = prior.start
    distance = max(1.0, float(np.linalg.norm(matrix @ free - target)))
    for weight in np.geomspace(1.0 / distance, 1.0, 2 + int(np.log(distance) / np.log(_GROWTH))):
        free = _minimum(weight * matrix, weight * target, prior, free)
    solution = prior.expected.copy()
    solution[prior.free] = free
    return solution


def _minimum(matrix: Array, target: Array, prior: Prior, free: Array) -> Array:
    """Minimise |A x - b|^2 / 2 plus the prior's cost over the free parameters by damped Newton steps, shape (f,)."""
    square, product = matrix.T @ matrix, matrix.T @ target

    def cost(free: Array) -> float:
        error = matrix @ free - target
        return 0.5 * float(error @ error) + prior.cost(free)

    value = cost(free)
    for _ in range(MAX_STEPS):
        slope, curve = prior.slopes(free)
        slope, curve = slope + square @ free - product, curve + square
        size = 1.0 / np.sqrt(np.diagonal(curve))
        step = -size * cho_solve(cho_factor(curve * np.outer(size, size)), size * slope)
        decrement = float(-slope @ step)
        length = min(1.0, _SHARE_OF_REACH * prior.reach(free, step))
        while (new := cost(free + length * step)) > value - _SUFFICIENT * length * decrement and length > _MIN_STEP:
            length *= 0.5
        if decrement < _TOLERANCE or length <= _MIN_STEP and decrement < _ROUNDING * value:
            return free
        free, value = free + length * step, new
    raise InputError(f"identification: the search for consistent parameters did not converge in {MAX_STEPS} steps; "
                     "record a motion that moves all joints, such as robodyn excite writes")
