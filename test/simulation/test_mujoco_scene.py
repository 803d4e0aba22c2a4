# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Scenes of MuJoCo: boxes, loops, a mounted robot; and scenes that do not fit."""

import os
import sys

import numpy as np
import pytest

from robodyn_ros import InputError, RobodynError, Robot
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.mujoco_scene import import_mujoco

pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install mujoco")
from robodyn_ros.simulation.mujoco_plant import MujocoPlant  # noqa: E402  # after the skip

ROBOT = """<robot name="arm"><link name="base"/><link name="upper"><inertial><origin xyz="0.25 0 0"/><mass value="2"/>
<inertia ixx="0.01" iyy="0.05" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.5"/>
<axis xyz="0 -1 0"/><limit lower="-3" upper="3" effort="100" velocity="20"/></joint></robot>"""
ARM = """<body name="upper" pos="0 0 0.5"><joint name="shoulder" axis="0 -1 0"/>
<inertial pos="0.25 0 0" mass="2" diaginertia="0.01 0.05 0.05"/>
<geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.03"/>{inside}</body>"""
FLOOR = "<geom name='floor' type='plane' size='5 5 0.1'/>"
BOX = "<body name='box' pos='0.4 0 1.0'><freejoint/><geom type='box' size='0.05 0.05 0.05' mass='1'/></body>"


def scene(folder, body, rest="", option=""):
    path = folder / "scene.xml"
    path.write_text(f"<mujoco><option {option}/><worldbody>{body}</worldbody>{rest}</mujoco>")
    return str(path)


def plant_in(path, **options):
    return MujocoPlant(Robot.from_urdf_text(ROBOT), scene=path, **options)


def drive(effort, brake=0.0):
    return Drive(np.array([effort]), np.zeros(1), np.full(1, brake))


def height(plant, body):
    return float(plant._data.body(body).xpos[2])


def test_box_falls_onto_the_floor_and_an_arm_bears_another_one(tmp_path):
    second = BOX.replace("name='box' pos='0.4 0 1.0'", "name='other' pos='2 0 0.5'")
    plant = plant_in(scene(tmp_path, FLOOR + ARM.format(inside="") + BOX + second))
    plant.advance(drive(0.0, np.inf), 1500)
    assert height(plant, "other") == pytest.approx(0.05, abs=1e-3)
    assert height(plant, "box") == pytest.approx(0.58, abs=2e-3)
    # The brake bears the arm's weight, and the box's where it lies.
    lever = float(plant._data.body("box").xpos[0])
    assert plant.actuator_state.friction_effort[0] == pytest.approx(9.81 * (2.0 * 0.25 + 1.0 * lever), rel=0.02)
    felt = plant.environment_wrench("upper")
    np.testing.assert_allclose(felt[:3], [0.0, 0.0, -9.81], atol=0.05)
    assert felt[4] == pytest.approx(9.81 * lever, rel=0.02)
    plant.set_wrench("upper", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    plant.advance(drive(0.0, np.inf), 300)
    np.testing.assert_allclose(plant.environment_wrench("upper") - felt, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], atol=0.05)
    plant.set_wrench("upper", np.zeros(6))
    plant.advance(drive(0.0), 1500)  # without a brake both fall, and the arm lies on the floor or the box
    assert plant.q[0] < -0.3 and height(plant, "upper") == pytest.approx(0.5)
    assert abs(plant.v[0]) < 0.02
    plant.reset()
    assert height(plant, "box") == pytest.approx(1.0)


@pytest.mark.parametrize(("body", "message"), [
    ("<site name='base'/><body name='upper'><geom size='1'/></body>", "repeated name 'upper'.*another name there"),
    ("<site name='base'/><body name='base'><geom size='1'/></body>", "repeated name 'base'.*another name there"),
    (ARM.format(inside="") + "<body pos='0 0 1e308'><freejoint/><geom size='1'/></body><geom type='plane' size='1 1 1' "
     "pos='0 0 1e308'/>", "MuJoCo|diverge"),
])
def test_scenes_at_which_mujoco_itself_fails_are_one_line(tmp_path, body, message):
    with pytest.raises(RobodynError, match=message) as caught:
        plant_in(scene(tmp_path, body))
    assert "\n" not in str(caught.value) and "scene.xml" in str(caught.value)


