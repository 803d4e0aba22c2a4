# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Robots of MJCF files against MuJoCo itself, to 1e-10: mass matrix, bias, gravity and poses; refusals by name."""

import re
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from robodyn_ros import DescriptionError, DescriptionWarning, Robot
from robodyn_ros.base.errors import DescriptionRemark
from robodyn_ros.commands.robot_report import report
from robodyn_ros.description.mjcf.urdf_text import convert_mjcf, roll_pitch_yaw
from robodyn_ros.description.resources import robot_file

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'robodyn_ros[mujoco]'")

ARM = """<mujoco model="arm"><compiler angle="degree"/><option gravity="1 -2 -9"/>
<include file="defaults.xml"/>
<worldbody><geom type="plane" size="1 1 1"/>
<body name="stand" pos="0.1 0.2 0.3" euler="20 30 40"><geom type="box" size=".1 .1 .1"/>
<body name="upper" pos="0 0 0.2" quat="1 2 0 1"><joint name="a" axis="1 2 3" pos="0.1 -0.2 0.05" ref="30" class="big"/>
<joint name="b" type="slide" axis="0 1 1" ref="0.2" range="-0.5 0.5" damping="3"/>
<joint name="c" axis="0 0 1" pos="0 0.1 0" frictionloss="0.4"/>
<geom type="capsule" fromto="0 0 0 0.4 0 0.1" size="0.05"/><geom type="ellipsoid" size=".1 .2 .05"/>
<body name="plate" pos="0.4 0 0.1" euler="0 90 0"><geom type="cylinder" size=".05 .1" euler="0 45 0"/>
<body name="fore" pos="0 0.3 0"><joint name="d" axis="0 1 0" range="-100 20"/><inertial pos="0.1 0 0.2" mass="2"
fullinertia="0.03 0.04 0.05 0.001 0.002 -0.003"/><site name="tool" pos="0 0 0.3" euler="0 0 90"/></body></body>
<body name="side" pos="0 -0.3 0" euler="0 0 50"><joint name="e" type="slide" axis="1 0 0"/><geom size=".1"/></body>
</body></body></worldbody>
<actuator><motor joint="a" gear="50" armature="1e-3" damping="1e-4" ctrllimited="true" ctrlrange="-2 2"/>
<position joint="d" kp="100" forcerange="-7 7"/></actuator></mujoco>"""
DEFAULTS = """<mujoco><default><geom density="700"/><default class="big"><joint armature="0.3" damping="2"/></default>
</default></mujoco>"""

COUPLED = """<mujoco><compiler angle="radian"/><worldbody><body name="hand"><joint name="wrist" axis="0 1 0"/>
<geom type="box" size=".05 .05 .1"/>
<body name="left" pos="0 .1 0"><joint name="l" type="slide" axis="0 1 0" ref="0.1" armature="2"/><geom size=".03"/>
</body><body name="right" pos="0 -.1 0">
<joint name="r" axis="1 0 0" ref="-0.2" pos="0 0 .1" armature="3"/><geom size=".04"/>
</body></body></worldbody>
<equality><joint joint1="r" joint2="l" polycoef="0.05 -1.5 0 0 0"/>
<weld body1="hand" active="false" name="grasp"/></equality>
<tendon><fixed name="both"><joint joint="l" coef="1"/><joint joint="r" coef="1"/></fixed></tendon>
<actuator><position tendon="both" name="grip"/></actuator></mujoco>"""


def written(folder, text, **files):
    for name, content in files.items():
        (folder / f"{name}.xml").write_text(content)
    path = folder / "robot.xml"
    path.write_text(text)
    return path


def loaded(path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DescriptionWarning)
        return Robot.from_mjcf(path, **options)


