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
from robodyn_ros.description.denavit_hartenberg import DHRow, load_dh
from robodyn_ros.kinematics.forward import joint_poses, link_poses
from robodyn_ros.kinematics.jacobian import twist_jacobian
from robodyn_ros.textbook.link_frame_newton_euler import PointMotion, link_frame_inverse_dynamics, link_motion
from robodyn_ros.textbook.newton_euler import inverse_dynamics


def check(reference, seed):
    robot = reference.robot
    q, v, a = random_state(robot, seed)
    moment, force = np.random.default_rng(seed).normal(size=(2, 3))
    size = np.max(np.abs(reference.mass_matrix(q)))
    found = link_frame_inverse_dynamics(robot, q, v, a)
    assert relative_error(found, inverse_dynamics(robot, q, v, a), size) < 1e-11
    assert relative_error(found, reference.inverse_dynamics(q, v, a), size) < 1e-9
    pushing = link_frame_inverse_dynamics(robot, q, v, a, force, moment)
    expected = inverse_dynamics(robot, q, v, a, {robot.tip_link: np.concatenate([moment, force])})
    assert relative_error(pushing, expected, size) < 1e-11


@SHIPPED
def test_shipped_robots_against_the_twist_form_and_pinocchio(name):
    check(PinReference(name), 1)


@settings(deadline=None, max_examples=20)
@given(urdf_robots(), SEEDS)
def test_random_trees_against_the_twist_form_and_pinocchio(urdf, seed):
    check(PinReference(urdf), seed)


def test_force_and_moment_can_be_given_alone():
    robot = PinReference("arm6").robot
    q, v, a = random_state(robot, 2)
    push = np.array([1.0, -2.0, 3.0])
    np.testing.assert_allclose(
        link_frame_inverse_dynamics(robot, q, v, a, force_tip=push),
        inverse_dynamics(robot, q, v, a, {robot.tip_link: np.array([0.0, 0.0, 0.0, *push])}),
        atol=1e-12,
    )
    np.testing.assert_allclose(
        link_frame_inverse_dynamics(robot, q, v, a, moment_tip=push),
        inverse_dynamics(robot, q, v, a, {robot.tip_link: np.array([*push, 0.0, 0.0, 0.0])}),
        atol=1e-12,
    )


def acceleration_of_point(robot, q, v, a, point, step=1e-4):
    """Of a point of the last link in base axes, by differences along a motion."""
    before, here, after = (
        (link_poses(robot, q + v * time + 0.5 * a * time**2)[-1] @ [*point, 1.0])[:3] for time in (-step, 0.0, step)
    )
    return (after - 2 * here + before) / step**2


@settings(deadline=None, max_examples=10)
@given(urdf_robots(max_joints=4, mimic=False), SEEDS)
def test_link_motions_are_those_of_points(urdf, seed):
    """(4.29)-(4.35) against differences: without gravity, a point's acceleration in base axes."""
    robot = PinReference(urdf).robot
    q, v, a = random_state(robot, seed)
    point = np.random.default_rng(seed).normal(size=3)
    motions = []
    for joint, pose in zip(robot.joints, joint_poses(robot, q), strict=True):
        before = PointMotion(*np.zeros((3, 3))) if joint.parent < 0 else motions[joint.parent]
        motions.append(link_motion(joint, pose, before, v[joint.dof], a[joint.dof]))
    acceleration = acceleration_of_point(robot, q, v, a, point)
    rotation = link_poses(robot, q)[-1][:3, :3]
    np.testing.assert_allclose(rotation @ motions[-1].acceleration_of(point), acceleration, rtol=1e-4, atol=1e-4)
    omega = twist_jacobian(robot, q, robot.joints[-1].link)[:3] @ v
    np.testing.assert_allclose(rotation @ motions[-1].omega, omega, atol=1e-9)


def test_4_40_position_of_the_next_origin_by_denavit_hartenberg():
    row = DHRow(a=0.3, alpha=0.7, d=0.2, theta=0.1)
    with pytest.warns(match="inertia"):
        robot = load_dh([row])
    expected = [row.a, -row.d * np.sin(row.alpha), row.d * np.cos(row.alpha)]
    np.testing.assert_allclose(joint_poses(robot, np.array([0.5]))[0][:3, 3], expected, atol=1e-12)


def test_wrong_shapes_are_named():
    robot, zero = PinReference("scara").robot, np.zeros(4)
    with pytest.raises(InputError, match=r"v.*\(4,\).*\(3,\)"):
        link_frame_inverse_dynamics(robot, zero, np.zeros(3), zero)
    with pytest.raises(InputError, match=r"force_tip.*\(3,\).*\(6,\)"):
        link_frame_inverse_dynamics(robot, zero, zero, zero, force_tip=np.zeros(6))


def test_it_compiles():
    robot = PinReference("scara").robot
    kernel = compile_function(lambda q, v, a: link_frame_inverse_dynamics(robot, q, v, a), dict.fromkeys("qva", (4,)))
    q, v, a = random_state(robot, 3)
    np.testing.assert_allclose(kernel(q, v, a), inverse_dynamics(robot, q, v, a), rtol=1e-12)
