# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Plots of the last seconds: error, effort against its limit, motor current and voltage."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

import numpy as np
import viser
from viser import uplot

from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.toolbox.view.text import color_key, color_of

SECONDS = 15.0
"""Time span of the plots [s]."""
HEIGHT = 150


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
        panel.dock_left()
        panel.set_width(330)

    def add(self, time: float, error: Array | None, tip_error: float | None, effort: Array, current: Array | None,
            voltage: Array | None) -> None:
        """Add a sample.

        Args:
            time: Time of the joint state [s].
            error: Desired minus measured positions, shape (n,) [rad or m]; None without a joint reference.
            tip_error: Distance of the tip from its desired position [m]; None without a tip reference.
            effort: Efforts of the drives, shape (n,) [N m or N].
            current: Motor currents, shape (n,) [A], NaN without a motor; None: no joint has one.
            voltage: Motor voltages likewise [V].
        """
        values = {
            "error": None if error is None else 1e3 * error,
            "tip_error": None if tip_error is None else np.array([1e3 * tip_error]),
            "effort": self._effort_scale * effort, "current": current, "voltage": voltage,
        }
        for name, plot in self._plots.items():
            plot.add(time, values[name])

    def draw(self) -> None:
        """Send the new samples to the page."""
        for plot in self._plots.values():
            plot.draw()


class Plot:
    """One plot, hidden while it has no samples.

    Args:
        gui: Container of the plot.
        title: Quantity and unit.
        names: Names of the lines.
        least_range: The vertical axis shows at least the range from -least_range to least_range.
    """

    def __init__(self, gui: viser.GuiApi, title: str, names: Sequence[str], least_range: float) -> None:
        self._samples: deque[tuple[float, Array]] = deque()
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
        if self._samples and time < self._samples[-1][0]:
            self._samples.clear()
        self._samples.append((time, self._none if values is None else values))
        while time - self._samples[0][0] > SECONDS:
            self._samples.popleft()

    def draw(self) -> None:
        """Send the samples to the page."""
        values = np.array([values for _, values in self._samples])
        shown = np.abs(values[np.isfinite(values)])
        self._plot.visible = bool(shown.size)
        if not shown.size:
            return
        times = np.array([time for time, _ in self._samples])
        vertical = max(self._least, nice_limit(float(shown.max())))
        if vertical != self._range:
            self._range = vertical
            self._plot.scales = self._scales()
        self._plot.data = (times - times[-1], *np.ascontiguousarray(values.T))

    def _scales(self) -> dict[str, uplot.Scale]:
        return {"x": uplot.Scale(time=False, auto=False, range=(-SECONDS, 0.0)),
                "y": uplot.Scale(auto=False, range=(-self._range, self._range))}


def nice_limit(value: float) -> float:
    """Round a positive value up to 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(max(value, 1e-12)))
    return float(next(step * power for step in (1.0, 2.0, 5.0, 10.0) if step * power >= value * (1.0 - 1e-9)))
