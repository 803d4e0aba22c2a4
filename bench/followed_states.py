# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Joint states to which commands led: those that the hardware has marked by no new start for a while."""

from __future__ import annotations

from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

from robodyn_interfaces.msg import NewStart
from robodyn_ros.base import topic_names
from robodyn_ros.nodes.common.messages import read_stamp

SETTLED = 20_000_000
"""Time of the stamps without a new start [ns]: its message and the joint state may overtake each other."""


class FollowedStates:
    """Hears the topic ``new_starts``; the node's executor serves it.

    Args:
        node: The node that subscribes.
        namespace: Of the robot; empty: that of the node.

    Attributes:
        count: Number of messages.
    """

    def __init__(self, node: Node, namespace: str = "") -> None:
        self.count, self._since = 0, 0
        topic = f"{namespace.rstrip('/')}/{topic_names.NEW_STARTS}" if namespace else topic_names.NEW_STARTS
        node.create_subscription(NewStart, topic, self._note, QoSProfile(depth=1000))

    def includes(self, state: JointState) -> bool:
        """Return whether commands led to a joint state, and to those shortly before it; ask for each one in turn."""
        stamp = read_stamp(state.header.stamp)
        self._since = self._since or stamp
        return stamp - self._since > SETTLED

    def _note(self, message: NewStart) -> None:
        self.count += 1
        self._since = max(self._since, read_stamp(message.header.stamp))
