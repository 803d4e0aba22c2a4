"""The newest message of a fast topic for a slow reader, at the reader's rate instead of the topic's."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from rclpy.node import Node

from robodyn_ros.nodes.common.qos import LATEST_QOS
from robodyn_ros.nodes.common.unserved_subscription import unserved_subscription

Message = TypeVar("Message")


class LatestMessage(Generic[Message]):
    """A subscription that wakes nobody: messages overwrite each other until one is taken.

    Args:
        node: The node that subscribes.
        message_type: Type of the messages.
        topic: Name of the topic.
    """

    def __init__(self, node: Node, message_type: type[Message], topic: str) -> None:
        self._message_type: Any = message_type
        self._subscription = unserved_subscription(node, message_type, topic, LATEST_QOS)

    def take(self) -> Message | None:
        """Return the newest message, or None where none has come since the last call."""
        with self._subscription.handle:
            taken = self._subscription.handle.take_message(self._message_type, False)
        return None if taken is None else taken[0]
