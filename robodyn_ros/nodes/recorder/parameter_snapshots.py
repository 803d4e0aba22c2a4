# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Parameters of the nodes of a graph, asked for as soon as each node is there."""

from __future__ import annotations

import array
import time
from collections.abc import Callable
from typing import Any

import yaml
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient

from robodyn_ros.nodes.common.discovery import ANSWER_SECONDS


class ParameterSnapshots:
    """Asks each node of a namespace for all of its parameters until it answers; answers come on the executor's thread.

    Args:
        node: The node that asks.
        on_values: Called once for each node, with its full name and its parameters by name, as YAML.
    """

    def __init__(self, node: Node, on_values: Callable[[str, str], None]) -> None:
        self._node, self._on_values = node, on_values
        self._clients: dict[str, AsyncParameterClient] = {}
        self._asked: dict[str, float] = {}  # when each node was asked last, on the steady clock [s]
        self._answered: set[str] = set()

    def look(self) -> None:
        """Ask nodes that have appeared, and those that gave no answer."""
        for name, namespace in self._node.get_node_names_and_namespaces():
            full = f"{namespace.rstrip('/')}/{name}"
            if full not in self._clients and full != self._node.get_fully_qualified_name():
                if full.startswith(f"{self._node.get_namespace().rstrip('/')}/") and self._node.count_services(
                        f"{full}/list_parameters"):  # a command has none, and each client makes a service be listed
                    self._clients[full] = AsyncParameterClient(self._node, full)
        now = time.monotonic()
        for full, client in self._clients.items():
            if full not in self._answered and now - self._asked.get(full, -ANSWER_SECONDS) >= ANSWER_SECONDS:
                if client.services_are_ready():
                    self._asked[full] = now
                    self._ask(full, client)

    def _ask(self, full: str, client: AsyncParameterClient) -> None:
        def listed(done: Any) -> None:
            names = list(done.result().result.names)
            client.get_parameters(names).add_done_callback(lambda values: got(names, values))

        def got(names: list[str], done: Any) -> None:
            if full not in self._answered:
                self._answered.add(full)
                values = {name: _plain(parameter_value_to_python(value))
                          for name, value in zip(names, done.result().values, strict=True)}
                self._on_values(full, yaml.safe_dump(values, sort_keys=True))

        client.list_parameters([]).add_done_callback(listed)


def _plain(value: Any) -> Any:
    """Return a parameter's value as YAML knows it."""
    if isinstance(value, array.array | tuple | list):
        return [int.from_bytes(each) if isinstance(each, bytes) else each for each in value]
    return value
