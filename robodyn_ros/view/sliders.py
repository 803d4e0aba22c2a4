"""Sliders of joints and of gains; they show values of the graph and send the values that a user selects."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import viser

from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.view.live_plots import nice_limit

HANDS_OFF = 1.5
"""Time after a user's last touch during which the graph does not move a slider [s]."""

FAR = 1000.0
"""A limit of a gain at more than this many times the reach of its slider is far off."""


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
        self._handles: dict[str, Any] = {}
        self._folders: list[viser.GuiFolderHandle] = []

    def show(self, gains: Sequence[Gain]) -> None:
        """Replace all sliders."""
        for handle in (*self._handles.values(), *self._folders):
            handle.remove()
        self._handles, self._folders = {}, []
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
                        self._handles[gain.name] = self._add(gain)

    def update(self, name: str, value: float | bool) -> None:
        """Show a value that was set elsewhere."""
        handle = self._handles.get(name)
        if handle is None or handle.value == value:
            return
        if not isinstance(value, bool):
            handle.min, handle.max = min(handle.min, value), max(handle.max, value)
        handle.value = value

    def _add(self, gain: Gain) -> Any:
        gui, disabled = self._server.gui, gain.fixed
        label = gain.label + f" [{gain.unit}]" * bool(gain.unit and not gain.group)
        if isinstance(gain.value, bool):
            handle: Any = gui.add_checkbox(label, gain.value, disabled=disabled, hint=gain.description)
        else:
            lower, upper = gain.range
            step = (upper - lower) / 1000.0 if isinstance(gain.value, float) else 1
            handle = gui.add_slider(label, lower, upper, step, gain.value, disabled=disabled, hint=gain.description)

        @handle.on_update
        def changed(event: viser.GuiEvent[Any]) -> None:
            value = event.target.value
            if event.client is not None and (isinstance(value, bool) or math.isfinite(value)):
                self._on_change(gain.name, value)

        return handle


class JointSliders:
    """A slider for each joint: follows the desired position; when a user moves one, all positions are sent.

    Args:
        server: The page's server; the sliders go into its current container.
        model: The robot, of n joints.
        on_change: Called with joint positions, shape (n,) [rad or m].
    """

    def __init__(self, server: viser.ViserServer, model: RobotModel, on_change: Callable[[Array], None]) -> None:
        self._on_change = on_change
        self._lower = np.where(np.isfinite(model.position_lower), model.position_lower, -math.pi)
        self._upper = np.where(np.isfinite(model.position_upper), model.position_upper, math.pi)
        self._touched = -math.inf
        self._handles = [self._add(server, joint.name, "m" if joint.kind == "prismatic" else "rad", index)
                         for index, joint in enumerate(model.leaders)]

    def follow(self, q: Array) -> None:
        """Show joint positions, shape (n,) [rad or m], unless a user has just moved a slider."""
        if time.monotonic() - self._touched < HANDS_OFF:
            return
        for handle, value in zip(self._handles, np.clip(q, self._lower, self._upper), strict=True):
            if not abs(handle.value - value) <= handle.step:  # also where a browser made it NaN
                handle.value = round(float(value), 3)

    def _add(self, server: viser.ViserServer, name: str, unit: str, index: int) -> Any:
        lower, upper = (math.trunc(1000.0 * limit) / 1000.0 for limit in (self._lower[index], self._upper[index]))
        handle = server.gui.add_slider(f"{name} [{unit}]", lower, upper, 0.001, min(max(0.0, lower), upper))

        @handle.on_update
        def changed(event: viser.GuiEvent[Any]) -> None:
            values = np.array([handle.value for handle in self._handles], dtype=np.float64)
            if event.client is not None and np.isfinite(values).all():
                self._touched = time.monotonic()
                self._on_change(np.clip(values, self._lower, self._upper))

        return handle
