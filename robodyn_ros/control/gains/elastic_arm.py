# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Stability of an arm with elastic joints under a sampled law in several postures, and a search for stable gains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from robodyn_ros.control.gains.sampled_loop import MIN_GROWTH, delayed_loop, matrix_exponential
from robodyn_ros.description.drivetrain import JointSprings
from robodyn_ros.description.model import Array, RobotModel

_MIN_POSITIVE = 1e-300
_ROUNDING = 1e-8  # of log |z| for motions that neither grow nor decay
_ROUNDS = 30  # of the search, at most
_MAX_IDLE_ROUNDS = 10  # rounds without a better result that end the search
_LARGEST_STEP = 0.5  # of the logarithm of a gain in one round
_NEAR_GROWTH = 1e-3  # a round considers motions with log |z| above minus this
_TARGET_DECAY = 3e-4  # a round aims at log |z| of minus this
_MAX_MOTIONS = 40  # considered in one round
_SWEEPS = 100
_YIELDING = 1e-12  # for motions that no step can make decay


class MotorFeedback(NamedTuple):
    """Feedback from positions and velocities of motors and links to motor efforts; each matrix has shape (..., n, n).

    Attributes:
        motor_q: From motor positions [N m/rad or N/m].
        link_q: From link positions [N m/rad or N/m].
        motor_v: From motor velocities [N m s/rad or N s/m].
        link_v: From link velocities [N m s/rad or N s/m].
    """

    motor_q: Array
    link_q: Array
    motor_v: Array
    link_v: Array


