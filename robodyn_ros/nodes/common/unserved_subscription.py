"""Subscriptions that no executor serves: a thread of its own waits for their messages, or nobody does."""

from __future__ import annotations

from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import QoSProfile


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
