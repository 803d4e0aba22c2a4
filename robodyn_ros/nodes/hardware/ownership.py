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
from collections.abc import Sequence

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from robodyn_ros.base import topic_names
from robodyn_ros.nodes.common.control_path import ControlPath
from robodyn_ros.nodes.common.participants import own_participant, publishers, refusal_key
from robodyn_ros.nodes.common.rival_publishers import RivalPublishers
from robodyn_ros.nodes.common.runtime import RobodynNode
from robodyn_ros.nodes.common.topic_owners import TopicOwners
from robodyn_ros.nodes.common.topics import LATCHED_QOS
from robodyn_ros.nodes.hardware.outputs import StateOutputs
from robodyn_ros.nodes.hardware.parameters import COMMANDERS
from robodyn_ros.nodes.hardware.plant_loop import PlantLoop

COMMAND_TOPICS = (topic_names.JOINT_COMMANDS, topic_names.VOLTAGE_COMMANDS, topic_names.own(topic_names.COMMANDS))

COMMANDER_SILENT_AFTER = 0.5
"""Time without a command after which a commander is silent [s]."""

STATES_SILENT_AFTER = 1.0
"""Time in which another hardware node that runs publishes a joint state; it repeats states every 0.1 s [s]."""

CLOCK_SILENT_AFTER = 3.0
"""Time in which another publisher of /clock that runs publishes a message [s]."""

_TWO_NODES, _TWO_CLOCKS, _REFUSED = "two hardware nodes", "two clocks", "refused commands"  # conditions


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
        self._tell_refusals()
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

    def _tell_refusals(self) -> None:
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
