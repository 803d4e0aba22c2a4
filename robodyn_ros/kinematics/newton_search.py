# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Damped Newton's method for joint positions within limits: one attempt from one start.

[Yamamoto] (1.20) to (1.23), steps 1 to 5.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from robodyn_ros.description.model import Array, skew
from robodyn_ros.kinematics.rotation_vector import rotation_vector

MAX_JOINT_STEP = 1.0
"""Greatest motion of a joint in one step [rad or m]; the linear map is inaccurate beyond it."""

MAX_STALLED_STEPS = 6
"""An attempt ends after this many full Newton steps that do not reduce the error by 10 %."""

DAMPING = 0.1
"""Damping per squared error. Of 0.01, 0.1 and 1, 0.1 took the fewest steps on the 6-axis and the 7-axis arm."""

MIN_DAMPING = 1e-12
"""Constant part of the damping; it keeps the equations solvable at a singular position with a small error."""


@dataclass(frozen=True, eq=False)
class PoseGoal:
    """Target pose with the selected rows and the tolerances."""

    target: Array  # target pose in the base frame, shape (4, 4)
    rows: Array  # selection of the six errors, booleans, shape (6,)
    position_tolerance: float  # greatest remaining distance at which the target counts as reached [m]
    orientation_tolerance: float  # greatest remaining angle at which the target counts as reached [rad]

    def counted(self, error: Array) -> Array:
        """Set a ``pose_error``, shape (6,), to zero on the rows that are not selected."""
        return np.where(self.rows, error, 0.0)

    def reached(self, error: Array) -> bool:
        """Whether an error, as ``counted`` returns it, is within the tolerances."""
        position, rotation = error[:3], error[3:]
        return bool(
            position @ position <= self.position_tolerance**2 and rotation @ rotation <= self.orientation_tolerance**2
        )


@dataclass(frozen=True, eq=False)
class Attempt:
    """Result of one attempt."""

    q: Array  # joint positions with the smallest error, shape (n,) [rad or m]
    distance: float  # norm of their error, with metres and radians added alike
    reached: bool  # whether they reach the goal
    iterations: int  # number of Newton steps


@dataclass(frozen=True, eq=False)
class Search:
    """The equations f(q) = r for one target, and the parameters of Newton's method.

    Attributes:
        forward_kinematics: From joint positions to the link's pose, shape (4, 4).
        jacobian: From joint positions to its geometric Jacobian, shape (6, n), linear rows first.
        goal: The target.
        lower: Lower limits of the joint positions, shape (n,) [rad or m]; -inf for no limit.
        upper: Upper limits of the joint positions, shape (n,) [rad or m]; inf for no limit.
        step: The book's k, fraction of each Newton step.
        max_iterations: Greatest number of steps per attempt.
    """

    forward_kinematics: Callable[[Array], Array]
    jacobian: Callable[[Array], Array]
    goal: PoseGoal
    lower: Array
    upper: Array
    step: float
    max_iterations: int

    def without_limits(self) -> Search:
        """Return a copy of the search without joint limits."""
        unlimited = np.full(self.lower.shape, np.inf)
        return dataclasses.replace(self, lower=-unlimited, upper=unlimited)

    def equations(self, q: Array) -> tuple[Array, Array]:
        """Error, shape (6,), zero on rows that are not selected, and the selected Jacobian rows, shape (m, n)."""
        pose = self.forward_kinematics(q)
        error = pose_error(pose, self.goal.target)
        jacobian = pose_error_jacobian(self.jacobian(q), pose, error[3:])
        return self.goal.counted(error), jacobian[self.goal.rows]

    def attempt(self, q: Array) -> Attempt:
        """Run steps 1 to 5 of [Yamamoto] 1.9 from one start.

        Args:
            q: The start, within the limits, shape (n,) [rad or m].

        Returns:
            The joint positions that reach the goal, or else those with the smallest error.
        """
        best, best_distance = q, np.inf
        to_beat, waited = np.inf, 0
        for iteration in range(self.max_iterations + 1):
            error, jacobian = self.equations(q)
            distance = float(np.sqrt(error @ error))
            if self.goal.reached(error):
                return Attempt(q, distance, True, iteration)
            if distance < best_distance:
                best, best_distance = q, distance
            if distance < 0.9 * to_beat:
                to_beat, waited = distance, 0
            else:
                waited += 1
            if waited * self.step >= MAX_STALLED_STEPS or iteration == self.max_iterations:
                break
            q = np.clip(q + self._newton_step(q, error[self.goal.rows], jacobian), self.lower, self.upper)
        return Attempt(best, best_distance, False, iteration)

    def _newton_step(self, q: Array, error: Array, jacobian: Array) -> Array:
        """Step k (J^T J + lambda E)^-1 J^T e, shape (n,); joints that would leave their limits are held."""
        damping = DAMPING * (error @ error) + MIN_DAMPING
        free = np.ones(q.shape, dtype=bool)
        change = np.zeros(q.shape)
        while free.any():
            moving = jacobian[:, free]
            normal = moving.T @ moving
            normal[np.diag_indices_from(normal)] += damping
            change[free] = np.linalg.solve(normal, moving.T @ error)
            pressing = free & (((q <= self.lower) & (change < 0.0)) | ((q >= self.upper) & (change > 0.0)))
            if not pressing.any():
                break
            free &= ~pressing
            change[:] = 0.0
        return self.step * change / max(1.0, float(np.abs(change).max()) / MAX_JOINT_STEP)


