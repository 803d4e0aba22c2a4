# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The motor's equations against each other, against numerical integration, and its balance of power."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from robodyn_ros.actuation import DCMotor
from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import compile_function

MOTOR = DCMotor(resistance=[1.2, 0.4], torque_constant=[0.06, 0.03], rotor_inertia=[3e-5, 8e-6],
                inductance=[6e-4, 2e-4], back_emf_constant=[0.05, 0.03])
RNG = np.random.default_rng(0)
CURRENT, RATE, SPEED, ACCELERATION = RNG.normal(size=(4, 2))


def test_voltage_is_6_1_element_by_element():
    expected = [MOTOR.resistance[k] * CURRENT[k] + MOTOR.back_emf_constant[k] * SPEED[k] + MOTOR.inductance[k] * RATE[k]
                for k in range(2)]
    np.testing.assert_allclose(MOTOR.voltage(CURRENT, SPEED, RATE), expected, rtol=1e-14)


def test_current_and_its_rate_undo_the_voltage():
    np.testing.assert_allclose(MOTOR.steady_current(MOTOR.voltage(CURRENT, SPEED), SPEED), CURRENT, rtol=1e-12)
    voltage = MOTOR.voltage(CURRENT, SPEED, RATE)
    np.testing.assert_allclose(MOTOR.current_rate(CURRENT, voltage, SPEED), RATE, rtol=1e-12)


def test_torque_accelerates_the_rotor_first():
    """(6.3) = (6.4)."""
    output = MOTOR.output_torque(CURRENT, ACCELERATION)
    np.testing.assert_allclose(MOTOR.rotor_inertia * ACCELERATION + output, MOTOR.torque_constant * CURRENT, rtol=1e-12)


def test_electrical_power_becomes_heat_magnetic_energy_and_shaft_power():
    """v i = R i^2 + d(L i^2 / 2)/dt + tau_0 w: so with K_e = K_M, and that is what K_e is unless it is given."""
    motor = DCMotor(1.2, 0.06, 3e-5, 6e-4)
    np.testing.assert_array_equal(motor.back_emf_constant, motor.torque_constant)
    i, rate, w = np.array([3.0]), np.array([-40.0]), np.array([120.0])
    power = motor.voltage(i, w, rate) * i
    np.testing.assert_allclose(power, 1.2 * i**2 + 6e-4 * i * rate + motor.torque(i) * w, rtol=1e-12)


@pytest.mark.parametrize("step", [1e-5, 5e-4, 1e-2])
def test_a_step_of_the_current_is_the_solution_of_6_1(step):
    """Steps shorter and much longer than L / R, 0.5 ms."""
    voltage = np.array([12.0, -5.0])

    def derivative(time, x):
        """Of the current and of the charge."""
        return np.concatenate([MOTOR.current_rate(x[:2], voltage, SPEED), x[:2]])

    end = solve_ivp(derivative, (0.0, step), [*CURRENT, 0.0, 0.0], method="Radau", rtol=1e-9, atol=1e-13).y[:, -1]
    after, mean = MOTOR.current_step(CURRENT, voltage, SPEED, step)
    np.testing.assert_allclose(after, end[:2], rtol=1e-7)
    np.testing.assert_allclose(mean, end[2:] / step, rtol=1e-7)


@given(st.floats(0.0, 1e-2), st.floats(1e-6, 1.0), st.floats(-10.0, 10.0))
def test_steps_of_the_current_neither_overshoot_nor_depend_on_how_they_are_divided(inductance, step, current):
    motor = DCMotor(0.5, 0.05, 1e-5, inductance)
    voltage, speed = np.array([6.0]), np.array([30.0])
    after, mean = motor.current_step([current], voltage, speed, step)
    middle, first = motor.current_step([current], voltage, speed, 0.5 * step)
    last, second = motor.current_step(middle, voltage, speed, 0.5 * step)
    np.testing.assert_allclose(last, after, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(0.5 * (first + second), mean, rtol=1e-9, atol=1e-9)
    ends = sorted([current, motor.steady_current(voltage, speed)[0]])
    assert ends[0] - 1e-9 <= after[0] <= ends[1] + 1e-9 and ends[0] - 1e-9 <= mean[0] <= ends[1] + 1e-9


@pytest.mark.filterwarnings("error")
def test_the_smallest_inductances_are_like_none():
    shares = DCMotor(0.5, 0.05, 1e-5, [5e-312, 5e-320]).current_shares(1e-3)  # h / T is 1e308, or beyond all numbers
    assert not any(share.any() for share in (shares.end, shares.mean > 1e-300, shares.mean_square > 1e-300))


def test_without_inductance_the_current_is_there_at_once():
    motor = DCMotor(0.5, 0.05, 1e-5)
    after, mean = motor.current_step([100.0], [6.0], [30.0], 1e-6)
    np.testing.assert_allclose([after, mean], [motor.steady_current([6.0], [30.0])] * 2, rtol=1e-14)


def test_a_step_of_the_current_can_be_compiled():
    def step(current, voltage, speed):
        return np.stack(MOTOR.current_step(current, voltage, speed, 1e-3))

    kernel = compile_function(step, {"current": (2,), "voltage": (2,), "speed": (2,)}, name="current_step")
    voltage = np.array([12.0, -5.0])
    np.testing.assert_allclose(kernel(CURRENT, voltage, SPEED), step(CURRENT, voltage, SPEED), rtol=1e-12)


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({"resistance": 0.0}, ["DCMotor.resistance", "a finite number above 0", "0.0"]),
        ({"torque_constant": [0.1, -0.1]}, ["torque_constant", "-0.1"]),
        ({"rotor_inertia": -1e-5}, ["rotor_inertia", "a finite number of 0 or more"]),
        ({"inductance": np.nan}, ["inductance", "finite", "nan"]),
        ({"resistance": [1.0, 1.0, 1.0], "inductance": [0.0, 0.0]}, ["resistance': 3", "inductance': 2"]),
        ({"resistance": "1 ohm"}, ["resistance", "1 ohm"]),
    ],
)
def test_wrong_values_are_refused_by_name(figures, words):
    good = {"resistance": 1.0, "torque_constant": 0.1, "rotor_inertia": 1e-5}
    with pytest.raises(InputError) as caught:
        DCMotor(**(good | figures))
    for word in words:
        assert word in str(caught.value)


def test_bad_arguments_are_refused():
    with pytest.raises(InputError, match=r"speed: expected .*, received shape \(3,\)"):
        MOTOR.voltage(CURRENT, np.zeros(3))
    with pytest.raises(InputError, match="step: expected a finite number above 0"):
        MOTOR.current_step(CURRENT, CURRENT, SPEED, 0.0)
    with pytest.raises(InputError, match="inductance"):
        DCMotor(1.0, 0.1, 1e-5).current_rate([0.0], [1.0], [0.0])
