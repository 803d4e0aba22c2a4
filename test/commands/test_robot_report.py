# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The report of `robodyn check`; its doubts: description/test_doubts.py."""

import subprocess
import sys

import numpy as np
import pytest
import yaml
from urdf_parts import INERTIAL, joint, link, robot

from robodyn_ros import Robot
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.base.errors import DescriptionWarning
from robodyn_ros.commands.command_line import main
from robodyn_ros.commands.robot_report import (
    describe_actuators,
    dh_table,
    joint_table,
    link_boxes,
    no_load_speed,
    report,
    stall_torque,
    tree,
)
from robodyn_ros.description.document import read_document
from robodyn_ros.description.find_denavit_hartenberg import find_denavit_hartenberg
from robodyn_ros.description.resources import robot_file
from robodyn_ros.description.robot_sources import text_source
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.plant import Plant

HAND = robot(link("base", ""), joint("turn", "base", "palm", axis="1 0 0"), link("palm"),
             joint("left", "palm", "finger_1", "prismatic"), link("finger_1"),
             joint("fix", "finger_1", "nail", "fixed"), link("nail", ""),
             joint("right", "palm", "finger_2", "prismatic", extra='<mimic joint="left"/>'), link("finger_2"))
URDF = robot(link("base", ""), joint("turn", "base", "arm", limit='<limit lower="-3" upper="3" effort="2.9" '
                                                              'velocity="4.6"/>'),
             link("arm"))
FULL_VOLTAGE = Drive(*np.zeros((3, 1)), np.array([12.0]), np.ones(1))
SERVO = {"actuator": {"motor": "feetech_sts3215_12v"}}


def test_the_tree_shows_joints_links_and_masses():
    document, _ = read_document(text_source(HAND))
    assert list(tree(document)) == [
        "base",
        "└─ turn (revolute) → palm  2 kg",
        "   ├─ left (prismatic) → finger_1  2 kg",
        "   │  └─ fix (fixed) → nail",
        "   └─ right (prismatic, mimics left) → finger_2  2 kg",
    ]


def test_the_table_has_limits_masses_and_gravity():
    model = Robot.from_urdf_text(HAND).model
    rows = {line.split()[0]: line.split() for line in joint_table(model, np.array([7.5, 1e3]))}
    assert rows["turn"] == ["turn", "revolute", "-1", "2", "3", "4", "7.5", "2", "0", "0", "0"]
    assert rows["right"] == ["right", "mimic", "-1", "2", "3", "4", "2", "0", "0", "0"]


def test_the_table_has_friction_and_rotors():
    rubs = joint("turn", "base", "arm", extra='<dynamics damping="0.5" friction="0.2" armature="0.03"/>')
    model = Robot.from_urdf_text(robot(link("base", ""), rubs, link("arm"))).model
    assert list(joint_table(model, np.zeros(1)))[2].split()[-3:] == ["0.5", "0.2", "0.03"]


def test_coupled_motors_are_listed(tmp_path):
    plugin = """<transmission name="t"><plugin>transmission_interface/FourBarLinkageTransmission</plugin>
      <actuator name="a" role="actuator1"><mechanical_reduction>45</mechanical_reduction></actuator>
      <actuator name="b" role="actuator2"><mechanical_reduction>32</mechanical_reduction></actuator>
      <joint name="turn" role="joint1"/><joint name="left" role="joint2"/></transmission></robot>"""
    file = tmp_path / "hand.urdf"
    file.write_text(HAND.replace("</robot>", plugin))
    lines, _ = report(Robot.from_urdf(file), file)
    assert ("coupled joints turn, left, turns of the motors for one of each joint: motor of turn +45 +0; motor of left "
            "+32 +32") in lines


def test_a_robot_without_inertia_and_one_with_held_joints(tmp_path):
    file = tmp_path / "hand.urdf"
    bare = HAND.replace(INERTIAL, "")
    with_palm = bare.replace('<link name="palm">', f'<link name="palm">{INERTIAL}')
    for urdf, shown in ((bare, "turn revolute -1 2 3 4 0 0 0 0"),
                        (with_palm, "held as if fixed, since no inertia moves with them: left at 0, right at 0")):
        file.write_text(urdf)
        with pytest.warns(DescriptionWarning):
            lines, doubts = report(Robot.from_urdf(file), file)
        assert shown in [" ".join(line.split()) for line in lines] and not doubts, "\n".join(lines)


def test_the_denavit_hartenberg_table_is_that_of_the_chain(tmp_path):
    model = Robot.from_urdf(robot_file("arm7")).model
    lines = [line.split() for line in dh_table(model)][2:]
    expected = find_denavit_hartenberg(model).rows
    assert [line[0] for line in lines] == list(model.joint_names)
    for line, row in zip(lines, expected, strict=True):
        found = np.array(line[1:], float)
        np.testing.assert_allclose(found, [row.a, np.degrees(row.alpha), row.d, np.degrees(row.theta)], atol=1e-6)
    mimic = tmp_path / "mimic.urdf"
    mimic.write_text(HAND)
    lines, _ = report(Robot.from_urdf(mimic, tip_link="finger_2"), mimic)
    assert any(line.startswith("no Denavit-Hartenberg table: joint 'right'") for line in lines)


def test_boxes_hold_the_shapes_of_a_link(tmp_path):
    shapes = ('<visual><origin xyz="1 0 0"/><geometry><box size="0.2 0.4 0.6"/></geometry></visual>'
              '<visual><geometry><sphere radius="0.1"/></geometry></visual>')
    mesh = '<visual><geometry><mesh filename="gone.stl"/></geometry></visual>'  # then its libraries read all
    for first in ("", mesh):
        text = robot(link("a", first), joint("j", "a", "b"), link("b", INERTIAL + shapes))
        boxes = link_boxes(Robot.from_urdf_text(text).model, read_document(text_source(text))[0], tmp_path)
        np.testing.assert_allclose(boxes["b"], [[-0.1, -0.2, -0.3], [1.1, 0.2, 0.3]], atol=1e-3)
        assert set(boxes) == {"b"}


def test_a_robot_without_meshes_waits_for_no_mesh_library():
    code = ("import sys; from pathlib import Path; from robodyn_ros.description.resources import robot_file; "
            "from robodyn_ros.commands.robot_report import report; from robodyn_ros.robot import Robot; "
            "file = Path(robot_file('scara')); report(Robot.from_urdf(file), file); print('trimesh' in sys.modules)")
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


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
