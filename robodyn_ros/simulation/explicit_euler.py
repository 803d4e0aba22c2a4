# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The explicit Euler method of the books, x' = x + h f(x): order 1; a swinging robot gains energy."""

from __future__ import annotations

import numpy as np

from robodyn_ros.simulation.motion import SmoothState, smooth_rate
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.plant_state import PlantCommand, PlantState
from robodyn_ros.simulation.split_step import SplitStep

RESOLVED_RATE = 0.2
"""h w^2 up to which steps are not divided [1/s]: below that of other methods, as this one gains energy."""


class ExplicitEuler(SplitStep):
    """The method of this module."""

    share = 0.0  # positions do not depend on the new velocity
    stable_decay = 2.0
    stable_angle = 0.0

    def resolved_speed(self, step: float) -> float:
        """Return the sum of angular speeds up to which steps are not divided [rad/s]."""
        return float(np.sqrt(RESOLVED_RATE / step))

    def prepare(self, plant: PlantModel, state: PlantState, command: PlantCommand) -> SmoothState:
        """Return x at the end of the smooth motion."""
        x, rate = SmoothState.from_state(state), smooth_rate(plant, state, command)
        return x.moved(rate(x), plant.step)


METHOD = ExplicitEuler()
