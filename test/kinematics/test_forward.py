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
from pin_reference import SEEDS, SHIPPED, PinReference, random_state, relative_error
from random_robots import urdf_robots

from robodyn_ros.base.errors import InputError
from robodyn_ros.kinematics.forward import forward_kinematics, joint_poses, joint_twist, link_poses, path_to


def check_every_link(reference, seed):
    (q,) = random_state(reference.robot, seed, 1)
    for link in reference.robot.frames:
        pose = forward_kinematics(reference.robot, q, link)
        assert relative_error(pose, reference.forward_kinematics(q, link)) < 1e-9, link


@SHIPPED
def test_shipped_robots_against_pinocchio(name):
    check_every_link(PinReference(name), 1)


@settings(deadline=None, max_examples=20)
@given(urdf_robots(), SEEDS)
def test_random_trees_against_pinocchio(urdf, seed):
    check_every_link(PinReference(urdf), seed)


def test_poses_chain_along_the_path():
    robot = PinReference("arm7").robot
    (q,) = random_state(robot, 2, 1)
    pose = np.eye(4)
    path = path_to(robot, len(robot.joints) - 1)
    assert path == list(range(7))
    for index in path:
        pose = pose @ joint_poses(robot, q)[index]
    np.testing.assert_allclose(link_poses(robot, q)[-1], pose, atol=1e-14)
    assert path_to(robot, -1) == []


def test_the_tip_link_is_meant_where_none_is_named():
    robot = PinReference("arm6").robot
    (q,) = random_state(robot, 3, 1)
    np.testing.assert_array_equal(forward_kinematics(robot, q), forward_kinematics(robot, q, robot.tip_link))


def test_joint_twist_of_either_kind():
    joints = {joint.kind: joint for joint in PinReference("scara").robot.joints}
    np.testing.assert_array_equal(joint_twist(joints["prismatic"])[:3], np.zeros(3))
    np.testing.assert_array_equal(joint_twist(joints["revolute"])[3:], np.zeros(3))


def test_unknown_link_is_named_with_the_nearest():
    robot = PinReference("arm7").robot
    with pytest.raises(InputError, match="tool1.*tool0"):
        forward_kinematics(robot, np.zeros(7), "tool1")