def check_against_mujoco(path, compiled=False):
    """Compare in random states; the positions of coupled joints are those of the coupling."""
    robot, reference = loaded(path), mujoco.MjModel.from_xml_path(str(path))
    data, dynamics = mujoco.MjData(reference), robot.dynamics(compiled=compiled)
    projection, offset = np.zeros((reference.nv, robot.n)), np.zeros(reference.nv)
    for joint in robot.model.joints:
        row = reference.joint(joint.name).id
        projection[row, joint.dof], offset[row] = joint.multiplier, joint.offset
    for q, v, a in np.random.default_rng(1).uniform(-2, 2, (4, 3, robot.n)):
        data.qpos, data.qvel = projection @ q + offset, projection @ v
        mujoco.mj_forward(reference, data)
        mass = np.zeros((reference.nv, reference.nv))
        mujoco.mj_fullM(reference, data, mass)
        mass, bias = projection.T @ mass @ projection, projection.T @ data.qfrc_bias
        near = {"rtol": 1e-10, "atol": 1e-10}
        assert_allclose(dynamics.mass_matrix(q), mass, **near)
        assert_allclose(dynamics.bias(q, v), bias, **near)
        assert_allclose(dynamics.inverse_dynamics(q, v, a), mass @ a + bias, **near)
        for body in range(1, reference.nbody):
            pose = dynamics.forward_kinematics(q, reference.body(body).name)
            assert_allclose(pose[:3, 3], data.xpos[body], **near)
            assert_allclose(pose[:3, :3], data.xmat[body].reshape(3, 3), **near)
        data.qvel = 0.0
        mujoco.mj_forward(reference, data)
        assert_allclose(dynamics.gravity(q), projection.T @ data.qfrc_bias, **near)
    return robot, reference


@pytest.mark.parametrize("compiled", [False, True])
def test_an_arm_of_all_that_can_be_said(tmp_path, compiled):
    robot, reference = check_against_mujoco(written(tmp_path, ARM, defaults=DEFAULTS), compiled)
    model = robot.model
    assert robot.name == "arm" and robot.joint_names == ("a", "b", "c", "d", "e") and model.base_link == "world"
    assert_allclose(model.armature, [0.3 + 50**2 * 1e-3, 0, 0, 0, 0])
    assert_allclose(model.damping, [2 + 50**2 * 1e-4, 3, 0, 0, 0])
    assert_allclose(model.friction, [0, 0, 0.4, 0, 0])
    assert_allclose(model.reduction, [50, 1, 1, 1, 1])
    assert_allclose(model.effort_limit, [100, np.inf, np.inf, 7, np.inf])
    assert_allclose(model.position_lower, [-np.inf, -0.5, -np.inf, np.deg2rad(-100), -np.inf])
    assert_allclose(model.gravity, [1, -2, -9])
    data = mujoco.MjData(reference)
    data.qpos = q = np.array([0.3, -0.2, 0.5, 0.7, 0.1])
    mujoco.mj_forward(reference, data)
    assert_allclose(robot.dynamics().forward_kinematics(q, "tool")[:3, 3], data.site("tool").xpos, atol=1e-12)


def test_linear_couplings_are_mimic_joints(tmp_path):
    path = written(tmp_path, COUPLED)
    robot, _ = check_against_mujoco(path)
    assert robot.joint_names == ("wrist", "l")
    follower = robot.model.joints[-1]
    assert (follower.name, follower.multiplier) == ("r", -1.5)
    assert follower.offset == pytest.approx(-0.2 + 0.05 + 1.5 * 0.1)
    notes = convert_mjcf(path).notes
    assert len(notes) == 2 and "grasp" in notes[0] and "no actuator drives wrist" in notes[1]