@dataclass(frozen=True, eq=False)
class ElasticArm:
    """Linear model of an arm at rest in several postures, sampled with the period of its loop.

        M q'' = T - G q - F q',    B theta'' = u - T,    T = K (theta - q) + D (theta' - q')    [Spong]

    with u held over a period, the slope G of gravity and viscous friction F. Motor and link of a rigid joint are one.

    Attributes:
        transition: Over one period; the state has positions of links and of elastic joints' motors, then velocities.
            Shape (S, 2 (n + m), 2 (n + m)).
        response: Response of the state to efforts u, shape (S, 2 (n + m), n).
        motor_selection: Selects the motion of all motors, shape (n, n + m).
        link_selection: Selects the motion of all links, shape (n, n + m).
        delay: Of the loop [control periods].
        period: Of the loop [s].
    """

    transition: Array
    response: Array
    motor_selection: Array
    link_selection: Array
    delay: int
    period: float

    @classmethod
    def from_robot(cls, model: RobotModel, period: float, delay: int, joints: JointSprings, inertia: Array,
                   gravity: Array, friction: Array | None = None) -> ElasticArm:
        """Sample an arm.

        Args:
            model: The robot, with its `armature`.
            period: As for `from_matrices`, likewise delay, joints, gravity and friction.
            delay: Likewise.
            joints: Likewise.
            inertia: Mass matrices, with the `armature`, shape (S, n, n).
            gravity: Likewise.
            friction: Likewise.
        """
        links = inertia - np.diag(np.where(joints.is_elastic, model.armature, 0.0))
        return cls.from_matrices(period, delay, joints, links, gravity, friction)

    @classmethod
    def from_matrices(cls, period: float, delay: int, joints: JointSprings, links: Array, gravity: Array,
                      friction: Array | None = None) -> ElasticArm:
        """Sample an arm.

        Args:
            period: Of the loop [s].
            delay: Of the loop [control periods].
            joints: K, which is infinite for a rigid joint, B and D.
            links: M, mass matrices of the links, shape (S, n, n).
            gravity: G, derivatives of the gravity efforts by the positions, shape (S, n, n).
            friction: F, viscous friction of the joints, shape (n,) [N m s/rad or N s/m]; None: none.
        """
        samples, n, elastic = len(links), links.shape[1], np.flatnonzero(joints.is_elastic)
        size = n + len(elastic)
        bends, motor_selection, link_selection = np.zeros((len(elastic), size)), np.eye(n, size), np.eye(n, size)
        bends[:, n:], bends[np.arange(len(elastic)), elastic] = np.eye(len(elastic)), -1.0
        motor_selection[elastic] += bends
        inertia = np.zeros((samples, size, size))
        inertia[:, :n, :n], inertia[:, n:, n:] = links, np.diag(joints.motor_inertia[elastic])
        forces = np.zeros((samples, size, 2 * size + n))  # by positions, velocities and u
        forces[:, :n, :n] = -gravity
        for columns, values in ((slice(0, size), joints.stiffness), (slice(size, 2 * size), joints.damping)):
            forces[:, :, columns] -= bends.T @ (values[elastic, None] * bends)
        if friction is not None:
            forces[:, :n, size:size + n] -= np.diag(friction)
        forces[:, :, 2 * size:] = motor_selection.T
        motion = np.zeros((samples, 2 * size + n, 2 * size + n))
        motion[:, :size, size:2 * size] = np.eye(size)
        motion[:, size:2 * size] = np.linalg.solve(inertia, forces)
        sampled = matrix_exponential(period * motion)[:, :2 * size]
        return cls(sampled[:, :, :2 * size], sampled[:, :, 2 * size:], motor_selection, link_selection, delay, period)

    def gain(self, feedback: MotorFeedback) -> Array:
        """Return the gain matrix of a feedback for the arm's state, shape (..., n, 2 (n + m))."""
        motors, links = self.motor_selection, self.link_selection
        return np.concatenate([feedback.motor_q @ motors + feedback.link_q @ links,
                               feedback.motor_v @ motors + feedback.link_v @ links], axis=-1)

    def loop(self, gain: Array) -> Array:
        """Return the closed-loop matrices of one period, see `delayed_loop`.

        Args:
            gain: Shape (n, 2 (n + m)) or (S, n, 2 (n + m)).
        """
        return delayed_loop(self.transition, self.response, gain, self.delay)

    def growth(self, feedback: MotorFeedback) -> float:
        """Return the greatest growth rate of a motion under feedback, over all postures [1/s]."""
        radius = np.abs(np.linalg.eigvals(self.loop(self.gain(feedback)))).max()
        return float(np.log(max(radius, _MIN_POSITIVE)) / self.period)

    def holding_gains(self, law: Callable[[Array], MotorFeedback], gains: Array, least: Array) -> Array | None:
        """Search the stable gains nearest to given ones: no motion grows in any posture.

        Each round makes the least change of the gains' logarithms with which, to first order, the motions that grow or
        hardly decay do decay: dz = (left eigenvector, part of the efforts) dF (right eigenvector).

        Args:
            law: Feedback for given gains, affine in the gains; each matrix has shape (n, n) or (S, n, n).
            gains: Shape (g,); gains of 0 stay 0.
            least: Lower bounds of the gains, shape (g,).

        Returns:
            Shape (g,), rounded to four digits; None: no gains were found with growth below `MIN_GROWTH`.
        """
        _, states, n = self.response.shape
        fixed = self.gain(law(np.zeros(len(gains))))
        parts = np.stack([np.broadcast_to(self.gain(law(row)) - fixed, (len(self.response), n, states))
                          for row in np.eye(len(gains))], axis=1)
        gains, best, lowest, best_round = np.maximum(gains, least), None, MIN_GROWTH * self.period, 0
        for number in range(_ROUNDS):
            gains = rounded(gains)
            z, right = np.linalg.eig(self.loop(fixed + np.einsum("g,sgij->sij", gains, parts)))
            growth = np.log(np.maximum(np.abs(z), _MIN_POSITIVE))
            if growth.max() < lowest:
                best, lowest, best_round = gains, growth.max(), number
            if lowest <= _ROUNDING or number > best_round + _MAX_IDLE_ROUNDS:
                break
            near = np.argsort(growth, axis=None)[::-1][:_MAX_MOTIONS]
            posture, motion = np.unravel_index(near[growth.ravel()[near] > -_NEAR_GROWTH], growth.shape)
            keep = z.imag[posture, motion] >= 0.0
            posture, motion = posture[keep], motion[keep]
            left = np.linalg.inv(right)[posture, motion]
            on_efforts = (left[:, states:states + n] if self.delay else
                          np.einsum("ki,kij->kj", left[:, :states], self.response[posture]))
            of_parts = np.einsum("ki,kgij,kj->kg", on_efforts, parts[posture], right[posture, :states, motion])
            slopes = np.real(of_parts / z[posture, motion, None]) * gains
            lowest_step = np.log(np.maximum(least, _MIN_POSITIVE) / np.maximum(gains, _MIN_POSITIVE))
            step = least_step(slopes, -_TARGET_DECAY - growth[posture, motion], np.minimum(lowest_step, 0.0))
            gains = np.maximum(gains * np.exp(np.clip(step, -_LARGEST_STEP, _LARGEST_STEP)), least)
        return best


def least_step(slopes: Array, most: Array, lower: Array) -> Array:
    """Return the shortest step with slopes @ step <= most, step >= lower [Hildreth]; approximate if there is none."""
    rows, bounds = np.vstack([slopes, -np.eye(len(lower))]), np.concatenate([most, -lower])
    squares, factors, step = (rows * rows).sum(axis=1) + _YIELDING, np.zeros(len(rows)), np.zeros(len(lower))
    for _ in range(_SWEEPS):
        for row, (along, bound) in enumerate(zip(rows, bounds, strict=True)):
            change = max(-factors[row], (along @ step - bound - _YIELDING * factors[row]) / squares[row])
            if change:
                factors[row] += change
                step -= change * along
    return step


def rounded(values: Array) -> Array:
    """Round values to four digits, as in messages."""
    return np.array([float(f"{value:.4g}") for value in values])
