# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""What the nodes under attack publish: signs of life, gaps between joint states, and efforts."""

from __future__ import annotations

from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from bench.attack.law_alone import LawsAlone
from robodyn_interfaces.msg import ControllerState
from robodyn_ros.description.model import Array
from robodyn_ros.nodes.common.joint_wire import JointWire
from robodyn_ros.nodes.common.participants import own_participant, participant, sender
from robodyn_ros.nodes.common.topics import unserved_subscription
from robodyn_ros.nodes.internals.rcl import take_serialized
from robodyn_ros.robot import Robot

_DEPTH = 1000  # an attacker that is busy loses no joint state
_TOPICS: dict[str, tuple[type, str]] = {
    "hardware": (JointState, "joint_states"),
    "controller": (ControllerState, "controller/controller_state"),
    "dynamics": (JointState, "dynamics/gravity_effort"),
    "state_publisher": (TFMessage, "/tf"),
}


JUDGED_LAWS = ("pd_gravity", "damping")
"""Laws whose efforts are compared with those of the law alone."""


class Observation:
    """Listens to one topic of each node, and ignores what the attacker itself publishes.

    Args:
        node: The attacker's node.
        robot: The robot.

    Attributes:
        heard: Messages of each node since it was started.
        gap: Greatest time between two joint states, by their stamps or by when they were published [s].
        effort: Greatest effort of each joint in the direction of its motion, shape (n,) [N m].
        braking: Greatest effort of each joint against its motion, shape (n,) [N m]: also that of the drives that brake
            in the safe behaviour.
        beyond_law: Greatest difference between the controller's effort and the law's own [N m].
        reference_speed: Speed of the reference in the last controller state, of the fastest joint [rad/s].
    """

    def __init__(self, node: Node, robot: Robot) -> None:
        self._own = own_participant(node)
        self._laws = LawsAlone(robot, *JUDGED_LAWS)
        self._wire = JointWire(robot.joint_names)
        self._ended: set[bytes] = set()
        self._publisher: dict[str, bytes] = {}
        self.heard = dict.fromkeys(_TOPICS, 0)
        self.reference_speed = 0.0
        self.effort: Array = np.zeros(robot.n)
        self.braking: Array = np.zeros(robot.n)
        self.forget(pause=True)
        self._subscriptions = {name: (kind, unserved_subscription(node, kind, topic, QoSProfile(depth=_DEPTH)))
                               for name, (kind, topic) in _TOPICS.items()}

    def read(self) -> None:
        """Take all messages that have come; `take_serialized` knows their senders on each release of ROS 2."""
        for name, (kind, subscription) in self._subscriptions.items():
            with subscription.handle:
                while (taken := take_serialized(subscription.handle, kind)) is not None:
                    self._note(name, *taken)

    def forget(self, pause: bool = False) -> None:
        """Begin to measure anew; ``pause``: a gap since the last joint state is none of the nodes' doing."""
        if pause:
            self._last_stamp, self._last_published = 0, 0
        self.gap = self.beyond_law = 0.0
        self.effort, self.braking = np.zeros_like(self.effort), np.zeros_like(self.effort)

    def restarted(self, name: str) -> None:
        """Ignore what comes late from the process of a node that has ended, and wait for its successor."""
        if name in self._publisher:
            self._ended.add(self._publisher.pop(name))
        self.heard[name] = 0

    def _note(self, name: str, data: bytes, info: dict[str, Any]) -> None:
        process = participant(sender(info))
        if process == self._own or process in self._ended:
            return
        self._publisher[name] = process
        self.heard[name] += 1
        if name == "hardware":
            self._note_joint_state(data, info["source_timestamp"])
        elif name == "controller":
            self._note_controller_state(data)

    def _note_joint_state(self, data: bytes, published: int) -> None:
        known = self._wire.decode(data)
        if known is None:
            return
        stamp, (_, v, effort) = known
        if self._last_stamp:
            self.gap = max(self.gap, 1e-9 * (stamp - self._last_stamp), 1e-9 * (published - self._last_published))
        self._last_stamp, self._last_published = stamp, published
        drives = effort * v > 0.0
        self.effort = np.maximum(self.effort, np.where(drives, np.abs(effort), 0.0))
        self.braking = np.maximum(self.braking, np.where(drives, 0.0, np.abs(effort)))

    def _note_controller_state(self, data: bytes) -> None:
        message = deserialize_message(data, ControllerState)
        self.reference_speed = max(map(abs, message.reference.velocities), default=0.0)
        self.beyond_law = max(self.beyond_law, self._laws.excess(message))
