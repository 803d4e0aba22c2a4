# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Joint states as drivers publish them: in any order, with more joints, without velocities."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import hypot
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.base.fields import Field
from robodyn_ros.base.timing import to_nanoseconds, to_seconds
from robodyn_ros.control.runtime.velocity_estimate import VelocityEstimate
from robodyn_ros.description.model import Array
from robodyn_ros.nodes.common.diagnostics import Diagnostics
from robodyn_ros.nodes.common.joint_states import REJECTED_STATES, TOPIC, Indices, JointStateReader, NamedState
from robodyn_ros.nodes.common.messages import VELOCITY, JointOrder, MessageError

VELOCITY_FILTER = Field("velocity_filter", 0.0, "Time constant of the low-pass filter on velocities that joint states "
                        "lack, which are differences of positions; 0: none", unit="s", structural=True, minimum=0.0,
                        maximum=10.0)


CONSTANT_AFTER = 3
"""So many changes of positions with the same stamp tell that a driver leaves it constant."""

_NO_STAMP = -1, np.zeros(0), 0, 0.0  # before the first joint state


class MeasuredState(NamedTuple):
    """A joint state in the robot's order.

    Attributes:
        stamp: Its stamp [ns].
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
        new_start: Why no commanded motion leads to it; empty if one does.
    """

    stamp: int
    q: Array
    v: Array
    new_start: str


class ConstantStamps:
    """Gives the joint states of a driver that never changes their stamp the times of their arrival.

    A repeated stamp stands for the same state, as a paused simulation repeats it, while the positions stay the same.

    Args:
        diagnostics: Receives a warning while there is such a driver.
    """

    def __init__(self, diagnostics: Diagnostics) -> None:
        self._diagnostics = diagnostics
        # By the joints of a driver: a stamp, the positions that came with it last, how often they changed, and the
        # steady time at which it came first [s].
        self._last: dict[bytes, tuple[int, Array, int, float]] = {}

    def stamp(self, state: NamedState, now: float) -> int:
        """Return the stamp of a joint state, or that of its arrival, counted from the constant one [ns].

        Args:
            state: The joint state.
            now: Steady time of its arrival [s].
        """
        key = b"" if state.complete else state.joints.tobytes()
        stamp, q, changes, since = self._last.get(key, _NO_STAMP)
        if stamp != state.stamp:
            if changes >= CONSTANT_AFTER:
                self._diagnostics.clear_condition("stamps", "the stamps of joint states change")
            self._last[key] = state.stamp, state.q, 0, now
            return state.stamp
        if changes < CONSTANT_AFTER:
            if np.array_equal(q, state.q):
                return stamp
            changes += 1
            self._last[key] = stamp, state.q, changes, since
            if changes < CONSTANT_AFTER:
                return stamp
            self._diagnostics.raise_condition(
                "stamps", f"{TOPIC}: header.stamp stays {to_seconds(stamp):g} s while the joints move: the times "
                "of arrival count instead; have the driver fill it in")
        return stamp + to_nanoseconds(now) - to_nanoseconds(since)


