# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Sliders of the joints: they show the desired positions, or those that a user selected and the robot approaches."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import viser

from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.toolbox.view.shared_value import HANDS_OFF, SharedValue


@dataclass
class _Goal:
    """Positions that a user has selected, shape (n,) [rad or m].

    Attributes:
        q: The positions.
        crossed: Whether values for the sliders were on their way to the page when the user moved the first slider.
        distance: Least distance of a desired position from its goal so far [rad or m].
        progress: Steady time at which the distance became less [s].
    """

    q: Array
    crossed: bool
    distance: float
    progress: float


class JointSliders:
    """A slider for each joint; when a user moves one, the positions of all are sent.

    The sliders keep positions that a user has selected while the desired positions approach them, however long that
    takes. They follow the desired positions again once the robot has arrived, or if it goes elsewhere.

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
        """Show desired joint positions, unless the robot is on its way to positions that a user has selected.

        Args:
            q: Desired positions, shape (n,) [rad or m].
            standing: Whether the simulation is paused, so that the robot cannot approach anything.
        """
        now = time.monotonic()
        if (goal := self._goal) is not None:
            distance = float(np.abs(q - goal.q).max())
            if distance < goal.distance or standing:
                goal.distance, goal.progress = min(distance, goal.distance), now
            if now - goal.progress < HANDS_OFF or self._goal is not goal:
                return
            self._goal = None
            for slider in self._sliders if goal.crossed else ():
                slider.send_again()
        for slider, value in zip(self._sliders, np.clip(q, self._lower, self._upper), strict=True):
            if abs(slider.handle.value - value) > slider.handle.step:
                slider.show(round(float(value), 3))
                self._shown = now

    def _move(self, _: float) -> None:
        now, before = time.monotonic(), self._goal
        crossed = now - self._shown < HANDS_OFF if before is None else before.crossed
        q = np.clip([slider.value for slider in self._sliders], self._lower, self._upper)
        self._goal = _Goal(q, crossed, math.inf, now)
        self._on_change(q)

    def _add(self, server: viser.ViserServer, name: str, unit: str, index: int) -> SharedValue:
        lower, upper = (math.trunc(1000.0 * limit) / 1000.0 for limit in (self._lower[index], self._upper[index]))
        handle: Any = server.gui.add_slider(f"{name} [{unit}]", lower, upper, 0.001, min(max(0.0, lower), upper))
        return SharedValue(handle, self._move)