@pytest.mark.parametrize("text", [
    """<mujoco><compiler fusestatic="true" discardvisual="true" balanceinertia="true"/><worldbody>
    <body name="s" pos="1 0 0"><geom size=".1"/><body name="a" pos="0 0 1"><joint name="j" axis="0 1 0"/>
    <geom size=".1 .2 .3" type="box" contype="0" conaffinity="0"/><body name="t" pos=".3 0 0"><geom size=".1"/></body>
    </body></body></worldbody></mujoco>""",
    """<mujoco><default><joint damping="2"/><default class="g"><joint axis="1 0 0" armature=".1"/></default></default>
    <worldbody><frame pos="1 2 3" euler="10 20 30"><body name="a" childclass="g"><frame euler="0 45 0"><joint name="j"/>
    <geom size=".1 .3" type="cylinder" pos="1 0 0"/></frame></body></frame></worldbody></mujoco>""",
    """<mujoco><asset><hfield name="h" nrow="3" ncol="3" size="1 1 1 1"/></asset><worldbody>
    <geom name="hills" type="hfield" hfield="h"/><body name="a"><joint name="j" axis="0 1 0"/><site name="s"/>
    <geom name="g" size=".1" pos="1 0 0"/></body></worldbody><contact><pair geom1="hills" geom2="g"/></contact>
    <sensor><touch site="s"/></sensor><keyframe><key qpos="0.3"/></keyframe>
    <custom><tuple name="u"><element objtype="geom" objname="hills"/></tuple></custom></mujoco>""",
    """<mujoco><compiler settotalmass="7"/><worldbody><body name="a"><joint name="j" axis="0 1 0"/>
    <geom size=".1" pos="1 0 0"/><body name="b"><joint name="k" type="slide"/><geom size=".2"/></body></body>
    </worldbody></mujoco>"""])
def test_options_of_the_compiler_defaults_and_references(tmp_path, text):
    check_against_mujoco(written(tmp_path, text))


def test_names_are_made_unique(tmp_path):
    robot = loaded(written(tmp_path, """<mujoco><worldbody><body><joint/><joint pos="0 0 .1"/><geom size=".1"/></body>
    <body name="body1"><joint name="joint0"/><geom size=".1"/><site name="world"/></body></worldbody></mujoco>"""))
    assert robot.joint_names == ("joint0", "joint1", "joint0_2")
    assert {"world", "body1", "body1_2", "world_2"} < set(robot.model.frames)


def random_mjcf(seed):
    """A tree of random bodies with up to three joints each."""
    rng = np.random.default_rng(seed)
    bodies = [f"<mujoco><option gravity='{_random(rng, 3)}'/><worldbody>"]
    depth, joints = 0, 0
    for body in range(rng.integers(2, 7)):
        while depth and rng.random() < 0.3:
            bodies.append("</body>")
            depth -= 1
        bodies.append(f"<body name='b{body}' pos='{_random(rng, 3)}' quat='{_random(rng, 4)}'>")
        for _ in range(rng.integers(0 if joints else 1, 3)):
            joints += 1
            bodies.append(f"<joint name='j{joints}' type='{rng.choice(['hinge', 'slide'])}' axis='{_random(rng, 3)}' "
                          f"pos='{_random(rng, 3)}' ref='{rng.normal()}' armature='{rng.choice([0, 0.2])}'/>")
        second = rng.uniform(0.01, 0.1, 3)
        bodies.append(f"<inertial pos='{_random(rng, 3)}' quat='{_random(rng, 4)}' mass='{rng.uniform(0.1, 3)}' "
                      f"diaginertia='{' '.join(map(str, second.sum() - second))}'/>")
        depth += 1
    return "".join([*bodies, "</body>" * depth, "</worldbody></mujoco>"])


def _random(rng, count):
    return " ".join(map(str, rng.normal(size=count)))


@pytest.mark.parametrize("seed", range(12))
def test_random_trees(tmp_path, seed):
    check_against_mujoco(written(tmp_path, random_mjcf(seed)))


