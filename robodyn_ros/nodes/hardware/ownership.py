# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Who has the robot: commanders of one joint, two nodes that simulate one robot, and two that publish /clock.

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
from robodyn_ros.nodes.common.taken_messages import take_serialized
from robodyn_ros.nodes.common.topic_owners import TopicOwners
from robodyn_ros.nodes.common.topics import LATCHED_QOS, unserved_subscription
from robodyn_ros.nodes.hardware.outputs import StateOutputs
from robodyn_ros.nodes.hardware.parameters import COMMANDERS
from robodyn_ros.nodes.hardware.plant_loop import PlantLoop

_QOS = QoSProfile(reliability=ReliabilityPolicy.BEST_EFFORT, durability=DurabilityPolicy.VOLATILE,
                  history=HistoryPolicy.KEEP_LAST, depth=50)
COMMAND_TOPICS = (topic_names.JOINT_COMMANDS, topic_names.VOLTAGE_COMMANDS, topic_names.own(topic_names.COMMANDS))

COMMANDER_SILENT_AFTER = 0.5
"""Time without a command after which a commander is silent [s]."""

STATES_SILENT_AFTER = 1.0
"""Time in which another hardware node that runs publishes a joint state; it repeats states every 0.1 s [s]."""

CLOCK_SILENT_AFTER = 3.0
"""Time in which another publisher of /clock that runs publishes a message [s]."""

_TWO_NODES, _TWO_CLOCKS, _REFUSED = "two hardware nodes", "two clocks", "refused commands"  # conditions


class Rival(NamedTuple):
    """Another process that publishes the same.

    Attributes:
        name: Name of its node, for messages.
        first: Whether it published before this node.
    """

    name: str
    first: bool


class RivalPublishers:
    """Looks for rivals on one topic; on the executor's thread.

    The graph shows a node that was killed for some time yet. Hence only a publisher that is heard is a rival. It stays
    one until it has left the graph: a rival that is held up for some seconds comes back. The node subscribes to the
    topic only while the graph shows another publisher.

    Args:
        node: The node that publishes.
        own: Its participant.
        message_type: Type of the messages.
        topic: Name of the topic.
        silent_after: Time without a message after which a rival has left that cannot be told from others [s].
        conflicts: Returns whether a message is one that only this node should publish; None: any is.
    """

    def __init__(self, node: RobodynNode, own: bytes, message_type: type[Any], topic: str, silent_after: float,
                 conflicts: Callable[[Any], bool] | None = None) -> None:
        self._node, self._message_type = node, message_type
        self._silent_after, self._conflicts = silent_after, conflicts
        self.topic = node.resolve_topic_name(topic)
        self._own = own
        self._subscription: Any = None
        self._own_count = 0
        self._heard: dict[bytes, tuple[float, int]] = {}  # by GID: when last, and number of the message
        self._first: dict[bytes, bool] = {}  # by GID: whether it was first, when it was heard first
        self._names: dict[bytes, str] = {}

    def are_shown(self) -> bool:
        """Return whether the graph shows another publisher, and listen while it does."""
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
        """Look for a rival; one that published first, if there is any.

        Args:
            publishing: Whether this node publishes now.

        Returns:
            The rival; None: there is none, or it is not known yet which of both was first.
        """
        if self._subscription is None and self._node.count_publishers(self.topic) < 2:
            return None  # this costs a tenth of the names of all publishers
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
        # Compared once: a rival that publishes faster has published more later.
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
        elif (gid and gid in self._heard) or self._is_conflict(data):  # a message without GID may be anybody's
            self._heard[gid] = now, count

    def _is_conflict(self, data: bytes) -> bool:
        if self._conflicts is None:
            return True
        message = self._node.diagnostics.deserialize(data, self._message_type, self.topic)
        return message is not None and self._conflicts(message)


def commanders(node: RobodynNode, joint_names: Sequence[str]) -> TopicOwners:
    """Return who commands which joint of a hardware node, by its parameter ``commands_publisher``."""
    owners = TopicOwners("commands", joint_names, node.get_fully_qualified_name(), COMMANDERS.name,
                         lambda: publishers(node, COMMAND_TOPICS), COMMANDER_SILENT_AFTER)
    owners.name(node.parameters[COMMANDERS.name])
    return owners


class HardwareOwnership:
    """Reports refused commands; yields robot and /clock to a node that was first.

    Args:
        node: The hardware node; its executor looks for others.
        loop: Its loop.
        path: The path of the loop.
        outputs: Its publishers.
        owners: Who commands which joint.
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
        self._states_until = self._clock_until = 0.0  # until when silence does not mean that the other one has left
        self._told: dict[str, str] = {}
        self._refusals = node.create_publisher(DiagnosticStatus, topic_names.REFUSED_COMMANDS, LATCHED_QOS)
        self._publish_refusals({})  # a controller that another hardware node refused is free

    def begin(self) -> None:
        """Yield at the start what another node, shown by the graph, may publish already; it is listened to then."""
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
        """Tell of refusals; look for other nodes, and for the end of those that were there."""
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
        """Publish and report refusals that are new, have changed or have ended."""
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
