# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Parts of the actuators: each value is declared once, for arrays, YAML files and studies."""

from dataclasses import replace

import numpy as np
import pytest

from robodyn_ros import InputError
from robodyn_ros.actuation import Actuators, DCMotor, GearTrain, JointActuators
from robodyn_ros.actuation.actuator_settings import ActuatorSettings, TransmissionSettings
from robodyn_ros.actuation.drive_limits import DriveLimits
from robodyn_ros.actuation.drive_losses import DriveLosses
from robodyn_ros.actuation.joint_actuators import PARTS
from robodyn_ros.actuation.joint_values import ranges_of
from robodyn_ros.actuation.motor_catalogue import MotorData
from robodyn_ros.base.fields import declared
from robodyn_ros.simulation.quantities import QUANTITIES

MOTORS = Actuators(DCMotor([0.5, 1.0], [0.1, 0.05], [1e-5, 2e-5]), GearTrain([50.0, -40.0]))
VALUES = [(part, name) for part, kind in PARTS.items() for name in declared(kind)]
KEYS = {"efficiency": "gear_efficiency", "static_loss": "gear_static_loss", "loss_velocity": "gear_loss_velocity",
        "spring_damping": "damping", "source_inertia": "inertia"}


@pytest.mark.parametrize(("part", "name"), VALUES, ids="-".join)
def test_a_value_is_given_in_its_part(part, name):
    assert len([other for _, other in VALUES if other == name]) == 1
    allowed, default = ranges_of(PARTS[part])[name], getattr(PARTS[part], name)
    assert allowed.holds(float(default))
    actuators = JointActuators(MOTORS)
    np.testing.assert_array_equal(getattr(getattr(actuators, part), name), np.full(2, default))
    end = min(allowed.maximum, 1.0) or max(allowed.minimum, -1.0)
    given = [0.5 * end, 0.25 * end]
    expected = [True, True] if default is False else given
    own = JointActuators(MOTORS, **{part: PARTS[part](**{name: given})})
    for other in (own, replace(actuators, **{part: replace(getattr(actuators, part), **{name: given})})):
        np.testing.assert_array_equal(getattr(getattr(other, part), name), expected)


@pytest.mark.parametrize(("part", "name"), VALUES, ids="-".join)
def test_files_and_studies_have_the_declaration_of_the_part(part, name):
    own, settings = declared(PARTS[part])[name], (declared(MotorData) | declared(ActuatorSettings)
                                                       | declared(TransmissionSettings))
    key = KEYS.get(name, name)
    if key in settings:
        assert settings[key].renamed(name) == own
    if own.quantity:
        quantity = QUANTITIES[own.quantity]
        assert (quantity.unit, quantity.minimum, quantity.only) == (own.unit, own.minimum, own.only)
        assert quantity.nominal == f"actuators.{part}.{name}"


def test_unknown_names_and_numbers_out_of_range_are_refused():
    with pytest.raises(TypeError, match="efficency"):
        JointActuators(MOTORS, efficency=0.8)
    with pytest.raises(InputError, match=r"JointActuators\.voltage_limit: expected a number above 0, or one for each"):
        JointActuators(MOTORS, limits=DriveLimits(voltage_limit=0.0))
    with pytest.raises(InputError, match="JointActuators: expected single numbers or as many everywhere"):
        JointActuators(MOTORS, is_motor=[True, False], losses=DriveLosses(efficiency=[0.8, 0.9, 0.7]))
