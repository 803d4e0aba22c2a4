# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Whose the robot is, for a controller: whether its commands are taken, and which of two nodes has the joint states."""

from __future__ import annotations

import math
import time

from diagnostic_msgs.msg import DiagnosticStatus

from robodyn_ros import topic_names
from robodyn_ros.nodes.common.joint_states import Indices
from robodyn_ros.nodes.common.participants import describe, own_participant, participant, publishers
from robodyn_ros.nodes.common.runtime import RobodynNode
from robodyn_ros.nodes.common.topics import LATCHED_QOS
from robodyn_ros.nodes.controller.events import REFUSED, Event, Events

_TOLD_FOR = 1.0  # after the last joint state of another node [s]


class ControllerOwnership:
    """Whether the hardware takes this node's commands, and which node's state of each joint this node answers.

    The hardware refuses commands where the joints follow another controller. Of two nodes that publish a joint's state,
    the first is answered, until it is silent for a while.

    Args:
        node: The controller node; the executor serves the topic of refusals.
        events: Tells of refusals.
        n: Number of joints.
        timeout: Time without a joint state after which its publisher has left [s].

    Attributes:
        refused: Why the commands are refused; empty if they are not. Any thread may read or replace it.
    """

    def __init__(self, node: RobodynNode, events: Events, n: int, timeout: float) -> None:
        self.refused = ""
        self._node, self._events, self._timeout = node, events, timeout
        self._own = own_participant(node).hex()
        self._topic = node.resolve_topic_name(topic_names.JOINT_STATES)
        self._gids, self._only = [b""] * n, b""  # publisher of each joint's states, and of all of them
        self._heard: dict[bytes, float] = {}  # when each of these was heard last
        self._answered, self._other, self._other_heard = b"", b"", 0.0
        node.diagnostics.checks.append(self._report)
        node.listen(DiagnosticStatus, topic_names.REFUSED_COMMANDS, self._on_refusals, LATCHED_QOS)

    def _on_refusals(self, message: DiagnosticStatus) -> None:
        self.refused = next((pair.value for pair in message.values if pair.key == self._own and self._own), "")
        if self.refused:
            self._events.tell(Event(
                "refusals", f"the hardware refuses the commands of this node: {self.refused}; this node commands "
                "nothing until these joints are free", REFUSED, error=True, ends_goal=False))  # the next state ends it
        else:
            self._lift()

    def _lift(self) -> None:
        """Command again, because the hardware takes commands again or another hardware node is there."""
        self.refused = ""
        self._events.end(REFUSED, "the hardware takes the commands of this node")

    def accepts(self, gid: bytes, now: float, joints: Indices) -> bool:
        """Return whether the controller answers a state of some joints; for the thread of the control path.

        Args:
            gid: Publisher of the joint state.
            now: Steady time of its arrival [s].
            joints: Index of each joint that it names.
        """
        if gid == self._only:
            self._heard[gid] = now
            return True
        before = {self._gids[joint] for joint in joints.tolist()} - {gid}
        for other in before:
            if (other and participant(gid) != participant(other)
                    and now - self._heard.get(other, -math.inf) < self._timeout):
                self._answered, self._other, self._other_heard = other, gid, now
                self._node.diagnostics.count("joint states of another node")
                return False
        if before:
            for joint in joints.tolist():
                self._gids[joint] = gid
            self._only = gid if set(self._gids) == {gid} else b""
            self._heard = {each: when for each, when in self._heard.items() if each in self._gids}
            if before != {b""}:
                self._lift()
        self._heard[gid] = now
        return True

    def _report(self) -> None:
        if not self._other:
            return
        diagnostics = self._node.diagnostics
        if time.monotonic() - self._other_heard < _TOLD_FOR:
            names = publishers(self._node, [self._topic])
            diagnostics.raise_condition(
                "two sources", f"two nodes publish {self._topic}: this node answers {describe(names, self._answered)} "
                f"and not {describe(names, self._other)}; end one of them, or give it another namespace")
        else:
            self._other = b""
            diagnostics.clear_condition("two sources", f"one node publishes {self._topic}")