class JointStateInput:
    """Reads serialized joint states, merged by joint where several publishers send some joints each.

    A merged state comes as soon as every joint has a new position. Its stamp is the oldest of theirs. Bad messages are
    counted and reported.

    Args:
        joints: The robot's joints.
        diagnostics: Receives reports of bad joint states.
        estimate: Gives velocities that a message lacks: an empty field, or NaN, as joint_state_broadcaster publishes.
        patience: Longest time for which states of some joints wait for those of the others [s]; later ones are rejected
            until these come.
        new_start: Returns why no commanded motion leads to a message of a stamp [ns] and joints; empty if one does.

    Attributes:
        accepts: Returns whether the state of some joints may come from a publisher, with the arguments of
            :meth:`ControllerOwnership.accepts`; the caller sets it.
        estimated: Whether a velocity of the last state comes from positions.
        merged: Whether the last state comes from several messages.
        rejected: Number of messages that were rejected.
        rejection: Why the last one of them was.
    """

    def __init__(self, joints: JointOrder, diagnostics: Diagnostics, estimate: VelocityEstimate, patience: float = 0.5,
                 new_start: Callable[[int, Indices], str] = lambda stamp, joints: "") -> None:
        n = len(joints)
        self._patience, self._since = patience, 0.0
        self._joints, self._diagnostics, self._estimate = joints, diagnostics, estimate
        self._reader = JointStateReader(joints, diagnostics)
        self._q, self._v, self._stamps = np.zeros(n), np.zeros(n), np.zeros(n, np.int64)
        self._fresh, self._waits, self._new_start = np.zeros(n, bool), False, ""  # waits: whether any joint is fresh
        self._asked_anew = new_start
        self.accepts: Callable[[bytes, float, Indices], bool] = lambda gid, now, joints: True
        self.estimated = self.merged = False
        self.rejected, self.rejection = 0, ""
        self._constant = ConstantStamps(diagnostics)

    def read(self, data: bytes, gid: bytes = b"", now: float | None = None) -> MeasuredState | None:
        """Read a message; for one thread at a time.

        Args:
            data: The message.
            gid: Its publisher; empty: unknown.
            now: Steady time of its arrival [s]; None: the present.

        Returns:
            The joint state; None: the message names no joint of the robot or not all that are missing yet, its
            publisher is not accepted, or it is bad, which is reported.
        """
        if now is None:
            now = time.monotonic()
        try:
            state = self._reader.read(data)
            if state is None or not self.accepts(gid, now, state.joints):
                return None
            new_start = self._asked_anew(state.stamp, state.joints)
            stamp = self._constant.stamp(state, now)
            if not state.complete:
                return self._merge(state._replace(stamp=stamp), new_start, now)
            if self._waits:
                self._fresh[:] = self._waits = False
                self._new_start = ""
            self.merged = False
            if state.good_velocities and state.v is not None:
                self.estimated = False
                return MeasuredState(stamp, state.q, state.v, new_start)
            return self._complete(stamp, stamp, state.q, state.v, new_start)
        except MessageError as error:
            self._diagnostics.problem(f"{REJECTED_STATES}: {error.reason}", str(error))
            self.rejected, self.rejection = self.rejected + 1, str(error)
            return None

    @property
    def other_names(self) -> list[str]:
        """Joints of the last message of a new form that named none of the robot's joints; from any thread."""
        return self._reader.other_names

    def missing(self) -> list[str]:
        """Names of the joints without a new position while others have one; from any thread."""
        fresh = self._fresh.tolist()
        return [name for name, new in zip(self._joints.names, fresh, strict=True) if not new] if any(fresh) else []

    def _merge(self, state: NamedState, new_start: str, now: float) -> MeasuredState | None:
        """Return the state of all joints once it is complete.

        Raises:
            MessageError: It has not become complete in time.
        """
        joints = state.joints
        if not self._waits:
            self._since, self._waits = now, True
        self._q[joints], self._stamps[joints], self._fresh[joints] = state.q, state.stamp, True
        self._v[joints] = np.nan if state.v is None else state.v
        self._new_start = self._new_start or new_start
        if not self._fresh.all():
            if now - self._since > self._patience:
                missing = ", ".join(f"'{name}'" for name in self.missing())
                raise MessageError("missing joint", f"{TOPIC}: no value for {missing} for {self._patience:g} s; every "
                                   "joint of the robot must be named, by one node or by several")
            return None
        new_start, self._new_start = self._new_start, ""
        self._fresh[:] = self._waits = False
        self.merged = True
        return self._complete(int(self._stamps.min()), self._stamps.copy(), self._q.copy(), self._v.copy(), new_start)

    def _complete(self, stamp: int, stamps: int | NDArray[np.int64], q: Array, v: Array | None,
                  new_start: str) -> MeasuredState:
        """Fill in velocities that are missing, and check the others."""
        self.estimated = v is None or bool(np.isnan(v).any())
        if v is None or self.estimated:
            estimate = self._estimate.update(stamps, q)
            v = estimate if v is None else np.where(np.isnan(v), estimate, v)
        if not hypot(*v.tolist()) <= VELOCITY.maximum:
            self._joints.check(self._joints.names, v.tolist(), f"{TOPIC}: velocity", VELOCITY)
        return MeasuredState(stamp, q, v, new_start)
