# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The result of one tick of the control loop."""

from __future__ import annotations

from typing import Any, NamedTuple

from robodyn_ros.control.contract.controller import State
from robodyn_ros.control.plugins.plugin import Plugin
from robodyn_ros.control.runtime.loop_events import Event
from robodyn_ros.control.runtime.modes import Mode, Reason
from robodyn_ros.description.model import Array

NO_LAW_WORKS = "no controller works"
"""The intervention of a tick in which the safe law failed too: no effort is commanded."""

SWAPPING = "swap"
"""The intervention of a tick in which the efforts go from those of one law to those of the next."""


class Tick(NamedTuple):
    """Input and result of one tick."""

    state: State  # the measured state
    reference: Any  # of the class that the law follows; None if it follows none; without the offset of a transfer
    effort: Array  # commanded efforts, within the limits of the joints, shape (n,) [N m or N]
    saturated: bool  # whether the law returned efforts beyond the limits
    plugin: Plugin  # the law that computed the efforts
    time: float  # time of trajectories, which speed scaling slows down, since the start [s]
    intervention: str = ""  # what the supervisor did to the efforts; empty if nothing
    speed: float = 1.0  # speed of trajectories, relative to the one asked for
    mode: Mode = Mode.RUNNING
    reason: Reason | None = None  # of the mode; None while running
    events: tuple[Event, ...] = ()  # what happened since the last tick or request
    added: tuple[tuple[str, Array], ...] = ()  # terms of the efforts that the loop added to those of the law
