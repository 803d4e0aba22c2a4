# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The report against the equation of motion and the textbook's energies."""

import numpy as np
import pytest

from robodyn_ros import Robot
from robodyn_ros.actuation import Actuators, DCMotor, Friction, GearTrain, JointActuators
from robodyn_ros.actuation.drive_limits import DriveLimits
from robodyn_ros.actuation.drive_losses import DriveLosses
from robodyn_ros.description.resources import robot_file
from robodyn_ros.dynamics.energy import kinetic_energy, potential_energy
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.plant import Plant


@pytest.mark.parametrize("motor", [False, True])
def test_reported_efforts_are_all_that_acts_on_the_joints(motor):
    """M'(q) (v' - v) / h + b(q, v) is the sum of drives, friction, stops and wrenches; some joints stick or stop."""
    robot = Robot.from_urdf(robot_file("arm6"))
    motors = JointActuators(Actuators(DCMotor(0.5, 0.06, 1e-5), GearTrain(np.full(6, 60.0))),
                            losses=DriveLosses(efficiency=0.8), limits=DriveLimits(current_limit=4.0))
    plant = Plant(robot, 1e-3, actuators=motors if motor else None,
                  friction=Friction(np.full(6, 0.1), np.linspace(0.0, 8.0, 6)))
    upper = robot.model.position_upper[2]
    start = np.array([0.3, -0.5, upper - 1e-4, 0.2, 0.4, 0.1])
    plant.set_state(start, [0.4, -0.3, 1.0, 0.2, 0.0, 0.0])
    v, dynamics, none = plant.v, robot.dynamics(False, "textbook"), np.zeros(6)
    wrench = np.array([3.0, -5.0, 8.0, 0.1, 0.2, 0.3])
    plant.set_wrench_tip(wrench)
    plant.advance(Drive(np.array([5.0, -80.0, 10.0, 1.0, 0.5, 0.1]), np.full(6, 0.2), none))
    inertia = dynamics.mass_matrix(start) + np.diag(plant.model.actuators.reflected_inertia)
    needed = inertia @ (plant.v - v) / 1e-3 + dynamics.bias(start, v) - dynamics.jacobian(start).T @ wrench
    state = plant.actuator_state
    of_stops = needed - state.joint_effort - state.friction_effort
    assert of_stops[2] < -10.0 and np.abs(np.delete(of_stops, 2)).max() < 1e-7 * np.abs(needed).max()
    assert plant.q[2] == upper and (plant.v == 0.0).any()
    np.testing.assert_array_equal(state.joint_effort, plant.effort)
    assert np.isnan(state.voltage).all() == (not motor)
    if motor:
        assert state.current_saturated.any() and not state.current_saturated.all()
        np.testing.assert_allclose(60.0 * state.motor_torque - 0.2 * plant.v, state.joint_effort, rtol=1e-12)


def test_energies_are_the_textbooks_and_the_rotors():
    robot = Robot.from_urdf(robot_file("arm7"))
    motors = JointActuators(Actuators(DCMotor(0.5, 0.06, 1e-5, 1e-3), GearTrain(np.full(7, 60.0))))
    plant = Plant(robot, actuators=motors)
    rng = np.random.default_rng(0)
    plant.set_state(plant.q + 0.1 * rng.normal(size=7), rng.normal(size=7))
    energy, v = plant.energy, plant.v
    rotors = 0.5 * np.sum(60.0**2 * 1e-5 * v**2)
    assert energy.kinetic == pytest.approx(float(kinetic_energy(robot.model, plant.q, v)) + rotors, rel=1e-12)
    assert energy.potential == pytest.approx(float(potential_energy(robot.model, plant.q)), rel=1e-12)
    assert energy[2:] == (0.0,) * 9
    plant.advance(Drive(np.full(7, 5.0), np.zeros(7), np.zeros(7)), 5)
    assert plant.energy.magnetic == pytest.approx(0.5e-3 * np.sum(plant.actuator_state.current**2), rel=1e-12)
