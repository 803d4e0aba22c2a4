# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Modes of the control loop, and the one table of what changes them.

Each mode except running has a reason. Several reasons can be in force at once: a robot that is stopped may also lack an
input. The mode is the first one of `Mode` that has a reason; without a reason, the loop is running.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import NamedTuple


class Mode(Enum):
    """What the controller does. The values are the words of log, diagnostics, state topic and commands."""

    SUSPENDED = "suspended"
    WAITING_FOR_STATE = "waiting for a state"
    DAMPING = "damping"
    STOPPED = "stopped"
    HOLDING = "holding"
    RUNNING = "running"


MEANINGS = {
    Mode.SUSPENDED: "nothing is commanded, because the hardware follows another controller",
    Mode.WAITING_FOR_STATE: "no joint state has come yet",
    Mode.DAMPING: "joints swing under the safe law, so the node damps them instead of it",
    Mode.STOPPED: "the safe law holds the robot until `~/release`",
    Mode.HOLDING: "the safe law, or after a swap the law before, holds the robot until all that the chosen law reads "
                  "has come",
    Mode.RUNNING: "the chosen law runs",
}
"""A sentence for each mode, for the documents."""

STOPS = (Mode.STOPPED, Mode.DAMPING)
"""Modes in which the robot is stopped until a release."""

HELD = (Mode.DAMPING, Mode.STOPPED, Mode.HOLDING)
"""Modes in which another law runs instead of the chosen one: the safe one, or in holding the one before a swap."""


class Reason(NamedTuple):
    """Why the loop is in a mode, or why a law was dropped."""

    kind: str  # such as "request", "tip speed", "runaway"
    text: str  # the whole reason, with its numbers
    joints: tuple[str, ...] = ()  # the joints that it is about


class ReferenceMove(Enum):
    """What becomes of the reference."""

    AS_IS = "as it is"
    AT_REST = "the present positions"
    TO_REST = "comes to rest"
    GOES_ON = "goes on if the new law follows the same kind, else the present positions"


class Moves(NamedTuple):
    """What the loop does when something changes its mode or its law."""

    cause: str  # for the documents
    begins: Mode | None = None  # mode that gets a reason
    ends: tuple[Mode, ...] = ()  # modes whose reasons are over
    reference: ReferenceMove = ReferenceMove.AS_IS
    activates: bool = True  # calls `activate` of the law that runs from now on
    soft_start: bool = False  # begins the supervisor's soft start
    bumpless: bool = False  # the efforts go over from the last ones; otherwise they are those of the law at once


class Cause(Enum):
    """What changes the mode or the law, each with its moves."""

    FIRST_STATE = Moves("the first joint state", ends=(Mode.WAITING_FOR_STATE,), reference=ReferenceMove.TO_REST,
                        soft_start=True)
    NEW_START = Moves("a gap, a jump, or a new start that the hardware announces", reference=ReferenceMove.TO_REST,
                      soft_start=True)
    SWAP = Moves("another law is chosen", ends=(Mode.HOLDING,), reference=ReferenceMove.GOES_ON,
                 bumpless=True)
    SWAP_WAITS = Moves("another law is chosen, and a required input of it is missing: the law before holds the robot, "
                       "if it cannot lack one itself", begins=Mode.HOLDING, reference=ReferenceMove.TO_REST,
                       activates=False, bumpless=True)
    FAILURE = Moves("the law fails, runs away, is too slow, or does not return: the safe law is chosen",
                    ends=(Mode.HOLDING,), reference=ReferenceMove.AT_REST)
    INPUT_LACKS = Moves("a required input is missing", begins=Mode.HOLDING, reference=ReferenceMove.TO_REST)
    INPUTS_COMPLETE = Moves("all required inputs are there", ends=(Mode.HOLDING,), reference=ReferenceMove.TO_REST,
                            soft_start=True, bumpless=True)
    STOP = Moves("`~/stop`, or a bound of the supervisor", begins=Mode.STOPPED, reference=ReferenceMove.TO_REST)
    SWING = Moves("joints swing under the safe law", begins=Mode.DAMPING, activates=False)
    RELEASE = Moves("`~/release`", ends=STOPS, reference=ReferenceMove.TO_REST, soft_start=True, bumpless=True)
    SUSPEND = Moves("the hardware refuses the commands", begins=Mode.SUSPENDED, activates=False)
    RESUME = Moves("the hardware takes the commands again", ends=(Mode.SUSPENDED,), activates=False)


def first_mode(reasons: Mapping[Mode, Reason], among: Iterable[Mode] = Mode) -> Mode:
    """Return the first mode that has a reason; running without one."""
    return next((mode for mode in among if mode in reasons), Mode.RUNNING)
