# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""From a URDF to a model, with all parts together; each part has its own test file."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from random_robots import urdf_robots
from urdf_parts import INERTIAL, joint, link, one_joint, robot

from robodyn_ros.base.errors import DescriptionError, DescriptionWarning, InputError
from robodyn_ros.description.model import STANDARD_GRAVITY
from robodyn_ros.description.resources import robot_file, shipped_robots
from robodyn_ros.description.urdf import load_urdf, load_urdf_text
from robodyn_ros.robot import Robot


def test_a_model_keeps_what_it_was_read_from(tmp_path):
    model = load_urdf_text(one_joint(), strict=True)
    assert (model.name, model.base_link, model.tip_link, model.n) == ("test", "a", "b", 1)
    assert model.description == one_joint()
    path = tmp_path / "robot.urdf"
    path.write_text(one_joint())
    assert load_urdf(path).description == one_joint()
    assert load_urdf_text(load_urdf(path).description).joint_names == ("j",)


def test_gravity_is_given_in_base_axes():
    np.testing.assert_array_equal(load_urdf_text(one_joint()).gravity, STANDARD_GRAVITY)
    given_gravity = np.array([1.0, 2.0, 3.0])
    model = load_urdf_text(one_joint(), gravity=given_gravity)
    given_gravity[0] = 5.0
    np.testing.assert_array_equal(model.gravity, [1, 2, 3])


@pytest.mark.parametrize("gravity", [9.81, (0, 0), (0, 0, np.nan), (0, 0, np.inf), "down", None, [[0, 0, -9.81]]])
def test_gravity_that_is_none(gravity):
    with pytest.raises(InputError, match="gravity, in base axes: expected "):
        load_urdf_text(one_joint(), gravity=gravity)


def test_a_tip_link_that_does_not_exist():
    with pytest.raises(InputError, match="robot 'test' has no link 'c'"):
        load_urdf_text(one_joint(), tip_link="c")


def test_a_robot_on_which_nothing_moves_is_a_rigid_body():
    xml = robot(link("a"), link("b"), joint("f", "a", "b", "fixed", limit=""))
    with pytest.warns(DescriptionWarning, match="line 1, <robot name='test'>: nothing moves: ") as caught:
        body = Robot.from_urdf_text(xml)
    assert (len(caught), body.n, body.tip_link) == (1, 0, "b")
    for compiled in (False, True):
        np.testing.assert_allclose(body.dynamics(compiled).forward_kinematics([])[:3, 3], [0, 0, 0.5])
    with pytest.raises(DescriptionError, match="nothing moves; dynamics, simulation and control need a joint"):
        body.check_accelerations()


def test_inertia_behind_a_massless_link_or_on_a_fixed_one_will_do():
    behind = [link("c", INERTIAL), joint("k", "b", "c", axis="1 0 0")]
    load_urdf_text(one_joint("").replace("</robot>", "".join([*behind, "</robot>"])), strict=True)
    fixed = [link("c", INERTIAL), joint("k", "b", "c", "fixed", limit="")]
    load_urdf_text(one_joint("").replace("</robot>", "".join([*fixed, "</robot>"])), strict=True)


def test_a_joint_that_mimics_may_carry_the_inertia_or_carry_none():
    for first, second in (("", INERTIAL), (INERTIAL, "")):
        follower = joint("k", "a", "c", extra='<mimic joint="j"/>')
        xml = robot(link("a"), joint("j", "a", "b"), link("b", first), link("c", second), follower)
        assert load_urdf_text(xml, strict=True).n == 1


def test_a_follower_whose_limits_exclude_its_leaders_loses_them():
    follower = joint("k", "a", "c", extra='<mimic joint="j" offset="10"/>')
    xml = robot(link("a"), joint("j", "a", "b"), link("b"), link("c"), follower)
    with pytest.warns(
        DescriptionWarning, match="line 6, <joint name='k'>: its position limits allow no position .* 'j'"
    ):
        model = load_urdf_text(xml)
    assert (model.position_lower[0], model.position_upper[0]) == (-1, 2)


@pytest.mark.parametrize("load", [load_urdf_text, Robot.from_urdf_text])
def test_warnings_point_to_the_caller(load):
    with pytest.warns(DescriptionWarning) as caught:
        load(one_joint(axis="0 0 2", limit=""))
    assert len(caught) == 2
    assert all(Path(warning.filename) == Path(__file__) for warning in caught)


def test_strict_lists_all_warnings():
    with pytest.raises(DescriptionError, match=r"(?s)length 2.*limits missing.*strict=True"):
        load_urdf_text(one_joint(axis="0 0 2", limit=""), strict=True)


def test_shapes_meshes_and_materials_are_not_read():
    shape = '<visual><geometry><mesh filename="package://nowhere/x.stl" scale="a"/></geometry><material/></visual>'
    broken = "<collision><geometry><box/></geometry></collision><collision/>"
    assert load_urdf_text(one_joint(INERTIAL + shape + broken), strict=True).n == 1


def test_a_robot_is_loaded_without_the_libraries_of_meshes():
    code = ("import sys; from robodyn_ros.description.urdf import load_urdf; load_urdf(sys.argv[1]); "
            "sys.exit('yourdfpy' in sys.modules or 'trimesh' in sys.modules)")
    assert subprocess.run([sys.executable, "-c", code, robot_file("arm6")], check=False).returncode == 0


