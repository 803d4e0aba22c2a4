# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Receives the diagnostics that the hardware node publishes once a second."""

from __future__ import annotations

import time

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from robodyn_ros.base.errors import RobodynError
from robodyn_ros.commands.processes import NodeProcess

DEADLINE = 60.0


class HardwareReports:
    """Subscribes to /diagnostics of a hardware node.

    Attributes:
        received: Time of each report [s] and its values by name, from the first period of the hardware on.
    """

    def __init__(self) -> None:
        self._node = Node("bench", start_parameter_services=False)
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._node.create_subscription(DiagnosticArray, "/diagnostics", self._keep, 10)
        self.received: list[tuple[float, dict[str, str]]] = []

    def _keep(self, message: DiagnosticArray) -> None:
        now = time.monotonic()
        for status in message.status:
            values = {item.key: item.value for item in status.values}
            if int(values.get("periods", 0)) > 0:
                self.received.append((now, values))

    def listen(self, seconds: float, nodes: list[NodeProcess]) -> list[tuple[float, dict[str, str]]]:
        """Return the reports of the given time [s], from the second next one on.

        Raises:
            RobodynError: A node ended, or the hardware ran no periods in time.
        """
        deadline, first = time.monotonic() + seconds + DEADLINE, len(self.received) + 1
        while len(self.received) < first + 2 or self.received[-1][0] - self.received[first][0] < seconds:
            for node in nodes:
                node.check()
            if time.monotonic() > deadline:
                raise RobodynError("bench: hardware and controller made no round trips")
            self._executor.spin_once(timeout_sec=0.1)
        return self.received[first:]

    def close(self) -> None:
        """End the node."""
        self._executor.shutdown()
        self._node.destroy_node()
