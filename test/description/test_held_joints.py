# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Joints without inertia: held in a robot that has some, kept for kinematics in a robot that has none."""

import numpy as np
import pytest
from urdf_parts import INERTIAL, joint, link, one_joint

from robodyn_ros import Robot
from robodyn_ros.base.errors import DescriptionError, DescriptionWarning, InputError
from robodyn_ros.description.held_joints import held_positions, with_joints_held
from robodyn_ros.description.resources import robot_file
from robodyn_ros.description.urdf import load_urdf_text
from robodyn_ros.dynamics.robot_dynamics import FUNCTIONS
from robodyn_ros.dynamics.robot_function import KINEMATIC

GRIPPER = (link("f1", ""), link("f2", ""), link("pad", ""),
           joint("g1", "b", "f1", "prismatic", axis="1 0 0", limit='<limit lower="0.01" upper="0.04" effort="1" '
                 'velocity="1"/>'),
           joint("g2", "b", "f2", "prismatic", axis="-1 0 0", extra='<mimic joint="g1" multiplier="2"/>'),
           joint("p", "f1", "pad", "fixed", limit=""))


def arm_with(*parts):
    return one_joint().replace("</robot>", "".join([*parts, "</robot>"]))


@pytest.mark.parametrize("content", ["", "<inertial/>", '<inertial><mass value="0"/></inertial>'])
def test_a_robot_without_inertia_has_kinematics_and_says_what_dynamics_needs(content, tmp_path):
    file = tmp_path / "my arm.urdf"
    file.write_text(one_joint(content))
    with pytest.warns(DescriptionWarning, match=r"no moving link has an inertia: 'b'; kinematics works"):
        arm = Robot.from_urdf(file)
    assert (arm.model.links_without_inertia, arm.model.joints_without_inertia, arm.n) == (("b",), ("j",), 1)
    for compiled in (True, False):
        dynamics = arm.dynamics(compiled)
        np.testing.assert_allclose(dynamics.forward_kinematics([0.3])[:3, 3], [0, 0, 0.5])
        np.testing.assert_allclose(dynamics.jacobian([0.3])[5], [1.0])
        np.testing.assert_allclose(dynamics.jacobian_derivative([0.3], [0.5]), np.zeros((6, 1)), atol=1e-12)
        for name in FUNCTIONS.keys() - KINEMATIC:
            with pytest.raises(DescriptionError, match=rf"'b'\); .*: robodyn complete '{file}'$"):
                getattr(dynamics, name)(*[[0.0]] * len(FUNCTIONS[name].arrays))
    with pytest.raises(DescriptionError, match="robodyn complete"):
        arm.check_accelerations()
    turned = arm.dynamics().forward_kinematics([0.7])
    assert arm.inverse_kinematics(turned).q == pytest.approx([0.7])


def test_links_fixed_to_the_base_do_not_count():
    urdf = one_joint("").replace('<link name="a"></link>', link("a"))
    with pytest.warns(DescriptionWarning, match="no moving link has an inertia"):
        assert Robot.from_urdf_text(urdf).model.joints_without_inertia == ("j",)


def test_massless_fingers_are_held_at_the_limit_next_to_zero_with_one_warning():
    with pytest.warns(DescriptionWarning, match="line 5, <joint name='g1'>: no inertia moves with the joints 'g1'; "
                      "they are held") as caught:
        held = Robot.from_urdf_text(arm_with(*GRIPPER))
    assert len(caught) == 1
    assert held.joint_names == ("j",)
    assert held.model.held == {"g1": 0.01, "g2": 0.02}
    assert held.model.tip_link == "pad"
    for link_name, x in (("f1", 0.01), ("f2", -0.02), ("pad", 0.01)):
        pose = held.dynamics(False, "textbook").forward_kinematics([0.0], link_name)
        np.testing.assert_allclose(pose[:3, 3], [x, 0, 1.5 if link_name == "pad" else 1.0])
    with pytest.raises(InputError, match="joint 'g1' .* moves no inertia and is held at 0.01"):
        held.model.joint_index("g1")
    with pytest.raises(DescriptionError, match="no inertia moves with"):
        Robot.from_urdf_text(arm_with(*GRIPPER), strict=True)


def test_a_finger_with_a_rotor_moves():
    rotor = GRIPPER[3].replace("</joint>", '<dynamics armature="0.2"/></joint>')
    arm = Robot.from_urdf_text(arm_with(*GRIPPER[:3], rotor, *GRIPPER[4:]), strict=True)
    assert arm.joint_names == ("j", "g1")
    np.testing.assert_allclose(arm.dynamics().forward_dynamics([0, 0], [0, 0], [0, 0.1]), [0, 0.5], atol=1e-12)


def test_every_joint_moves_where_none_is_to_be_held():
    arm = Robot.from_urdf_text(arm_with(*GRIPPER), strict=True, hold_massless=False)
    assert arm.joint_names == ("j", "g1")
    assert held_positions(arm.model) == {"g1": 0.01}
    with pytest.raises(DescriptionError, match="joint 'g1': it moves link 'f1' and all behind it with an inertia of 0"):
        arm.check_accelerations()


@pytest.mark.parametrize("name", ["planar_2r", "arm7"])
def test_a_robot_with_held_joints_is_the_robot_with_these_joints_at_rest(name):
    """Also where the held joints carry inertia: in the middle and at the end of the chain."""
    whole = Robot.from_urdf(robot_file(name))
    chance = np.random.default_rng(2)
    for held_name in (whole.joint_names[0], whole.joint_names[whole.n // 2], whole.joint_names[-1]):
        q, v, a = chance.uniform(-1, 1, (3, whole.n))
        index = whole.model.joint_index(held_name)
        v[index] = a[index] = 0.0
        part = Robot(with_joints_held(whole.model, {held_name: q[index]}))
        left = np.delete(np.arange(whole.n), index)
        assert part.joint_names == tuple(np.delete(whole.joint_names, index))
        one, other = whole.dynamics(False, "textbook"), part.dynamics(False, "textbook")
        for link_name in whole.model.frames:
            np.testing.assert_allclose(other.forward_kinematics(q[left], link_name),
                                       one.forward_kinematics(q, link_name), atol=1e-12)
        np.testing.assert_allclose(other.inverse_dynamics(q[left], v[left], a[left]),
                                   one.inverse_dynamics(q, v, a)[left], atol=1e-10)


def test_a_massless_joint_before_an_inertia_moves():
    behind = [link("c", INERTIAL), joint("k", "b", "c", axis="1 0 0")]
    assert load_urdf_text(one_joint("").replace("</robot>", "".join([*behind, "</robot>"])), strict=True).held == {}
