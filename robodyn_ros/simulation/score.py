# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Results of rollouts: scores of many robots, and the whole motion of one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import greater_equal, maximum, sign, where
from robodyn_ros.control.contract.controller import JointReference
from robodyn_ros.description.model import Array
from robodyn_ros.simulation.tracking import TrackingRecord


class Sums(NamedTuple):
    """Sums over the ticks, for the score; each array may be traced.

    Attributes:
        error_square: Sum of squares of the tracking error, shape (e,), see `Score`.
        error_worst: Largest magnitude of the tracking error, shape (e,).
        effort_square: Sum of squares of the efforts, shape (n,).
        effort_worst: Largest magnitudes of the efforts, shape (n,).
        change_square: Sum of squares of the efforts' changes, shape (n,).
        overshoot: Largest error of the opposite sign to the first error, shape (e,).
        saturated: Number of ticks at the effort limit, shape (n,).
        first_error: Error at the first tick, shape (e,).
        effort: Efforts at the last tick, shape (n,).
    """

    error_square: Any
    error_worst: Any
    effort_square: Any
    effort_worst: Any
    change_square: Any
    overshoot: Any
    saturated: Any
    first_error: Any
    effort: Any

    @classmethod
    def zeros(cls, errors: int, n: int) -> Self:
        """Return the sums before the first tick, for e errors and n joints."""
        error, effort = np.zeros(errors), np.zeros(n)
        return cls(error, error, effort, effort, effort, error, effort, error, effort)

    def with_tick(self, is_first: Any, error: NDArray[Any], effort: NDArray[Any], limit: Array) -> Self:
        """Add a tick.

        Args:
            is_first: 1 at the first tick, else 0.
            error: Tracking error, shape (e,).
            effort: Commanded efforts, shape (n,) [N m or N].
            limit: Their limits, shape (n,) [N m or N].
        """
        change = where(is_first, 0.0, effort - self.effort)
        first_error = where(is_first, error, self.first_error)
        return type(self)(
            self.error_square + error * error,
            maximum(self.error_worst, abs(error)),
            self.effort_square + effort * effort,
            maximum(self.effort_worst, abs(effort)),
            self.change_square + change * change,
            maximum(self.overshoot, -sign(first_error) * error),
            self.saturated + greater_equal(abs(effort), limit),
            first_error,
            effort)


class Score(NamedTuple):
    """Errors and efforts of a rollout; for N robots, each array has a leading axis of robots.

    The tracking error has one element for each joint [rad or m]. If the controller follows poses, it has six, for
    translation and rotation of the tip link in base axes [m, rad]; axes that the law does not control count as 0. See
    `closed_loop.tracking_error` and `closed_loop.counted_errors`.

    Attributes:
        rms_error: Root mean square of the tracking error over the ticks, shape (e,).
        worst_error: Largest magnitude of the tracking error, shape (e,).
        rms_effort: Root mean square of the effort, shape (n,) [N m or N].
        worst_effort: Largest magnitude of the effort, shape (n,) [N m or N].
        rms_effort_change: Root mean square of the change of effort per tick, shape (n,) [N m or N].
        overshoot: Largest tracking error of the opposite sign to the first one, shape (e,); 0 for elements that start
            without error.
        saturated: Share of the ticks at which the effort of a joint is at its limit, shape (n,).
        q: Joint positions at the end, shape (n,) [rad or m].
        v: Joint velocities at the end, shape (n,) [rad/s or m/s].
    """

    rms_error: Array
    worst_error: Array
    rms_effort: Array
    worst_effort: Array
    rms_effort_change: Array
    overshoot: Array
    saturated: Array
    q: Array
    v: Array

    @classmethod
    def from_sums(cls, sums: Sums, ticks: int, q: Array, v: Array) -> Self:
        """Return the score after some ticks; each array may have a leading axis of robots.

        Args:
            sums: Sums over the ticks.
            ticks: Number of ticks.
            q: Joint positions at the end [rad or m].
            v: Joint velocities at the end [rad/s or m/s].
        """
        return cls(np.sqrt(sums.error_square / ticks), sums.error_worst, np.sqrt(sums.effort_square / ticks),
                   sums.effort_worst, np.sqrt(sums.change_square / max(1, ticks - 1)), sums.overshoot,
                   sums.saturated / ticks, q, v)


def joined(scores: Iterable[Score]) -> Score:
    """Concatenate the scores of several batches of robots."""
    return Score(*(np.concatenate(parts) for parts in zip(*scores, strict=True)))


@dataclass(frozen=True, eq=False)
class Rollout:
    """The motion of one robot at K ticks.

    Attributes:
        joint_names: Names of the joints.
        units: ``rad`` or ``m`` for each joint.
        tip_link: Name of the tip link.
        controller: Name of the controller's class.
        time: Shape (K,) [s].
        q: Joint positions, shape (K, n) [rad or m].
        v: Joint velocities, shape (K, n) [rad/s or m/s].
        effort: Commanded efforts, within the limits of the joints, shape (K, n) [N m or N].
        reference: References, of the class that the controller follows, each array with a leading axis of K ticks; None
            if the controller follows none.
        error: Tracking error, shape (K, e), see `Score`.
        score: Errors and efforts over all ticks, and the state after the last control period.
        note: Why the controller ran in Python, and how long a tick took; empty if it was compiled.
        terms: Terms of the efforts by name, each of shape (K, n) [N m or N]: those of the law, see `Terms`, and
            ``limits``, by which the effort limits changed them, or with a driver ``driver``. They add up to ``effort``.
            Empty: they were not asked for.
    """

    joint_names: tuple[str, ...]
    units: tuple[str, ...]
    tip_link: str
    controller: str
    time: Array
    q: Array
    v: Array
    effort: Array
    reference: Any
    error: Array
    score: Score
    note: str = ""
    terms: Mapping[str, Array] = field(default_factory=dict)

    def tracking(self) -> TrackingRecord:
        """A record for tables and plots: of the joints, or of the tip's position if the controller follows poses.

        Raises:
            InputError: The controller follows no reference.
        """
        if self.reference is None:
            raise InputError(f"tracking of {self.controller}: expected a law that follows a reference")
        names = [self.controller] * len(self.time)
        if isinstance(self.reference, JointReference):
            return TrackingRecord(self.joint_names, self.units, self.time, self.reference.q, self.q, names)
        axes, desired = [f"{self.tip_link} {axis}" for axis in "xyz"], self.reference.position
        return TrackingRecord(axes, ["m"] * 3, self.time, desired, desired - self.error[:, :3], names)
