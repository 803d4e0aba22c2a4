# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Ownership of the robot: conflicting commands for a joint, two nodes that simulate one robot or publish /clock.

docs/hardware.md, "Two nodes on one robot", has the rules.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from robodyn_ros.base import topic_names
from robodyn_ros.nodes.common.control_path import ControlPath
from robodyn_ros.nodes.common.participants import (
    describe,
    own_participant,
    participant,
    publishers,
    refusal_key,
    sender,
)
from robodyn_ros.nodes.common.runtime import RobodynNode
from robodyn_ros.nodes.common.topic_owners import TopicOwners
from robodyn_ros.nodes.common.topics import LATCHED_QOS, unserved_subscription
from robodyn_ros.nodes.hardware.outputs import StateOutputs
from robodyn_ros.nodes.hardware.parameters import COMMANDERS
from robodyn_ros.nodes.hardware.plant_loop import PlantLoop
from robodyn_ros.nodes.internals.rcl import take_serialized

_QOS = QoSProfile(reliability=ReliabilityPolicy.BEST_EFFORT, durability=DurabilityPolicy.VOLATILE,
                  history=HistoryPolicy.KEEP_LAST, depth=50)
COMMAND_TOPICS = (topic_names.JOINT_COMMANDS, topic_names.VOLTAGE_COMMANDS, topic_names.own(topic_names.COMMANDS))

COMMANDER_SILENT_AFTER = 0.5
"""Time without a command after which a commander is silent [s]."""

STATES_SILENT_AFTER = 1.0
"""A running hardware node publishes a joint state within this time [s]; it repeats states every 0.1 s."""

CLOCK_SILENT_AFTER = 3.0
"""A running publisher of /clock publishes a message within this time [s]."""

_TWO_NODES, _TWO_CLOCKS, _REFUSED = "two hardware nodes", "two clocks", "refused commands"  # conditions


class Rival(NamedTuple):
    """Another process that publishes on the same topic.

    Attributes:
        name: Name of its node, for messages.
        first: Whether it published before this node.
    """

    name: str
    first: bool


class RivalPublishers:
    """Finds rivals on one topic; on the executor's thread.

    The graph still shows a killed node for some time. Hence only a publisher with messages is a rival. It remains one
    until it has left the graph, because a delayed rival may continue. The node subscribes to the topic only while the
    graph shows another publisher.

    Args:
        node: The node that publishes.
        own: Its participant.
        message_type: Type of the messages.
        topic: Name of the topic.
        silent_after: Time without a message after which a rival without GID counts as gone [s].
        conflicts: Returns whether only this node should publish this message; None: any message.
    """

    def __init__(self, node: RobodynNode, own: bytes, message_type: type[Any], topic: str, silent_after: float,
                 conflicts: Callable[[Any], bool] | None = None) -> None:
        self._node, self._message_type = node, message_type
        self._silent_after, self._conflicts = silent_after, conflicts
        self.topic = node.resolve_topic_name(topic)
        self._own = own
        self._subscription: Any = None
        self._own_count = 0
        self._heard: dict[bytes, tuple[float, int]] = {}  # by GID: time and number of the last message
        self._first: dict[bytes, bool] = {}  # by GID: whether it published before this node
        self._names: dict[bytes, str] = {}

    def are_shown(self) -> bool:
        """Return whether the graph shows another publisher; subscribe while it does."""
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
        """Return a rival, preferably one that published first.

        Args:
            publishing: Whether this node publishes now.

        Returns:
            The rival; None: there is none, or it is not yet known which one was first.
        """
        if self._subscription is None and self._node.count_publishers(self.topic) < 2:
            return None  # a tenth of the cost of reading all publishers' names
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
        # Compared only once, because a faster rival overtakes this node later.
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
        elif (gid and gid in self._heard) or self._is_conflict(data):  # a message without GID may come from anybody
            self._heard[gid] = now, count

    def _is_conflict(self, data: bytes) -> bool:
        if self._conflicts is None:
            return True
        message = self._node.diagnostics.deserialize(data, self._message_type, self.topic)
        return message is not None and self._conflicts(message)


def commanders(node: RobodynNode, joint_names: Sequence[str]) -> TopicOwners:
    """Return the owners of a hardware node's command topics, from its parameter ``commands_publisher``."""
    owners = TopicOwners("commands", joint_names, node.get_fully_qualified_name(), COMMANDERS.name,
                         lambda: publishers(node, COMMAND_TOPICS), COMMANDER_SILENT_AFTER)
    owners.name(node.parameters[COMMANDERS.name])
    return owners


