# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Identifies the process that sent a message, and its node.

A message carries the GID of its publisher. In DDS, its first 12 bytes are the participant, which the nodes of a process
share, and the last 4 the publisher (DDSI-RTPS 2.5, 9.3.1). The graph gives the same GID with the name of the node.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from rclpy.node import Node
from std_msgs.msg import Empty

_PARTICIPANT_BYTES = 12
UNNAMED = "_NODE_NAME_UNKNOWN_"
"""Placeholder in the graph for a node's name that is not known yet (rmw_dds_common)."""
_LONGEST_LOOK = 2.0  # wait for the node's own publisher in the graph [s]


def sender(info: Mapping[str, Any]) -> bytes:
    """Return the GID of a message's publisher from the message information; empty: unknown."""
    gid: bytes = (info.get("publisher_gid") or {}).get("data", b"")
    return gid


def participant(gid: bytes) -> bytes:
    """Return the part of a GID that identifies the process."""
    return gid[:_PARTICIPANT_BYTES]


def own_participant(node: Node) -> bytes:
    """Return the participant of a node; empty if the graph does not show it.

    rclpy does not provide the GID of a publisher, but the graph does, for a topic that nobody else has.
    """
    publisher = node.create_publisher(Empty, f"~/_own_{uuid.uuid4().hex}", 1)
    end = time.monotonic() + _LONGEST_LOOK
    try:
        while not (shown := node.get_publishers_info_by_topic(publisher.topic_name)):
            if time.monotonic() > end:
                return b""
            time.sleep(0.005)
        return participant(bytes(shown[0].endpoint_gid))
    finally:
        node.destroy_publisher(publisher)


def refusal_key(process: bytes, name: str) -> str:
    """Return the key of a refused node on the topic ``refused_commands``: its participant, and its full name."""
    return process.hex() + name


def publishers(node: Node, topics: Iterable[str]) -> dict[bytes, str]:
    """Return the nodes that publish any of some topics: their full names by GID."""
    return {bytes(shown.endpoint_gid): f"{shown.node_namespace.rstrip('/')}/{shown.node_name}"
            for topic in topics for shown in node.get_publishers_info_by_topic(topic)}


def describe(names: Mapping[bytes, str], gid: bytes) -> str:
    """Return the name of a publisher's node, for messages; with its participant if the name is not unique.

    Args:
        names: Names by GID; see :func:`publishers`.
        gid: GID of the publisher; empty: any of these names.
    """
    if not gid and names:
        return " or ".join(f"'{name}'" for name in sorted(set(names.values())))
    name = names.get(gid)
    if name is None:
        return f"a node that the graph does not show (participant {participant(gid).hex()})"
    namesakes = {participant(other) for other, its in names.items() if its == name}
    return f"'{name}'" + (f" (participant {participant(gid).hex()})" if len(namesakes) > 1 else "")