def test_closed_loop_holds_together(tmp_path):
    """A parallelogram: the coupler stays level, and the driven crank bears half of the rest."""
    inside, other = (
        f"<body pos='{place}'><joint name='{name}' axis='0 -1 0'/><geom type='capsule' size='0.02' mass='1' "
        f"fromto='0 0 0 {length} 0 0' contype='0' conaffinity='0'/><site name='{end}' pos='{length} 0 0'/></body>"
        for place, name, length, end in (("0.5 0 0", "c", 0.6, "end"), ("0.6 0 0.5", "r", 0.5, "tip")))
    loop = "<equality><connect site1='end' site2='tip' solref='0.004 1'/></equality>"
    plant = plant_in(scene(tmp_path, ARM.format(inside=inside) + other, loop))
    held = 9.81 * (2.0 * 0.25 + 1.0 * 0.5 + 1.0 * 0.25)
    for _ in range(3000):
        plant.advance(drive(held * np.cos(plant.q[0]) - 40.0 * (plant.q[0] - 0.5) - 10.0 * plant.v[0]))
    assert plant.q[0] == pytest.approx(0.5, abs=2e-3)
    data = plant._data
    np.testing.assert_allclose(data.site("end").xpos, data.site("tip").xpos, atol=1e-3)
    assert float(data.joint("c").qpos[0]) == pytest.approx(-0.5, abs=5e-3)


def test_robot_of_the_description_is_mounted_at_a_site(tmp_path):
    path = scene(tmp_path, FLOOR + "<site name='base' pos='1 0 2' euler='0 0 90'/>" + BOX)
    plant, alone = plant_in(path, position=[0.3]), MujocoPlant(Robot.from_urdf_text(ROBOT), position=[0.3])
    for each in (plant, alone):
        each.set_wrench("upper", [0.0, 0.0, 5.0, 1.0, 2.0, 3.0])
        each.advance(drive(1.0), 200)
    np.testing.assert_allclose(plant.q, alone.q, atol=1e-12)
    assert height(plant, "upper") == pytest.approx(2.5)


FRAME = """<link name="tool"/><joint name="fix" type="fixed"><parent link="upper"/><child link="tool"/>
<origin xyz="0.5 0 0.1"/></joint></robot>"""


@pytest.mark.parametrize("is_mounted", [False, True])
@pytest.mark.parametrize("renamed", ["base", "upper", "tool"])
def test_a_link_may_have_the_name_of_the_root_of_mujoco(tmp_path, renamed, is_mounted):
    """A base called world is that of every MJCF file, and of most xacro files of arms."""
    text = ROBOT.replace("</robot>", FRAME)
    plants = []
    for name in (renamed, "world"):
        site = f"<site name='{name if renamed == 'base' else 'base'}' pos='1 0 2' euler='0 0 90'/>"
        path = scene(tmp_path, FLOOR + site + BOX) if is_mounted else ""
        robot = Robot.from_urdf_text(text.replace(f'"{renamed}"', f'"{name}"'))
        plants.append(plant := MujocoPlant(robot, position=[0.3], scene=path))
        plant.set_wrench(name, [1.0, 2.0, 5.0, 1.0, 2.0, 3.0])
        plant.advance(drive(1.0), 200)
        for link in robot.model.frames:
            plant.check_link(link)
    np.testing.assert_array_equal(plants[0].q, plants[1].q)
    for link in ("base", "upper", "tool"):
        found = plants[1].environment_wrench("world" if link == renamed else link)
        np.testing.assert_allclose(found, plants[0].environment_wrench(link), atol=1e-9)


def test_scene_keeps_neither_friction_nor_actuators_nor_gravcomp_of_the_robot(tmp_path):
    robust = ARM.format(inside="<body gravcomp='1' pos='0.5 0 0'><geom size='0.01' mass='0'/></body>").replace(
        "axis=", "damping='50' frictionloss='90' armature='9' axis=").replace("<body name", "<body gravcomp='1' name")
    path = scene(tmp_path, robust, "<actuator><position joint='shoulder' kp='1000'/></actuator>")
    plant, alone = plant_in(path), MujocoPlant(Robot.from_urdf_text(ROBOT))
    for each in (plant, alone):
        each.advance(drive(0.0), 100)
    np.testing.assert_allclose(plant.q, alone.q, atol=1e-9)
    assert abs(plant.v[0]) > 0.1  # it falls


