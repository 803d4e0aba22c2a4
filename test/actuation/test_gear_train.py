# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Gear trains: what goes in comes out."""

import numpy as np
import pytest

from robodyn_ros import Robot
from robodyn_ros.actuation import GearTrain
from robodyn_ros.base.errors import InputError
from robodyn_ros.description.resources import robot_file

GEAR = GearTrain([100.0, -50.0])
DIFFERENTIAL = GearTrain([100.0, -50.0], coupling=[[1.0, 0.0], [-0.7, 1.0]])


@pytest.mark.parametrize("gear", [GEAR, DIFFERENTIAL])
def test_power_is_kept(gear):
    """(6.9): tau_M^T dq_M = tau^T dq, also where the motor turns the other way, and where it moves two joints."""
    motor_torque, v = np.random.default_rng(0).normal(size=(2, 2))
    motor_power = motor_torque @ gear.motor_motion(v)
    np.testing.assert_allclose(gear.joint_effort(motor_torque) @ v, motor_power, rtol=1e-12)
    np.testing.assert_allclose(gear.motor_torque(gear.joint_effort(motor_torque)), motor_torque, rtol=1e-12)


def test_kinetic_energy_and_dissipation_are_kept():
    inertia, v = np.array([1e-5, 2e-5]), np.array([0.3, -2.0])
    np.testing.assert_allclose(GEAR.reflected(inertia) @ v**2, inertia @ GEAR.motor_motion(v) ** 2, rtol=1e-12)


def test_reduction_ratio_is_output_over_input_speed():
    """(6.5), (6.6)."""
    v = np.array([2.0, 3.0])
    np.testing.assert_allclose(GEAR.reduction_ratio, v / GEAR.motor_motion(v), rtol=1e-14)


def test_gears_of_a_description():
    robot = Robot.from_urdf(robot_file("scara"))
    np.testing.assert_array_equal(GearTrain.from_model(robot.model).ratio, [1.0, 1.0, 50.0, 20.0])  # published


def test_bad_arguments_are_refused():
    with pytest.raises(InputError, match="ratios other than 0"):
        GearTrain([1.0, 0.0])
    with pytest.raises(InputError, match=r"motor_torque: expected .*, received shape \(3,\)"):
        GEAR.joint_effort(np.zeros(3))
