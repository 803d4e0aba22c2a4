# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The adaptive reference: against SciPy alone, and its error when the integration fails."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from robodyn_ros import InputError, Robot
from robodyn_ros.actuation import Friction
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.adaptive import AdaptiveMotion
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.integrator import Integrator
from robodyn_ros.simulation.plant import Plant
from robodyn_ros.simulation.plant_model import PlantModel


@pytest.mark.parametrize("compiled", [True, False])
def test_long_steps_follow_the_forward_dynamics(compiled):
    robot = Robot.from_urdf(robot_file("planar_2r"))
    plant = Plant(robot, 0.05, [0.4, -0.3], compiled, integrator="adaptive", friction=Friction([0.2, 0.1], 0.0))
    effort = np.array([4.0, 1.0])
    plant.advance(Drive(effort, np.zeros(2), np.zeros(2)), 6)

    def rate(_, x):
        return np.concatenate([x[2:], robot.dynamics().forward_dynamics(x[:2], x[2:], effort - [0.2, 0.1] * x[2:])])

    expected = solve_ivp(rate, (0.0, 0.3), [0.4, -0.3, 0.0, 0.0], method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    np.testing.assert_allclose(np.concatenate([plant.q, plant.v]), expected, atol=1e-7)


@pytest.mark.parametrize("tolerance", [0.0, 1.0, np.nan])
def test_tolerance_has_a_range(tolerance):
    model = PlantModel.from_description(Robot.from_urdf(robot_file("planar_2r")).model, integrator=Integrator.ADAPTIVE)
    with pytest.raises(InputError, match="tolerance of the plant: expected a finite number from 1e-13 to 0.01"):
        AdaptiveMotion(model, tolerance, compiled=False)
