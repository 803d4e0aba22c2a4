# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Node ``recorder``: writes every topic of a graph to a rosbag2 folder; see docs/recordings.md.

Messages are taken and written as bytes, without a conversion. The recorder polls at a fixed rate instead of waking up
for each message; message times are those of receipt from the middleware. It runs in its own process with a low
priority, and the control loop does not wait for it.
"""

from __future__ import annotations

import array
import ctypes
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from robodyn_ros.base import topic_names
from robodyn_ros.base.errors import RecordingError
from robodyn_ros.base.fields import Field
from robodyn_ros.base.timing import NANOSECONDS_PER_SECOND
from robodyn_ros.nodes.common.discovery import ANSWER_SECONDS
from robodyn_ros.nodes.common.runtime import RobodynNode, run_node
from robodyn_ros.nodes.common.topics import unserved_subscription
from robodyn_ros.nodes.recorder.definitions import definition, message_class
from robodyn_ros.toolbox.recording.bag_writer import BagWriter
from robodyn_ros.toolbox.recording.run import PARAMETERS as PARAMETER_RECORD

PARAMETERS = (
    Field("output", "", "Folder to make for the recording", structural=True),
)

TAKE_SECONDS, LOOK_SECONDS, FLUSH_SECONDS, TRIM_SECONDS = 0.005, 0.1, 1.0, 10.0
"""Periods of taking messages, of searches for topics and nodes, of writing to the file, and of returning free memory
[s]."""
NICENESS = 10
NOT_WRITTEN = 1
"""Exit code of a recording that ended early."""
GRAPH_WIDE = (topic_names.CLOCK, topic_names.TF, topic_names.TF_STATIC, topic_names.PARAMETER_EVENTS,
              topic_names.ROSOUT, topic_names.DIAGNOSTICS)
"""Topics outside the namespace that a robot in a namespace also uses."""


DEPTH = 2000
"""Queue depth, larger than the number of messages on the fastest topic between two polls."""


class ParameterSnapshots:
    """Requests all parameters of each node in a namespace until it answers; answers arrive on the executor's thread.

    Args:
        node: The node that asks.
        on_values: Called once for each node, with its full name and its parameters by name, as YAML.
    """

    def __init__(self, node: Node, on_values: Callable[[str, str], None]) -> None:
        self._node, self._on_values = node, on_values
        self._clients: dict[str, AsyncParameterClient] = {}
        self._requested: dict[str, float] = {}  # steady time of the last request to each node [s]
        self._answered: set[str] = set()

    def look(self) -> None:
        """Send requests to new nodes, and to nodes that have not answered."""
        for name, namespace in self._node.get_node_names_and_namespaces():
            full = f"{namespace.rstrip('/')}/{name}"
            if full not in self._clients and full != self._node.get_fully_qualified_name():
                if full.startswith(f"{self._node.get_namespace().rstrip('/')}/") and self._node.count_services(
                        f"{full}/list_parameters"):  # commands lack it, and a client would list it
                    self._clients[full] = AsyncParameterClient(self._node, full)
        now = time.monotonic()
        for full, client in self._clients.items():
            if full not in self._answered and now - self._requested.get(full, -ANSWER_SECONDS) >= ANSWER_SECONDS:
                if client.services_are_ready():
                    self._requested[full] = now
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
    """Convert a parameter's value for YAML."""
    if isinstance(value, array.array | tuple | list):
        return [int.from_bytes(each) if isinstance(each, bytes) else each for each in value]
    return value


def qos_that_hears(offered: Sequence[QoSProfile]) -> QoSProfile:
    """Return the strictest quality of service that all publishers offer."""
    reliable = all(each.reliability == ReliabilityPolicy.RELIABLE for each in offered)
    kept = all(each.durability == DurabilityPolicy.TRANSIENT_LOCAL for each in offered)
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST, depth=DEPTH,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if kept else DurabilityPolicy.VOLATILE)


def as_rosbag2(qos: QoSProfile) -> dict[str, Any]:
    """Return a quality of service as rosbag2 writes it into metadata.yaml."""
    return {
        "history": qos.history.name.lower(), "depth": qos.depth, "reliability": qos.reliability.name.lower(),
        "durability": qos.durability.name.lower(), "deadline": _time(qos.deadline), "lifespan": _time(qos.lifespan),
        "liveliness": qos.liveliness.name.lower(),
        "liveliness_lease_duration": _time(qos.liveliness_lease_duration),
        "avoid_ros_namespace_conventions": qos.avoid_ros_namespace_conventions}


def _time(duration: Duration) -> dict[str, int]:
    sec, nsec = divmod(duration.nanoseconds, NANOSECONDS_PER_SECOND)
    return {"sec": sec, "nsec": nsec}


@dataclass(frozen=True)
class RecordedTopic:
    """A recorded topic.

    Attributes:
        channel: Its number in the recording.
        subscription: The subscription, which no executor serves.
        message_type: Class of its messages.
    """

    channel: int
    subscription: Any
    message_type: type[Any]


