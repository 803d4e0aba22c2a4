# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Actuators against the book's equations, against numerical integration, and their limits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from robodyn_ros import InputError, Robot
from robodyn_ros.actuation import Actuators, DCMotor, GearTrain, JointActuators
from robodyn_ros.actuation.drive_limits import DriveLimits
from robodyn_ros.actuation.drive_losses import DriveLosses
from robodyn_ros.actuation.winding_heat import WindingHeat
from robodyn_ros.description.resources import robot_file

MOTORS = Actuators(DCMotor([1.1, 0.4], [0.06, 0.03], [1.4e-5, 8e-6], [3.3e-4, 0.0], [0.05, 0.03]),
                   GearTrain([50.0, -80.0]))
RNG = np.random.default_rng(2)
STEP = 1e-3
finite = st.floats(-60.0, 60.0)


def pair(value):
    return np.array(value, dtype=float)


def test_wanted_voltage_is_6_12_with_6_13_at_rest_and_in_motion():
    effort, v = RNG.normal(size=(2, 2))
    voltage = JointActuators(MOTORS).circuits.wanted_voltage(effort, v)
    np.testing.assert_allclose(voltage, MOTORS.voltage(effort, v, np.zeros(2)), rtol=1e-13)
    np.testing.assert_allclose(MOTORS.gear.joint_effort(MOTORS.generated_torque(voltage, v)), effort, rtol=1e-12)


def test_line_without_inductance_is_6_17():
    motors = Actuators(DCMotor([1.1, 0.4], [0.06, 0.03], [1.4e-5, 8e-6], 0.0, [0.05, 0.03]), MOTORS.gear)
    voltage, v, current = 10.0 * RNG.normal(size=(3, 2))
    line = JointActuators(motors).circuits.effort_line(voltage, current, STEP)
    np.testing.assert_allclose(line.damping, motors.damping, rtol=1e-13)
    np.testing.assert_allclose(line.effort, motors.voltage_gain * voltage, rtol=1e-13)