@pytest.mark.parametrize("body, rest, message", [
    (ARM.format(inside="").replace("shoulder", "sholder"), "", "'shoulder' is missing: did you mean 'sholder'"),
    (ARM.format(inside="").replace("axis", "type='slide' axis"), "", "expected mjJNT_HINGE, since it is revolute"),
    (ARM.format(inside="").replace("0 -1 0", "0 1 0"), "", r"joint 'shoulder': expected the axis of the description"),
    (ARM.format(inside="").replace("0 0 0.5", "0 0 0.6", 1), "", r"received \[.*\] through \[0.0, 0.0, 0.6\]"),
    (ARM.format(inside=""), "<option><flag eulerdamp='disable'/></option>", "flag 'eulerdamp' enabled, since motors"),
    (FLOOR, "", "or a site 'base' to mount the robot at"),
    ("<geom type='plane'", "", "line 1: malformed XML"),
    ("<geom type='plan'/>", "", "MuJoCo cannot read it: .*'plan'"),
    (ARM.format(inside=""), "<asset><mesh name='m' file='no.stl'/></asset>", "MuJoCo cannot compile it: .*no.stl"),
    ("<body name='base'><freejoint/><inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/>" + ARM.format(inside="")
     + "</body>", "", "body 'base' moves"),
])
def test_scenes_that_do_not_fit_are_refused(tmp_path, body, rest, message):
    path = scene(tmp_path, body, rest)
    with pytest.raises(InputError, match=message) as caught:
        plant_in(path)
    assert path in str(caught.value) and "\n" not in str(caught.value)


def test_missing_file_and_divergent_start_are_refused(tmp_path):
    with pytest.raises(InputError, match="there is no such file"):
        plant_in(str(tmp_path / "none.xml"))
    weak = "<body pos='0 0 9'><freejoint/><geom size='0.1' mass='1e-6'/></body>" * 2
    path = scene(tmp_path, ARM.format(inside="") + weak, option="gravity='0 0 0'")
    wild = "<equality><weld body1='a' body2='world' relpose='1e9 0 0 1 0 0 0' solref='-1e20 -1'/></equality>"
    path = scene(tmp_path, ARM.format(inside="") + weak.replace("<body", "<body name='a'", 1), wild)
    with pytest.raises(InputError, match="it diverges from the start, before any command"):
        plant_in(path)


def test_missing_mujoco_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(InputError, match="pip install mujoco, or choose the engine robodyn"):
        import_mujoco()


def test_link_that_the_scene_does_not_name_is_found_by_its_joint(tmp_path):
    """Also where the frame of the body is another one than that of the link."""
    turned = ARM.format(inside="").replace('name="upper" pos="0 0 0.5"', 'name="top" pos="0 0 0.5" euler="0 0 90"')
    turned = turned.replace("0 -1 0", "-1 0 0").replace('pos="0.25 0 0"', 'pos="0 -0.25 0"').replace(
        '"0.01 0.05 0.05"', '"0.05 0.01 0.05"')
    plant, alone = plant_in(scene(tmp_path, turned)), MujocoPlant(Robot.from_urdf_text(ROBOT))
    for each in (plant, alone):
        each.check_link("upper")
        each.set_wrench("upper", [3.0, 0.0, 8.0, 0.0, 1.0, 0.0])
        each.advance(drive(1.0), 200)
    np.testing.assert_allclose(plant.q, alone.q, atol=1e-9)
    np.testing.assert_allclose(plant.environment_wrench("upper"), alone.environment_wrench("upper"), atol=1e-9)
    assert plant.has_surroundings and not alone.has_surroundings


@pytest.mark.parametrize(("content", "message"), [
    ("<include file='pipe'/>", "pipe: expected a regular file"),
    ("<worldbody><replicate count='2000000000'><geom size='1'/></replicate></worldbody>", "100000 elements"),
    ("<asset><hfield name='h' nrow='60000' ncol='60000' size='1 1 1 1'/></asset>", "at most 1000000 points"),
    (f"<worldbody>{'<body/>' * 20_000}</worldbody>", "at most 5000 bodies, received 20000"),
    ("<asset><mesh name='m' file='pipe'/></asset>", "line 1, 'm': .*pipe: expected a regular file"),
    ("<asset><texture name='t' type='2d' file='pipe'/></asset>", "'t': .*pipe: expected a regular file"),
    ("<asset><texture name='t' type='cube' fileleft='pipe'/></asset>", "'t': .*pipe: expected a regular file"),
    ("<asset><texture name='t' type='2d' builtin='flat' width='60000' height='60000'/></asset>", "67108864 pixels"),
    ("<asset><hfield name='h' file='pipe' size='1 1 1 1'/></asset>", "'h': .*pipe: expected a regular file"),
    ("<worldbody>", "malformed XML"),
])
def test_a_hostile_scene_is_one_line_before_mujoco_reads_it(tmp_path, content, message):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "scene.xml").write_text(f"<mujoco>{content}</mujoco>")
    with pytest.raises(InputError, match=f"mujoco_scene .*scene.xml.*{message}") as caught:
        plant_in(str(tmp_path / "scene.xml"))
    assert "\n" not in str(caught.value)
