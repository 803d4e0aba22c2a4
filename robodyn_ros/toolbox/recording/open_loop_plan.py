# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Turns a recording into commands and other inputs of the robot, to replay them without a controller."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from robodyn_ros.base import topic_names
from robodyn_ros.base.errors import RecordingError
from robodyn_ros.toolbox.recording.recorded_ticks import RecordedTicks, RepeatedMessage
from robodyn_ros.toolbox.recording.replay_plan import Request, in_order
from robodyn_ros.toolbox.recording.run import Run

COMMAND_TOPICS = (topic_names.JOINT_COMMANDS, topic_names.VOLTAGE_COMMANDS)
"""Topics of efforts and voltages; each message has the stamp of the joint state that it answers."""
UNSTAMPED_COMMANDS = topic_names.COMMANDS
HALF_NANOSECOND = 0.5e-9


class OpenLoopPlan(RecordedTicks):
    """The recorded commands by tick; tick 0 is that of the first command.

    Requests of a tick are made before its commands are sent.

    Args:
        run: The recording.

    Attributes:
        commands: Messages that answer each tick, in order of receipt; ticks without messages are omitted.
        left_out: Number of messages without a stamp, which cannot be assigned to a tick.

    Raises:
        RecordingError: No commands with stamps were recorded, or several simulations.
    """

    def __init__(self, run: Run) -> None:
        unstamped = run.topics.get(f"{run.namespace}/{UNSTAMPED_COMMANDS}")
        self.left_out = len(unstamped.messages) if unstamped else 0
        answers: list[tuple[float, str, str, bytes]] = []
        begin = float(run.states.time.min()) - HALF_NANOSECOND
        for name in COMMAND_TOPICS:
            if (topic := run.topics.get(f"{run.namespace}/{name}")) is not None:
                times = run.stamp_times(topic)
                self.left_out += int(np.isnan(times).sum())
                answers += [(time, name, topic.type, data)
                            for time, (_, data) in zip(times, topic.messages, strict=True) if time >= begin]
        if not answers:
            raise RecordingError(f"{run.path}: nothing to replay in open loop: expected messages of "
                                 f"{' or '.join(COMMAND_TOPICS)} with the stamps of joint states, found none")
        super().__init__(run, min(time for time, *_ in answers))
        self.commands: dict[int, list[RepeatedMessage]] = {}
        for time, name, kind, data in answers:
            tick = self.tick(time)
            self.commands.setdefault(tick, []).append(RepeatedMessage(tick, name, kind, data))

    @property
    def missing(self) -> int:
        """Number of ticks without a recorded command; the previous command still acts in them."""
        set_anew = {state.tick for state in self.states}
        return sum(tick not in self.commands and tick not in set_anew for tick in range(self.end))

    @cached_property
    def requests(self) -> tuple[Request, ...]:
        """The requests in their order; the first one sets the state of tick 0."""
        return in_order([*self.states, *self.parameter_changes(("hardware",)),
                         *self.messages((topic_names.EXTERNAL_WRENCH,))])
