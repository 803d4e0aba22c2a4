# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""What the hardware node announces before its first joint state: its driver, and the timing of its control loop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from diagnostic_msgs.msg import DiagnosticStatus

from robodyn_ros.base import topic_names
from robodyn_ros.nodes.common.runtime import RobodynNode
from robodyn_ros.nodes.common.topics import LATCHED_QOS

PATIENCE = 5.0
"""Longest wait for the announcement of hardware that has the topic [s]."""


class Announcement(NamedTuple):
    """What a hardware node announces.

    Attributes:
        node: Name of the node.
        driver: Name of its driver.
        values: Values by name.
        in_time: Whether it came before the first joint state was answered.
    """

    node: str
    driver: str
    values: Mapping[str, str]
    in_time: bool


class HardwareAnnouncement:
    """Hears what hardware nodes announce, and has the first joint state wait for it.

    Args:
        node: The controller node; its executor serves the topic.

    Attributes:
        handlers: Called on the executor's thread with each announcement.
        closed: Whether a joint state was answered, so that no later announcement is in time.
    """

    def __init__(self, node: RobodynNode) -> None:
        self._node, self._topic = node, node.resolve_topic_name(topic_names.DRIVER_PROFILE)
        self.handlers: list[Callable[[Announcement], None]] = []
        self.closed = False
        self._came, self._waits_since = False, 0.0
        self._handling = threading.Lock()
        node.listen(DiagnosticStatus, topic_names.DRIVER_PROFILE, self._on_message, LATCHED_QOS)

    def is_known(self) -> bool:
        """Return whether all is known that the first answer needs; a joint state before that is not answered.

        The hardware announces itself before its joint states. A topic that has no publisher when a joint state comes is
        therefore not waited for. To be called by the thread of the control path, until it is closed.
        """
        if not self._handling.acquire(blocking=False):
            return False
        try:
            self.closed = self._came or not self._is_to_come()
        finally:
            self._handling.release()
        return self.closed

    def _is_to_come(self) -> bool:
        now = time.monotonic()
        self._waits_since = self._waits_since or now
        if not self._node.count_publishers(self._topic):
            return False
        if now - self._waits_since <= PATIENCE:
            return True
        self._node.diagnostics.problem("unknown drivers", f"{self._topic}: its publisher said nothing for {PATIENCE:g} "
                                       "s; commands have gravity in them until it does, and default gains are for the "
                                       "parameters update_rate and state_delay")
        return False

    def _on_message(self, message: DiagnosticStatus) -> None:
        with self._handling:
            values = {pair.key: pair.value for pair in message.values}
            self._came = True
            for handler in self.handlers:
                handler(Announcement(message.name, message.message, values, not self.closed))
