# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The catalogue of motors: complete, consistent, with clear errors for unknown motors."""

import numpy as np
import pytest

from robodyn_ros import InputError, Robot
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.actuation.motor_catalogue import MOTORS
from robodyn_ros.commands.robot_report import drive_torque, no_load_speed, stall_torque


@pytest.mark.parametrize("name", MOTORS.names)
def test_figures_are_consistent(name):
    """No figure is wrong by a power of 10: heat, currents, time constants and speeds are plausible for such motors."""
    motor = MOTORS.load(name)
    assert motor.source and motor.name
    if motor.gear_ratio is None:
        warming = motor.thermal_resistance * 1.4 * motor.resistance * motor.continuous_current**2  # hot copper
        assert 40.0 < warming < 180.0 and motor.gear_efficiency == 1.0
    stall = motor.nominal_voltage / motor.resistance
    assert motor.continuous_current is None or 2.0 < stall / motor.continuous_current < 30.0
    mechanical = motor.rotor_inertia * motor.resistance / motor.torque_constant**2
    assert 2e-3 < mechanical < 6e-2
    assert motor.inductance == 0.0 or 1e-5 < motor.inductance / motor.resistance < 1e-3
    no_load = motor.nominal_voltage / motor.torque_constant * 60 / (2 * np.pi)
    assert 2000 < no_load < 17000  # rpm


@pytest.mark.parametrize(("name", "stall", "rated", "speed", "rotor"), [
    ("feetech_sts3215_12v", 30.0 * 0.0980665, 10.0 * 0.0980665, np.pi / 3.0 / 0.222, 0.028),
    ("dynamixel_xm430_w350", 4.1, np.nan, 46.0 * np.pi / 30.0, 0.045),
    ("damiao_dm_j4340", np.nan, 9.0, 52.5 * np.pi / 30.0, 0.032),
])
def test_servos_do_what_their_data_sheets_say(name, stall, rated, speed, rotor):
    """The derived keys give back the figures of the sheets at the joint; friction slows a servo by a few per cent."""
    model = Robot.named("planar_2r").model
    settings = HardwareSettings.from_mapping({"joints": {"joint1": {"actuator": {"motor": name}}}})
    actuators = settings.joint_actuators(model)
    found = (stall_torque(actuators)[0], drive_torque(actuators, settings.continuous_current(model))[0],
             no_load_speed(actuators)[0], actuators.reflected_inertia[0])
    for value, sheet, tolerance in zip(found, (stall, rated, speed, rotor), (5e-3, 5e-3, 0.03, 5e-3), strict=True):
        assert np.isnan(sheet) or value == pytest.approx(sheet, rel=tolerance)


@pytest.mark.parametrize(("given", "ratio", "efficiency", "friction"), [
    ({}, 345.0, 0.436, 1.51e-4), ({"gear_ratio": 191.0}, 191.0, 0.436, 1.51e-4),
    ({"gear_efficiency": 0.6, "motor_friction": 0.0}, 345.0, 0.6, 0.0)])
def test_the_gear_of_a_servo_gives_way_to_the_actuators_keys(given, ratio, efficiency, friction):
    model = Robot.named("planar_2r").model
    actuator = {"motor": "feetech_sts3215_12v"} | given
    found = HardwareSettings.from_mapping({"joints": {"joint2": {"actuator": actuator}}}).joint_actuators(model)
    losses = found.losses
    assert (found.motors.gear.ratio[1], losses.efficiency[1], losses.motor_friction[1]) == (ratio, efficiency, friction)


def test_motors_of_ones_own_are_files(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("{name: mine, source: measured, nominal_voltage: 12, resistance: 2, torque_constant: 5e-2, "
                    "rotor_inertia: 1.0e-5}")
    motor = MOTORS.load(str(path))
    assert motor.torque_constant == 0.05 and motor.inductance == 0.0 and motor.continuous_current is None


@pytest.mark.parametrize(("name", "message"), [
    ("maxon_re40", "unknown motor 'maxon_re40': did you mean 'maxon_re40_148877'"),
    ("", "unknown motor ''"),
    ("/nowhere/motor.yaml", "unknown motor '/nowhere/motor.yaml'"),
])
def test_unknown_motors_are_named(name, message):
    with pytest.raises(InputError, match=message):
        MOTORS.load(name)
