# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Settings from YAML: actuators and friction of a robot, and error messages."""

import re

import numpy as np
import pytest
import yaml
from urdf_parts import joint, link, one_joint

from robodyn_ros import InputError, Robot
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.actuation.motor_catalogue import MOTORS
from robodyn_ros.base.errors import DescriptionWarning
from robodyn_ros.description.resources import config_file, robot_file

MODEL = Robot.from_urdf(robot_file("planar_2r")).model
OWN_MOTOR = {"nominal_voltage": 12, "resistance": 2, "torque_constant": "5e-2", "rotor_inertia": 1e-5}


def settings(text):
    return HardwareSettings.from_mapping(yaml.safe_load(text), "test.yaml")


def test_shipped_example_holds_its_robot():
    found = HardwareSettings.from_yaml(config_file("hardware_dc_motors.yaml"))
    actuators, friction = found.joint_actuators(MODEL), found.joint_friction(MODEL)
    assert actuators.is_motor.all() and actuators.circuits.has_inductance.all() and actuators.has_heat.all()
    currents = [MOTORS.load(found.actuators[name].motor).continuous_current for name in MODEL.joint_names]
    needed = np.abs(Robot(MODEL).dynamics(False, "textbook").gravity(np.zeros(2)))
    continuous = actuators.losses.efficiency * actuators.circuits.effort_per_current * currents
    np.testing.assert_allclose(needed, [18.6, 3.9], atol=0.1)  # as the file says
    np.testing.assert_allclose(continuous, [29.9, 6.6], atol=0.05)
    assert (continuous > needed).all()
    np.testing.assert_array_equal(friction.static, [0.9, 0.2])


def test_joints_without_settings_are_ideal_and_rub_as_described():
    found = settings("joints: {joint2: {actuator: {motor: maxon_re40_148877, gear_ratio: -43}}}")
    actuators = found.joint_actuators(MODEL)
    assert actuators.is_motor.tolist() == [False, True]
    assert actuators.motors.gear.ratio.tolist() == [1.0, -43.0]
    assert actuators.limits.voltage_limit.tolist() == [np.inf, 48.0]
    assert actuators.limits.current_limit.tolist() == [np.inf, np.inf]
    friction = found.joint_friction(MODEL)
    np.testing.assert_array_equal(friction.coulomb, MODEL.friction)
    np.testing.assert_array_equal(friction.viscous, MODEL.damping)


def test_motors_of_ones_own_and_transmissions_of_the_description():
    text = robot_file("planar_2r").read_text().replace("</robot>", """<transmission name="t">
      <type>transmission_interface/SimpleTransmission</type><joint name="joint1"/>
      <actuator name="a"><mechanicalReduction>75</mechanicalReduction></actuator></transmission></robot>""")
    model = Robot.from_urdf_text(text).model
    found = HardwareSettings.from_mapping({"joints": {"joint1": {"actuator": {
        "motor": OWN_MOTOR, "inductance": False, "thermal": False, "torque_limit": 0.4}}}})
    actuators = found.joint_actuators(model)
    assert actuators.motors.gear.ratio[0] == 75.0
    assert actuators.motors.motor.torque_constant[0] == 0.05
    assert actuators.circuits.greatest_current[0] == pytest.approx(8.0)
    assert not actuators.circuits.has_inductance.any() and not actuators.has_heat.any()


def test_inductance_and_heat_can_be_left_out():
    found = settings("joints: {joint1: {actuator: {motor: maxon_re30_310009, inductance: false, thermal: false}}}")
    actuators = found.joint_actuators(MODEL)
    assert actuators.is_motor[0] and not actuators.circuits.has_inductance.any() and not actuators.has_heat.any()


@pytest.mark.parametrize(("text", "message"), [
    ("[]", "test.yaml: expected the key 'joints'"),
    ("{joints: {}, more: 1}", "expected the key 'joints'"),
    ("joints: {joint1: 7}", "joint 'joint1': expected keys and values, received 7"),
    ("joints: {joint1: {actuators: {}}}", "joint 'joint1': unknown key 'actuators': did you mean 'actuator'"),
    ("joints: {joint1: {actuator: {}}}", "joint 'joint1': actuator: .*missing: motor"),
    ("joints: {joint1: {actuator: {motor: x, gear_efficiency: 1.2}}}",
     "actuator: gear_efficiency: expected a finite number above 0 and up to 1, received 1.2"),
    ("joints: {joint1: {actuator: {motor: x, voltage_limit: none}}}",
     "voltage_limit: expected a finite number above 0 and up to 1e.09 .V., received 'none'"),
    ("joints: {joint1: {actuator: {motor: x, current_limit: .nan}}}",
     "current_limit: expected a finite number above 0"),
    ("joints: {joint1: {actuator: {motor: x, gear_ratio: 0}}}", "gear_ratio: .*, other than 0, received 0"),
    ("joints: {joint1: {actuator: {motor: x, thermal: 1}}}", "thermal: expected true or false, received 1"),
    ("joints: {joint1: {friction: {coulomb: -1}}}",
     "friction: coulomb: expected a finite number from 0 to 1e.09 .N m or N., received -1"),
    ("joints: {joint1: {friction: {viscous: true}}}", "viscous: expected a finite number .*, received True"),
])
def test_mistakes_in_a_file_are_named(text, message):
    with pytest.raises(InputError, match=message):
        settings(text)


