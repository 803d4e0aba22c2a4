# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The present mode of the control loop, with the reasons of all modes that are in force."""

from __future__ import annotations

from robodyn_ros.base.errors import InputError
from robodyn_ros.control.runtime.loop_events import ModeChanged
from robodyn_ros.control.runtime.modes import HELD, STOPS, Mode, Moves, Reason, first_mode


class ModeReasons:
    """Which modes have a reason. The loop's thread changes it; any thread may read it.

    Args:
        reason: Why no state has been received yet.

    Attributes:
        present: The mode.
        why: Its reason; None while running.
        held: The mode in which another law than the chosen one runs; running if none does that.
    """

    def __init__(self, reason: Reason) -> None:
        self._reasons = {Mode.WAITING_FOR_STATE: reason}
        self.present, self.held = Mode.WAITING_FOR_STATE, Mode.RUNNING
        self.why: Reason | None = reason

    def reason(self, mode: Mode) -> Reason | None:
        """The reason for a mode, also while another mode hides it; None: there is none."""
        return self._reasons.get(mode)

    def is_stopped(self) -> bool:
        """Whether the robot is stopped until a release."""
        return self.held in STOPS

    def stopped(self) -> str:
        """Why the robot is stopped until a release; empty if it is not."""
        reasons = dict(self._reasons)
        return "; ".join(reasons[mode].text for mode in STOPS if mode in reasons)

    def make(self, moves: Moves, reason: Reason | None) -> list[ModeChanged]:
        """Begin and end the modes of moves, with the reason of the one that begins; return what changed."""
        changed = [ModeChanged(mode, None) for mode in moves.ends
                   if self._reasons.pop(mode, None) is not None and mode is not Mode.WAITING_FOR_STATE]
        if moves.begins is not None:
            assert reason is not None
            changed.append(self.replace(moves.begins, reason))
        self.present, self.held = first_mode(self._reasons), first_mode(self._reasons, HELD)
        self.why = self._reasons.get(self.present)
        return changed

    def replace(self, mode: Mode, reason: Reason) -> ModeChanged:
        """Give a mode another reason; return the change."""
        self._reasons[mode] = reason
        self.why = self._reasons.get(self.present)
        return ModeChanged(mode, reason)

    def check_free(self, what: str) -> None:
        """Refuse a motion while another law than the chosen one runs.

        Args:
            what: What is refused, for the message.

        Raises:
            InputError: The robot is stopped, or an input is missing.
        """
        if self.is_stopped():
            raise InputError(f"{what}: the robot is stopped ({self.stopped()}): call ~/release first")
        if (waits := self.reason(Mode.HOLDING)) is not None:
            raise InputError(f"{what}: {waits.text}")
