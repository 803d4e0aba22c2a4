# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

from dataclasses import replace

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from random_robots import urdf_robots

from bench.wrong_arm import described_arm
from robodyn_ros import InputError, Robot
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.description.resources import config_file
from robodyn_ros.dynamics.regressor import inertial_parameters
from robodyn_ros.toolbox.identification.effort_model import EffortModel
from robodyn_ros.toolbox.identification.identified_files import actuator_sections, urdf_with_inertias
from robodyn_ros.toolbox.identification.identified_model import IdentifiedModel
from robodyn_ros.toolbox.identification.motor_constants import MotorConstants


@given(urdf=urdf_robots(max_joints=6))
@settings(max_examples=20)
def test_a_written_urdf_is_the_robot_with_other_inertias(urdf):
    """Fixed links and mimic joints included; limits, names and frames stay."""
    model = Robot.from_urdf_text(urdf).model
    heavier = replace(model, joints=tuple(replace(joint, inertia=replace(
        joint.inertia, mass=1.3 * joint.inertia.mass, rotational=1.3 * joint.inertia.rotational))
        for joint in model.joints))
    viscous, coulomb = np.arange(model.n) + 0.5, np.arange(model.n) + 0.25
    read = Robot.from_urdf_text(urdf_with_inertias(model, heavier, viscous, coulomb)).model
    size = np.abs(inertial_parameters(heavier)).max()
    np.testing.assert_allclose(inertial_parameters(read), inertial_parameters(heavier), atol=1e-8 * size)
    np.testing.assert_allclose(read.damping, viscous)
    np.testing.assert_allclose(read.friction, coulomb)
    assert [joint.limits for joint in read.joints] == [joint.limits for joint in model.joints]
    assert list(read.frames) == list(model.frames)


def test_a_robot_without_urdf_cannot_be_written():
    model = replace(described_arm("planar_2r").model, description="")
    with pytest.raises(InputError, match="expected a robot from a URDF"):
        urdf_with_inertias(model, model, np.zeros(2), np.zeros(2))


def identified(has_rotor, rotor=(0.0, 0.0)):
    """Some friction, with Stribeck's effect in the second joint."""
    robot = described_arm("planar_2r")
    model = EffortModel(robot, np.array([np.nan, 0.05]), np.array(has_rotor))
    parameters = np.concatenate([inertial_parameters(robot.model), [0.3, 0.2], [1.0, 0.5], [0.0, 0.4], rotor])
    return IdentifiedModel(model, parameters, *[parameters] * 7, noise=np.zeros(2))


def test_the_yaml_is_what_the_simulation_takes(tmp_path):
    """The second motor was identified, whose gear has 43 turns; the first keeps what its file says."""
    content = yaml.safe_load(config_file("hardware_dc_motors.yaml").read_text())
    content["joints"]["joint1"]["actuator"]["motor_damping"] = 1e-4
    model = identified([True, True], rotor=(2.0, 0.0043 * 43))
    nan = np.nan
    constants = MotorConstants(*(np.array([nan, value]) for value in (0.05 * 43, 0.3, 0.06 * 43, 0.0, 0.0, 0.0)))
    path = tmp_path / "actuators.yaml"
    path.write_text(yaml.safe_dump(actuator_sections(model, constants, content)))
    robot = model.effort_model.robot
    settings = HardwareSettings.from_yaml(path)
    before = HardwareSettings.from_yaml(config_file("hardware_dc_motors.yaml"))
    actuators, described = settings.joint_actuators(robot.model), before.joint_actuators(robot.model)
    motor = actuators.motors.motor
    np.testing.assert_allclose([motor.torque_constant[1], motor.resistance[1], motor.back_emf_constant[1]],
                               [0.05, 0.3, 0.06])
    np.testing.assert_allclose(actuators.reflected_inertia[1], 0.0043 * 43)
    assert motor.torque_constant[0] == described.motors.motor.torque_constant[0]
    assert not actuators.reflected_damping.any()  # the viscous friction that was told includes it
    np.testing.assert_array_equal(actuators.losses.efficiency, described.losses.efficiency)
    np.testing.assert_array_equal(actuators.limits.current_limit, described.limits.current_limit)
    friction = settings.joint_friction(robot.model)
    for name in ("viscous", "coulomb", "static"):
        np.testing.assert_allclose(getattr(friction, name), getattr(model.friction, name))
    assert friction.stribeck_velocity[1] == 0.05


def test_without_a_file_of_motors_there_is_friction_alone():
    model, nothing = identified([False, False]), MotorConstants(*np.full((6, 2), np.nan))
    sections = actuator_sections(model, nothing)["joints"]
    assert sections["joint1"] == {"friction": {"viscous": 0.3, "coulomb": 1.0, "static": 1.0}}
    assert sections["joint2"]["friction"]["stribeck_velocity"] == 0.05
