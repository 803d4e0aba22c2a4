# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Results of rollouts: errors and efforts of many robots, and the whole motion of one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import greater_equal, maximum, sign, where
from robodyn_ros.control.contract.controller import JointReference
from robodyn_ros.description.model import Array
from robodyn_ros.simulation.tracking import TrackingRecord


class Sums(NamedTuple):
    """Sums over the ticks from which a score is made; each array may be traced.

    Attributes:
        error_square: Of squares of the tracking error, shape (e,), see `Score`.
        error_worst: Its largest magnitude, shape (e,).
        effort_square: Of squares of the efforts, shape (n,).
        effort_worst: Their largest magnitudes, shape (n,).
        change_square: Of squares of the efforts' changes, shape (n,).
        overshoot: The largest error against its sign at the first tick, shape (e,).
        saturated: The number of ticks at the effort limit, shape (n,).
        first_error: The error at the first tick, shape (e,).
        effort: The efforts at the last tick, shape (n,).
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
        """Before the first tick, for e errors and n joints."""
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
    """Errors and efforts of a rollout, each array for one robot, or with an axis of N robots before its own.

    The tracking error has one element for each joint [rad or m]; if the controller follows poses, it has six, for
    translation and rotation of the tip link in base axes [m, rad], 0 for axes that the law does not control. See
    `closed_loop.tracking_error` and `closed_loop.counted_errors`.

    Attributes:
        rms_error: Root of the mean square of the tracking error over the ticks, shape (e,).
        worst_error: Largest magnitude of the tracking error, shape (e,).
        rms_effort: Shape (n,) [N m or N].
        worst_effort: Shape (n,) [N m or N].
        rms_effort_change: Of the effort from one tick to the next, shape (n,) [N m or N].
        overshoot: Largest tracking error whose sign is opposite to that at the first tick, shape (e,); 0 for elements
            that begin without error.
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
        """The score after some ticks; each array may have an axis of robots first.

        Args:
            sums: Over the ticks.
            ticks: Their number.
            q: Joint positions at the end [rad or m].
            v: Joint velocities at the end [rad/s or m/s].
        """
        return cls(np.sqrt(sums.error_square / ticks), sums.error_worst, np.sqrt(sums.effort_square / ticks),
                   sums.effort_worst, np.sqrt(sums.change_square / max(1, ticks - 1)), sums.overshoot,
                   sums.saturated / ticks, q, v)


def joined(scores: Iterable[Score]) -> Score:
    """The scores of the robots of several batches, one after the other."""
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
        reference: The references, of the class that the controller follows, each array with an axis of K ticks before
            its own; None if the controller follows none.
        error: Tracking error, shape (K, e), see `Score`.
        score: Errors and efforts over all ticks, and the state after the last control period.
        note: Why the controller ran as Python code, and how long a tick took; empty if it was compiled.
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

    def tracking(self) -> TrackingRecord:
        """A record to tabulate and plot: of the joints, or of the tip's position if the controller follows poses.

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
