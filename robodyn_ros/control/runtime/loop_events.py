# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.


"""What happened in the control loop, as a tick or a request reports it."""

from __future__ import annotations

from typing import NamedTuple

from robodyn_ros.base.errors import PluginError
from robodyn_ros.control.plugins.plugin import Plugin
from robodyn_ros.control.runtime.modes import Mode, Reason


class NewStart(NamedTuple):
    """The loop began anew at the current state."""

    text: str  # why
    dropped_motion: bool  # whether a trajectory was under way


class ModeChanged(NamedTuple):
    """A mode begins, ends, or has another reason, also while another one hides it."""

    mode: Mode
    reason: Reason | None  # None: it is over


class LawFailed(NamedTuple):
    """A law failed; the same name as its successor: it was the safe one, and no effort is commanded."""

    name: str
    successor: str
    error: PluginError
    stamp: int  # of the last joint state [ns]


class LawEnded(NamedTuple):
    """A law is no longer needed and can be deactivated."""

    plugin: Plugin


Event = NewStart | ModeChanged | LawFailed | LawEnded