@pytest.mark.parametrize("angles", [(0.3, np.pi / 2, 0.0), (1.0, -np.pi / 2, 2.0), (3.1, 1.2, -3.0), (0.0, 0.0, 0.0)])
def test_roll_pitch_and_yaw_give_the_rotation_back(angles):
    def rotation(roll, pitch, yaw):
        (a, b, c), (x, y, z) = np.cos([roll, pitch, yaw]), np.sin([roll, pitch, yaw])
        return (np.array([[c, -z, 0], [z, c, 0], [0, 0, 1]]) @ np.array([[b, 0, y], [0, 1, 0], [-y, 0, b]])
                @ np.array([[1, 0, 0], [0, a, -x], [0, x, a]]))

    wanted = rotation(*angles)
    assert_allclose(rotation(*roll_pitch_yaw(wanted)), wanted, atol=1e-15)


SIMPLE = "<body name='x'>{joint}<geom size='1'/><body name='y'><joint name='k'/><geom size='1'/></body></body>"
J = "<joint name='j'/>"


@pytest.mark.parametrize(("joint", "rest", "option", "message"), [
    ("<freejoint name='f'/>", "", "", "joint 'f': it is a free joint of body 'x'"),
    ("<joint type='ball' name='s'/>", "", "", "line 1, joint 's': it is a ball joint"),
    (J, "<equality><connect name='o' body1='y' anchor='0 0 0'/></equality>", "", "'o': it is a connect constraint"),
    (J, "<equality><weld name='w' body1='y'/></equality>", "", "equality 'w': it is a weld constraint"),
    (J, "<equality><joint name='h' joint1='j'/></equality>", "", "equality 'h': it holds the joint 'j'"),
    (J, "<equality><joint name='p' joint1='j' joint2='k' polycoef='0 1 2'/></equality>", "", "'p': .* polynomial"),
    (J, "<equality><joint joint1='j' joint2='k'/><joint joint1='j' joint2='k' polycoef='1 2'/></equality>", "",
     "a equality without name: the joint 'j' follows another"),
    (J, "", "density='1.2'", "the medium has a density of 1.2"),
    ("", "<worldbody><body name='m' mocap='true'/></worldbody>", "", "body 'm': it is a mocap body"),
    ("<joint name='j' axis='0 0 0'/>", "", "", "MuJoCo cannot compile it: .*joint"),
    ("<joint name='j' colour='red'/>", "", "", "MuJoCo cannot read it: .*colour"),
])
def test_what_a_urdf_cannot_say_is_refused_by_name(tmp_path, joint, rest, option, message):
    text = f"<mujoco><option {option}/><worldbody>{SIMPLE.format(joint=joint)}</worldbody>{rest}</mujoco>"
    with pytest.raises(DescriptionError, match=message) as caught:
        Robot.from_mjcf(written(tmp_path, text))
    assert str(caught.value).startswith(str(tmp_path)) and "\n" not in str(caught.value)


@pytest.mark.filterwarnings("ignore:.*(no actuator drives wrist|equality 'grasp')")  # each warning is looked for once
def test_what_is_left_out_is_told(tmp_path):
    path = written(tmp_path, COUPLED)
    with pytest.warns(DescriptionWarning, match="equality 'grasp' is not active; left out"):
        Robot.from_mjcf(path)
    with pytest.raises(DescriptionError, match="grasp.*\n.*wrist.*\n.*strict"):
        Robot.from_mjcf(path, strict=True)
    lifted = written(tmp_path, COUPLED.replace('name="hand"', 'name="hand" gravcomp="1"'))
    assert "gravcomp of hand does not act here" in convert_mjcf(lifted).remarks[0]
    with pytest.warns(DescriptionRemark, match="gravcomp of hand"):
        Robot.from_mjcf(lifted)


