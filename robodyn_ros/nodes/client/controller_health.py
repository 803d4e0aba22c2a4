# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Why a command would wait in vain: what the node ``controller`` lacks, by its diagnostics and by the graph."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from diagnostic_msgs.msg import DiagnosticArray

from robodyn_ros.base import topic_names
from robodyn_ros.base.errors import RobodynError
from robodyn_ros.nodes.client.graph_client import GraphClient
from robodyn_ros.nodes.common.joint_states import NO_STATES

DESCRIPTION_SECONDS = 5.0
"""Time after the first diagnostics of a node in which the one that publishes the description may start [s]."""


class ControllerHealth:
    """Listens to the diagnostics of the node ``controller`` and of the others of its namespace.

    They begin when a node has started.

    Args:
        client: The connection to the graph.

    Attributes:
        message: The last message of the status of ``controller``; empty: none has come.
    """

    def __init__(self, client: GraphClient) -> None:
        self.message, self._since = "", 0.0
        self._client, self._name = client, client.node.resolve_service_name("controller")
        client.node.create_subscription(DiagnosticArray, topic_names.DIAGNOSTICS, self._on_diagnostics, 10)

    @contextmanager
    def states_expected(self) -> Iterator[None]:
        """End a wait inside of the block with an error if the controller has no joint states."""
        with self._checking(self._check_states):
            yield

    @contextmanager
    def description_expected(self) -> Iterator[None]:
        """End a wait inside of the block with an error if nodes run and nobody publishes the description."""
        with self._checking(self._check_description):
            yield

    def lacks_states(self) -> bool:
        """Return whether the controller reports that it has no joint states."""
        return NO_STATES in self.message

    @contextmanager
    def _checking(self, check: Callable[[], None]) -> Iterator[None]:
        self._client.checks.append(check)
        try:
            yield
        finally:
            self._client.checks.remove(check)

    def _check_states(self) -> None:
        if self.lacks_states():
            raise RobodynError(f"the controller cannot act; it reports: {self.message}")

    def _check_description(self) -> None:
        topic, waited = topic_names.ROBOT_DESCRIPTION, time.monotonic() - self._since if self._since else 0.0
        if (waited > DESCRIPTION_SECONDS or self.lacks_states()) and not self._client.node.count_publishers(topic):
            report = f"; the controller reports: {self.message}" if self.lacks_states() else ""
            raise RobodynError(f"nobody publishes {topic}: start the node state_publisher, or robot_state_publisher"
                               f"{report}")

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name.rpartition("/")[0] == self._name.rpartition("/")[0]:
                self._since = self._since or time.monotonic()
            if status.name == self._name:
                self.message = status.message