def pose_error(pose: Array, target: Array) -> Array:
    """Pose error: (translation, rotation vector), shape (6,) [m, rad].

    The translation is in base axes. The rotation vector describes the rotation from the tip to the target. It has the
    same elements in the axes of the target and of the tip, because the rotation does not move its own axis. A
    difference of Euler angles would jump, and its rates are singular if the first and the last axis are aligned.

    Args:
        pose: Pose of the tip in the base frame, shape (4, 4).
        target: Target pose in the base frame, shape (4, 4).
    """
    return np.concatenate([target[:3, 3] - pose[:3, 3], _rotation_vector(pose[:3, :3].T @ target[:3, :3])])


def pose_error_jacobian(jacobian: Array, pose: Array, rotation_error: Array) -> Array:
    """Matrix, shape (6, n), whose product with the joint velocities is the rate of decrease of ``pose_error``.

    The linear rows are those of the geometric Jacobian. With the tip's angular velocity omega in tip axes, the
    rotation vector phi changes by phi' = -(E - [phi]/2 + c [phi]^2) omega, c = 1/|phi|^2 - cot(|phi|/2) / (2 |phi|).
    The matrix in parentheses is the inverse of the left Jacobian of the rotation group; it maps phi to itself. An exact
    Newton step on all three angular rows is therefore the same without it. A selection of angular rows needs it.

    Args:
        jacobian: Geometric Jacobian of the tip, linear rows first, base axes, shape (6, n).
        pose: Pose of the tip in the base frame, shape (4, 4).
        rotation_error: The last three elements of ``pose_error``, shape (3,) [rad].
    """
    bracket = skew(rotation_error)
    angle = np.sqrt(rotation_error @ rotation_error)
    # For small angles the first term of the series replaces the difference of two large, nearly equal terms.
    c = 1.0 / 12.0 if angle < 1e-3 else 1.0 / angle**2 - 0.5 / (angle * np.tan(angle / 2.0))
    rate = np.eye(3) - 0.5 * bracket + c * (bracket @ bracket)
    return np.concatenate([jacobian[:3], rate @ (pose[:3, :3].T @ jacobian[3:])])


def _rotation_vector(rotation: Array) -> Array:
    """Faster form of :func:`rotation_vector.rotation_vector`; a search calls it at every step."""
    r = rotation
    vector = 0.5 * np.array([r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]])
    sine, cosine = np.sqrt(vector @ vector), 0.5 * (r[0, 0] + r[1, 1] + r[2, 2] - 1.0)
    if sine > 1e-6:
        return vector * (np.arctan2(sine, cosine) / sine)
    return vector if cosine > 0.0 else rotation_vector(rotation)
