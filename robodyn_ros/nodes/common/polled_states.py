# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Joint states for what a node publishes at a rate of its own, beside the control loop."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState

from robodyn_ros.description.model import Array
from robodyn_ros.errors import InputError
from robodyn_ros.nodes.common.joint_wire import JointWire
from robodyn_ros.nodes.common.messages import POSITION, JointOrder, read_stamp
from robodyn_ros.nodes.common.node_thread import NodeThread
from robodyn_ros.nodes.common.runtime import RobodynNode
from robodyn_ros.nodes.common.topics import AUDIENCE_PERIOD, DISPLAY_STATES, DISPLAY_STATES_RATE, LatestMessage

TOPIC = "joint_states"
DEFAULT_RATE = 30.0
"""Rate of what is made of joint states, unless another one is asked for: RViz draws 30 frames per second [Hz]."""


class PolledJointStates:
    """Looks for the newest joint state at a fixed rate, on a thread of its own.

    A turn of an executor takes ten times longer than a look, so no timer does it. This node subscribes to joint states
    while somebody subscribes to what it publishes: to receive them costs more than to use them. Where all joint states
    come from one hardware node, it takes them from the topic `DISPLAY_STATES`, unless that is too slow.

    Args:
        node: The node that subscribes.
        joints: The robot's joints.
        rate: Looks per second [Hz].
        publisher: Publishes what is made of them.
        use: Called in that thread with stamp [ns] and positions, shape (n,), of each joint state that is read.
        start: Positions of joints before a joint state names them, shape (n,); None: each joint state has to name all.
    """

    def __init__(self, node: RobodynNode, joints: JointOrder, rate: float, publisher: Publisher[Any],
                 use: Callable[[int, Array], None], start: Array | None = None) -> None:
        self._node, self._joints, self._use, self._q = node, joints, use, start
        self._publisher = publisher
        self._wire = JointWire(joints.names)
        self._period, self._suffices = 1.0 / rate, rate <= DISPLAY_STATES_RATE
        self._next = self._next_look = time.monotonic()
        self._topic = ""  # that is subscribed to; empty while nobody listens
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
        self._next = max(self._next + self._period, now)
        data = self._states.take_serialized()
        state = None if data is None else self._read(data)
        if state is not None:
            self._use(*state)

    def _choose_topic(self) -> None:
        """Subscribe while somebody listens, and no longer."""
        topic = ""
        if self._publisher.get_subscription_count() > 0:
            count = self._node.count_publishers
            from_hardware = self._suffices and count(TOPIC) == 1 == count(DISPLAY_STATES)
            topic = DISPLAY_STATES if from_hardware else TOPIC
        if topic == self._topic:
            return
        if self._states is not None:
            self._states.destroy(self._node)
        self._topic = topic
        self._states = LatestMessage(self._node, self._node.diagnostics, JointState, topic) if topic else None

    def _read(self, data: bytes) -> tuple[int, Array] | None:
        """Return stamp [ns] and positions; None: the message is bad, and is reported."""
        known = self._wire.decode_within(data, POSITION.maximum)
        if known is not None:
            stamp, q = known[0], known[1][0]
        else:
            message = self._node.diagnostics.deserialize(data, JointState, TOPIC)
            if message is None:
                return None
            try:
                stamp = read_stamp(message.header.stamp, f"{TOPIC}: header.stamp")
                q = self._joints.read(message.name, message.position, f"{TOPIC}: position", POSITION, fill=self._q,
                                      others=True)
            except InputError as error:
                self._node.diagnostics.problem("rejected joint states", str(error))
                return None
        if self._q is not None:
            self._q = q
        return stamp, q