@given(st.floats(1e-9, 1e-2), finite, finite, st.floats(-3.0, 3.0))
def test_line_is_the_mean_effort_of_the_exact_current(inductance, voltage, current, velocity):
    motors = Actuators(DCMotor([1.1, 0.4], [0.06, 0.03], [1.4e-5, 8e-6], inductance, [0.05, 0.03]), MOTORS.gear)
    volts, start, v = pair([voltage, -voltage]), pair([current, 0.5 * current]), pair([velocity, -velocity])
    actuators = JointActuators(motors)
    line = actuators.circuits.effort_line(volts, start, STEP)
    end, mean = motors.motor.current_step(start, volts, motors.gear.motor_motion(v), STEP)
    expected = motors.gear.joint_effort(motors.motor.torque(mean))
    least = 1e-9 * np.abs(volts).max() + 1e-300  # numbers below the normal ones have fewer digits
    np.testing.assert_allclose(line.effort - line.damping * v, expected, rtol=1e-9, atol=least)
    assert (line.damping > 0.0).all() and (line.damping <= motors.damping).all()
    electrical = actuators.circuits.electrical_step(volts, start, v, np.zeros(2), STEP)
    np.testing.assert_allclose(electrical.current, end, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(electrical.mean_current, mean, rtol=1e-12, atol=1e-12)


def test_line_tends_to_6_17_as_the_inductance_vanishes():
    voltage, current = pair([12.0, -20.0]), pair([3.0, 2.0])
    without = JointActuators(Actuators(DCMotor([1.1, 0.4], [0.06, 0.03], 1e-5), MOTORS.gear))
    errors = []
    for inductance in (1e-5, 1e-7, 1e-9):
        motors = Actuators(DCMotor([1.1, 0.4], [0.06, 0.03], 1e-5, inductance), MOTORS.gear)
        line, limit = (actuators.circuits.effort_line(voltage, current, STEP)
                       for actuators in (JointActuators(motors), without))
        errors.append(np.abs(line.effort - limit.effort).max())
    np.testing.assert_allclose(errors[1:], np.array(errors[:-1]) / 100.0, rtol=1e-6)


@pytest.mark.parametrize("step", [1e-5, 1e-3, 2e-2])
def test_heat_and_work_are_the_integrals_of_power(step):
    actuators = JointActuators(MOTORS)
    voltage, current, v = pair([24.0, -7.0]), pair([-4.0, 2.0]), pair([0.6, -0.9])
    motor = MOTORS.motor
    speed = MOTORS.gear.motor_motion(v)

    def rate(_, x):
        i = np.where(motor.inductance > 0.0, x[:2], motor.steady_current(voltage, speed))
        di = np.where(motor.inductance > 0.0, (voltage - motor.voltage(i, speed)) / np.maximum(motor.inductance, 1e-9),
                      0.0)
        return np.concatenate([di, motor.resistance * i**2, voltage * i])

    end = solve_ivp(rate, (0.0, step), [*current, 0, 0, 0, 0], method="Radau", rtol=1e-10, atol=1e-14).y[:, -1]
    electrical = actuators.circuits.electrical_step(voltage, current, v, np.zeros(2), step)
    np.testing.assert_allclose(electrical.heat, end[2:4], rtol=1e-6)
    np.testing.assert_allclose(electrical.work, end[4:], rtol=1e-6)


@settings(max_examples=200)
@given(finite, finite, st.floats(-9.0, 9.0), st.sampled_from([-1.0, 0.0, 1.0]))
def test_currents_never_pass_their_limits(voltage, current, velocity, saturation):
    actuators = JointActuators(MOTORS, limits=DriveLimits(voltage_limit=24.0, current_limit=[5.0, np.inf],
                                                          torque_limit=[np.inf, 0.12]))
    np.testing.assert_allclose(actuators.circuits.greatest_current, [5.0, 4.0])
    np.testing.assert_allclose(actuators.circuits.effort_limit, [5.0 * 50 * 0.06, 0.12 * 80])
    volts, v = actuators.limits.on_voltage(pair([voltage, voltage])), pair([velocity, velocity])
    assert (np.abs(volts) <= 24.0).all()
    start = np.clip(pair([current, current]), -actuators.circuits.greatest_current, actuators.circuits.greatest_current)
    line = actuators.circuits.effort_line(volts, start, STEP)
    effort = line.effort - line.damping * v
    saturated = np.where(np.abs(effort) > actuators.circuits.effort_limit, np.sign(effort), 0.0)
    electrical = actuators.circuits.electrical_step(volts, start, v, saturated, STEP)
    for value in (electrical.current, electrical.mean_current, actuators.circuits.instant_current(volts, start, v)):
        assert (np.abs(value) <= actuators.circuits.greatest_current * (1 + 1e-12)).all()
    np.testing.assert_allclose(actuators.circuits.effort_from_current(electrical.mean_current),
                               actuators.circuits.limited_effort(effort), rtol=1e-9, atol=1e-9)
    assert (electrical.heat >= 0.0).all()


@given(st.floats(0.05, 1.0), finite)
def test_gear_that_drives_delivers_its_efficiency(efficiency, torque):
    actuators = JointActuators(MOTORS, losses=DriveLosses(efficiency=[efficiency, 1.0]))
    effort = pair([torque, torque])
    friction = actuators.gear_friction(effort, np.ones(2))
    np.testing.assert_allclose(abs(effort[0]) - friction[0], efficiency * abs(effort[0]), rtol=1e-12, atol=1e-15)
    assert friction[1] == 0.0


def test_winding_warms_to_its_steady_temperature_and_never_past_it():
    actuators = JointActuators(MOTORS, winding=WindingHeat(thermal_resistance=[6.58, 0.0], thermal_time_constant=41.5,
                                                           ambient_temperature=20.0))
    temperature, power, step = pair([20.0, 20.0]), pair([10.0, 10.0]), 0.5
    seen = [temperature]
    for _ in range(1000):
        seen.append(actuators.winding.next_temperature(seen[-1], power * step, step, actuators.has_heat))
    history = np.array(seen)
    assert (np.diff(history[:, 0]) >= 0.0).all() and history[-1, 0] == pytest.approx(20.0 + 65.8, abs=0.01)
    assert history[83, 0] == pytest.approx(20.0 + 65.8 * (1 - np.exp(-1.0)), rel=1e-9)  # after 41.5 s
    assert (history[:, 1] == 20.0).all()
    cooling = actuators.winding.next_temperature(pair([90.0, 90.0]), np.zeros(2), 41.5, actuators.has_heat)
    assert cooling[0] == pytest.approx(20.0 + 70.0 / np.e)


@given(st.lists(st.floats(0.0, 500.0), min_size=1, max_size=20))
def test_temperature_stays_between_ambient_and_the_hottest_steady_one(powers):
    actuators = JointActuators(MOTORS, winding=WindingHeat(thermal_resistance=2.0, thermal_time_constant=0.3))
    temperature = np.full(2, 25.0)
    for power in powers:
        temperature = actuators.winding.next_temperature(temperature, np.full(2, 0.1 * power), 0.1, actuators.has_heat)
        assert (temperature >= 25.0 - 1e-9).all() and (temperature <= 25.0 + 2.0 * max(powers) + 1e-9).all()


@pytest.mark.parametrize(("temperature", "resistance", "constant", "left"), [
    (-300.0, 0.05, 4.25, 1.0),      # 1 - 0.004 * 325 < 0: linear laws end at a twentieth
    (25.0, 1.0, 1.0, 1.0),
    (60.0, 1.14, 0.65, 1.0),
    (90.0, 1.26, 0.35, 0.25),
    (1000.0, 4.9, 0.05, 0.0),
])
def test_resistance_constants_and_limits_stay_sensible_at_any_temperature(temperature, resistance, constant, left):
    winding = WindingHeat(resistance_coefficient=0.004, torque_constant_coefficient=-0.01, derating_start=60.0,
                          derating_end=100.0, thermal_resistance=[2.0, 0.0])
    warm = JointActuators(MOTORS, limits=DriveLimits(current_limit=4.0), winding=winding).at(np.full(2, temperature))
    share = np.array([[resistance, constant, constant, left], [1.0, 1.0, 1.0, 1.0]])  # the second has no thermal model
    cold, now = MOTORS.motor, warm.motors.motor
    np.testing.assert_allclose(now.resistance, cold.resistance * share[:, 0])
    np.testing.assert_allclose(now.torque_constant, cold.torque_constant * share[:, 1])
    np.testing.assert_allclose(now.back_emf_constant, cold.back_emf_constant * share[:, 2])
    np.testing.assert_allclose(warm.circuits.greatest_current, 4.0 * share[:, 3], atol=1e-12)


def test_rate_of_the_current_is_6_1_and_stops_at_the_limit():
    actuators = JointActuators(MOTORS, limits=DriveLimits(current_limit=5.0))
    voltage, v = pair([24.0, 24.0]), pair([0.1, 0.1])
    rate = actuators.circuits.current_rate(voltage, pair([2.0, 2.0]), v)
    assert rate[0] == pytest.approx((24.0 - 1.1 * 2.0 - 0.05 * 50 * 0.1) / 3.3e-4)
    assert rate[1] == 0.0  # no inductance: no state
    assert actuators.circuits.current_rate(voltage, pair([5.1, 5.1]), v)[0] == 0.0
    assert actuators.circuits.current_rate(-voltage, pair([5.1, 5.1]), v)[0] < 0.0


def test_the_loss_of_a_gear_rises_towards_rest_with_its_load():
    """(1 - eta + s exp(-(w / w_s)^2)) |tau| by hand."""
    actuators = JointActuators(MOTORS,
                               losses=DriveLosses(efficiency=0.9, static_loss=[0.2, 0.0], loss_velocity=0.05))
    effort = pair([-30.0, 40.0])
    np.testing.assert_allclose(actuators.gear_friction(effort, pair([0.0, 0.0])), [9.0, 4.0])
    np.testing.assert_allclose(actuators.gear_friction(effort, pair([0.05, 0.05])), [3.0 + 6.0 / np.e, 4.0])
    np.testing.assert_allclose(actuators.gear_friction(effort, pair([-1.0, 1.0])), [3.0, 4.0], atol=1e-12)
    assert JointActuators(MOTORS, losses=DriveLosses(
        static_loss=[0.1, 0.0])).has_gear_friction.tolist() == [True, False]


def test_power_is_voltage_times_current():
    actuators = JointActuators(MOTORS)
    current, v = pair([3.0, -2.0]), pair([0.4, 0.5])
    voltage = MOTORS.motor.voltage(current, MOTORS.gear.motor_motion(v), pair([100.0, 0.0]))
    np.testing.assert_allclose(actuators.circuits.power(current, pair([100.0, 0.0]), v), voltage * current, rtol=1e-12)
    np.testing.assert_allclose(actuators.circuits.magnetic_energy(current), [0.5 * 3.3e-4 * 9.0, 0.0])
    np.testing.assert_allclose(actuators.circuits.heating(current), MOTORS.motor.resistance * current**2)


def test_ideal_sources_add_nothing():
    actuators, some = JointActuators.ideal_sources(3), RNG.normal(size=3)
    for value in (actuators.reflected_inertia, actuators.reflected_damping,
                  actuators.circuits.effort_from_current(some), actuators.gear_friction(some, some),
                  *actuators.circuits.effort_line(some, some, STEP),
                  *actuators.circuits.electrical_step(some, some, some, np.zeros(3), STEP),
                  actuators.circuits.current_rate(some, some, some), actuators.circuits.power(some, some, some)):
        np.testing.assert_array_equal(value, np.zeros(3))
    np.testing.assert_array_equal(actuators.winding.next_temperature(some, some, STEP, actuators.has_heat), some)
    assert not actuators.is_motor.any()


@pytest.mark.parametrize(("part", "message"), [
    ({"losses": DriveLosses(efficiency=0.0)}, "efficiency: expected a finite number above 0 and up to 1"),
    ({"losses": DriveLosses(efficiency=1.1)}, "efficiency: expected a finite number above 0 and up to 1"),
    ({"limits": DriveLimits(voltage_limit=0.0)}, "voltage_limit: expected a number above 0"),
    ({"limits": DriveLimits(current_limit=[-1.0, 1.0])}, "current_limit: expected a number above 0"),
    ({"limits": DriveLimits(torque_limit=np.nan)}, "torque_limit: expected a number above 0"),
    ({"losses": DriveLosses(motor_damping=-1.0)}, "motor_damping: expected a finite number of 0 or more"),
    ({"winding": WindingHeat(thermal_time_constant=0.0)}, "thermal_time_constant: expected a finite number above 0"),
    ({"losses": DriveLosses(efficiency=[1.0, 1.0, 1.0])}, "expected single numbers or as many everywhere"),
])
def test_impossible_actuators_are_refused(part, message):
    with pytest.raises(InputError, match=message):
        JointActuators(MOTORS, **part)


def test_there_is_one_actuator_for_each_joint():
    with pytest.raises(InputError, match="robot 'arm6': expected 6 actuators, one for each joint, received 2"):
        JointActuators(MOTORS).check(Robot.from_urdf(robot_file("arm6")).model)
