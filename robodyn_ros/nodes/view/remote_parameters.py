# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Asynchronous access to parameters of another node; callbacks on the executor's thread get the answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor, ParameterValue
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient

from robodyn_ros.toolbox.view.sliders import Gain, is_shown

WORDS = "such as: "
"""Beginning of a descriptor's additional_constraints that lists suggestions instead of all allowed values."""


class RemoteParameters:
    """The parameters of one node.

    Args:
        node: The node that asks.
        remote: Name of the node with the parameters, in the namespace of ``node``.
    """

    def __init__(self, node: Node, remote: str) -> None:
        self.remote, self._node = remote, node
        before = set(node.clients)
        self._client = AsyncParameterClient(node, remote)  # has no method that ends its services' clients
        self._of_services = set(node.clients) - before

    def destroy(self) -> None:
        """End the clients of the services, which other processes keep memory for."""
        for client in self._of_services:
            self._node.destroy_client(client)

    @property
    def ready(self) -> bool:
        """Whether the node is running."""
        return self._client.services_are_ready()

    def read(self, names: Sequence[str], on_values: Callable[[list[Any]], None]) -> None:
        """Read values; None for parameters that the node does not have."""
        future = self._client.get_parameters(list(names))
        future.add_done_callback(lambda done: on_values([parameter_value_to_python(value)
                                                         for value in done.result().values]))

    def suggestions(self, name: str, on_values: Callable[[list[str]], None]) -> None:
        """Read the values that a parameter's descriptor suggests; an empty list without suggestions."""
        def read(done: Any) -> None:
            [descriptor] = done.result().descriptors or [ParameterDescriptor()]
            words = descriptor.additional_constraints
            on_values(words.removeprefix(WORDS).split(", ") if words.startswith(WORDS) else [])

        self._client.describe_parameters([name]).add_done_callback(read)

    def gains(self, prefix: str, on_gains: Callable[[list[Gain]], None]) -> None:
        """Read the numbers and switches among the parameters that begin with a prefix and a dot."""
        def listed(done: Any) -> None:
            names = [name for name in done.result().result.names if name.startswith(f"{prefix}.")]
            if not names:
                on_gains([])
                return
            self._client.describe_parameters(names).add_done_callback(lambda described: described_all(names, described))

        def described_all(names: list[str], done: Any) -> None:
            descriptors = done.result().descriptors
            self._client.get_parameters(names).add_done_callback(lambda values: on_gains(
                [gain for descriptor, value in zip(descriptors, values.result().values, strict=True)
                 if (gain := to_gain(descriptor, value)) is not None]))

        self._client.list_parameters([prefix]).add_done_callback(listed)

    def set(self, name: str, value: float | bool | str, on_answer: Callable[[str], None]) -> None:
        """Set a parameter; the answer is empty on success, otherwise the reason of the refusal."""
        def answered(done: Any) -> None:
            [result] = done.result().results
            on_answer("" if result.successful else result.reason or "refused without a reason")

        self._client.set_parameters([Parameter(name, value=value)]).add_done_callback(answered)


def to_gain(descriptor: ParameterDescriptor, value: ParameterValue) -> Gain | None:
    """Return the data of a slider for a parameter; None if it is neither a finite number nor a switch."""
    number = parameter_value_to_python(value)
    if not is_shown(number):
        return None
    ranges = [*descriptor.floating_point_range, *descriptor.integer_range]
    lower, upper = (float(ranges[0].from_value), float(ranges[0].to_value)) if ranges else (-math.inf, math.inf)
    if not lower <= number <= upper:  # also where a limit is NaN
        lower, upper = -math.inf, math.inf
    unbounded = 2.0**62  # integers have no infinity
    return Gain(descriptor.name, number, lower if lower > -unbounded else -math.inf,
                upper if upper < unbounded else math.inf, descriptor.description,
                descriptor.read_only or "fixed while the controller is in force" in descriptor.description)