@pytest.mark.parametrize(("text", "message"), [
    ("joints: {joint9: {friction: {coulomb: 1}}}", "test.yaml: robot 'planar_2r' has no moving joint 'joint9'"),
    ("joints: {joint9: {actuator: {motor: maxon_re40_148877}}}", "has no moving joint 'joint9'"),
    ("joints: {joint1: {actuator: {motor: maxon_re40}}}",
     "^test.yaml: joint 'joint1': actuator: motor: unknown motor 'maxon_re40': did you mean 'maxon_re40_148877'"),
    ("joints: {joint1: {actuator: {motor: {resistance: 1}}}}", "motor: .*missing: nominal_voltage, torque_constant"),
    ("joints: {joint1: {friction: {coulomb: 1, static: 0.5}}}", "static: expected a number not below the Coulomb fric"),
])
def test_settings_that_do_not_fit_the_robot_are_named(text, message):
    found = settings(text)
    with pytest.raises(InputError, match=message):
        found.joint_actuators(MODEL)
        found.joint_friction(MODEL)


def test_unreadable_files_are_named(tmp_path):
    with pytest.raises(InputError, match="expected a readable YAML file, received: .*No such file"):
        HardwareSettings.from_yaml(tmp_path / "none.yaml")


@pytest.mark.parametrize(("ratio", "armature"), [("gear_ratio: -100", '"0.1"'),
                                                 ("", '"1e-05 times the square of the gear ratio"')])
def test_a_motor_of_a_joint_that_is_held_asks_for_its_rotor_in_the_description(ratio, armature):
    finger = joint("g", "b", "finger", "prismatic")
    hand = one_joint().replace("</robot>", link("finger", "") + finger + "</robot>")
    with pytest.warns(DescriptionWarning, match="held at 0"):
        model = Robot.from_urdf_text(hand).model
    text = f"joints: {{g: {{actuator: {{motor: {OWN_MOTOR}, {ratio}}}}}}}"
    with pytest.raises(InputError) as refusal:
        settings(text).joint_actuators(model)
    assert "test.yaml: joint 'g' of robot 'test' moves no inertia" in str(refusal.value)
    assert f"<dynamics armature={armature}/>" in str(refusal.value)
    if ratio:
        moved = hand.replace(finger, finger.replace("</joint>", f"<dynamics armature={armature}/></joint>"))
        assert settings(text).joint_actuators(Robot.from_urdf_text(moved).model).reflected_inertia[1] == 0.1


COUPLED = """
joints:
  joint1: {actuator: {motor: maxon_re40_148877, motor_friction: 0.01}}
  joint2: {actuator: {motor: maxon_re40_148877}}
couplings:
  - joints: [joint2, joint1]
    matrix: [[30.0, 0.0], [20.0, -50.0]]
"""


def test_couplings_of_the_file_count_for_joints_with_motors():
    actuators = settings(COUPLED).joint_actuators(MODEL)
    gear = actuators.motors.gear
    np.testing.assert_allclose(gear.motor_motion([1.0, 0.0]), [-50.0, 0.0])  # joint1 alone, by its own motor
    np.testing.assert_allclose(gear.motor_motion([0.0, 1.0]), [20.0, 30.0])
    assert actuators.is_coupled.tolist() == [True, False] and actuators.losses.motor_friction.tolist() == [0.01, 0.0]
    plugin = """<transmission name="t"><plugin>transmission_interface/DifferentialTransmission</plugin>
      <actuator name="a" role="actuator1"/><actuator name="b" role="actuator2"/>
      <joint name="joint1" role="joint1"/><joint name="joint2" role="joint2"/></transmission></robot>"""
    described = Robot.from_urdf_text(robot_file("planar_2r").read_text().replace("</robot>", plugin)).model
    own = settings(COUPLED[:COUPLED.index("couplings")]).joint_actuators(described).motors.gear
    np.testing.assert_allclose(own.motor_motion([1.0, 0.25]), [1.25, 0.75])
    assert settings(COUPLED).joint_actuators(described).motors.gear.ratio.tolist() == [-50.0, 30.0]  # the file's
    assert settings("joints: {}").joint_actuators(described).motors.gear.coupling is None  # ideal sources


@pytest.mark.parametrize(("old", "new", "problem"), [
    ("joint2: {actuator: {motor: maxon_re40_148877}}", "joint2: {}",
     "joint 'joint2': expected an actuator, since motors drive it together with joint1"),
    ("joint2: {actuator: {", "joint2: {actuator: {gear_ratio: 3, ",
     "gear_ratio: expected none, since the coupling of this joint has the ratio, received 3"),
    ("[joint2, joint1]", "[joint2, joint7]", "no moving joint 'joint7'"),
    ("[joint2, joint1]", "joint2", "couplings: 0: joints: expected a list of names, received 'joint2'"),
    ("    matrix", "    matrices", "couplings: 0: unknown key 'matrices'"),
    ("20.0, -50.0", "60.0, 0.0", "couplings: 0: coupling of joint2, joint1: matrix: expected one that has an inverse"),
    ("20.0, -50.0", "20.0, .nan", "expected 2 rows, one for each motor"),
    ("couplings:\n", "couplings:\n  - {joints: [joint1, joint2], matrix: [[1, 1], [1, -1]]}\n",
     "couplings: expected each joint in one of them, received 'joint"),
    ("couplings:", "couplings: 3\nextra:", "expected the key 'joints'"),
    ("motor_friction: 0.01", "motor_friction: -1", "motor_friction: expected a finite number from 0"),
])
def test_a_coupling_that_does_not_fit_is_refused(old, new, problem):
    assert old in COUPLED
    with pytest.raises(InputError, match=f"test.yaml.*{re.escape(problem)}"):
        settings(COUPLED.replace(old, new)).joint_actuators(MODEL)
