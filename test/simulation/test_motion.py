# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The smooth motion's derivative against the books' equations, and what becomes of commands."""

import numpy as np
import pytest

from robodyn_ros import Robot
from robodyn_ros.actuation import Actuators, DCMotor, Friction, GearTrain, JointActuators
from robodyn_ros.actuation.actuated_dynamics import forward_dynamics, state_derivative
from robodyn_ros.actuation.drive_limits import DriveLimits
from robodyn_ros.actuation.drive_losses import DriveLosses
from robodyn_ros.compile import compile_function
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.motion import SmoothState, demand, derivative, inertia, viscous
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.plant_state import PlantCommand

MODEL = Robot.from_urdf(robot_file("planar_2r")).model
RNG = np.random.default_rng(8)


def plant(inductance, **parts):
    motors = Actuators(DCMotor([1.1, 0.4], [0.06, 0.03], [1.4e-5, 8e-6], inductance), GearTrain([50.0, -80.0]))
    return PlantModel.from_description(MODEL, 1e-3, JointActuators(motors, **parts),
                                     Friction(MODEL.damping, MODEL.friction))


def command(**rows):
    return PlantCommand.from_effort(np.zeros(2))._replace(
        **{name: np.broadcast_to(values, 2).astype(float) for name, values in rows.items()})


@pytest.mark.parametrize("inductance", [0.0, [3e-3, 2e-3]])
def test_derivative_is_that_of_the_book(inductance):
    model = plant(inductance)
    x = SmoothState(*RNG.normal(size=(3, 2)), *np.zeros((4, 2)), *np.zeros((2, 0)))
    acting = command(voltage=[11.0, -7.0], by_voltage=1.0)
    rate = derivative(model, x, demand(model, acting, x[1]), acting)
    np.testing.assert_allclose(x.moved(rate, 0.1).v, x.v + 0.1 * rate.v, rtol=1e-15)
    motors = model.actuators.motors
    if model.actuators.circuits.has_inductance.any():
        expected = state_derivative(MODEL, motors, np.ravel(x[:3]), [11.0, -7.0]).reshape(3, 2)
        np.testing.assert_allclose(rate[:3], expected, rtol=1e-10)
        np.testing.assert_allclose(rate.drive_work, [11.0, -7.0] * x[2], rtol=1e-9)
    else:
        np.testing.assert_allclose(rate[1], forward_dynamics(MODEL, motors, x[0], x[1], np.array([11.0, -7.0])),
                                   rtol=1e-10)
    compiled = compile_function(lambda x: derivative(model, x, demand(model, acting, x[1]), acting),
                                {"x": x})
    for found, expected in zip(compiled(x), rate, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_demand_turns_efforts_into_voltages_within_limits():
    model = plant(0.0, is_motor=[True, False], limits=DriveLimits(voltage_limit=10.0))
    v = np.array([0.2, 0.3])
    asked = demand(model, command(effort=[3.0, 4.0]), v)
    np.testing.assert_allclose(asked.voltage, [1.1 * 3.0 / 3.0 + 0.06 * 50.0 * 0.2, 0.0])
    assert asked.effort.tolist() == [0.0, 4.0]
    limit = MODEL.effort_limit
    asked = demand(model, command(effort=[1000.0, -1000.0]), v)
    assert asked.effort[1] == -limit[1] and asked.voltage[0] == 10.0
    asked = demand(model, command(effort=[1000.0, 0.0], voltage=[-12.0, 0.0], by_voltage=[1.0, 0.0]), v)
    assert asked.voltage[0] == -10.0


def test_inertia_and_damping_have_the_motors_in_them():
    model = plant(0.0, losses=DriveLosses(motor_damping=1e-4))
    q = np.array([0.3, 0.7])
    added = inertia(model, q) - Robot(MODEL).dynamics(False, "textbook").mass_matrix(q)
    np.testing.assert_allclose(added, np.diag([1.4e-5 * 2500, 8e-6 * 6400]), atol=1e-12)
    np.testing.assert_allclose(viscous(model, command(damping=[0.5, 0.0]), np.ones(2)), MODEL.damping + [0.75, 0.64])
