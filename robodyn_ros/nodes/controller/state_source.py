# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The joint states that the control loop answers: the newest complete one of those that this node follows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from robodyn_ros.base.errors import shown
from robodyn_ros.base.fields import Field
from robodyn_ros.control.runtime.velocity_estimate import VelocityEstimate
from robodyn_ros.nodes.common.joint_states import NO_STATES, Indices
from robodyn_ros.nodes.common.participants import sender
from robodyn_ros.nodes.common.topics import NEWEST_DEPTH
from robodyn_ros.nodes.controller.joint_state_input import VELOCITY_FILTER, JointStateInput, MeasuredState
from robodyn_ros.nodes.controller.new_starts import NewStarts
from robodyn_ros.nodes.controller.ownership import ControllerOwnership
from robodyn_ros.nodes.controller.part import Context, Part
from robodyn_ros.nodes.controller.stalls import Rejections

STATE_TIMEOUT = Field("state_timeout", 0.5, "Gap between joint states after which their return is a new start",
                      unit="s", structural=True, minimum=0.001, maximum=3600.0)


class StateSource(Part):
    """Reads the messages of the control path; for its thread.

    Args:
        context: What it knows of the node.

    Attributes:
        rejections: How many joint states were rejected so far.
    """

    PARAMETERS = (STATE_TIMEOUT, VELOCITY_FILTER)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        parameters, diagnostics = context.node.parameters, context.node.diagnostics
        timeout = parameters[STATE_TIMEOUT.name]
        new_starts = NewStarts(context.node, context.joints, lambda process: self._ownership.follows(process))
        context.thread.path.use(new_starts.handle)
        estimate = VelocityEstimate(parameters[VELOCITY_FILTER.name], timeout, context.robot.model.continuous)
        self._input = JointStateInput(context.joints, diagnostics, estimate, timeout, new_starts.reason)
        self._input.accepts = self._accepts
        self._path, self._timeout, self._diagnostics = context.thread.path, timeout, diagnostics
        self._answered, self._others = b"", 0  # publisher of the last state, and its messages that were none
        self._silent = True
        self.rejections = Rejections()

    @cached_property
    def _ownership(self) -> ControllerOwnership:
        return self.context.parts[ControllerOwnership]

    def _accepts(self, gid: bytes, now: float, joints: Indices) -> bool:
        return self._ownership.accepts(gid, now, joints)

    def newest(self, data: bytes, now: float) -> tuple[MeasuredState | None, dict[str, Any]]:
        """Read a serialized joint state and those that wait behind it.

        Messages of other robots' joints, and those that complete no state, are neither answered nor counted as
        unanswered.

        Args:
            data: The message.
            now: Steady time of its arrival [s].

        Returns:
            The newest state of the robot, or None; and what the middleware knows of its message, with the number of the
            state instead of that of the message, 0 for a state of several messages.
        """
        path, newest = self._path, self._read(data, now)
        found = path.info
        for _ in range(1, NEWEST_DEPTH):
            if (waiting := path.take()) is None:
                break
            measured = self._read(waiting, now)
            if measured is None:
                continue
            if newest is not None and newest.new_start and not measured.new_start:
                measured = measured._replace(new_start=newest.new_start)
            newest, found = measured, path.info
        if self._input.rejected != self.rejections.number:
            self.rejections = Rejections(self._input.rejected, self._input.rejection)
        return newest, found if newest is not None else {}

    def answered(self) -> None:
        """Note that a joint state is answered."""
        if self._silent:
            self._diagnostics.clear_condition("silence", "joint states are coming")
            self._silent = False

    def tell_silence(self) -> str:
        """Report that no joint state came that can be answered, and return the sentence."""
        self._silent = True
        missing = ", ".join(self._input.missing())
        why = (f"those of {missing} are missing; is the node that publishes them running?" if missing else
               "is the hardware node running?")
        if others := self._input.other_names:
            why += f" Messages with other joints alone came, such as {shown(others)}"
        text = f"{NO_STATES} {self._timeout:g} s or more that this node can answer: {why}"
        self._diagnostics.raise_condition("silence", text)
        return text

    def values(self) -> Mapping[str, object]:
        """Return where the velocities come from."""
        return {"velocities": "from positions" if self._input.estimated else "measured"}

    def _read(self, data: bytes, now: float) -> MeasuredState | None:
        """Read one message, and correct its number; arguments as for :meth:`newest`."""
        info = self._path.info
        gid = sender(info)
        measured = self._input.read(data, gid, now)
        if measured is None:
            if gid and gid == self._answered:
                self._others += 1
            return None
        if gid != self._answered:
            self._answered, self._others = gid, 0
        number = info.get("publication_sequence_number") or 0
        info["publication_sequence_number"] = 0 if self._input.merged else number - self._others
        return measured