class HardwareOwnership:
    """Reports refused commands, and yields robot and /clock to a node that was first.

    Args:
        node: The hardware node, whose executor does the checks.
        loop: Its loop.
        path: The control path of the loop.
        outputs: The publishers of the loop.
        owners: Owner of each joint's commands.
    """

    def __init__(self, node: RobodynNode, loop: PlantLoop, path: ControlPath, outputs: StateOutputs,
                 owners: TopicOwners) -> None:
        self._node, self._diagnostics = node, node.diagnostics
        self._loop, self._path, self._outputs, self._commanders = loop, path, outputs, owners
        own, joints = own_participant(node), set(loop.plant.joint_names)
        self._states = RivalPublishers(node, own, JointState, topic_names.JOINT_STATES, STATES_SILENT_AFTER,
                                       lambda state: not joints.isdisjoint(state.name))
        self._clocks = (RivalPublishers(node, own, Clock, topic_names.CLOCK, CLOCK_SILENT_AFTER) if outputs.has_clock
                        else None)
        self._states_until = self._clock_until = 0.0  # until then, silence does not mean that the other node has left
        self._told: dict[str, str] = {}
        self._refusals = node.create_publisher(DiagnosticStatus, topic_names.REFUSED_COMMANDS, LATCHED_QOS)
        self._publish_refusals({})  # clears refusals by a former hardware node

    def begin(self) -> None:
        """Yield at the start what another node in the graph may already publish, and subscribe to it."""
        now = time.monotonic()
        if self._states.are_shown():
            if not self._loop.yielded:
                self._loop.yield_robot(f"the graph shows another publisher of {self._states.topic}; this node listens "
                                       "to it first")
            self._states_until = now + STATES_SILENT_AFTER
        if self._clocks is not None and self._clocks.are_shown():
            self._outputs.clock_yielded = True
            self._clock_until = now + CLOCK_SILENT_AFTER

    def look(self) -> None:
        """Report refusals, and check whether other nodes have appeared or left."""
        self._report_refusals()
        now = time.monotonic()
        self._look_at_states(now)
        if self._clocks is not None:
            self._look_at_clocks(self._clocks, now)

    def _look_at_states(self, now: float) -> None:
        rival = self._states.look(publishing=not self._loop.yielded)
        topic, joints = self._states.topic, "of the same joints"
        if rival is None:
            if self._loop.yielded and now >= self._states_until:
                self._path.call(self._loop.release)
            if not self._loop.yielded:
                self._diagnostics.clear_condition(_TWO_NODES, f"no other node publishes {topic} {joints}")
        elif rival.first or self._loop.yielded:
            self._states_until = now
            why = f"{rival.name} publishes {topic} {joints} already"
            if self._loop.yielded != why:
                self._path.call(lambda: self._loop.yield_robot(why))
            self._diagnostics.raise_condition(
                _TWO_NODES, f"{why}: this node stands still until that one ends; end one of them, or give this one "
                "another namespace (--ros-args -r __ns:=/another)", error=True)
        else:
            self._diagnostics.raise_condition(
                _TWO_NODES, f"{rival.name} publishes {topic} {joints} too: end it, or give it another namespace; this "
                "node was first and goes on")

    def _look_at_clocks(self, clocks: RivalPublishers, now: float) -> None:
        rival = clocks.look(publishing=not (self._outputs.clock_yielded or self._loop.yielded))
        if rival is None:
            if now >= self._clock_until:
                self._outputs.clock_yielded = False
                self._diagnostics.clear_condition(_TWO_CLOCKS, "no other node publishes /clock")
        elif rival.first or self._outputs.clock_yielded:
            self._clock_until, self._outputs.clock_yielded = now, True
            self._diagnostics.raise_condition(
                _TWO_CLOCKS, f"{rival.name} publishes /clock already: this node does not until that one ends; set "
                "clock_rate to 0 for all nodes but one")
        else:
            self._diagnostics.raise_condition(
                _TWO_CLOCKS, f"{rival.name} publishes /clock too: time jumps for nodes with use_sim_time; this node "
                "was first and goes on; set clock_rate to 0 for all nodes but one")

    def _report_refusals(self) -> None:
        """Publish and report new, changed and ended refusals."""
        owners, now = self._commanders, time.monotonic()
        owners.look()
        texts = {refusal_key(*key): owners.reason(refusal, now) for key, refusal in owners.refusals.items()}
        if texts == self._told:
            return
        self._told = texts
        self._publish_refusals(texts)
        if conflict := owners.conflict(now):
            self._diagnostics.raise_condition(_REFUSED, conflict.text, conflict.error)
        else:
            self._diagnostics.clear_condition(_REFUSED, "no commands are refused any more")

    def _publish_refusals(self, texts: dict[str, str]) -> None:
        self._refusals.publish(DiagnosticStatus(
            level=DiagnosticStatus.WARN if texts else DiagnosticStatus.OK,
            name=self._node.get_fully_qualified_name(), message="; ".join(texts.values()),
            values=[KeyValue(key=key, value=text) for key, text in texts.items()]))
