# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The control path of a node, from joint state to command: a thread that waits for one or a few subscriptions.

The thread waits for nothing else, which takes a fraction of the time of an executor.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any, NamedTuple

from rclpy.node import Node
from rclpy.qos import QoSCompatibility, QoSProfile, qos_check_compatible

from robodyn_ros.nodes.common.diagnostics import Diagnostics
from robodyn_ros.nodes.common.node_thread import NodeThread
from robodyn_ros.nodes.common.topics import STATE_QOS, take_newest, unserved_subscription
from robodyn_ros.nodes.internals.rcl import take_serialized
from robodyn_ros.nodes.internals.rclpy_parts import SubscriptionWait

LOOK_PERIOD = 0.1
"""Time between two searches for publishers of further topics [s]; waiting for a topic without publishers costs 10 us
per period."""


class _FurtherTopic(NamedTuple):
    """A further subscription of a control path."""

    subscription: Any
    message_type: type[Any]
    topic: str
    handler: Callable[[Any], None]


class ControlPath(NodeThread):
    """A subscription and the thread that waits for it: the control path of a node.

    :meth:`wait` and :meth:`take` return the messages of this subscription. Messages of further topics, see
    :meth:`listen`, go to handlers in the same thread.

    Args:
        node: The node that subscribes; :meth:`RobodynNode.add_control_path` starts and stops this path with it.
        diagnostics: The node's diagnostics.
        message_type: Type of the messages.
        topic: Name of the topic.
        cycle: Called with this path again and again while :attr:`active`; it waits with :meth:`wait`.
        qos: Quality of service of the subscription.
        serialized: Whether to return messages as bytes; see :mod:`robodyn_ros.nodes.common.joint_wire`.
        every: Whether to return every message, not only the newest waiting one.

    Attributes:
        info: Sequence number, times and publisher of the last message taken, from any topic; for the thread of the path
            only.
    """

    def __init__(self, node: Node, diagnostics: Diagnostics, message_type: type[Any], topic: str,
                 cycle: Callable[[ControlPath], None], qos: QoSProfile = STATE_QOS, serialized: bool = False,
                 every: bool = False) -> None:
        super().__init__(f"control path of {topic}", diagnostics, partial(cycle, self))
        self.info: dict[str, Any] = {}
        self._node, self._serialized = node, serialized
        self._message_type, self._topic, self._every = message_type, topic, every
        self._subscription = unserved_subscription(node, message_type, topic, qos)
        self._used: list[Any] = []
        self._further: list[_FurtherTopic] = []
        self._heard: list[_FurtherTopic] = []  # those with publishers at the last search
        self._next_look = 0.0
        self._handle = self._subscription.handle
        self._waiting = SubscriptionWait(node, 1)

    def listen(self, message_type: type[Any], topic: str, handler: Callable[[Any], None],
               qos: QoSProfile = STATE_QOS) -> None:
        """Wait for a further topic too; call this before the path starts.

        Args:
            message_type: Type of the messages.
            topic: Name of the topic.
            handler: Called in the path's thread, by :meth:`wait` and :meth:`handle_further`, with each message.
            qos: Quality of service of the subscription.
        """
        subscription = unserved_subscription(self._node, message_type, topic, qos)
        self._further.append(_FurtherTopic(subscription, message_type, topic, handler))
        self._waiting = SubscriptionWait(self._node, 1 + len(self._further))

    def use(self, handle: Any) -> None:
        """Keep the handle of a publisher or subscription while the path's thread runs; call before the path starts.

        The thread may then use the handle directly; rclpy's publisher and subscription enter and leave it at each call.
        """
        self._used.append(handle)

    def wait(self, timeout: float | None = None) -> Any | None:
        """Wait for the next message of any topic; for the thread of the path only.

        This method also runs functions given to :meth:`call` and handlers of further topics.

        Args:
            timeout: Longest wait [s]; None: no limit.

        Returns:
            The message, or None after the timeout or ``LOOK_PERIOD``, a message of a further topic, a call,
            :meth:`wake` or a stop.
        """
        waited_for = self._heard
        if self._further:
            if (now := time.monotonic()) >= self._next_look:
                waited_for = self._further  # messages may remain after their publishers have left
                self._heard = [each for each in waited_for if each.subscription.handle.get_publisher_count()]
                self._next_look = now + LOOK_PERIOD
            elif timeout is None or timeout > LOOK_PERIOD:
                timeout = LOOK_PERIOD
        handles = [further.subscription.handle for further in waited_for] if waited_for else ()
        ready = self._waiting.wait(self._handle, handles, -1 if timeout is None else int(1e9 * timeout))
        if self._calls:
            self._run_calls()
        if ready:
            for further, has_message in zip(waited_for, ready, strict=True):
                if has_message:
                    self._handle_all(further)
        return self.take()

    def take(self) -> Any | None:
        """Return a waiting message, if any, without waiting; for the thread of the path only."""
        taken = (take_serialized if self._every else take_newest)(self._handle, self._message_type)
        if taken is None:
            return None
        data, self.info = taken
        return data if self._serialized else self._diagnostics.deserialize(data, self._message_type, self._topic)

    def handle_further(self) -> None:
        """Pass the waiting messages of further topics to their handlers; for the thread of the path only."""
        for further in self._further:
            self._handle_all(further)

    def discard(self) -> None:
        """Drop the waiting messages of all topics; for the thread of the path only."""
        take_newest(self._handle, self._message_type)
        for further in self._further:
            take_newest(further.subscription.handle, further.message_type)

    def _handle_all(self, further: _FurtherTopic) -> None:
        """Pass all waiting messages to the handler; malformed ones go to the diagnostics."""
        while (taken := take_serialized(further.subscription.handle, further.message_type)) is not None:
            data, self.info = taken
            message = self._diagnostics.deserialize(data, further.message_type, further.topic)
            if message is not None:
                further.handler(message)

    def wake(self) -> None:
        """Make a :meth:`wait` or :meth:`sleep` return early; from any thread."""
        self._waiting.wake()
        super().wake()

    def incompatible_publishers(self) -> str:
        """Return the publishers with an incompatible quality of service, and why; empty: none."""
        faults = []
        for subscription in (self._subscription, *(further.subscription for further in self._further)):
            topic = subscription.topic_name
            for publisher in self._node.get_publishers_info_by_topic(topic):
                compatibility, reason = qos_check_compatible(publisher.qos_profile, subscription.qos_profile)
                if compatibility == QoSCompatibility.ERROR:
                    faults.append(f"'{publisher.node_name}' publishes {topic}, but is not heard: {reason.strip()}")
        return "; ".join(faults)

    def _run(self) -> None:
        with ExitStack() as used:
            for entity in (self._handle, *self._waiting.entities, *self._used,
                           *(further.subscription.handle for further in self._further)):
                used.enter_context(entity)
            super()._run()
