# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Who has the robot, for a controller: whose joint states it answers, and whether the hardware takes its commands."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus

from robodyn_ros.base import topic_names
from robodyn_ros.nodes.common.participants import own_participant, publishers, refusal_key
from robodyn_ros.nodes.common.topic_owners import TopicOwners, publisher_field
from robodyn_ros.nodes.common.topics import LATCHED_QOS
from robodyn_ros.nodes.controller.events import REFUSED, Event
from robodyn_ros.nodes.controller.part import Context, Part, PutInForce

PUBLISHER = publisher_field("joint_states_publisher", "joint states")

_REPORT_PERIOD = 0.1  # shortest time between two reports of refused joint states [s]
_TWO_SOURCES = "two sources"  # condition


class ControllerOwnership(Part):
    """Admits the joint states of the nodes that this one follows, and notes whether the hardware refuses its commands.

    Args:
        context: What it knows of the node.

    Attributes:
        refused: Why the commands are refused; empty if they are not. Any thread may read or replace it.
        accepts: :meth:`TopicOwners.admits`, for the thread of the control path.
    """

    PARAMETERS = (PUBLISHER,)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.refused = ""
        node = self._node = context.node
        self._own = refusal_key(own_participant(node), node.get_fully_qualified_name())
        self._topic, self._report_at = node.resolve_topic_name(topic_names.JOINT_STATES), 0.0
        self._owners = TopicOwners(
            self._topic, context.joints.names, node.get_fully_qualified_name(), PUBLISHER.name,
            lambda: publishers(node, [topic_names.JOINT_STATES]), node.parameters["state_timeout"],
            wait_for_present=True, on_refusal=self._on_refusal)
        self.accepts = self._owners.admits
        self._owners.name(node.parameters[PUBLISHER.name])
        node.diagnostics.checks.append(self._look)
        node.listen(DiagnosticStatus, topic_names.REFUSED_COMMANDS, self._on_refusals, LATCHED_QOS)

    def follows(self, process: bytes) -> bool:
        """Return whether joint states of a participant are answered."""
        return self._owners.follows(process)

    def on_change(self, changes: Mapping[str, Any]) -> PutInForce | None:
        """Follow the joint states of nodes that a person names; see :meth:`TopicOwners.name`."""
        return partial(self._owners.name, changes[PUBLISHER.name]) if PUBLISHER.name in changes else None

    def _on_refusals(self, message: DiagnosticStatus) -> None:
        self.refused = next((pair.value for pair in message.values if pair.key == self._own), "")
        if self.refused:
            self.context.events.tell(Event(
                "refusals", f"the hardware refuses the commands of this node: {self.refused}; this node commands "
                "nothing until then", REFUSED, error=True, ends_goal=False))  # the next state ends it
        else:
            self.context.events.end(REFUSED, "the hardware takes the commands of this node")

    def _on_refusal(self, now: float) -> None:
        """Count and report a refused joint state at once: the owner may be silent for a moment only."""
        self._node.diagnostics.count("joint states of another node")
        if now >= self._report_at:
            self._report_at = now + _REPORT_PERIOD
            self._report(now)

    def _look(self) -> None:
        self._owners.look()
        self._report(time.monotonic())

    def _report(self, now: float) -> None:
        if conflict := self._owners.conflict(now):
            self._node.diagnostics.raise_condition(_TWO_SOURCES, conflict.text, conflict.error)
        else:
            self._node.diagnostics.clear_condition(_TWO_SOURCES, f"all that publish {self._topic} are followed")
