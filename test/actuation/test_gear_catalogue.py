# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The catalogue of gears: plausible figures, and what a gear gives to the actuator and the spring of a joint."""

import math

import numpy as np
import pytest

from robodyn_ros import InputError, Plant, Robot
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.actuation.gear_catalogue import GEARS
from robodyn_ros.description.resources import robot_file

ARM = Robot.from_urdf(robot_file("planar_2r"))
MOTOR = {"motor": "maxon_re40_148877"}


def settings(**joint1):
    return HardwareSettings.from_mapping({"joints": {"joint1": joint1}})


@pytest.mark.parametrize("name", GEARS.names)
def test_figures_are_consistent(name):
    """No figure is wrong by a power of 10, or in minutes of arc."""
    gear = GEARS.load(name)
    assert gear.name and gear.source
    assert 5e3 < gear.stiffness < 1e6 and gear.backlash < math.radians(6 / 60)
    assert gear.ratio is None or 5 <= abs(gear.ratio) < 200
    assert gear.inertia < 1e-3 and gear.input_friction < 1.0 and 0.6 < gear.efficiency <= 1.0


def test_a_gear_gives_ratio_losses_inertia_and_spring():
    actuators = settings(gear="apex_af060_50", actuator=MOTOR).joint_actuators(ARM.model)
    bare = settings(actuator=MOTOR | {"gear_ratio": 50}).joint_actuators(ARM.model)
    assert actuators.motors.gear.ratio[0] == 50 and actuators.losses.efficiency[0] == 0.94
    assert actuators.transmission.stiffness[0] == pytest.approx(7.0 * 60 * 180 / math.pi, rel=1e-3)
    assert actuators.transmission.backlash[0] == pytest.approx(math.radians(5 / 60), rel=1e-3)
    np.testing.assert_allclose(actuators.reflected_inertia[0] - bare.reflected_inertia[0], 50**2 * 0.03e-4)
    assert not actuators.is_elastic[1] and not actuators.is_motor[1]


def test_values_beside_a_gear_win():
    actuators = settings(gear="nabtesco_rv_42n", actuator=MOTOR | {"gear_ratio": 81},
                         transmission={"backlash": 0.0}).joint_actuators(ARM.model)
    assert actuators.motors.gear.ratio[0] == 81 and actuators.transmission.backlash[0] == 0.0
    assert actuators.transmission.stiffness[0] == GEARS.load("nabtesco_rv_42n").stiffness


def test_an_arm_with_a_gear_of_the_catalogue_sags_by_its_spring():
    gear = GEARS.load("harmonic_csf_25_50")
    plant = Plant(ARM, actuators=settings(gear="harmonic_csf_25_50", actuator=MOTOR).joint_actuators(ARM.model))
    sag = (plant.motor_side.motor_q - plant.q)[0]
    assert sag == pytest.approx(ARM.dynamics().gravity(plant.q)[0] / gear.stiffness, rel=1e-9)


def test_what_cannot_be_is_told():
    with pytest.raises(InputError, match="joint 'joint1': gear: unknown gear 'harmonic_csf_25': did you mean 'har"):
        settings(gear="harmonic_csf_25")
    with pytest.raises(InputError, match="joint 'joint1': gear: stiffness: expected a finite number above 0"):
        settings(gear={"stiffness": 0.0})
    with pytest.raises(InputError, match="joint 'joint1': gear: backlash: expected a finite number from 0 to 0.1 .rad"):
        settings(gear={"stiffness": 1e4, "backlash": 5.0})  # minutes of arc
    slider = Robot.from_urdf(robot_file("scara"))
    sliding = slider.joint_names[[joint.kind for joint in slider.model.leaders].index("prismatic")]
    hardware = HardwareSettings.from_mapping({"joints": {sliding: {"gear": "apex_af060_50"}}})
    with pytest.raises(InputError, match=f"joint '{sliding}': gear: expected a joint that turns, received one that sl"):
        hardware.joint_actuators(slider.model)
