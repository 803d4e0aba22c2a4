# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Finds other processes that publish the same as a node on a topic, and which of them published first."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from robodyn_ros.nodes.common.participants import describe, participant, publishers, sender
from robodyn_ros.nodes.common.runtime import RobodynNode
from robodyn_ros.nodes.common.taken_messages import take_serialized
from robodyn_ros.nodes.common.topics import unserved_subscription

_QOS = QoSProfile(reliability=ReliabilityPolicy.BEST_EFFORT, durability=DurabilityPolicy.VOLATILE,
                  history=HistoryPolicy.KEEP_LAST, depth=50)


class Rival(NamedTuple):
    """Another process that publishes the same.

    Attributes:
        name: Name of its node, for messages.
        first: Whether it published before this node.
    """

    name: str
    first: bool


class RivalPublishers:
    """Looks for rivals on one topic; on the executor's thread.

    The graph shows a node that was killed for some time yet. Hence only a publisher that is heard is a rival. It stays
    one until it has left the graph: a rival that is held up for some seconds comes back. The node subscribes to the
    topic only while the graph shows another publisher.

    Args:
        node: The node that publishes.
        own: Its participant.
        message_type: Type of the messages.
        topic: Name of the topic.
        silent_after: Time without a message after which a rival has left that cannot be told from others [s].
        conflicts: Returns whether a message is one that only this node should publish; None: any is.
    """

    def __init__(self, node: RobodynNode, own: bytes, message_type: type[Any], topic: str, silent_after: float,
                 conflicts: Callable[[Any], bool] | None = None) -> None:
        self._node, self._message_type = node, message_type
        self._silent_after, self._conflicts = silent_after, conflicts
        self.topic = node.resolve_topic_name(topic)
        self._own = own
        self._subscription: Any = None
        self._own_count = 0
        self._heard: dict[bytes, tuple[float, int]] = {}  # by GID: when last, and number of the message
        self._first: dict[bytes, bool] = {}  # by GID: whether it was first, when it was heard first
        self._names: dict[bytes, str] = {}

    def are_shown(self) -> bool:
        """Return whether the graph shows another publisher, and listen while it does."""
        names = publishers(self._node, [self.topic])
        others = any(participant(gid) != self._own for gid in names)
        if others:
            self._names = names
            if self._subscription is None:
                self._subscription = unserved_subscription(self._node, self._message_type, self.topic, _QOS)
        elif self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None
            self._heard, self._first, self._own_count = {}, {}, 0
        return others

    def look(self, publishing: bool) -> Rival | None:
        """Look for a rival; one that published first, if there is any.

        Args:
            publishing: Whether this node publishes now.

        Returns:
            The rival; None: there is none, or it is not known yet which of both was first.
        """
        if self._subscription is None and self._node.count_publishers(self.topic) < 2:
            return None  # this costs a tenth of the names of all publishers
        if not self.are_shown():
            return None
        now = time.monotonic()
        handle = self._subscription.handle
        with handle:
            while (taken := take_serialized(handle, self._message_type)) is not None:
                self._note(taken[0], taken[1], now)
        self._heard = {gid: (since, count) for gid, (since, count) in self._heard.items()
                       if (gid in self._names if gid else now - since < self._silent_after)}
        if not self._heard or (publishing and not self._own_count):
            return None
        # Compared once: a rival that publishes faster has published more later.
        self._first = {gid: self._first.get(gid, (count, participant(gid)) > (self._own_count, self._own))
                       for gid, (_, count) in self._heard.items()}
        gid = max(self._first, key=self._first.__getitem__)
        names = self._names if gid else {
            other: name for other, name in self._names.items() if participant(other) != self._own}
        return Rival(describe(names, gid), self._first[gid])

    def _note(self, data: bytes, info: dict[str, Any], now: float) -> None:
        gid, count = sender(info), info.get("publication_sequence_number") or 0
        if participant(gid) == self._own:
            self._own_count = count
        elif (gid and gid in self._heard) or self._is_conflict(data):  # a message without GID may be anybody's
            self._heard[gid] = now, count

    def _is_conflict(self, data: bytes) -> bool:
        if self._conflicts is None:
            return True
        message = self._node.diagnostics.deserialize(data, self._message_type, self.topic)
        return message is not None and self._conflicts(message)
