"""Qualities of service that nodes share, and subscriptions that no executor serves."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from rclpy.callback_groups import CallbackGroup
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

CONTROL_QOS = QoSProfile(reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.VOLATILE,
                         history=HistoryPolicy.KEEP_LAST, depth=1)
"""Of joint_states and joint_commands, publishers and subscriptions: nothing lost while both keep up, else the newest.

Reliable publishers also serve best-effort subscriptions (robot_state_publisher, RViz); a best-effort publisher is not
heard by a control path, which reports it by name.
"""

COMMAND_QOS = QoSProfile(reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.VOLATILE,
                         history=HistoryPolicy.KEEP_LAST, depth=10)
"""Of the subscription of joint_commands: commands of several publishers, each for some joints, do not displace each
other within a control period.
"""

LATCHED_QOS = QoSProfile(reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL,
                         history=HistoryPolicy.KEEP_LAST, depth=1)
"""Of robot_description: late joiners get the last value."""

LATEST_QOS = QoSProfile(reliability=ReliabilityPolicy.BEST_EFFORT, history=HistoryPolicy.KEEP_LAST, depth=1)
"""Of subscriptions for which the newest is all that is wanted, and the publisher is not to wait for anybody."""


class NoExecutor(CallbackGroup):
    """Callback group whose entities no executor ever waits for."""

    def can_execute(self, entity: Any) -> bool:
        """Return that no executor may."""
        return False

    def beginning_execution(self, entity: Any) -> bool:
        """Return that no executor may."""
        return False

    def ending_execution(self, entity: Any) -> None:
        """Do nothing."""


def unserved_subscription(node: Node, message_type: type[Any], topic: str, qos: QoSProfile) -> Any:
    """A subscription that wakes no executor: neither by its messages nor by its events.

    Events (incompatible quality of service) have no handlers, since Fast DDS wakes who waits for a reader's events for
    each of its messages too: the executor would turn as often as messages come. So nothing warns of publishers that
    are not heard; ``ControlPath.unheard_publishers`` finds them.

    Args:
        node: The node that subscribes.
        message_type: Type of the messages.
        topic: Name of the topic.
        qos: Quality of service.

    Returns:
        The subscription; messages are taken by ``subscription.handle.take_message(message_type, False)``.
    """
    subscription = node.create_subscription(message_type, topic, _ignore_message, qos,
                                            event_callbacks=SubscriptionEventCallbacks(use_default_callbacks=False))
    subscription.callback_group = NoExecutor()
    return subscription


def _ignore_message(_: Any) -> None:
    """Stand in for the callback, which nothing calls."""


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
