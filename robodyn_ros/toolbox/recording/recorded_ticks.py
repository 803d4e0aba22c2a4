# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The control periods of a recording, called ticks, and the requests that every replay repeats.

Times are counted in ticks, because a replay steps a simulation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robodyn_ros.base.checks import Range, as_number
from robodyn_ros.base.errors import InputError, RecordingError
from robodyn_ros.base.timing import DEFAULT_PERIOD
from robodyn_ros.control.runtime.supervisor import JUMP
from robodyn_ros.description.model import Array
from robodyn_ros.kinematics.turns import unwrapped
from robodyn_ros.toolbox.recording.run import Run

MAX_GAP = 0.1
"""In time mode real_time, a longer gap between two joint states was a pause, which the replay skips [s].

Simulated time stands still in a pause; a gap in it means missing states.
"""
RATES, MAX_TICKS = Range(1.0, 1e5, unit="Hz"), 20_000_000
"""Control rates that can be replayed, and greatest number of control periods."""
PACE_PARAMETERS = ("lockstep_speed_limit", "real_time_factor", "controller")
"""Parameters that a replay does not set: the pace of time, and the controller, which `PlannedSwap` sets."""


@dataclass(frozen=True, eq=False)
class SetState:
    """Set the state of the robot, which takes one tick: positions and velocities, shape (n,) each."""

    tick: int
    position: Array
    velocity: Array


@dataclass(frozen=True)
class SetParameter:
    """Set a parameter of a node, which is named without namespace."""

    tick: int
    node: str
    name: str
    value: Any


@dataclass(frozen=True)
class RepeatedMessage:
    """Send a recorded message again: topic without namespace, type, serialized message.

    An input belongs to a topic that the active law declares; other laws do not get it.
    """

    tick: int
    topic: str
    type: str
    data: bytes
    is_input: bool = False


class RecordedTicks:
    """The ticks of a recording from a given time, with the state of the robot at each.

    Args:
        run: The recording.
        start: Tick 0 is the last joint state at or before this time [s].

    Attributes:
        run: The recording.
        period: Control period [s].
        ticks: Tick of each recorded joint state since the start, shape (N,).
        position: Recorded positions at these ticks, shape (N, n) [rad or m].
        states: State of tick 0, to be set one tick before, and states to which the robot was set later.

    Raises:
        RecordingError: Several simulations were recorded.
    """

    def __init__(self, run: Run, start: float) -> None:
        self.run = run
        times, first = np.unique(run.states.time, return_index=True)
        if (np.diff(run.states.time) < 0.0).any():
            raise RecordingError(f"{run.path}: the time of the joint states goes back: the simulation was started anew "
                                 "while it was recorded, and one simulation can be replayed")
        hardware = run.parameters.get(f"{run.namespace}/hardware", {})
        rate, longest = hardware.get("update_rate"), MAX_GAP
        try:
            rate = None if rate is None else as_number(rate, RATES, "recorded parameters: update_rate")
        except InputError as error:
            raise RecordingError(f"{run.path}: {error}") from None
        if hardware.get("time_mode", "real_time") != "real_time":
            longest = np.inf
        begin = max(int(np.searchsorted(times, start, "right")) - 1, 0)
        self._times, rows = times[begin:], first[begin:]
        steps = np.diff(self._times)
        self.period = 1.0 / rate if rate else float(np.median(steps)) if len(steps) else DEFAULT_PERIOD
        self.position, velocity = run.states.position[rows], np.nan_to_num(run.states.velocity[rows])
        if run.robot_description:
            self.position = unwrapped(self.position, run.robot.model.continuous)
        speed = np.abs(velocity[1:]) + np.abs(velocity[:-1])
        excess = np.abs(np.diff(self.position, axis=0)) - steps[:, None] * speed
        jumps = (steps > longest) | (excess > JUMP).any(axis=1)
        self.ticks = np.concatenate([[0], np.cumsum(np.where(jumps, 1, np.maximum(np.rint(steps / self.period), 1)))])
        if self.ticks[-1] > MAX_TICKS:
            raise RecordingError(f"{run.path}: the joint states span {self.ticks[-1]:.3g} control periods of "
                                 f"{self.period:.3g} s; at most {MAX_TICKS} can be replayed")
        self.ticks = self.ticks.astype(int)
        self.states = [SetState(-1, self.position[0], velocity[0]), *(
            SetState(int(self.ticks[i]), self.position[i + 1], velocity[i + 1]) for i in np.flatnonzero(jumps))]

    @property
    def start(self) -> float:
        """Time of tick 0 [s]."""
        return float(self._times[0])

    @property
    def end(self) -> int:
        """The last tick."""
        return int(self.ticks[-1])

    def tick(self, time: float) -> int:
        """Return the tick at a time of the recording [s], also if its joint state was not recorded."""
        i = max(int(np.searchsorted(self._times, time + 0.5 * self.period, "right")) - 1, 0)
        last = self.ticks[i + 1] - 1 if i + 1 < len(self.ticks) else self.ticks[i]
        return int(min(self.ticks[i] + max(round((time - self._times[i]) / self.period), 0), last))

    def parameter_changes(self, nodes: Sequence[str]) -> Iterator[SetParameter]:
        """Yield parameter changes of some nodes, except swaps and the pace of time."""
        for change in self.run.parameter_changes:
            node = change.node.removeprefix(f"{self.run.namespace}/")
            if (node in nodes and change.name not in PACE_PARAMETERS and change.value is not None
                    and change.time >= self.start):
                yield SetParameter(self.tick(change.time), node, change.name, change.value)

    def messages(self, names: Sequence[str]) -> Iterator[RepeatedMessage]:
        """Yield the messages of some topics, at the ticks of their receipt."""
        for name in names:
            topic = self.run.topics.get(name if name.startswith("/") else f"{self.run.namespace}/{name}")
            for received, data in topic.messages if topic else ():
                time = self.run.time_of_receipt(received)
                if topic and time >= self.start:
                    yield RepeatedMessage(self.tick(time), name, topic.type, data)
