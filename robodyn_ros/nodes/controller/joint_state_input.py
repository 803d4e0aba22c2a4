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

from robodyn_ros.control.velocity_estimate import VelocityEstimate
from robodyn_ros.description.model import Array
from robodyn_ros.fields import Field
from robodyn_ros.nodes.common.diagnostics import Diagnostics
from robodyn_ros.nodes.common.joint_states import REJECTED_STATES, TOPIC, Indices, JointStateReader, NamedState
from robodyn_ros.nodes.common.messages import VELOCITY, JointOrder, MessageError
from robodyn_ros.timing import to_nanoseconds, to_seconds

VELOCITY_FILTER = Field("velocity_filter", 0.0, "Time constant of the low-pass filter on velocities that joint states "
                        "lack, which are differences of positions; 0: none", unit="s", structural=True, minimum=0.0,
                        maximum=10.0)


CONSTANT_AFTER = 3
"""So many changes of positions with the same stamp tell that a driver leaves it constant."""


class _Repeated(NamedTuple):
    """A stamp, the positions that came with it last, how often they changed, and when it came first [ns]."""

    stamp: int
    q: Array
    changes: int
    since: int


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
        self._last: dict[bytes, _Repeated] = {}  # by the joints of a driver

    def stamp(self, state: NamedState) -> int:
        """Return the stamp of a joint state, or that of its arrival, counted from the constant one [ns]."""
        last = self._last.get(key := state.joints.tobytes())
        if last is None or last.stamp != state.stamp:
            if last is not None and last.changes >= CONSTANT_AFTER:
                self._diagnostics.clear_condition("stamps", "the stamps of joint states change")
            self._last[key] = _Repeated(state.stamp, state.q, 0, to_nanoseconds(time.monotonic()))
            return state.stamp
        if last.changes < CONSTANT_AFTER:
            if np.array_equal(last.q, state.q):
                return state.stamp
            self._last[key] = last = last._replace(q=state.q, changes=last.changes + 1)
            if last.changes < CONSTANT_AFTER:
                return state.stamp
            self._diagnostics.raise_condition(
                "stamps", f"{TOPIC}: header.stamp stays {to_seconds(state.stamp):g} s while the joints move: the times "
                "of arrival count instead; have the driver fill it in")
        return state.stamp + to_nanoseconds(time.monotonic()) - last.since


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
        self._fresh, self._new_start = np.zeros(n, bool), ""
        self._asked_anew = new_start
        self.estimated = self.merged = False
        self.rejected, self.rejection = 0, ""
        self._constant = ConstantStamps(diagnostics)

    def read(self, data: bytes, accepts: Callable[[Indices], bool] = lambda joints: True) -> MeasuredState | None:
        """Read a message; for one thread at a time.

        Args:
            data: The message.
            accepts: Returns whether the state of these joints may come from its publisher; called for messages that
                name any.

        Returns:
            The joint state; None: the message names no joint of the robot or not all that are missing yet, its
            publisher is not accepted, or it is bad, which is reported.
        """
        try:
            state = self._reader.read(data)
            if state is None or not accepts(state.joints):
                return None
            new_start = self._asked_anew(state.stamp, state.joints)
            state = state._replace(stamp=self._constant.stamp(state))
            if state.complete:
                self._fresh[:] = self.merged = False
                self._new_start = ""
                return self._complete(state.stamp, state.stamp, state.q, state.v, new_start)
            return self._merge(state, new_start)
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

    def _merge(self, state: NamedState, new_start: str) -> MeasuredState | None:
        """Return the state of all joints once it is complete.

        Raises:
            MessageError: It has not become complete in time.
        """
        joints, now = state.joints, time.monotonic()
        if not self._fresh.any():
            self._since = now
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
        self._fresh[:] = False
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