@pytest.mark.parametrize(("joint", "rest", "message"), [
    ("<joint name='j' stiffness='3'/>", "", "joint 'j' has stiffness"),
    ("<joint name='j' damping='1 2'/>", "", "joint 'j' has damping that is not linear"),
    (J, "<tendon><fixed name='t'><joint joint='j' coef='1'/><joint joint='k' coef='1'/></fixed></tendon>",
     "tendon 't' acts on the joints"),
    (J, "<tendon><fixed name='t' stiffness='2'><joint joint='j' coef='1'/></fixed></tendon>", "tendon 't'"),
    (J, "<tendon><spatial name='t'><site site='s'/><site site='r'/></spatial></tendon>", "tendon 't'"),
])
def test_a_robot_loads_without_its_springs_and_tendons(tmp_path, joint, rest, message):
    sites = SIMPLE.format(joint=joint).replace("<geom", "<site name='s'/><geom", 1) + "<site name='r' pos='1 0 0'/>"
    path = written(tmp_path, f"<mujoco><worldbody>{sites}</worldbody>{rest}</mujoco>")
    with pytest.warns(DescriptionWarning, match=f"^{path}: {message}"):
        assert Robot.from_mjcf(path).joint_names == ("j", "k")
    with pytest.raises(DescriptionError, match=message):
        Robot.from_mjcf(path, strict=True)


HINGE = ("<body name='x'><joint name='j' axis='0 1 0'{own}/><geom type='capsule' fromto='0 0 0 .4 0 0' size='.03'/>"
         "</body>")


@pytest.mark.parametrize(("own", "actuators", "limit", "message"), [
    ("", "<motor joint='j' gear='10' ctrlrange='0 3'/>", 30.0, "from 0 to 30, and .*; 30 is used"),
    ("", "<motor joint='j' gear='-10' ctrlrange='0 3'/>", 30.0, "from -30 to -?0, and"),
    ("", "<motor joint='j' gear='25' ctrlrange='-5 5'/><damper name='d' joint='j' kv='4' ctrlrange='0 2'/>", 125.0,
     "no range of its own: d; not converted"),
    ("", "<damper name='d' joint='j' kv='4' ctrlrange='0 2' forcerange='-3 3'/>", np.inf, "own: d; not converted"),
    ("", "<motor joint='j' ctrlrange='-5 5' forcerange='-3 3'/>", 3.0, ""),
    ("", "<motor joint='j' ctrlrange='-5 5'/><motor joint='j' ctrlrange='-2 2'/>", 7.0, ""),
    (" actuatorfrcrange='-4 4'", "<motor joint='j' ctrlrange='-5 5'/>", 4.0, ""),
    (" actuatorfrcrange='-4 6'", "<position joint='j' kp='9'/>", 6.0, "from -4 to 6"),
    ("", "<motor joint='j'/>", np.inf, ""),
    ("", "<position joint='j' kp='9' ctrlrange='-1 1'/>", np.inf, ""),
    ("", "<position class='strong' joint='j'/>", 8.0, ""),
    ("", "<velocity joint='j' kv='9' ctrlrange='-1 1' forcerange='-2 2'/>", 2.0, ""),
    ("", "<intvelocity joint='j' kp='9' actrange='-1 1' forcerange='-2 2'/>", 2.0, ""),
    ("", "<general joint='j' gainprm='4' ctrlrange='-2 2'/>", 8.0, ""),
    ("", "<general joint='j' gainprm='4' biastype='affine' biasprm='1 0 0' ctrlrange='-2 2'/>", 9.0, "from -7 to 9"),
    ("", "<general joint='j' gainprm='4' dyntype='integrator' actrange='-3 3'/>", 12.0, ""),
    ("", "<motor tendon='t' ctrlrange='-5 5'/>", 10.0, ""),
    ("", "<motor site='s' name='thrust' gear='1 0 0 0 0 0'/>", np.inf, "no single joint: thrust"),
])
def test_effort_limits_are_those_of_the_actuators(tmp_path, own, actuators, limit, message):
    """Each kind of actuator, with ranges of either side; what is no drive is named."""
    body = HINGE.format(own=own).replace("<geom", "<site name='s'/><geom")
    tendon = "<tendon><fixed name='t'><joint joint='j' coef='2'/></fixed></tendon>" * ("tendon=" in actuators)
    path = written(tmp_path, f"<mujoco><default><default class='strong'><position kp='5' forcerange='-8 8'/></default>"
                             f"</default><worldbody>{body}</worldbody>{tendon}<actuator>{actuators}</actuator></mujoco>")
    notes = convert_mjcf(path).notes
    assert bool(notes) == bool(message) and re.search(message, " ".join(notes))
    with warnings.catch_warnings():
        warnings.simplefilter("error" if not message else "ignore", DescriptionWarning)
        assert Robot.from_mjcf(path).effort_limit == [limit]


