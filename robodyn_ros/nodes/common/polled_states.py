# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Polls the newest joint states of a robot at a node's own rate, from any number of publishers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState

from robodyn_ros.base import topic_names
from robodyn_ros.description.model import Array
from robodyn_ros.nodes.common.diagnostics import Diagnostics
from robodyn_ros.nodes.common.joint_states import REJECTED_STATES, TOPIC, JointStateReader
from robodyn_ros.nodes.common.messages import JointOrder, MessageError
from robodyn_ros.nodes.common.node_thread import NodeThread
from robodyn_ros.nodes.common.runtime import RobodynNode
from robodyn_ros.nodes.common.topics import AUDIENCE_PERIOD, DISPLAY_STATES_RATE, NEWEST_DEPTH, LatestMessage

DEFAULT_RATE = 30.0
"""Default rate of outputs from joint states [Hz]; RViz draws 30 frames per second."""


class NewestStates:
    """The newest state of each joint, merged by name from all messages.

    Args:
        joints: The robot's joints.
        diagnostics: Counts rejected messages.
        start: Positions of joints that no message names, shape (n,), NaN for the others; None: NaN for all.

    Attributes:
        q: Joint positions, shape (n,) [rad or m]; NaN before a message names the joint.
        effort: Joint efforts likewise [N m or N].
        stamps: Stamp of each joint's position, shape (n,) [ns]; joints from ``start`` have the newest one.
        updated: Whether a message has named the joint since :meth:`forget`, shape (n,).
        problem: Why the last message could not be used; empty if it could.
    """

    def __init__(self, joints: JointOrder, diagnostics: Diagnostics, start: Array | None = None) -> None:
        n = len(joints)
        self._reader, self._diagnostics = JointStateReader(joints, diagnostics), diagnostics
        self.q = np.full(n, np.nan) if start is None else start.copy()
        self._held = ~np.isnan(self.q)  # from start, until a message names it
        self.effort = np.full(n, np.nan)
        self.stamps: NDArray[np.int64] = np.zeros(n, np.int64)
        self.updated = np.zeros(n, bool)
        self.problem = ""

    def read(self, messages: Sequence[bytes]) -> bool:
        """Read serialized messages, the oldest first; return whether any names a joint of the robot."""
        missing = np.ones(len(self.q), bool)
        found = False
        for data in reversed(messages):  # the first one found is the newest
            try:
                state = self._reader.read(data)
            except MessageError as error:
                self.problem = str(error)
                self._diagnostics.problem(REJECTED_STATES, str(error))
                continue
            if state is None:
                continue
            new = missing[state.joints]
            joints = state.joints[new]
            self.q[joints], self.stamps[joints] = state.q[new], state.stamp
            if state.effort is not None:
                self.effort[joints] = state.effort[new]
            self.updated[joints] = True
            missing[joints] = self._held[joints] = False
            if not found:
                found, self.problem = True, ""
                self.stamps[self._held] = state.stamp
            if not (missing & ~self._held).any():
                break
        return found

    def forget(self) -> None:
        """Mark the present values as used."""
        self.updated[:] = False


class PolledJointStates:
    """Polls the newest joint states at a fixed rate, on its own thread.

    A timer would take ten times longer, for a turn of the executor. The node subscribes to joint states only while
    somebody subscribes to its own topic, because receiving them costs more than using them. If all joint states come
    from one hardware node, it takes them from the topic `DISPLAY_JOINT_STATES`, unless that is too slow.

    Args:
        node: The node that subscribes.
        joints: The robot's joints.
        rate: Polling rate [Hz].
        publisher: Publisher of the node's own topic.
        use: Called in that thread with the newest states if a message has named a joint since the last call.
        start: As for :class:`NewestStates`.
    """

    def __init__(self, node: RobodynNode, joints: JointOrder, rate: float, publisher: Publisher[Any],
                 use: Callable[[NewestStates], None], start: Array | None = None) -> None:
        self._node, self._use = node, use
        self._publisher = publisher
        self._newest = NewestStates(joints, node.diagnostics, start)
        self._period, self._suffices = 1.0 / rate, rate <= DISPLAY_STATES_RATE
        self._pause = self._period  # between two polls; shorter if messages would displace each other
        self._next = self._next_use = self._next_look = time.monotonic()
        self._topic = ""  # subscribed topic; empty while nobody subscribes
        self._states: LatestMessage[JointState] | None = None
        self._thread = NodeThread(f"newest of {TOPIC}", node.diagnostics, self._cycle)
        node.add_thread(self._thread)

    def _cycle(self) -> None:
        now = time.monotonic()
        if now < self._next:
            self._thread.sleep(self._next - now)
            return
        if now >= self._next_look:
            self._next_look = now + max(self._period, AUDIENCE_PERIOD)
            self._choose_topic()
        if self._states is None:
            self._next = self._next_look
            return
        messages = self._states.take_all_serialized()
        self._newest.read(messages)
        # Frequent messages of one publisher must not displace a rare one of another.
        if len(messages) > NEWEST_DEPTH // 2:
            self._pause *= 0.5
        elif len(messages) < NEWEST_DEPTH // 8:
            self._pause = min(2.0 * self._pause, self._period)
        if now >= self._next_use and self._newest.updated.any():
            self._use(self._newest)
            self._newest.forget()
        if now >= self._next_use:
            self._next_use = max(self._next_use + self._period, now)
        self._next = min(max(self._next + self._pause, now), self._next_use)

    def _choose_topic(self) -> None:
        """Subscribe while somebody subscribes to the node's topic."""
        topic = ""
        if self._publisher.get_subscription_count() > 0:
            count = self._node.count_publishers
            from_hardware = self._suffices and count(TOPIC) == 1 == count(topic_names.DISPLAY_JOINT_STATES)
            topic = topic_names.DISPLAY_JOINT_STATES if from_hardware else TOPIC
        if topic == self._topic:
            return
        if self._states is not None:
            self._states.destroy(self._node)
        self._topic = topic
        self._states = LatestMessage(self._node, self._node.diagnostics, JointState, topic) if topic else None
