# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Motions of the tip link along a straight line or an arc of a circle, smooth from any start."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.base.checks import as_floats
from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import compile_function
from robodyn_ros.control.references.quintic import MIN_DURATION, PEAK_SPEED, basis, coefficients
from robodyn_ros.control.references.tip_reference import ForceReference, TipReference
from robodyn_ros.description.model import Array
from robodyn_ros.kinematics.quaternions import quaternion_conjugate, quaternion_product
from robodyn_ros.kinematics.rotation_vector import left_jacobian, rotation_motion, rotation_vector_from_quaternion
from robodyn_ros.kinematics.twists import cross

_NO_ARC = np.zeros((2, 3))
_SHORTEST = 1e-3
"""Shortest motion [s], and smallest radius [m]."""


class TipTrajectory:
    """One motion of the tip link to a goal at rest, which is then held.

    Each axis of the position follows a quintic, and so does the angle of an arc. The orientation is exp(phi) R_goal.
    The rotation vector phi follows a quintic from the remaining rotation at the start to 0: from rest, the shortest
    turn about one axis. Velocity and acceleration at the start continue smoothly.

    Make one by `line` or `circle`.

    Attributes:
        start_time: When the motion begins [s].
        end_time: When it ends [s].
        kind: Class of the references that it gives.
    """

    kind: ClassVar[type] = TipReference

    def __init__(
        self, start: TipReference | ForceReference, start_time: float, duration: float, position: Array,
        quaternion: Array, arc: Array, angle: float,
    ) -> None:
        if not _SHORTEST <= duration < np.inf:
            raise InputError(f"trajectory: expected a duration of {_SHORTEST:g} s or more, received {duration:g}")
        self.start_time: float = start_time
        self.end_time: float = start_time + duration
        self._path = (position, quaternion, arc, angle)
        self._duration = duration
        self._arc, self._quaternion = arc, quaternion
        radius, _ = arc
        phi, phi_rate, phi_second_rate = _missing_rotation(start, quaternion)
        begin = np.concatenate([start.position - radius, phi, [0.0]])
        end_position = position - _turned(arc, angle)
        rest = np.zeros(7)
        self._coefficients = coefficients(
            np.array([duration]),
            np.stack([begin, np.concatenate([end_position, np.zeros(3), [angle]])]),
            np.stack([np.concatenate([start.twist[:3], phi_rate, [0.0]]), rest]),
            np.stack([np.concatenate([start.acceleration[:3], phi_second_rate, [0.0]]), rest]),
        )[0]
        self._last = TipReference(position, quaternion, np.zeros(6), np.zeros(6))
        self._kernel = _kernel()

    @classmethod
    def line(
        cls, start: TipReference | ForceReference, start_time: float, duration: float, position: ArrayLike,
        quaternion: ArrayLike | None = None,
    ) -> TipTrajectory:
        """Return a motion to a pose; from rest, along a straight line.

        Args:
            start: The reference in force at `start_time`.
            start_time: On the clock on which `sample` is called [s].
            duration: Time of the motion [s].
            position: Goal of the tip link's origin, shape (3,) [m].
            quaternion: Orientation at the goal, x, y, z, w, shape (4,); None: as at the start.

        Raises:
            InputError: A shape differs, a number is not finite, the quaternion has no direction, or the duration is
                not positive.
        """
        goal = as_floats(position, (3,), "trajectory: position")
        return cls(start, start_time, duration, goal, _unit_quaternion(start, quaternion), _NO_ARC, 0.0)

    @classmethod
    def circle(
        cls, start: TipReference | ForceReference, start_time: float, duration: float, center: ArrayLike,
        axis: ArrayLike, angle: float = 2.0 * np.pi, quaternion: ArrayLike | None = None,
    ) -> TipTrajectory:
        """Return a motion about an axis, from the present position of the tip link.

        Args:
            start: The reference in force at `start_time`.
            start_time: On the clock on which `sample` is called [s].
            duration: Time of the motion [s].
            center: A point on the axis, shape (3,) [m]; the circle's plane goes through the start.
            axis: Direction of the axis, shape (3,), of any length.
            angle: Counter-clockwise angle about the axis [rad]; several turns are possible.
            quaternion: Orientation at the end, x, y, z, w, shape (4,); None: as at the start.

        Raises:
            InputError: As for `line`; or the start lies on the axis.
        """
        axis = as_floats(axis, (3,), "trajectory: axis")
        length = float(np.linalg.norm(axis))
        if length == 0.0 or not np.isfinite(angle):
            raise InputError(f"trajectory: expected an axis with a direction and a finite angle, received "
                             f"{axis.tolist()} and {angle}")
        axis = axis / length
        away = start.position - as_floats(center, (3,), "trajectory: center")
        radius = away - (away @ axis) * axis
        if np.linalg.norm(radius) < _SHORTEST:
            raise InputError(f"trajectory: expected a start at least {_SHORTEST:g} m off the circle's axis, received "
                             f"{np.linalg.norm(radius):.3g} m")
        arc = np.stack([radius, cross(axis, radius)])
        goal = start.position - radius + _turned(arc, angle)
        return cls(start, start_time, duration, goal, _unit_quaternion(start, quaternion), arc, float(angle))

    def delayed(self, delay: float) -> TipTrajectory:
        """The same motion, later by some time [s]."""
        other = copy.copy(self)
        other.start_time, other.end_time = self.start_time + delay, self.end_time + delay
        return other

    def joined(self, start: TipReference | ForceReference, start_time: float) -> TipTrajectory:
        """Return a motion on the same path to the same goal at the same time, from another reference at another time.

        Args:
            start: The reference in force at `start_time`.
            start_time: On the same clock as before [s].

        Raises:
            InputError: The trajectory has ended by then.
        """
        if self.end_time - start_time < _SHORTEST:
            raise InputError(f"trajectory: ended {start_time - self.end_time:.3g} s before it could begin; give "
                             f"header.stamp 0 to start on arrival, or a start in the future")
        return TipTrajectory(start, start_time, self.end_time - start_time, *self._path)

    def sample(self, time: float) -> TipReference:
        """The reference at a time [s]."""
        if time >= self.end_time:
            return self._last
        clock = np.array((time - self.start_time, self._duration))
        row = self._kernel(clock, self._coefficients, self._quaternion, self._arc)
        return TipReference(row[:3], row[3:7], row[7:13], row[13:])

    def samples(self, times: ArrayLike) -> TipReference:
        """The references at many times, shape (N,) [s]: arrays of shape (N, 3), (N, 4), (N, 6), (N, 6)."""
        rows = [np.concatenate(self.sample(float(time))) for time in np.asarray(times)]
        table = np.reshape(rows, (len(rows), 19))
        return TipReference(table[:, :3], table[:, 3:7], table[:, 7:13], table[:, 13:])


