# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Joint trajectories: smooth motion through points, one quintic polynomial per joint between two of them.

A quintic joins two points with prescribed positions, velocities and accelerations. So the reference is twice
continuously differentiable, also at the start of the trajectory.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import greater, less, sign, where
from robodyn_ros.control.contract.controller import JointReference
from robodyn_ros.control.references.quintic import basis, coefficients
from robodyn_ros.description.model import Array
from robodyn_ros.kinematics.turns import short_way

START_TOLERANCE = 0.1
"""Greatest distance of a first point at time 0 from the present reference, per joint [rad or m]."""

MAX_POINTS = 5000
"""Limit of the points of one trajectory: 50 s at 100 Hz."""

_SEGMENTS_AT_ONCE = 64
"""Segments sampled together; bounds memory and the time for which the control thread waits for the GIL."""

SINGLE_POINT_SECONDS = 0.25
"""Duration of the motion to a single point at time 0 [s]."""
REST_TOLERANCE = float(np.finfo(np.float32).eps)
"""Speed that counts as rest at the last point [rad/s or m/s]; the value of joint_trajectory_controller."""


class PastTrajectoryError(InputError):
    """A trajectory ended before it could begin."""


@dataclass(frozen=True, eq=False)
class Points:
    """Points to move through, by time since the start of the trajectory.

    Attributes:
        times: Increasing, none negative, shape (m,), m >= 1 [s].
        q: Positions, shape (m, n) [rad or m].
        v: Velocities, shape (m, n) [rad/s or m/s]; NaN: to be chosen.
        a: Accelerations, shape (m, n) [rad/s^2 or m/s^2]; NaN: to be chosen.
    """

    times: Array
    q: Array
    v: Array
    a: Array

    @classmethod
    def from_arrays(
        cls, times: ArrayLike, q: ArrayLike, v: ArrayLike | None = None, a: ArrayLike | None = None,
        *, ends_at_rest: bool = True,
    ) -> Points:
        """Check arrays of times, positions, velocities and accelerations, and return them as points.

        Args:
            times: Shape (m,) [s].
            q: Shape (m, n).
            v: Shape (m, n), NaN: to be chosen; None: all are to be chosen.
            a: Likewise.
            ends_at_rest: Whether the last point has to be at rest.

        Raises:
            InputError: No points, shapes that do not fit, numbers that are not finite, times that do not increase,
                or a last point that is not at rest.
        """
        times, q = np.array(times, dtype=np.float64, ndmin=1), np.array(q, dtype=np.float64, ndmin=2)
        v = np.full(q.shape, np.nan) if v is None else np.array(v, dtype=np.float64, ndmin=2)
        a = np.full(q.shape, np.nan) if a is None else np.array(a, dtype=np.float64, ndmin=2)
        if not len(times):
            raise InputError("trajectory: expected at least one point, received none")
        check_count(len(times))
        for name, array in (("positions", q), ("velocities", v), ("accelerations", a)):
            if array.shape != (len(times), q.shape[1]):
                raise InputError(f"trajectory: expected {name} of shape {(len(times), q.shape[1])}, one row for each "
                                 f"of {len(times)} times, received {array.shape}")
        if not np.isfinite(times).all() or not np.isfinite(q).all() or np.isinf(v).any() or np.isinf(a).any():
            raise InputError("trajectory: expected finite times, positions, velocities and accelerations")
        if times[0] < 0:
            raise InputError(f"trajectory: expected times from 0 on, received {times[0]:g} s for point 0")
        for i in np.flatnonzero(np.diff(times) <= 0)[:1]:
            raise InputError(f"trajectory: expected increasing times, received {times[i]:g} s for point {i} "
                             f"and {times[i + 1]:g} s for point {i + 1}")
        if ends_at_rest and (np.abs(v[-1]) > REST_TOLERANCE).any():
            raise InputError(
                f"trajectory: expected the last point at rest, since it is held afterwards; received velocities {v[-1]}"
            )
        return cls(times, q, v, a)

    def after(self, time: float) -> Points:
        """Return only the points later than this time since the start [s].

        Raises:
            PastTrajectoryError: There are none.
        """
        later = self.times > time
        if not later.any():
            raise PastTrajectoryError(
                f"trajectory: ended {time - self.times[-1]:.3g} s before it could begin; give header.stamp 0 to start "
                f"on arrival, or a start in the future"
            )
        return Points(self.times[later], self.q[later], self.v[later], self.a[later])

    def short_way(self, start: Array, angles: NDArray[np.bool_]) -> Points:
        """Return the points with angles shifted by whole turns, so that the motion begins the short way; see `turns`.

        Args:
            start: Where the motion begins, shape (n,) [rad or m].
            angles: Whether a joint's position is an angle, shape (n,).
        """
        return replace(self, q=short_way(self.q, start, angles)) if self.q.shape[1] == len(angles) else self

    def stretched(self, factor: float) -> Points:
        """Return the same path with times multiplied by a factor of at least 1."""
        return Points(factor * self.times, self.q, self.v / factor, self.a / factor**2)


