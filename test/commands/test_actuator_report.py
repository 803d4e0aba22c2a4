# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""What ``robodyn check --actuators`` prints of motors, and its doubts."""

import numpy as np
import pytest
import yaml
from urdf_parts import joint, link, robot

from robodyn_ros import Robot
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.commands.actuator_report import describe_actuators, no_load_speed, stall_torque
from robodyn_ros.commands.command_line import main
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.plant import Plant

URDF = robot(link("base", ""), joint("turn", "base", "arm", limit='<limit lower="-3" upper="3" effort="2.9" '
                                                              'velocity="4.6"/>'),
             link("arm"))
FULL_VOLTAGE = Drive(*np.zeros((3, 1)), np.array([12.0]), np.ones(1))
SERVO = {"actuator": {"motor": "feetech_sts3215_12v"}}


def described(content, urdf=URDF, tmp_path=None):
    file = tmp_path / "motors.yaml"
    file.write_text(yaml.safe_dump({"joints": {"turn": content}}))
    return describe_actuators(Robot.from_urdf_text(urdf), str(file), 0.001)


def test_the_table_has_the_numbers_of_the_data_sheet(tmp_path):
    lines, doubts = described(SERVO | {"friction": {"viscous": 0.1, "coulomb": 0.02}}, tmp_path=tmp_path)
    row = lines[2].split()
    assert row[0] == "turn" and not doubts
    np.testing.assert_allclose(list(map(float, row[1:])), [2.942, 0.981, 4.64, 0.028, 0.14, 0.1, 0.072], rtol=0.01)


def test_stall_torque_and_speed_are_those_of_the_simulated_motor():
    """A motor under full voltage lifts a little less than its stall torque, and runs at the speed without load."""
    arm = Robot.from_urdf_text(URDF)
    settings = HardwareSettings.from_mapping({"joints": {"turn": SERVO}})
    actuators = settings.joint_actuators(arm.model)
    for wrench, moves in ((0.99, True), (1.01, False)):
        plant = Plant(arm, actuators=actuators)
        plant.set_wrench("arm", [0.0, 0.0, 0.0, 0.0, 0.0, -wrench * stall_torque(actuators)[0]])
        plant.advance(FULL_VOLTAGE, 200)
        assert bool(plant.v[0] > 1e-3) is moves
    for share, rises in ((0.999, True), (1.001, False)):
        plant, speed = Plant(arm, actuators=actuators), share * no_load_speed(actuators)
        plant.set_state(v=speed)
        plant.advance(FULL_VOLTAGE, 100)
        assert bool(plant.v[0] > speed[0]) is rises


@pytest.mark.parametrize(("changes", "extra", "words"), [
    ({}, "", ()),
    ({"current_limit": 1.0}, "", ("effort limit of 2.9 N m is beyond the 1.057 N m",)),
    ({"voltage_limit": 6.0}, "", ("effort limit of 2.9", "limit of 4.6 is beyond its speed without load, 2.27")),
    ({"motor_friction": 1.0}, "", ("it exerts 0 N m at most, no more than the dry friction of 345",)),
    ({}, '<dynamics armature="0.05"/>', ("its rotor has 0.02797 at the joint, the description's armature is 0.05",)),
    ({}, '<dynamics armature="0.028"/>', ()),
    ({"gear_inertia": 1.0}, "", ("its rotor has 1.19e+05 at the joint, the links have 0.14: is the one in kg m^2",)),
])
def test_doubts_about_motors(changes, extra, words, tmp_path):
    urdf = URDF.replace('<child link="arm"/>', f'<child link="arm"/>{extra}')
    _, doubts = described({"actuator": SERVO["actuator"] | changes}, urdf, tmp_path)
    text = "\n".join(doubts)
    assert all(word in text for word in words) and bool(doubts) == bool(words), text


def test_gravity_beyond_what_a_motor_can_hold_is_doubted(tmp_path, capsys):
    file = tmp_path / "weak.yaml"
    for limit, word in ((3.0, "N m at most, and gravity needs up to"), (8.0, "permanently, and gravity needs up to")):
        motors = dict.fromkeys(("joint1", "joint2"), {"actuator": {
            "motor": "maxon_re40_148877", "gear_ratio": 50, "current_limit": limit}})
        file.write_text(yaml.safe_dump({"joints": motors}))
        assert main(["check", "planar_2r", "--actuators", str(file)]) == 1
        assert word in capsys.readouterr().out
    file.write_text("joints: {}")
    assert main(["check", "planar_2r", "--actuators", str(file)]) == 0
    assert "motors: none" in capsys.readouterr().out
