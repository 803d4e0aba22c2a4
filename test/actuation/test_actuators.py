# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""(6.11) to (6.17) with the book's matrices, against the diagonals that the code keeps."""

import numpy as np
import pytest
from numpy.linalg import inv

from robodyn_ros.actuation import Actuators, DCMotor, GearTrain
from robodyn_ros.base.errors import InputError

MOTOR = DCMotor([1.2, 0.4, 2.0], [0.06, 0.03, 0.1], [3e-5, 8e-6, 1e-4], back_emf_constant=[0.05, 0.03, 0.11])
GEAR = GearTrain([100.0, -80.0, 50.0])
ACTUATORS = Actuators(MOTOR, GEAR)
R, K_M, J, K_e = (np.diag(figure) for figure in (MOTOR.resistance, MOTOR.torque_constant, MOTOR.rotor_inertia,
                                                  MOTOR.back_emf_constant))
GAMMA = np.diag(GEAR.ratio)
VOLTAGE, V, A = np.random.default_rng(0).normal(size=(3, 3))


def test_6_13_is_6_12_solved():
    torque = ACTUATORS.generated_torque(VOLTAGE, V)
    np.testing.assert_allclose(R @ inv(K_M) @ torque + K_e @ GAMMA @ V, VOLTAGE, rtol=1e-12)


def test_joint_effort_is_6_15():
    expected = (GAMMA.T @ K_M @ inv(R) @ VOLTAGE - GAMMA.T @ K_M @ inv(R) @ K_e @ GAMMA @ V
                - GAMMA.T @ J @ GAMMA @ A)
    np.testing.assert_allclose(ACTUATORS.joint_effort(VOLTAGE, V, A), expected, rtol=1e-12)


def test_voltage_undoes_joint_effort():
    np.testing.assert_allclose(ACTUATORS.voltage(ACTUATORS.joint_effort(VOLTAGE, V, A), V, A), VOLTAGE, rtol=1e-12)


def test_matrices_of_6_17():
    np.testing.assert_allclose(np.diag(ACTUATORS.reflected_inertia), GAMMA.T @ J @ GAMMA, rtol=1e-12)
    np.testing.assert_allclose(np.diag(ACTUATORS.damping), GAMMA.T @ K_M @ inv(R) @ K_e @ GAMMA, rtol=1e-12)
    np.testing.assert_allclose(np.diag(ACTUATORS.voltage_gain), GAMMA.T @ K_M @ inv(R), rtol=1e-12)
    gain = np.array([3.0, 4.0, 5.0])
    np.testing.assert_allclose(np.diag(ACTUATORS.effort_gain(gain)), GAMMA.T @ K_M @ inv(R) @ np.diag(gain), rtol=1e-12)


def test_compensation_of_gravity_in_volts():
    """The last term of (6.34)."""
    g, rest = np.array([30.0, -4.0, 1.0]), np.zeros(3)
    np.testing.assert_allclose(ACTUATORS.voltage(g, rest, rest), R @ inv(K_M) @ inv(GAMMA.T) @ g, rtol=1e-12)


def test_one_motor_or_one_gear_may_stand_for_all():
    one = DCMotor(1.2, 0.06, 3e-5, 1e-4)
    assert Actuators(one, GEAR).motor.inductance.shape == (3,) and Actuators(one, GEAR).n == 3
    assert Actuators(MOTOR, GearTrain(100.0)).gear.ratio.shape == (3,)
    with pytest.raises(InputError, match="3 motors and 2 gear trains"):
        Actuators(MOTOR, GearTrain([1.0, 2.0]))