def check_count(points: int) -> None:
    """Refuse a trajectory of more than `MAX_POINTS` points.

    Raises:
        InputError: There are more.
    """
    if points > MAX_POINTS:
        raise InputError(f"trajectory: expected at most {MAX_POINTS} points, received {points}; send it in parts, or "
                         "with fewer points")


class JointTrajectory:
    """Quintics from a starting reference through points; the last point is held at rest.

    Missing velocities follow from a monotone cubic (PCHIP): 0 at turning points, at repeated positions and at the last
    point. A missing acceleration is the smaller one of the cubics on both sides, 0 if they differ in sign and at the
    last point. So a joint does not overshoot its points, unless given velocities or the initial motion make it.

    Args:
        start: The reference at `start_time`, where the motion begins.
        start_time: On the clock of `sample` [s].
        points: Points to move through; their times count from `origin`.
        origin: Zero of the points' times, on the same clock [s]; default: `start_time`.

    Attributes:
        start_time: When the motion begins [s].
        end_time: When it ends [s].
        origin: Zero of the points' times [s].
        kind: Class of the references that it gives.

    Raises:
        InputError: No point is later than the start, the numbers of joints differ, or a first point at the start time
            is further than `START_TOLERANCE` from the starting reference.
    """

    kind: ClassVar[type] = JointReference

    def __init__(self, start: JointReference, start_time: float, points: Points, origin: float | None = None) -> None:
        origin = start_time if origin is None else origin
        if points.q.shape[1] != len(start.q):
            raise InputError(f"trajectory: expected {len(start.q)} joints, received {points.q.shape[1]}")
        if points.times[0] + origin == start_time:
            _check_start(start, points)
            if len(points.times) == 1:  # the robot is within a tolerance of it
                points = replace(points, times=points.times + SINGLE_POINT_SECONDS)
        later = points.after(start_time - origin)
        times = np.concatenate([[start_time - origin], later.times])
        q = np.vstack([start.q, later.q])
        v = _fill_velocities(times, q, np.vstack([start.v, later.v]))
        a = _fill_accelerations(times, q, v, np.vstack([start.a, later.a]))
        rest = np.zeros(q.shape[1])
        self.start_time: float = start_time
        self.end_time = float(times[-1]) + origin
        self.origin = origin
        self._points = points
        self._times: list[float] = times.tolist()  # since the origin
        self._first_end = JointReference(q[1], v[1], a[1])
        self._coefficients = list(coefficients(np.diff(times), q, v, a))
        self._last = JointReference(q[-1], rest, rest)
        self._segment = 0

    def short_way(self, angles: NDArray[np.bool_]) -> JointTrajectory:
        """Return the same motion with angles that begin the short way, see `Points.short_way`.

        Args:
            angles: Whether a joint's position is an angle, shape (n,).
        """
        start = self.sample(self.start_time)
        points = self._points.short_way(start.q, angles)
        return self if points.q is self._points.q else JointTrajectory(start, self.start_time, points, self.origin)

    def delayed(self, delay: float) -> JointTrajectory:
        """Return the same motion, delayed by this time [s]."""
        other = copy.copy(self)
        other.start_time, other.end_time = self.start_time + delay, self.end_time + delay
        other.origin = self.origin + delay
        return other

    def joined(self, start: JointReference, start_time: float) -> JointTrajectory:
        """Return a trajectory to the same points at the same times, from another reference at another time.

        Cheap unless points have passed by then, so that it can be computed within a tick.

        Args:
            start: The reference at `start_time`.
            start_time: On the same clock [s].

        Raises:
            InputError: All points have passed.
        """
        time = start_time - self.origin
        if time >= self._times[1]:
            return JointTrajectory(start, start_time, self._points, self.origin)
        ends = (np.stack(pair) for pair in zip(start, self._first_end, strict=True))
        first = coefficients(np.array([self._times[1] - time]), *ends)[0]
        other = copy.copy(self)
        other.start_time = start_time
        other._times = [time, *self._times[1:]]
        other._coefficients = [first, *self._coefficients[1:]]
        return other

    def sample(self, time: float) -> JointReference:
        """Return the reference at a time [s]; fastest if times increase from call to call."""
        if time >= self.end_time:
            return self._last
        times, time = self._times, time - self.origin
        if time < times[self._segment]:
            self._segment = 0
        while self._segment < len(times) - 2 and time >= times[self._segment + 1]:
            self._segment += 1
        begin = times[self._segment]
        duration = times[self._segment + 1] - begin
        rows = basis((time - begin) / duration, duration).dot(self._coefficients[self._segment])
        return JointReference(rows[0], rows[1], rows[2])

    def point_ahead(self, time: float) -> int:
        """Return the index of the first given point not reached by a time [s]; at the end, of the last one."""
        return min(int(np.searchsorted(self._points.times, time - self.origin, "right")), len(self._points.times) - 1)

    def extremes(self, samples: int = 32) -> tuple[Array, Array, Array]:
        """Return lowest and highest position and greatest speed of each joint by sampling, each of shape (n,)."""
        bases = np.stack([basis(u, 1.0)[:2] for u in np.linspace(0.0, 1.0, samples)])  # (samples, 2, 6)
        durations = np.diff(self._times)
        found = []
        for first in range(0, len(durations), _SEGMENTS_AT_ONCE):
            part = slice(first, first + _SEGMENTS_AT_ONCE)
            q, v = np.einsum("pdk,skn->dspn", bases, np.stack(self._coefficients[part]))
            speed = np.abs(v) / durations[part, None, None]
            found.append((q.min(axis=(0, 1)), q.max(axis=(0, 1)), speed.max(axis=(0, 1))))
        lowest, highest, fastest = map(np.stack, zip(*found, strict=True))
        return lowest.min(axis=0), highest.max(axis=0), fastest.max(axis=0)