def test_findings_name_the_file_that_the_user_wrote(tmp_path):
    """Messages name the source, not the generated URDF with its lines; a sound file causes none."""
    sound = written(tmp_path, f"<mujoco><worldbody>{HINGE.format(own='')}</worldbody></mujoco>")
    assert Robot.from_urdf(robot_file(sound), strict=True).model.source == str(sound)
    odd = written(tmp_path, sound.read_text().replace("<geom", "<inertial pos='0 0 0' mass='5000' diaginertia='9 9 9'/>"
                                                      "<geom"))
    _, doubts = report(Robot.from_urdf(robot_file(odd)), robot_file(odd))
    assert any(doubt.startswith(f'{odd}, <body name=\'x\'>: its mass is 5000') for doubt in doubts), doubts


def test_shapes_stand_where_mujoco_has_them(tmp_path):
    """A mesh with scale and a turned reference frame, and a capsule, seen by the bounds of the link's shapes."""
    trimesh = pytest.importorskip("trimesh")
    from robodyn_ros.toolbox.view.link_meshes import described_meshes

    mesh = trimesh.creation.box([0.1, 0.2, 0.3])
    mesh.apply_transform(trimesh.transformations.rotation_matrix(0.7, [1, 2, 3], [0.4, 0, 0.1]))
    (tmp_path / "parts").mkdir()
    mesh.export(tmp_path / "parts" / "piece.stl")
    text = """<mujoco><compiler meshdir="parts"/><asset><mesh name="m" file="piece.stl" scale="2 2 2" refpos="0.1 0 0.2"
    refquat="1 1 0 0"/><texture name="t" type="2d" file="missing.png"/>
    <material name="skin" texture="t" rgba="1 0 0 1"/></asset><worldbody>
    <body name="b"><joint/>{inertial}<geom type="mesh" mesh="m" pos="0.3 0.2 0.1" euler="10 20 30"
    material="skin"/><geom type="capsule" size="0.1 0.4" pos="2 0 0" euler="0 90 0"/></body></worldbody></mujoco>"""
    inertial = "<inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/>"
    for content in (inertial, ""):  # with and without need of the mesh for the inertia
        path = written(tmp_path, text.format(inertial=content))
        robot = loaded(path)
        plain = text.format(inertial=content).replace(' file="missing.png"', " builtin='flat' width='1' height='1'")
        reference = mujoco.MjModel.from_xml_path(str(written(tmp_path, plain)))
        data = mujoco.MjData(reference)
        mujoco.mj_kinematics(reference, data)
        corners = data.geom_xpos[0] + reference.mesh_vert @ data.geom_xmat[0].reshape(3, 3).T
        shapes = described_meshes(robot.model, tmp_path, [], set())
        assert_allclose(shapes[0].mesh.bounds, [corners.min(axis=0), corners.max(axis=0)], atol=1e-6)
        assert_allclose([shape.mesh.bounds[:, 0] for shape in shapes[1:]],
                        [[1.6, 2.4], [2.3, 2.5], [1.5, 1.7]], atol=1e-3)
        assert_allclose(robot.model.joints[0].inertia.mass, reference.body_mass[1], rtol=1e-6)
    (tmp_path / "parts" / "piece.stl").unlink()
    loaded(written(tmp_path, text.format(inertial=inertial)))  # dynamics need no meshes
    with pytest.raises(DescriptionError, match="piece.stl"):
        loaded(written(tmp_path, text.format(inertial="")))