def least_duration(
    start: TipReference | ForceReference, position: ArrayLike, quaternion: ArrayLike | None = None,
    speed: float = 0.25, angular_speed: float = 0.5,
) -> float:
    """Return the shortest duration of a `line` from rest within speed limits, at least `MIN_DURATION` [s].

    Args:
        start: Where it begins.
        position: Where it ends, shape (3,) [m].
        quaternion: Orientation at the end, x, y, z, w, shape (4,); None: as at the start.
        speed: Greatest speed [m/s].
        angular_speed: Greatest angular speed [rad/s].

    Raises:
        InputError: A shape differs, or a number is not finite.
    """
    distance = float(np.linalg.norm(as_floats(position, (3,), "trajectory: position") - start.position))
    turn = float(np.linalg.norm(_missing_rotation(start, _unit_quaternion(start, quaternion))[0]))
    return max(PEAK_SPEED * distance / speed, PEAK_SPEED * turn / angular_speed, MIN_DURATION)


def motion(clock: Array, polynomials: Array, quaternion: Array, arc: Array) -> Array:
    """Compute a trajectory's reference as one array, of floats or traced scalars.

    Args:
        clock: Time since the start and duration, shape (2,) [s].
        polynomials: Coefficients of position, rotation vector and angle by powers of t / duration, shape (6, 7).
        quaternion: Orientation at the end, shape (4,).
        arc: From the centre to the start, and a quarter of a turn further, shape (2, 3) [m]; zeros for a line.

    Returns:
        Position, quaternion, twist, acceleration, shape (19,).
    """
    at, rate, second_rate = basis(clock[0] / clock[1], clock[1]) @ polynomials
    sin, cos = np.sin(at[6]), np.cos(at[6])
    radius, ahead = cos * arc[0] + sin * arc[1], cos * arc[1] - sin * arc[0]
    turning = rotation_motion(at[3:6], rate[3:6], second_rate[3:6])
    return np.concatenate([
        at[:3] + radius,
        quaternion_product(turning.quaternion, quaternion),
        rate[:3] + rate[6] * ahead,
        turning.velocity,
        second_rate[:3] + second_rate[6] * ahead - rate[6] ** 2 * radius,
        turning.acceleration,
    ])


@lru_cache(maxsize=1)
def _kernel() -> Callable[..., Array]:
    shapes = {"clock": (2,), "polynomials": (6, 7), "quaternion": (4,), "arc": (2, 3)}
    return compile_function(motion, shapes, name="tip_motion").call


def _turned(arc: Array, angle: float) -> Array:
    """The radius after an angle, shape (3,) [m]."""
    return np.asarray(np.cos(angle) * arc[0] + np.sin(angle) * arc[1])


def _unit_quaternion(start: Any, quaternion: ArrayLike | None) -> Array:
    if quaternion is None:
        return np.asarray(start.quaternion)
    given = as_floats(quaternion, (4,), "trajectory: quaternion")
    length = float(np.linalg.norm(given))
    if abs(length - 1.0) > 1e-3:
        raise InputError(f"trajectory: quaternion: expected unit length, received x, y, z, w = {given.tolist()} of "
                         f"length {length:.6g}; divide by it")
    return given / length


def _missing_rotation(start: Any, quaternion: Array) -> tuple[Array, Array, Array]:
    """phi of exp(phi) R_goal = R_start, and its rates, each of shape (3,)."""
    phi = rotation_vector_from_quaternion(quaternion_product(start.quaternion, quaternion_conjugate(quaternion)))
    to_omega = left_jacobian(phi)
    rate = np.linalg.solve(to_omega, start.twist[3:])
    drift = rotation_motion(phi, rate, np.zeros(3)).acceleration
    return phi, rate, np.linalg.solve(to_omega, start.acceleration[3:] - drift)
