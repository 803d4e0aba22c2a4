# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Shared qualities of service, subscriptions that no executor serves, and publishers for displays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from rclpy.callback_groups import CallbackGroup
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from robodyn_ros.nodes.common.diagnostics import Diagnostics
from robodyn_ros.nodes.internals.rcl import Taken, take_serialized

CONTROL_QOS = QoSProfile(reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.VOLATILE,
                         history=HistoryPolicy.KEEP_LAST, depth=1)
"""For joint_states and joint_commands: no message is lost while both sides keep up; otherwise the newest one is kept.

Reliable publishers also serve best-effort subscriptions (robot_state_publisher, RViz). A control path cannot receive
from a best-effort publisher, and reports it by name.
"""

LATCHED_QOS = QoSProfile(reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL,
                         history=HistoryPolicy.KEEP_LAST, depth=1)
"""For robot_description, refused_commands and surfaces: late subscribers get the last value."""

NEWEST_DEPTH = 32
"""Queue depth of subscriptions that need only the newest message.

Fast DDS 3 leaks a message of another publisher that was published before all kept messages and arrives after them
(DataReaderHistory.cpp, received_change_keep_last). On a busy machine, some tens of messages overtake one.
"""

COMMAND_QOS = QoSProfile(reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.VOLATILE,
                         history=HistoryPolicy.KEEP_LAST, depth=NEWEST_DEPTH)
"""For subscriptions of joint_commands: several publishers, each for some joints, do not displace the commands of each
other within a control period.
"""

STATE_QOS = QoSProfile(reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.VOLATILE,
                       history=HistoryPolicy.KEEP_LAST, depth=NEWEST_DEPTH)
"""For subscriptions that answer every joint state."""

LATEST_QOS = QoSProfile(reliability=ReliabilityPolicy.BEST_EFFORT, history=HistoryPolicy.KEEP_LAST, depth=NEWEST_DEPTH)
"""For subscriptions that need only the newest message and must not slow down the publisher."""


DISPLAY_QOS = QoSProfile(reliability=ReliabilityPolicy.BEST_EFFORT, history=HistoryPolicy.KEEP_LAST, depth=1)
"""For publishers of topics for displays."""

DISPLAY_RATE = 25.0
"""Greatest rate of topics for displays, in real time [Hz]."""

DISPLAY_STATES_RATE = 60.0
"""Greatest rate of the joint states for displays, in real time [Hz]."""

AUDIENCE_PERIOD = 0.5
"""Time between two checks for subscribers [s]; a check costs as much as taking two messages."""


class NoExecutor(CallbackGroup):
    """Callback group that no executor serves."""

    def can_execute(self, entity: Any) -> bool:
        """Return False: no executor may run the callback."""
        return False

    def beginning_execution(self, entity: Any) -> bool:
        """Return False: no executor may run the callback."""
        return False

    def ending_execution(self, entity: Any) -> None:
        """Do nothing."""


def unserved_subscription(node: Node, message_type: type[Any], topic: str, qos: QoSProfile) -> Any:
    """Create a subscription whose messages and events wake no executor.

    Events (incompatible quality of service) have no handlers, because Fast DDS wakes a thread that waits for a reader's
    events for each of its messages, too. ``ControlPath.incompatible_publishers`` finds such publishers instead.

    Args:
        node: The node that subscribes.
        message_type: Type of the messages.
        topic: Name of the topic.
        qos: Quality of service.

    Returns:
        The subscription; take its messages by `take_newest` or `rcl.take_serialized`.
    """
    # In the group from the beginning: an executor on another thread may check it before this function returns.
    return node.create_subscription(message_type, topic, _ignore_message, qos, callback_group=NoExecutor(),
                                    event_callbacks=SubscriptionEventCallbacks(use_default_callbacks=False))


def _ignore_message(_: Any) -> None:
    """Placeholder for the callback, which is never called."""


Message = TypeVar("Message")


class LatestMessage(Generic[Message]):
    """The newest message of a fast topic for a slower reader, without waking a thread.

    Args:
        node: The node that subscribes.
        diagnostics: Its diagnostics; count malformed messages.
        message_type: Type of the messages.
        topic: Name of the topic.
    """

    def __init__(self, node: Node, diagnostics: Diagnostics, message_type: type[Message], topic: str) -> None:
        self._message_type: Any = message_type
        self._diagnostics, self._topic = diagnostics, topic
        self._subscription = unserved_subscription(node, message_type, topic, LATEST_QOS)

    def take(self) -> Message | None:
        """Return the newest message; None if none arrived since the last call, or it is malformed."""
        data = self.take_serialized()
        if data is None:
            return None
        message: Message | None = self._diagnostics.deserialize(data, self._message_type, self._topic)
        return message

    def take_serialized(self) -> bytes | None:
        """Return the newest message as bytes; None if none arrived since the last call."""
        with self._subscription.handle:
            taken = take_newest(self._subscription.handle, self._message_type)
        return None if taken is None else taken[0]

    def take_all_serialized(self) -> list[bytes]:
        """Return the messages since the last call as bytes, at most `NEWEST_DEPTH`, oldest first."""
        found: list[bytes] = []
        with self._subscription.handle:
            while len(found) < NEWEST_DEPTH and (
                    taken := self._subscription.handle.take_message(self._message_type, True)) is not None:
                found.append(taken[0])
        return found

    def destroy(self, node: Node) -> None:
        """End the subscription.

        Args:
            node: The node that subscribes.
        """
        node.destroy_subscription(self._subscription)


def take_newest(handle: Any, message_type: type[Any]) -> Taken:
    """Take all waiting messages of a subscription.

    Args:
        handle: Handle of the subscription, entered as a context manager.
        message_type: Type of the messages.

    Returns:
        The newest one, serialized, with its information; None: none is waiting.
    """
    newest = None
    while (taken := take_serialized(handle, message_type)) is not None:
        newest = taken
    return newest


class DisplayPublisher:
    """Publisher of states for displays, with a limited rate in real time.

    Rates in simulated time may exceed what a display can draw, and each message costs the control loop time. The topic
    names begin with an underscore, so that ROS does not list or record them.

    Args:
        node: The node that publishes.
        message_type: Type of the messages.
        topic: Name of the topic.
        rate: Greatest rate [Hz].
    """

    def __init__(self, node: Node, message_type: type[Any], topic: str, rate: float = DISPLAY_RATE) -> None:
        self._publisher = node.create_publisher(message_type, topic, DISPLAY_QOS)
        self._period, self._next, self._next_look = 1.0 / rate, 0.0, 0.0
        self._heard = False
        self.publish: Callable[[Any], None] = self._publisher.publish

    def due(self, now: float) -> bool:
        """Return whether a message is due at a steady time [s] and somebody subscribes."""
        if now < self._next:
            return False
        if now >= self._next_look:
            self._next_look = now + AUDIENCE_PERIOD
            self._heard = self._publisher.get_subscription_count() > 0
        self._next = now + self._period if self._heard else self._next_look
        return self._heard
