# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Sends the commands of a recording once more, in the place of a controller, to a simulation in lockstep."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial

from sensor_msgs.msg import JointState

from robodyn_ros.base import topic_names
from robodyn_ros.base.timing import split_stamp
from robodyn_ros.nodes.client.graph_client import GraphClient
from robodyn_ros.nodes.client.replay import ANSWER, START, STEPS, Replay
from robodyn_ros.nodes.common.messages import read_stamp
from robodyn_ros.nodes.common.topics import CONTROL_QOS
from robodyn_ros.nodes.recorder.definitions import message_class
from robodyn_ros.toolbox.recording.open_loop_plan import OpenLoopPlan
from robodyn_ros.toolbox.recording.recorded_ticks import RepeatedMessage, SetState
from robodyn_ros.toolbox.recording.replay_plan import Request

HARDWARE = "hardware"
STAMP_BEGIN = 4
"""Place of the stamp in a serialized message that begins with a header, after the four bytes of the encoding."""


class OpenLoopReplay(Replay):
    """Answers each joint state with the recorded commands of its tick; time stands still where it does not answer.

    A tick without recorded commands is answered with those of the tick before. Arguments as for :class:`Replay`.
    """

    def __init__(self, client: GraphClient, plan: OpenLoopPlan, joints: tuple[str, ...]) -> None:
        super().__init__(client, plan, joints)
        self._open_loop = plan
        self._commands, self._last = plan.commands, plan.commands[min(plan.commands)]
        self._target = 0
        if plan.left_out:
            self.refusals.append(f"{plan.left_out} commands without a stamp")
        client.node.create_subscription(JointState, topic_names.JOINT_STATES, self._on_state, CONTROL_QOS)

    def report(self) -> list[str]:
        """Return lines about what was not repeated or not recorded, and how far the positions are from each other."""
        missing, end = self._open_loop.missing, self._plan.end
        return [*([f"without a recorded command: {missing} of {end} control periods; the commands before were sent "
                   "again"] if missing else []), *super().report()]

    def _stand_still(self) -> None:
        types = {message.topic: message.type for messages in self._commands.values() for message in messages}
        for topic, kind in types.items():
            self._publishers[topic] = self._client.publisher_to(HARDWARE, message_class(kind), topic, 10, START)

    def _go_to(self, tick: int, show: Callable[[int], None]) -> None:
        self._target = tick
        self._answer()
        while (before := self._tick) < tick:
            self._client.wait_for(partial(self._is_at, min(before + STEPS, tick)), f"joint state of node '{HARDWARE}'",
                                  ANSWER)
            show(self._tick)

    def _is_at(self, tick: int) -> bool:
        return self._tick >= tick

    def _make(self, request: Request) -> None:
        if isinstance(request, SetState):
            self._set_state(request)
            self._client.wait_for(partial(self._is_at, request.tick + 1), "joint state after set_state", ANSWER)
        else:
            super()._make(request)

    def _on_state(self, message: JointState) -> None:
        tick = self._tick_at(read_stamp(message.header.stamp))
        if tick >= self._tick:  # the hardware repeats a state that is not answered
            self._tick = tick
            self._note(tick, message.name, message.position)
            self._answer()

    def _answer(self) -> None:
        """Send the commands of the present tick, unless time is to stand still."""
        if self._tick >= self._target:
            return
        self._last = self._commands.get(self._tick, self._last)
        for command in self._last:
            self._publishers[command.topic].publish(self._with_stamp(command))

    def _with_stamp(self, command: RepeatedMessage) -> bytes:
        """Return a message with the stamp of the present tick."""
        data = bytearray(command.data)
        little_endian = data[1] & 1
        stamp = split_stamp(self._origin + self._tick * self._period_ns)
        struct.pack_into("<iI" if little_endian else ">iI", data, STAMP_BEGIN, *stamp)
        return bytes(data)