def _check_start(start: JointReference, points: Points) -> None:
    distance = np.abs(points.q[0] - start.q)
    if (distance > START_TOLERANCE).any():
        joint = int(distance.argmax())
        raise InputError(
            f"trajectory: its first point, at time 0, is {distance[joint]:.3g} from the present reference of joint "
            f"{joint} ({points.q[0, joint]:.6g} against {start.q[joint]:.6g}); give it a time to get there, or start "
            f"within {START_TOLERANCE:g}"
        )


def _fill_velocities(times: Array, q: Array, v: Array) -> Array:
    """Fill missing velocities: inside by [FritschButland], like SciPy's PchipInterpolator; 0 at the end.

    The first point has the velocities of the starting reference.
    """
    h = np.diff(times)[:, None]
    secant = np.diff(q, axis=0) / h
    chosen = np.zeros_like(q)
    chosen[1:-1] = monotone_velocity(h[:-1], h[1:], secant[:-1], secant[1:])
    return np.where(np.isnan(v), chosen, v)


def _fill_accelerations(times: Array, q: Array, v: Array, a: Array) -> Array:
    h = np.diff(times)[:, None]
    secant = np.diff(q, axis=0) / h
    chosen = np.zeros_like(q)
    chosen[1:-1] = smaller_acceleration(h[:-1], h[1:], secant[:-1], secant[1:], v[:-2], v[1:-1], v[2:])
    return np.where(np.isnan(a), chosen, a)


def monotone_velocity(before: Any, after: Any, secant_before: Any, secant_after: Any) -> Any:
    """Return the velocity at an inner point by [FritschButland]; 0 where the motion turns. Arguments may be traced.

    Args:
        before: Time since the previous point [s].
        after: Time to the next point [s].
        secant_before: Mean velocity since the previous point.
        secant_after: Mean velocity to the next point.
    """
    goes_on = greater(sign(secant_before) * sign(secant_after), 0.0)
    of_before, of_after = 2.0 * after + before, after + 2.0 * before
    mean = (of_before / where(goes_on, secant_before, 1.0) + of_after / where(goes_on, secant_after, 1.0)) / (
        of_before + of_after)
    return where(goes_on, 1.0 / mean, 0.0)


def smaller_acceleration(before: Any, after: Any, secant_before: Any, secant_after: Any, v_before: Any, v: Any,
                         v_after: Any) -> Any:
    """Return the acceleration at an inner point: the smaller one of the cubics on both sides, 0 if they differ in sign.

    Args:
        before: Time since the previous point [s].
        after: Time to the next point [s].
        secant_before: Mean velocity since the previous point.
        secant_after: Mean velocity to the next point.
        v_before: Velocity at the previous point.
        v: Velocity at the point.
        v_after: Velocity at the next point.
    """
    at_end = (-6 * secant_before + 2 * v_before + 4 * v) / before
    at_begin = (6 * secant_after - 4 * v - 2 * v_after) / after
    smaller = where(less(abs(at_end), abs(at_begin)), at_end, at_begin)
    return where(greater(at_end * at_begin, 0.0), smaller, 0.0)
