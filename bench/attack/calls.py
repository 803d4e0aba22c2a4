# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Services and parameters of the nodes under attack."""

from __future__ import annotations

import importlib
from typing import Any

from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import GetParameters, ListParameters, SetParameters
from std_srvs.srv import SetBool, Trigger

from bench.attack.graph import AttackedGraph

ANSWER_SECONDS = 10.0


def call(graph: AttackedGraph, kind: Any, name: str, request: Any) -> Any:
    """Return the answer of a service, or None."""
    client = graph.clients.get(name)
    if client is None:
        client = graph.clients[name] = graph.node.create_client(kind, name)
    if not graph.wait(client.service_is_ready, ANSWER_SECONDS):
        return None
    future = client.call_async(request)
    if graph.wait(future.done, ANSWER_SECONDS):
        return future.result()
    client.remove_pending_request(future)
    return None


def interface(name: str) -> Any:
    """Return the class of ``package/msg/Name``, and of services likewise."""
    package, folder, kind = name.split("/")
    return getattr(importlib.import_module(f"{package}.{folder}"), kind)


def calm(graph: AttackedGraph) -> None:
    """Let the hardware run, without the motion or the stop that an attack left."""
    call(graph, Trigger, "controller/release", Trigger.Request())
    call(graph, SetBool, "hardware/pause", SetBool.Request(data=False))
    call(graph, Trigger, "hardware/reset", Trigger.Request())


def set_parameter(graph: AttackedGraph, node: str, name: str, value: ParameterValue) -> bool | None:
    """Set a parameter; return whether the node took it, or None if it did not answer."""
    answer = call(graph, SetParameters, f"{node}/set_parameters",
                  SetParameters.Request(parameters=[Parameter(name=name, value=value)]))
    return None if answer is None or not answer.results else bool(answer.results[0].successful)


def set_controller(graph: AttackedGraph, name: str) -> bool:
    """Put a law in force; return whether the controller took it."""
    return bool(set_parameter(graph, "controller", "controller",
                              ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=name)))


def parameters_of(graph: AttackedGraph, node: str) -> dict[str, ParameterValue]:
    """Return all parameters of a node; none if it does not answer."""
    listed = call(graph, ListParameters, f"{node}/list_parameters", ListParameters.Request())
    names = [] if listed is None else sorted(listed.result.names)
    values = call(graph, GetParameters, f"{node}/get_parameters", GetParameters.Request(names=names))
    return {} if values is None else dict(zip(names, values.values, strict=True))


def restore(graph: AttackedGraph, node: str, before: dict[str, ParameterValue]) -> list[str]:
    """Give the parameters of a node their former values; return the names of those that do not take them.

    Some need several rounds: a parameter can be fixed while another one has its present value.
    """
    wrong: list[str] = []
    for _ in range(3):
        now = parameters_of(graph, node)
        wrong = [name for name, value in before.items() if now.get(name) != value]
        for name in sorted(wrong, key=lambda name: (name == "controller", name)):
            set_parameter(graph, node, name, before[name])
    return wrong