@pytest.mark.parametrize("name", shipped_robots())
def test_shipped_robots_load_without_a_warning(name):
    model = load_urdf(robot_file(name), strict=True)
    assert model.name == name
    assert np.all(np.isfinite(model.effort_limit)) and np.all(np.isfinite(model.velocity_limit))


@given(urdf_robots())
@settings(deadline=None, max_examples=40)
def test_random_robots_load_without_a_warning_and_parents_come_first(xml):
    model = load_urdf_text(xml, strict=True)
    assert all(joint.parent < index for index, joint in enumerate(model.joints))
    assert {joint.dof for joint in model.joints} == set(range(model.n))
    assert np.all(model.position_lower < model.position_upper)


QUARTER = "1.5707963267948966"


def branched() -> str:
    """A base with two arms; document order differs from depth-first order."""
    return robot(
        *(link(name) for name in ("base", "l1", "l2", "r1", "r2", "r3")),
        joint("left1", "base", "l1"),
        joint("right1", "base", "r1"),
        joint("right2", "r1", "r2"),
        joint("left2", "l1", "l2"),
        joint("right3", "r2", "r3", "fixed", limit=""),
    )


def test_joints_come_depth_first_and_siblings_in_document_order():
    model = load_urdf_text(branched(), strict=True)
    assert model.joint_names == ("left1", "left2", "right1", "right2")
    assert [joint.parent for joint in model.joints] == [-1, 0, -1, 2]
    assert [joint.link for joint in model.joints] == ["l1", "l2", "r1", "r2"]


def test_the_tip_is_behind_the_most_independent_joints_and_then_the_most_fixed_ones():
    assert load_urdf_text(branched()).tip_link == "r3"
    follower = (
        branched()
        .replace('<joint name="right2"', '<joint name="x"')
        .replace('<parent link="r1"/>', '<mimic joint="left1"/><parent link="r1"/>')
    )
    assert load_urdf_text(follower).tip_link == "l2"
    assert load_urdf_text(branched(), tip_link="l1").tip_link == "l1"


def test_every_link_has_a_frame_on_the_joint_that_carries_it():
    model = load_urdf_text(branched())
    assert model.base_link == "base"
    assert {name: frame.joint for name, frame in model.frames.items()} == {
        "base": -1, "l1": 0, "l2": 1, "r1": 2, "r2": 3, "r3": 3,
    }  # fmt: skip
    np.testing.assert_array_equal(model.frame("r3").pose_link_frame[:3, 3], [0, 0, 0.5])


def test_poses_through_fixed_joints_are_exact():
    mount = joint("m", "base", "mount", "fixed", limit="", origin=f'<origin xyz="1 0 0" rpy="{QUARTER} 0 0"/>')
    moving = joint("j", "mount", "arm", origin=f'<origin xyz="0 0 2" rpy="0 {QUARTER} 0"/>')
    model = load_urdf_text(robot(link("base"), link("mount", ""), link("arm"), mount, moving), strict=True)
    np.testing.assert_array_equal(
        model.joints[0].pose_parent_link, [[0, 0, 1, 1], [1, 0, 0, -2], [0, 1, 0, 0], [0, 0, 0, 1]]
    )


def test_a_chain_longer_than_pythons_call_stack():
    count = 1500
    links = [link(f"l{index}") for index in range(count + 1)]
    joints = [joint(f"j{index}", f"l{index}", f"l{index + 1}", "fixed", limit="") for index in range(count - 1)]
    model = load_urdf_text(robot(*links, *joints, joint("last", f"l{count - 1}", f"l{count}")), strict=True)
    np.testing.assert_allclose(model.joints[0].pose_parent_link[2, 3], 0.5 * count, rtol=1e-12)


def assert_agrees_with_pinocchio(source: str, reference: pin.Model) -> None:
    """Joints, their inertias with all that is fixed to them, their poses, and the frames."""
    model = load_urdf_text(source, strict=True)
    assert {own.name for own in model.joints} == set(reference.names[1:])
    for own in model.joints:
        index = reference.getJointId(own.name)
        inertia = reference.inertias[index]
        np.testing.assert_allclose(own.inertia.mass, inertia.mass, rtol=1e-13)
        np.testing.assert_allclose(own.inertia.com, inertia.lever, rtol=0, atol=1e-13)
        np.testing.assert_allclose(own.inertia.rotational, inertia.inertia, rtol=0, atol=1e-13)
        np.testing.assert_allclose(own.pose_parent_link, reference.jointPlacements[index].homogeneous, atol=1e-14)
        parent = reference.names[reference.parents[index]]
        assert parent == ("universe" if own.parent == -1 else model.joints[own.parent].name)
    for name, frame in model.frames.items():
        placement = reference.frames[reference.getFrameId(name, pin.FrameType.BODY)].placement.homogeneous
        np.testing.assert_allclose(frame.pose_link_frame, placement, rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", shipped_robots())
def test_shipped_robots_agree_with_pinocchio(name):
    assert_agrees_with_pinocchio(robot_file(name).read_text(), pin.buildModelFromUrdf(str(robot_file(name))))


@given(urdf_robots())
@settings(deadline=None, max_examples=60)
def test_random_robots_agree_with_pinocchio(xml):
    assert_agrees_with_pinocchio(xml, pin.buildModelFromXML(xml))
