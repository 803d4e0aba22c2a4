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
from robodyn_ros.compile import compile_function
from robodyn_ros.kinematics.forward import forward_kinematics, joint_twist, link_poses
from robodyn_ros.kinematics.twists import (
    ad_transpose,
    exponential,
    homogeneous,
    inverse_pose,
    lie_bracket,
    twist_in_child,
    wrench_in_parent,
)
from robodyn_ros.textbook.newton_euler import inverse_dynamics
from robodyn_ros.textbook.product_of_exponentials import home, joint_positions, product_of_exponentials


def check(reference, seed):
    robot = reference.robot
    (q,) = random_state(robot, seed, 1)
    for link in robot.frames:
        found = product_of_exponentials(robot, q, link)
        np.testing.assert_allclose(found, forward_kinematics(robot, q, link), atol=1e-11)
        np.testing.assert_allclose(found, reference.forward_kinematics(q, link), atol=1e-9)
    np.testing.assert_array_equal(product_of_exponentials(robot, q), product_of_exponentials(robot, q, robot.tip_link))


@SHIPPED
def test_shipped_robots_against_chain_and_pinocchio(name):
    check(PinReference(name), 1)


@settings(deadline=None, max_examples=15)
@given(urdf_robots(), SEEDS)
def test_random_trees_against_chain_and_pinocchio(urdf, seed):
    check(PinReference(urdf), seed)


@settings(deadline=None, max_examples=10)
@given(urdf_robots(), SEEDS)
def test_home_is_the_zero_position(urdf, seed):
    """(9.38)-(9.40), (9.50)."""
    robot = PinReference(urdf).robot
    (q,) = random_state(robot, seed, 1)
    zero = home(robot)
    for joint, between, twist in zip(robot.joints, zero.relative_poses(robot), zero.joint_twists(), strict=True):
        np.testing.assert_allclose(between, joint.pose_parent_link, atol=1e-12)
        np.testing.assert_allclose(twist, joint_twist(joint), atol=1e-12)
    at_centers = home(robot, at_centers_of_mass=True)
    positions, twists = joint_positions(robot, q), at_centers.joint_twists()
    between = at_centers.relative_poses(robot)
    poses = []
    for index, joint in enumerate(robot.joints):
        pose = between[index] @ exponential(twists[index], positions[index])
        poses.append(pose if joint.parent < 0 else poses[joint.parent] @ pose)
        to_center = homogeneous(np.eye(3), joint.inertia.com)
        np.testing.assert_allclose(poses[index], link_poses(robot, q)[index] @ to_center, atol=1e-11)


def newton_euler_at_centers_of_mass(robot, q, v, a, exerted_tip):
    """[LynchPark] (9.49)-(9.57) word for word, for a chain, with frames at the centres of mass."""
    zero = home(robot, at_centers_of_mass=True)
    twists_of_joints, between = zero.joint_twists(), zero.relative_poses(robot)
    twist, acceleration = np.zeros(6), np.array([0.0, 0.0, 0.0, *-robot.gravity])
    poses, twists, accelerations = [], [], []
    for index in range(robot.n):
        axis = twists_of_joints[index]
        pose = between[index] @ exponential(axis, q[index])  # (9.53)
        twist = twist_in_child(pose, twist) + axis * v[index]  # (9.54)
        acceleration = (
            twist_in_child(pose, acceleration) + lie_bracket(twist, axis) * v[index] + axis * a[index]
        )  # (9.55)
        poses.append(pose)
        twists.append(twist)
        accelerations.append(acceleration)
    frame = robot.frame(robot.tip_link)
    to_tip = inverse_pose(homogeneous(np.eye(3), robot.joints[frame.joint].inertia.com)) @ frame.pose_link_frame
    poses.append(to_tip)
    wrench, tau = exerted_tip, np.zeros(robot.n)
    for index in reversed(range(robot.n)):
        inertia = robot.joints[index].inertia
        spatial = np.zeros((6, 6))  # (9.52)
        spatial[:3, :3], spatial[3:, 3:] = inertia.rotational, inertia.mass * np.eye(3)
        own = spatial @ accelerations[index] - ad_transpose(twists[index], spatial @ twists[index])
        wrench = wrench_in_parent(poses[index + 1], wrench) + own  # (9.56)
        tau[index] = wrench @ twists_of_joints[index]  # (9.57)
    return tau


@pytest.mark.parametrize("name", ["arm6", "arm7", "planar_2r", "scara"])
def test_frames_do_not_matter_to_newton_euler(name):
    """The book's recursion at the centres of mass gives the efforts of ours in the description's link frames."""
    reference = PinReference(name)
    robot = reference.robot
    q, v, a = random_state(robot, 2)
    exerted_tip = np.random.default_rng(2).normal(size=6)
    found = newton_euler_at_centers_of_mass(robot, q, v, a, exerted_tip)
    assert relative_error(found, inverse_dynamics(robot, q, v, a, {robot.tip_link: exerted_tip})) < 1e-12


def test_it_compiles_and_names_unknown_links():
    robot = PinReference("scara").robot
    (q,) = random_state(robot, 3, 1)
    kernel = compile_function(lambda q: product_of_exponentials(robot, q), {"q": (4,)})
    np.testing.assert_allclose(kernel(q), product_of_exponentials(robot, q), atol=1e-14)
    with pytest.raises(InputError, match="elbow"):
        product_of_exponentials(robot, q, "elbow")
    with pytest.raises(InputError, match=r"q.*\(4,\).*\(5,\)"):
        product_of_exponentials(robot, np.zeros(5))
