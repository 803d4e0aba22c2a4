"""Newton's method for joint positions, damped and within limits: one attempt from one start.

[Yamamoto] (1.20) to (1.23), steps 1 to 5.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from robodyn_ros.description.model import Array
from robodyn_ros.kinematics.pose_error import pose_error, pose_error_jacobian

LONGEST_STEP = 1.0
"""Farthest that a joint goes in one step [rad or m]: beyond, the linear map says nothing."""

PATIENCE = 6
"""Whole Newton steps without coming 10 % nearer before an attempt is given up."""

DAMPING = 0.1
"""Damping per squared error. Of 0.01, 0.1 and 1, this took the fewest steps on the 6-axis and the 7-axis arm."""

LEAST_DAMPING = 1e-12
"""Keeps the equations solvable at a singular position with little error left."""


@dataclass(frozen=True, eq=False)
class PoseGoal:
    """What counts as reached.

    Attributes:
        target: Pose wanted, in the base frame, shape (4, 4).
        rows: Which of the six errors count, shape (6,).
        position_tolerance: [m].
        orientation_tolerance: [rad].
    """

    target: Array
    rows: Array
    position_tolerance: float
    orientation_tolerance: float

    def counted(self, error: Array) -> Array:
        """A ``pose_error``, shape (6,), made zero on the rows that do not count."""
        return np.where(self.rows, error, 0.0)

    def reached(self, error: Array) -> bool:
        """Whether an error so counted is within the tolerances."""
        position, rotation = error[:3], error[3:]
        return bool(
            position @ position <= self.position_tolerance**2 and rotation @ rotation <= self.orientation_tolerance**2
        )


@dataclass(frozen=True, eq=False)
class Attempt:
    """Where an attempt ended.

    Attributes:
        q: Joint positions, shape (n,) [rad or m].
        distance: Norm of the error, metres and radians alike.
        reached: Whether the goal is.
        iterations: Steps taken.
    """

    q: Array
    distance: float
    reached: bool
    iterations: int


@dataclass(frozen=True, eq=False)
class Search:
    """The equations f(q) = r of one target, and how they are solved.

    Attributes:
        forward_kinematics: From joint positions to the link's pose, shape (4, 4).
        jacobian: From joint positions to its geometric Jacobian, shape (6, n), linear rows first.
        goal: The target.
        lower: Lowest joint positions, shape (n,), -inf where there is none.
        upper: Highest joint positions, shape (n,), inf where there is none.
        step: The book's k.
        max_iterations: Steps per attempt.
    """

    forward_kinematics: Callable[[Array], Array]
    jacobian: Callable[[Array], Array]
    goal: PoseGoal
    lower: Array
    upper: Array
    step: float
    max_iterations: int

    def without_limits(self) -> Search:
        """The same, with joints that may turn without end."""
        unlimited = np.full(self.lower.shape, np.inf)
        return dataclasses.replace(self, lower=-unlimited, upper=unlimited)

    def equations(self, q: Array) -> tuple[Array, Array]:
        """Error, zero on rows that do not count, shape (6,), and the Jacobian's rows that count, shape (m, n)."""
        pose = self.forward_kinematics(q)
        error = pose_error(pose, self.goal.target)
        jacobian = pose_error_jacobian(self.jacobian(q), pose, error[3:])
        return self.goal.counted(error), jacobian[self.goal.rows]

    def attempt(self, q: Array) -> Attempt:
        """Steps 1 to 5 from one start.

        Args:
            q: The start, within the limits, shape (n,) [rad or m].

        Returns:
            The best position on the way.
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
            if waited * self.step >= PATIENCE or iteration == self.max_iterations:
                break
            q = np.clip(q + self._newton_step(q, error[self.goal.rows], jacobian), self.lower, self.upper)
        return Attempt(best, best_distance, False, iteration)

    def _newton_step(self, q: Array, error: Array, jacobian: Array) -> Array:
        """The step k (J^T J + lambda E)^-1 J^T e, without the joints that would leave their limits; shape (n,)."""
        damping = DAMPING * (error @ error) + LEAST_DAMPING
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
        return self.step * change / max(1.0, float(np.abs(change).max()) / LONGEST_STEP)
