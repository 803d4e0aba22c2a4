# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Heun's method of order 2: the mean of the rates at the beginning and at the end of an explicit Euler step."""

from __future__ import annotations

from robodyn_ros.simulation.motion import SmoothState, smooth_rate
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.plant_state import PlantCommand, PlantState
from robodyn_ros.simulation.split_step import SplitStep

RESOLVED_ANGLE = 0.1
"""h w up to which steps are not divided [rad]."""


class Heun(SplitStep):
    """The method of this module."""

    stable_decay = 2.0
    stable_angle = 0.0

    def resolved_speed(self, step: float) -> float:
        """Return the sum of angular speeds up to which steps are not divided [rad/s]."""
        return RESOLVED_ANGLE / step

    def prepare(self, plant: PlantModel, state: PlantState, command: PlantCommand) -> SmoothState:
        """Return x at the end of the smooth motion."""
        x, rate = SmoothState.from_state(state), smooth_rate(plant, state, command)
        first = rate(x)
        return x.moved(first, 0.5 * plant.step).moved(rate(x.moved(first, plant.step)), 0.5 * plant.step)


METHOD = Heun()
