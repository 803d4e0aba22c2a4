# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Messages of any topic as YAML text."""

from __future__ import annotations

import array
from collections.abc import Callable
from typing import Any

import numpy as np
import yaml
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from robodyn_ros.base.errors import InputError, RecordingError, RobodynError, suggest
from robodyn_ros.nodes.client.graph_client import GraphClient
from robodyn_ros.nodes.recorder.definitions import message_class

APPEARANCE, ALONE = 3.0, 10.0
"""Longest wait for the topic while other nodes exist, and for other nodes [s]."""


def listen(client: GraphClient, topic: str, on_text: Callable[[str], None]) -> Any:
    """Call a function with the text of each message of a topic, while a method of the client waits.

    Args:
        client: The connection to the graph.
        topic: Name of the topic; a relative name belongs to the client's namespace.
        on_text: Called with a message as YAML.

    Returns:
        The subscription.

    Raises:
        InputError: There is no such topic, or Python has no messages of its type.
    """
    name, message_type, qos = find_topic(client, topic)
    return client.node.create_subscription(message_type, name, lambda message: on_text(to_yaml(message)), qos)


def find_topic(client: GraphClient, topic: str) -> tuple[str, Any, QoSProfile]:
    """Return a topic's full name, message type, and a quality of service compatible with its publishers.

    Args:
        client: The connection to the graph.
        topic: Name of the topic; a relative name belongs to the client's namespace.

    Raises:
        InputError: There is no such topic, or Python has no messages of its type.
    """
    node = client.node
    name = node.resolve_topic_name(topic)
    try:
        client.wait_for(lambda: len(node.get_node_names()) > 1, "nodes", ALONE)
        client.wait_for(lambda: node.get_publishers_info_by_topic(name), f"topic {name}", APPEARANCE)
    except RobodynError:
        known = [known for known, _ in node.get_topic_names_and_types()]
        raise InputError(f"nobody publishes {name}: {suggest(name, known)}") from None
    publishers = node.get_publishers_info_by_topic(name)
    type_name = publishers[0].topic_type
    try:
        message_type = message_class(type_name)
    except RecordingError:
        raise InputError(f"{name} has messages of the type {type_name}, which is not installed here") from None
    qos = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
    if all(publisher.qos_profile.reliability == ReliabilityPolicy.RELIABLE for publisher in publishers):
        qos.reliability = ReliabilityPolicy.RELIABLE
    if all(publisher.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL for publisher in publishers):
        qos.durability = DurabilityPolicy.TRANSIENT_LOCAL
    return name, message_type, qos


def to_yaml(message: Any) -> str:
    """Return a message as YAML."""
    return yaml.safe_dump(to_plain(message), sort_keys=False, default_flow_style=None, width=120)


def to_plain(value: Any) -> Any:
    """Return a message as dictionaries, lists, numbers and text."""
    if hasattr(value, "get_fields_and_field_types"):
        return {name: to_plain(getattr(value, name)) for name in value.get_fields_and_field_types()}
    if isinstance(value, np.ndarray | array.array):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    if isinstance(value, bytes):
        return list(value)
    return value
