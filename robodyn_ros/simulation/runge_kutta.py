# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The classical Runge-Kutta method of order 4, [HairerLubichWanner] II.1."""

from __future__ import annotations

from robodyn_ros.simulation.motion import SmoothState, smooth_rate
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.plant_state import PlantCommand, PlantState
from robodyn_ros.simulation.split_step import SplitStep

RESOLVED_ANGLE = 0.5
"""h w up to which steps are not divided; the error of the method is of order 4 [rad]."""


class RungeKutta(SplitStep):
    """The method of this module."""

    stable_decay = 2.785
    stable_angle = 2.785
    mujoco = "RK4"

    def resolved_speed(self, step: float) -> float:
        """Return the sum of angular speeds up to which steps are not divided [rad/s]."""
        return RESOLVED_ANGLE / step

    def prepare(self, plant: PlantModel, state: PlantState, command: PlantCommand) -> SmoothState:
        """Return x at the end of the smooth motion."""
        x, step, rate = SmoothState.from_state(state), plant.step, smooth_rate(plant, state, command)
        k1 = rate(x)
        k2 = rate(x.moved(k1, 0.5 * step))
        k3 = rate(x.moved(k2, 0.5 * step))
        k4 = rate(x.moved(k3, step))
        mean = SmoothState(*(a + 2.0 * b + 2.0 * c + d for a, b, c, d in zip(k1, k2, k3, k4, strict=True)))
        return x.moved(mean, step / 6.0)


METHOD = RungeKutta()
