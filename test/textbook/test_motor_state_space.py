# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Exact steps of a motor with its load against numerical integration, and their limit without inductance."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from robodyn_ros.actuation import DCMotor
from robodyn_ros.base.errors import InputError
from robodyn_ros.textbook.motor_state_space import MotorStateSpace

RESISTANCE, CONSTANT, INERTIA, INDUCTANCE, BACK_EMF = 1.2, 0.06, 3e-5, 6e-4, 0.05
MOTOR = DCMotor([RESISTANCE, 2.0], [CONSTANT, 0.1], [INERTIA, 1e-4], [INDUCTANCE, 1e-3], [BACK_EMF, 0.1])
LOAD, FRICTION = 5e-5, 1e-4


@pytest.mark.parametrize("step", [1e-4, 5e-3])
def test_a_step_is_the_solution_of_6_1_to_6_4(step):
    x, voltage, torque = np.array([0.2, -50.0, 1.5]), 12.0, 0.04

    def derivative(time, x):
        _, w, i = x
        acceleration = (CONSTANT * i - FRICTION * w - torque) / (INERTIA + LOAD)
        return [w, acceleration, (voltage - RESISTANCE * i - BACK_EMF * w) / INDUCTANCE]

    expected = solve_ivp(derivative, (0.0, step), x, method="Radau", rtol=1e-10, atol=1e-12).y[:, -1]
    a, b = MotorStateSpace.from_motor(MOTOR, LOAD, FRICTION).discrete(step)
    np.testing.assert_allclose(a[0] @ x + b[0] @ [voltage, torque], expected, rtol=1e-7)


def test_small_inductance_tends_to_none():
    """(6.1) becomes (6.2)."""
    figures = ([RESISTANCE], [CONSTANT], [INERTIA])
    without = MotorStateSpace.from_motor(DCMotor(*figures, back_emf_constant=BACK_EMF), LOAD, FRICTION).discrete(0.01)
    little = MotorStateSpace.from_motor(DCMotor(*figures, 1e-9, BACK_EMF), LOAD, FRICTION).discrete(0.01)
    np.testing.assert_allclose(little.A[0][:2, :2], without.A[0], rtol=1e-5, atol=1e-12)
    np.testing.assert_allclose(little.B[0][:2], without.B[0], rtol=1e-5, atol=1e-12)


def test_final_speed_is_where_torque_and_back_emf_balance():
    a, b = MotorStateSpace.from_motor(MOTOR, LOAD, 0.0).discrete(10.0)
    speed, current = (a[0] @ [0.0, 0.0, 0.0] + b[0] @ [12.0, 0.03])[1:]
    np.testing.assert_allclose(current, 0.03 / CONSTANT, rtol=1e-9)
    np.testing.assert_allclose(speed, (12.0 - RESISTANCE * current) / BACK_EMF, rtol=1e-9)


def test_bad_arguments_are_refused():
    with pytest.raises(InputError, match="inductance.*positive"):
        MotorStateSpace.from_motor(DCMotor([1.0, 1.0], 0.1, 1e-5, [1e-3, 0.0]))
    with pytest.raises(InputError, match="inertia of the rotor"):
        MotorStateSpace.from_motor(DCMotor(1.0, 0.1, 0.0))
    with pytest.raises(InputError, match="load_damping"):
        MotorStateSpace.from_motor(MOTOR, 0.0, -1.0)
    with pytest.raises(InputError, match="expected 1 values of the load, received 2"):
        MotorStateSpace.from_motor(DCMotor(1.0, 0.1, 1e-5), [1e-5, 1e-5])
    with pytest.raises(InputError, match="positive step"):
        MotorStateSpace.from_motor(MOTOR).discrete(-1.0)
