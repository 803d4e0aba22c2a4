# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""One step against the robot's forward dynamics and the method's own equation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_robots import urdf_robots
from shipped import few

from robodyn_ros import Robot
from robodyn_ros.actuation import Actuators, DCMotor, Friction, GearTrain, JointActuators
from robodyn_ros.actuation.drive_losses import DriveLosses
from robodyn_ros.description.resources import robot_file, shipped_robots
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.plant_state import PlantCommand
from robodyn_ros.simulation.semi_implicit_euler import METHOD

STEP = 1e-3


def random_state(plant, seed):
    rng = np.random.default_rng(seed)
    state = plant.state(rng.uniform(-1, 1, plant.n), rng.normal(size=plant.n))
    return state, PlantCommand.from_effort(10.0 * rng.normal(size=plant.n))


def without_friction(model):
    return Friction(np.zeros(model.n), np.zeros(model.n))


@settings(deadline=None, max_examples=25)
@given(urdf_robots(max_joints=6), st.integers(0, 2**32 - 1))
def test_free_step_is_the_forward_dynamics(urdf, seed):
    robot = Robot.from_urdf_text(urdf)
    plant = PlantModel(robot.model, JointActuators.ideal_sources(robot.n), without_friction(robot.model), STEP)
    state, command = random_state(plant, seed)
    posed, _, _ = METHOD.problem(plant, state, command)
    q, v = state.q, state.v
    effort = np.clip(command.effort, -robot.model.effort_limit, robot.model.effort_limit)
    expected = v + STEP * robot.dynamics(False, "textbook").forward_dynamics(q, v, effort)
    np.testing.assert_allclose(np.linalg.solve(posed.matrix, posed.momentum), expected, rtol=1e-8,
                               atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("name", few(shipped_robots()))
def test_damping_motors_and_inertia_of_rotors_are_implicit(name):
    """(M + Gamma^T J Gamma + h D') v' = (M + Gamma^T J Gamma) v + h (K v_M - h - g), (6.17) at the new velocity."""
    robot = Robot.from_urdf(robot_file(name))
    n = robot.n
    motors = Actuators(DCMotor(0.5, 0.03, 2e-5), GearTrain(np.linspace(50.0, -120.0, n)))
    friction = Friction(np.linspace(1.0, 1e5, n), 0.3)
    plant = PlantModel(robot.model, JointActuators(motors, losses=DriveLosses(motor_damping=1e-5)), friction, STEP)
    dynamics = Robot(plant.model).dynamics(False, "textbook")  # the motors' rotors count in the place of the URDF's
    state, command = random_state(plant, 7)
    command = command._replace(voltage=np.linspace(-12.0, 24.0, n), by_voltage=np.ones(n), damping=np.full(n, 0.25),
                               external=np.linspace(-3.0, 2.0, n))
    posed, voltage, _ = METHOD.problem(plant, state, command)
    implicit = posed.matrix + np.diag(posed.drive_damping)
    velocity = np.linalg.solve(implicit, posed.momentum + posed.drive)
    q, v = state.q, state.v
    inertia = dynamics.mass_matrix(q) + np.diag(motors.reflected_inertia)
    damping = friction.viscous + motors.damping + motors.gear.ratio**2 * 1e-5 + 0.25
    effort = motors.voltage_gain * command.voltage + command.external - dynamics.bias(q, v)
    np.testing.assert_allclose(inertia @ (velocity - v), STEP * (effort - damping * velocity), rtol=1e-7,
                               atol=1e-9 * np.abs(effort).max())
    np.testing.assert_allclose(posed.friction, STEP * 0.3, rtol=1e-12)
    np.testing.assert_array_equal(voltage, command.voltage)
