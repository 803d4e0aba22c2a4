# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The order of the joints, merged fixed joints, frames and the tip link; against Pinocchio."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from random_robots import urdf_robots
from urdf_parts import joint, link, robot

from robodyn_ros.description.resources import robot_file, shipped_robots
from robodyn_ros.description.urdf import load_urdf_text

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
