# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Sliders of joints and gains: they show the values of the graph and send the values that a user selects.

Users and the graph both change a widget; the graph does not override a user.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import viser

from robodyn_ros.base.checks import MAX_MAGNITUDE
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.toolbox.view.live_plots import nice_limit
from robodyn_ros.toolbox.view.viser_parts import send_again

USER_HOLD_TIME = 1.5
"""Time after a user's last change in which the graph does not change a widget [s]."""

FAR_LIMIT_FACTOR = 1000.0
"""A limit beyond this multiple of a slider's reach is far off."""


class SharedValue:
    """Value of a widget that both users and the graph change.

    While a user drags a slider, the graph reports outdated positions of the slider, older ones on a slower link.
    Therefore the graph's value is shown only after the user has left the widget alone.

    Args:
        handle: The widget.
        on_change: Called with each value from a user, on the server's thread.
    """

    def __init__(self, handle: Any, on_change: Callable[[Any], None]) -> None:
        self.handle = handle
        self.value = handle.value
        """The last value that the graph reported or a user selected."""
        self._on_change = on_change
        self._reported: Any = None
        self._touched = -math.inf
        handle.on_update(self._changed)

    async def _changed(self, event: viser.GuiEvent[Any]) -> None:  # async: in the order of the events
        value = self.handle.value
        if event.client is not None:
            self._touched, self.value = time.monotonic(), value
            self._on_change(value)

    @property
    def held(self) -> bool:
        """Whether a user has just changed the value."""
        arriving = self.handle.value != self.value  # its event has not been handled yet
        return arriving or time.monotonic() - self._touched < USER_HOLD_TIME

    def show(self, value: Any) -> None:
        """Show a value of the graph: now, or by :meth:`follow` after the user has released the widget."""
        self._reported = value
        self.follow()

    def show_now(self, value: Any) -> None:
        """Show a value of the graph, even if a user just selected another one."""
        self.value, self._touched = self.handle.value, -math.inf
        self.show(value)

    def follow(self) -> None:
        """Show the last value of the graph unless a user holds the widget."""
        if self._reported is None or self.held:
            return
        self.value = type(self.handle.value)(self._reported)
        self._reported = None
        self.handle.value = self.value


def is_shown(value: object) -> bool:
    """Whether a slider or a switch can show a parameter's value; any node can have any value."""
    return isinstance(value, int | float) and abs(value) <= MAX_MAGNITUDE


@dataclass(frozen=True)
class Gain:
    """A parameter of a controller, with the description from its node."""

    name: str  # full name, such as ``pd.gains.elbow.p``
    value: float | bool  # a number or a switch
    minimum: float  # lowest value allowed; may be infinite
    maximum: float  # highest value allowed; may be infinite
    description: str  # meaning, with the unit in brackets at the end
    fixed: bool = False  # whether the running node refuses changes

    @property
    def unit(self) -> str:
        """Unit at the end of the description; empty without one."""
        found = re.search(r"\[([^\]]+)\]", self.description)
        return found[1] if found else ""

    @property
    def group(self) -> str:
        """Heading of the slider: the field of a joint's parameter; empty for a parameter of the whole law."""
        parts = self.name.split(".")
        return parts[-1] if len(parts) > 3 and parts[-3] == "gains" else ""

    @property
    def label(self) -> str:
        """The joint, or the parameter without its controller."""
        parts = self.name.split(".")
        return parts[-2] if self.group else ".".join(parts[1:])

    @property
    def range(self) -> tuple[float, float]:
        """Ends of its slider: the limits, or if these are far off, a range several times its value."""
        reach = 1.0 if self.value == 0.0 else nice_limit(3.0 * abs(self.value))
        lower = self.minimum if self.minimum >= -FAR_LIMIT_FACTOR * reach else min(-reach, self.maximum - 2.0 * reach)
        upper = self.maximum if self.maximum <= FAR_LIMIT_FACTOR * reach else max(reach, lower + reach)
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
        """Show these gains; if sliders for exactly these exist, they stay, since a user may be dragging one."""
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
        """Show a value of the controller node."""
        slider = self._sliders.get(name)
        if slider is None or not is_shown(value) or isinstance(value, bool) != isinstance(slider.handle.value, bool):
            return
        if not isinstance(value, bool):
            handle = slider.handle
            handle.min, handle.max = min(handle.min, value), max(handle.max, value)
        slider.show(value)

    def follow(self) -> None:
        """Show values that arrived while a user held a slider."""
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


@dataclass
class _Goal:
    """Positions selected by a user."""

    q: Array  # the positions, shape (n,) [rad or m]
    crossed: bool  # whether values for the sliders were on their way to the page when the user moved the first slider
    distance: float  # least distance between desired positions and goal so far [rad or m]
    progress: float  # steady time of the last decrease of the distance [s]


class JointSliders:
    """A slider for each joint; when a user moves one, the positions of all joints are sent.

    The sliders keep the selected positions while the desired positions approach them, however long it takes. They
    follow the desired positions again after the robot has arrived, or if it moves elsewhere.

    Args:
        server: The page's server; the sliders go into its current container.
        model: The robot, of n joints.
        on_change: Called with joint positions, shape (n,) [rad or m].
    """

    def __init__(self, server: viser.ViserServer, model: RobotModel, on_change: Callable[[Array], None]) -> None:
        self._on_change = on_change
        self._lower = np.where(np.isfinite(model.position_lower), model.position_lower, -math.pi)
        self._upper = np.where(np.isfinite(model.position_upper), model.position_upper, math.pi)
        self._goal: _Goal | None = None
        self._shown = -math.inf  # steady time of the last position shown [s]
        self._sliders = [self._add(server, joint.name, joint.unit, index)
                         for index, joint in enumerate(model.leaders)]

    def follow(self, q: Array, standing: bool = False) -> None:
        """Show desired joint positions, unless the robot is on its way to selected positions.

        Args:
            q: Desired positions, shape (n,) [rad or m].
            standing: Whether the simulation is paused, so that the robot does not move.
        """
        now = time.monotonic()
        if (goal := self._goal) is not None:
            distance = float(np.abs(q - goal.q).max())
            if distance < goal.distance or standing:
                goal.distance, goal.progress = min(distance, goal.distance), now
            if now - goal.progress < USER_HOLD_TIME or self._goal is not goal:
                return
            self._goal = None
            for slider in self._sliders if goal.crossed else ():
                send_again(slider.handle)
        for slider, value in zip(self._sliders, np.clip(q, self._lower, self._upper), strict=True):
            if abs(slider.handle.value - value) > slider.handle.step:
                slider.show(round(float(value), 3))
                self._shown = now

    def _move(self, _: float) -> None:
        now, before = time.monotonic(), self._goal
        crossed = now - self._shown < USER_HOLD_TIME if before is None else before.crossed
        q = np.clip([slider.value for slider in self._sliders], self._lower, self._upper)
        self._goal = _Goal(q, crossed, math.inf, now)
        self._on_change(q)

    def _add(self, server: viser.ViserServer, name: str, unit: str, index: int) -> SharedValue:
        lower, upper = (math.trunc(1000.0 * limit) / 1000.0 for limit in (self._lower[index], self._upper[index]))
        handle: Any = server.gui.add_slider(f"{name} [{unit}]", lower, upper, 0.001, min(max(0.0, lower), upper))
        return SharedValue(handle, self._move)
