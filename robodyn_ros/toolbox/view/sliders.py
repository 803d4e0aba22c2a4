# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Sliders of gains; they show the values of the controller node and send the values that a user selects."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import viser

from robodyn_ros.base.checks import LARGEST
from robodyn_ros.toolbox.view.live_plots import nice_limit
from robodyn_ros.toolbox.view.shared_value import SharedValue

FAR = 1000.0
"""A limit of a gain at more than this many times the reach of its slider is far off."""


def is_shown(value: object) -> bool:
    """Whether a parameter's value is one that a slider or a switch can show; any node can have any value."""
    return isinstance(value, int | float) and abs(value) <= LARGEST


@dataclass(frozen=True)
class Gain:
    """A parameter of a controller, with the description from its node.

    Attributes:
        name: Full name, such as ``pd.gains.elbow.p``.
        value: A number or a switch.
        minimum: Lowest value allowed; may be infinite.
        maximum: Highest value allowed; may be infinite.
        description: Meaning, with the unit in brackets at the end.
        fixed: Whether the node refuses changes while it runs.
    """

    name: str
    value: float | bool
    minimum: float
    maximum: float
    description: str
    fixed: bool = False

    @property
    def unit(self) -> str:
        """Unit at the end of the description; empty without one."""
        found = re.search(r"\[([^\]]+)\]", self.description)
        return found[1] if found else ""

    @property
    def group(self) -> str:
        """Heading of the slider: the field, for a parameter of a joint; empty for a parameter of the whole law."""
        parts = self.name.split(".")
        return parts[-1] if len(parts) > 3 and parts[-3] == "gains" else ""

    @property
    def label(self) -> str:
        """The joint, or the parameter without its controller."""
        parts = self.name.split(".")
        return parts[-2] if self.group else ".".join(parts[1:])

    @property
    def range(self) -> tuple[float, float]:
        """Ends of its slider: the limits, unless they are far off, or else wide enough for thrice its value."""
        reach = 1.0 if self.value == 0.0 else nice_limit(3.0 * abs(self.value))
        lower = self.minimum if self.minimum >= -FAR * reach else min(-reach, self.maximum - 2.0 * reach)
        upper = self.maximum if self.maximum <= FAR * reach else max(reach, lower + reach)
        return lower, upper


class GainSliders:
    """A slider or switch for each parameter of the active controller.

    Args:
        server: The page's server.
        container: Container of the sliders.
        on_change: Called with name and value when a user moves one.
    """

    def __init__(self, server: viser.ViserServer, container: viser.GuiTabHandle,
                 on_change: Callable[[str, float | bool], None]) -> None:
        self._server, self._container, self._on_change = server, container, on_change
        self._gains: list[Gain] = []
        self._sliders: dict[str, SharedValue] = {}
        self._folders: list[viser.GuiFolderHandle] = []

    def show(self, gains: Sequence[Gain]) -> None:
        """Show these gains; sliders that exist for just these stay, in case a user is dragging one."""
        if [replace(gain, value=0) for gain in gains] == [replace(gain, value=0) for gain in self._gains]:
            for gain in gains:
                self.update(gain.name, gain.value)
            return
        for handle in (*(slider.handle for slider in self._sliders.values()), *self._folders):
            handle.remove()
        self._gains, self._sliders, self._folders = list(gains), {}, []
        groups: dict[str, list[Gain]] = {}
        for gain in gains:
            groups.setdefault(gain.group, []).append(gain)
        with self._container:
            for group, members in groups.items():
                units = " or ".join(dict.fromkeys(gain.unit for gain in members if gain.unit))
                folder = self._server.gui.add_folder(f"{group or 'whole controller'}" + f" [{units}]" * bool(
                    group and units), expand_by_default=len(self._folders) < 2)
                self._folders.append(folder)
                with folder:
                    for gain in members:
                        self._sliders[gain.name] = self._add(gain)

    def update(self, name: str, value: float | bool) -> None:
        """Show a value that the controller node has."""
        slider = self._sliders.get(name)
        if slider is None or not is_shown(value) or isinstance(value, bool) != isinstance(slider.handle.value, bool):
            return
        if not isinstance(value, bool):
            handle = slider.handle
            handle.min, handle.max = min(handle.min, value), max(handle.max, value)
        slider.show(value)

    def follow(self) -> None:
        """Show the values that came while a user held a slider."""
        for slider in self._sliders.values():
            slider.follow()

    def _add(self, gain: Gain) -> SharedValue:
        gui, disabled = self._server.gui, gain.fixed
        label = gain.label + f" [{gain.unit}]" * bool(gain.unit and not gain.group)
        if isinstance(gain.value, bool):
            handle: Any = gui.add_checkbox(label, gain.value, disabled=disabled, hint=gain.description)
        else:
            lower, upper = gain.range
            step = (upper - lower) / 1000.0 if isinstance(gain.value, float) else 1
            handle = gui.add_slider(label, lower, upper, step, gain.value, disabled=disabled, hint=gain.description)
        return SharedValue(handle, partial(self._on_change, gain.name))
