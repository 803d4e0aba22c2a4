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

from robodyn_ros import InputError
from robodyn_ros.actuation.motor_catalogue import MOTORS


@pytest.mark.parametrize("name", MOTORS.names)
def test_figures_are_consistent(name):
    """No figure is wrong by a power of 10: heat, currents, time constants and speeds are plausible for such motors."""
    motor = MOTORS.load(name)
    assert motor.source and motor.name
    warming = motor.thermal_resistance * 1.4 * motor.resistance * motor.continuous_current**2  # hot copper
    assert 40.0 < warming < 180.0
    stall = motor.nominal_voltage / motor.resistance
    assert 2.0 < stall / motor.continuous_current < 30.0
    mechanical = motor.rotor_inertia * motor.resistance / motor.torque_constant**2
    assert 2e-3 < mechanical < 2e-2
    assert 1e-5 < motor.inductance / motor.resistance < 1e-3
    no_load = motor.nominal_voltage / motor.torque_constant * 60 / (2 * np.pi)
    assert 3000 < no_load < 14000  # rpm


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