class RecorderNode(RobodynNode):
    """Subscribes to the topics of its namespace as they appear, and writes their messages.

    Attributes:
        failed: Whether the recording ended early because it could not be written.

    Raises:
        RecordingError: The output folder is there already, or cannot be made.
    """

    def __init__(self) -> None:
        super().__init__("recorder")
        self.parameters.declare(PARAMETERS)
        self.failed = False
        self._folder = Path(self.parameters["output"])
        self._bag = BagWriter(self._folder)
        self._topics: dict[str, RecordedTopic | None] = {}
        self._snapshots = ParameterSnapshots(self, self._on_parameters)
        for seconds, action in ((LOOK_SECONDS, self._look), (TAKE_SECONDS, self._take), (FLUSH_SECONDS, self._flush),
                                (TRIM_SECONDS, _give_back_memory)):
            self.create_steady_timer(seconds, action)
        self._look()
        print(f"robodyn record: recording to {self._folder} until Ctrl-C", flush=True)

    def stop(self) -> None:
        """Write the received messages, and end the recording."""
        super().stop()
        if self.failed:
            return
        try:
            self._take()
            self._bag.close()
        except RecordingError as error:
            self._fail(error)
            return
        topics = sum(topic is not None for topic in self._topics.values())
        print(f"robodyn record: {self._folder}: {self._bag.message_count} messages of {topics} topics", flush=True)

    def _look(self) -> None:
        """Subscribe to new topics, and request parameters of new nodes."""
        for name, types in self.get_topic_names_and_types():
            if name not in self._topics and self._is_wanted(name):
                # A program may publish once and leave, so inputs of nodes are subscribed before a publisher appears.
                ends = self.get_publishers_info_by_topic(name) or self.get_subscriptions_info_by_topic(name)
                if ends:
                    self._topics[name] = self._subscribe(name, types, ends)
        self._snapshots.look()

    def _is_wanted(self, name: str) -> bool:
        if any(part.startswith("_") for part in name.split("/")):  # of actions and other hidden topics
            return False
        return name in GRAPH_WIDE or name.startswith(f"{self.get_namespace().rstrip('/')}/")

    def _subscribe(self, name: str, types: Sequence[str], ends: Sequence[Any]) -> RecordedTopic | None:
        """Subscribe to a topic; None: it cannot be recorded, for a logged reason."""
        type_name = types[0]
        if len(types) > 1:
            self.log.warning(f"types of {name}", f"topic {name} has several types: only {type_name} is recorded")
        try:
            message_type, text = message_class(type_name), definition(type_name)
        except RecordingError as error:
            self.log.warning(f"type of {name}", f"topic {name} is not recorded: {error}")
            return None
        offered = [end.qos_profile for end in ends if end.topic_type == type_name]
        channel = self._bag.add_topic(name, type_name, text, [as_rosbag2(qos) for qos in offered],
                                      str(ends[0].topic_type_hash))
        subscription = unserved_subscription(self, message_type, name, qos_that_hears(offered))
        return RecordedTopic(channel, subscription, message_type)

    def _take(self) -> None:
        """Pass the received messages to the recording, in the order of receipt.

        Later messages wait for the next poll:
        on a busy computer, messages may arrive faster than they are taken.
        """
        taken, begin = [], time.time_ns()
        for topic in self._topics.values():
            if topic is not None:
                handle, received = topic.subscription.handle, 0
                with handle:
                    while received < begin and (message := handle.take_message(topic.message_type, True)) is not None:
                        data, info = message
                        received = info["received_timestamp"]
                        taken.append((received, topic.channel, info["source_timestamp"], data))
        for received, channel, published, data in sorted(taken):
            self._bag.write(channel, received, published, data)

    def _on_parameters(self, node: str, values: str) -> None:
        self._bag.add_metadata(PARAMETER_RECORD, {"node": node, "time": str(time.time_ns()), "values": values})

    def _flush(self) -> None:
        try:
            self._bag.flush()
        except RecordingError as error:
            self._fail(error)

    def _fail(self, error: RecordingError) -> None:
        """End the recording and the process; the file keeps its content."""
        if not self.failed:
            self.failed = True
            self._bag.abandon()
            print(f"robodyn: error: {error}", file=sys.stderr, flush=True)
            self.stop_requested.set()


def _give_back_memory() -> None:
    """Return free pages to the system; glibc would keep those of the largest backlog."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def main(args: Sequence[str] | None = None) -> int:
    """Record until SIGINT or SIGTERM; the exit code is 1 if the recording could not be written to its end."""
    os.nice(NICENESS)
    recorders: list[RecorderNode] = []

    def make() -> RecorderNode:
        recorders.append(RecorderNode())
        return recorders[0]

    code = run_node(make, args)
    return NOT_WRITTEN if code == 0 and any(recorder.failed for recorder in recorders) else code
