# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Plots of the last seconds: error, effort against its limit, motor current and voltage, terms of the efforts."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import viser
from viser import uplot

from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.toolbox.view.text import color_key, color_of, plain

SECONDS = 15.0
"""Time span of the plots [s]."""
HEIGHT = 150
NO_TERMS = "The controller in force tells no terms of its efforts."


class LivePlots:
    """Plots in a separate panel, which users can move, dock or close.

    Args:
        server: The page's server.
        model: The robot, of n joints.
    """

    def __init__(self, server: viser.ViserServer, model: RobotModel) -> None:
        prismatic = {joint.kind == "prismatic" for joint in model.leaders}
        position = {frozenset({True}): "mm", frozenset({False}): "mrad"}.get(frozenset(prismatic), "mrad, mm")
        limit = np.where(np.isfinite(model.effort_limit) & (model.effort_limit > 0.0), model.effort_limit, math.nan)
        self._effort_scale = 100.0 / limit
        panel = server.gui.add_panel()
        with panel.add_tab("Plots"):
            server.gui.add_html(color_key(model.joint_names))
            names = model.joint_names
            self._plots = {
                "error": Plot(server.gui, f"error of joints [{position}]", names, 1.0),
                "tip_error": Plot(server.gui, "error of the tip [mm]", ("tip",), 1.0),
                "effort": Plot(server.gui, "effort [% of limit]", names, 20.0),
                "current": Plot(server.gui, "motor current [A]", names, 1.0),
                "voltage": Plot(server.gui, "motor voltage [V]", names, 5.0),
            }
        self._terms = TermPlot(server.gui, panel.add_tab("Terms"), model)
        panel.dock_left()
        panel.set_width(330)

    def add(self, time: float, error: Array | None, tip_error: float | None, effort: Array, current: Array | None,
            voltage: Array | None, terms: Mapping[str, Array]) -> None:
        """Add a sample.

        Args:
            time: Time of the joint state [s].
            error: Desired minus measured positions, shape (n,) [rad or m]; None without a joint reference.
            tip_error: Distance of the tip from its desired position [m]; None without a tip reference.
            effort: Efforts of the drives, shape (n,) [N m or N].
            current: Motor currents, shape (n,) [A], NaN without a motor; None: no joint has one.
            voltage: Motor voltages likewise [V].
            terms: Parts of the efforts by name, each of shape (n,) [N m or N]; empty if they are not known.
        """
        values = {
            "error": None if error is None else 1e3 * error,
            "tip_error": None if tip_error is None else np.array([1e3 * tip_error]),
            "effort": self._effort_scale * effort, "current": current, "voltage": voltage,
        }
        for name, plot in self._plots.items():
            plot.add(time, values[name])
        self._terms.add(time, terms)

    def draw(self) -> None:
        """Send the new samples to the page."""
        for plot in self._plots.values():
            plot.draw()
        self._terms.draw()


T = TypeVar("T")


class Samples(Generic[T]):
    """Values of the last seconds."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, T]] = deque()

    def add(self, time: float, value: T) -> None:
        """Add a value; a step back in time begins anew."""
        if self._samples and time < self._samples[-1][0]:
            self._samples.clear()
        self._samples.append((time, value))
        while time - self._samples[0][0] > SECONDS:
            self._samples.popleft()

    def values(self) -> list[T]:
        """Return the values, the oldest first."""
        return [value for _, value in self._samples]

    def ages(self) -> Array:
        """Return the time of each value, relative to that of the newest one [s]."""
        times = np.array([time for time, _ in self._samples])
        return times - times[-1:]  # also without samples


class Plot:
    """One plot, hidden while it has no samples.

    Args:
        gui: Container of the plot.
        title: Quantity and unit.
        names: Names of the lines.
        least_range: The vertical axis shows at least the range from -least_range to least_range.
    """

    def __init__(self, gui: viser.GuiApi, title: str, names: Sequence[str], least_range: float) -> None:
        self._samples = Samples[Array]()
        self._none = np.full(len(names), math.nan)
        self._least = self._range = least_range
        self._plot = gui.add_uplot(
            data=tuple(np.zeros(1) for _ in range(len(names) + 1)),
            series=(uplot.Series(label="t"), *(uplot.Series(label=name, stroke=color_of(index), width=1.5,
                                                            points={"show": False})
                                               for index, name in enumerate(names))),
            title=title, height=HEIGHT, legend=uplot.Legend(show=False),
            padding=(10, 16, 0, 0), scales=self._scales(), visible=False)

    def add(self, time: float, values: Array | None) -> None:
        """Add a sample; None if there is no value at this time."""
        self._samples.add(time, self._none if values is None else values)

    def draw(self) -> None:
        """Send the samples to the page."""
        self.show(self._samples.ages(), np.array(self._samples.values()))

    def show(self, ages: Array, values: Array) -> None:
        """Show values, shape (samples, lines), at times up to now, shape (samples,) [s]."""
        shown = np.abs(values[np.isfinite(values)])
        self._plot.visible = bool(shown.size)
        if not shown.size:
            return
        vertical = max(self._least, nice_limit(float(shown.max())))
        if vertical != self._range:
            self._range = vertical
            self._plot.scales = self._scales()
        self._plot.data = (ages, *np.ascontiguousarray(values.T))

    def remove(self) -> None:
        """Remove the plot from the page."""
        self._plot.remove()

    def _scales(self) -> dict[str, uplot.Scale]:
        return {"x": uplot.Scale(time=False, auto=False, range=(-SECONDS, 0.0)),
                "y": uplot.Scale(auto=False, range=(-self._range, self._range))}


class TermPlot:
    """The terms of one joint's effort: a line for each term of the last seconds, which swaps change.

    Args:
        gui: Of the page.
        tab: Container of the plot.
        model: The robot.
    """

    def __init__(self, gui: viser.GuiApi, tab: viser.GuiTabHandle, model: RobotModel) -> None:
        self._gui, self._tab = gui, tab
        self._joints, self._units = model.joint_names, [joint.effort_unit for joint in model.leaders]
        self._samples = Samples[Mapping[str, Array]]()
        self._shown: tuple[str, ...] = ()  # joint and terms of the plot
        self._plot: Plot | None = None
        with tab:
            self._joint: Any = gui.add_dropdown("Joint", self._joints)
            self._key = gui.add_html(plain(NO_TERMS))

    def add(self, time: float, terms: Mapping[str, Array]) -> None:
        """Add the terms of a time [s]."""
        self._samples.add(time, terms)

    def draw(self) -> None:
        """Send the terms of the chosen joint to the page."""
        samples, joint = self._samples.values(), self._joints.index(self._joint.value)
        names = tuple(dict.fromkeys(name for terms in samples for name in terms))
        if (self._joint.value, *names) != self._shown:
            self._shown = self._joint.value, *names
            if self._plot is not None:
                self._plot.remove()
            self._key.content = color_key(names) if names else plain(NO_TERMS)
            with self._tab:
                title = f"terms of {self._joint.value} [{self._units[joint]}]"
                self._plot = Plot(self._gui, title, names, 1.0) if names else None
        if self._plot is not None:
            self._plot.show(self._samples.ages(), np.array([
                [terms[name][joint] if name in terms else math.nan for name in names] for terms in samples]))


def nice_limit(value: float) -> float:
    """Round a positive value up to 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(max(value, 1e-12)))
    return float(next(step * power for step in (1.0, 2.0, 5.0, 10.0) if step * power >= value * (1.0 - 1e-9)))
