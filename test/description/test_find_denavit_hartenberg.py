# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
import pytest
from hypothesis import given, settings
from pin_reference import PinReference, random_state, relative_error
from random_robots import urdf_robots

from robodyn_ros.base.errors import DescriptionError, InputError
from robodyn_ros.description.denavit_hartenberg import load_dh
from robodyn_ros.description.find_denavit_hartenberg import find_denavit_hartenberg
from robodyn_ros.description.resources import robot_file
from robodyn_ros.description.urdf import load_urdf, load_urdf_text
from robodyn_ros.kinematics.forward import forward_kinematics
from robodyn_ros.textbook.newton_euler import inverse_dynamics

SHIPPED = ["planar_2r", "scara", "arm6", "arm7"]
COLUMNS = ("a", "alpha", "d", "theta")


def parameters(table):
    return np.array([[getattr(row, column) for column in COLUMNS] for row in table.rows])


def assert_same_poses(model, again, q):
    q_again = np.array([q[model.joint_index(name)] for name in again.joint_names])
    for link in set(model.frames) & set(again.frames):
        np.testing.assert_allclose(
            forward_kinematics(again, q_again, link), forward_kinematics(model, q, link), atol=1e-12
        )


@pytest.mark.parametrize("robot", SHIPPED)
def test_shipped_robots_come_back_from_their_tables(robot):
    model = load_urdf(robot_file(robot))
    again = load_dh(find_denavit_hartenberg(model), name=model.name)
    assert again.joint_names == model.joint_names
    assert again.tip_link == model.tip_link
    assert set(model.frames) <= set(again.frames)
    rng = np.random.default_rng(2)
    for _ in range(5):
        q, v, a = rng.uniform(-2, 2, (3, model.n))
        assert_same_poses(model, again, q)
        torque = inverse_dynamics(model, q, v, a)
        np.testing.assert_allclose(inverse_dynamics(again, q, v, a), torque, atol=1e-11 * np.abs(torque).max())


@settings(deadline=None, max_examples=50)
@given(urdf_robots(max_joints=8, mimic=False))
def test_random_robots_come_back_from_their_tables(xml):
    model = load_urdf_text(xml)
    again = load_dh(find_denavit_hartenberg(model))
    assert_same_poses(model, again, np.random.default_rng(3).uniform(-2, 2, model.n))


@pytest.mark.parametrize("robot", SHIPPED)
def test_robots_from_their_tables_against_pinocchio(robot):
    reference = PinReference(robot)
    again = load_dh(find_denavit_hartenberg(reference.robot), name=robot)
    q, v, a = random_state(reference.robot, 1)
    pose = reference.forward_kinematics(q, again.tip_link)
    assert relative_error(forward_kinematics(again, q), pose) < 1e-9
    assert relative_error(inverse_dynamics(again, q, v, a), reference.inverse_dynamics(q, v, a)) < 1e-9


def test_steps_on_the_published_arms():
    """The lengths of UR5e and Panda stand where the steps put them; frame 0 is frame 1, parallel axes have d = 0."""
    arm6 = parameters(find_denavit_hartenberg(load_urdf(robot_file("arm6"))))
    np.testing.assert_allclose(arm6[:, 0], [0, 0, 0.425, 0.3922, 0, 0], atol=1e-12)
    np.testing.assert_allclose(arm6[:, 1], [0, np.pi / 2, 0, 0, np.pi / 2, np.pi / 2], atol=1e-12)
    np.testing.assert_allclose(arm6[:, 2], [0, 0, 0, 0.1333, 0.0997, 0], atol=1e-12)
    arm7 = parameters(find_denavit_hartenberg(load_urdf(robot_file("arm7"))))
    np.testing.assert_allclose(arm7[:, 0], [0, 0, 0, 0.0825, 0.0825, 0, 0.088], atol=1e-12)
    np.testing.assert_allclose(arm7[:, 1], [0, *[np.pi / 2] * 6], atol=1e-12)
    np.testing.assert_allclose(arm7[:, 2], [0, 0, 0.316, 0, 0.384, 0, 0], atol=1e-12)


def chain(*joints):
    """A chain of revolute joints about given axes at given places in the link before."""
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    parts = ['<robot name="chain"><link name="link0"/>']
    for number, (xyz, axis) in enumerate(joints, start=1):
        parts.append(
            f'<link name="link{number}">{inertial}</link><joint name="joint{number}" type="continuous">'
            f'<origin xyz="{xyz}"/><axis xyz="{axis}"/><parent link="link{number - 1}"/><child link="link{number}"/>'
            "</joint>"
        )
    return load_urdf_text("".join([*parts, "</robot>"]))


def test_skew_axes_have_their_common_perpendicular():
    # Z_1 = base z; Z_2 along y through (0.3, 0.7, 0.2): the perpendicular lies at height 0.2, and z x y = -x.
    table = find_denavit_hartenberg(chain(("0 0 0", "0 0 1"), ("0.3 0.7 0.2", "0 1 0")))
    np.testing.assert_allclose(parameters(table)[1], [-0.3, np.pi / 2, 0, 0], atol=1e-15)
    np.testing.assert_allclose(table.pose_base_0[:3, 3], [0, 0, 0.2], atol=1e-15)
    np.testing.assert_allclose(table.pose_base_0[:3, 0], [-1, 0, 0], atol=1e-15)


def test_axes_in_one_line_keep_x_and_origin():
    table = find_denavit_hartenberg(chain(("0 0 0.1", "0 0 1"), ("0 0 0.5", "0 0 1"), ("0 0 0.5", "0 0 -1")))
    np.testing.assert_allclose(parameters(table), [[0, 0, 0, 0], [0, 0, 0, 0], [0, np.pi, 0, 0]], atol=1e-15)
    np.testing.assert_allclose(table.pose_base_0[:3, 3], [0, 0, 0.1], atol=1e-15)


def test_nearly_parallel_axes_are_exact_or_simple_as_asked():
    model = chain(("0 0 0", "0 0 1"), ("0.3 0 0", "1e-5 0 1"), ("0.3 0 0", "1 0 0"))
    q = np.array([0.3, 0.4, 0.5])
    exact, simple = find_denavit_hartenberg(model), find_denavit_hartenberg(model, parallel=1e-4)
    assert abs(exact.pose_base_0[2, 3]) > 1e4
    np.testing.assert_allclose(forward_kinematics(load_dh(exact), q, "link3"), forward_kinematics(model, q), atol=1e-9)
    assert max(abs(row.d) for row in simple.rows) < 1.0
    np.testing.assert_allclose(forward_kinematics(load_dh(simple), q, "link3"), forward_kinematics(model, q), atol=1e-4)


def test_mimic_joints_and_links_that_stand_still_are_refused():
    xml = '<robot name="gripper"><link name="link0"/>{0}</robot>'
    finger = (
        '<link name="link{0}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
        '</inertial></link><joint name="joint{0}" type="continuous"><axis xyz="0 0 1"/><parent link="link{1}"/>'
        '<child link="link{0}"/>{2}</joint>'
    )
    model = load_urdf_text(xml.format(finger.format(1, 0, "") + finger.format(2, 1, '<mimic joint="joint1"/>')))
    with pytest.raises(DescriptionError, match="joint 'joint2' of 'gripper' is a mimic joint"):
        find_denavit_hartenberg(model, "link2")
    with pytest.raises(DescriptionError, match="no joint of 'gripper' moves link 'link0'"):
        find_denavit_hartenberg(model, "link0")
    with pytest.raises(InputError, match="no link 'link7'"):
        find_denavit_hartenberg(model, "link7")
