# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Misprints that docs/errata.md lists: as printed they fail, as corrected they hold."""

import numpy as np
import pytest
from pin_reference import PinReference, random_state

from robodyn_ros.description.denavit_hartenberg import DHRow, load_dh
from robodyn_ros.description.model import skew
from robodyn_ros.dynamics.forward_dynamics import mass_matrix_forward_dynamics as forward_dynamics
from robodyn_ros.dynamics.mass_matrix import mass_matrix
from robodyn_ros.kinematics.forward import joint_poses, joint_twist, link_poses
from robodyn_ros.kinematics.jacobian import body_jacobians, twist_jacobian
from robodyn_ros.kinematics.twists import adjoint, inverse_pose
from robodyn_ros.textbook.closed_form import stacked_dynamics
from robodyn_ros.textbook.link_frame_newton_euler import PointMotion, link_frame_inverse_dynamics
from robodyn_ros.textbook.newton_euler import bias, gravity
from robodyn_ros.textbook.task_space import task_space_dynamics


@pytest.fixture(scope="module")
def reference():
    return PinReference("arm6")


@pytest.fixture(scope="module")
def robot(reference):
    return reference.robot


def differ(first, second):
    """Whether two results are plainly not the same."""
    return np.max(np.abs(np.subtract(first, second))) > 1e-3 * np.max(np.abs(second))


# -- [LynchPark] ------------------------------------------------------------------------------------------------------


def test_the_display_before_9_47_differentiates_the_twist_of_the_link_before(robot):
    """[V'_i] = d/dt (T_{i,i-1} [V_{i-1}] T_{i,i-1}^-1) + [A_i] theta''_i; printed with T_{i-1,i} and V_i."""
    q, v, a = random_state(robot, 1)
    index, step = 3, 1e-6

    def at(time):
        position, rate = q + v * time + 0.5 * a * time**2, v + a * time
        twists = [jacobian @ rate for jacobian in body_jacobians(robot, position)]
        return joint_poses(robot, position)[index], twists[index - 1], twists[index]

    def bracket(twist):
        matrix = np.zeros((4, 4))
        matrix[:3, :3], matrix[:3, 3] = skew(twist[:3]), twist[3:]
        return matrix

    def slope(function):
        return (function(*at(step)) - function(*at(-step))) / (2 * step)

    truth = slope(lambda pose, before, own: bracket(own)) - bracket(joint_twist(robot.joints[index])) * a[index]
    corrected = slope(lambda pose, before, own: inverse_pose(pose) @ bracket(before) @ pose)
    printed = slope(lambda pose, before, own: pose @ bracket(own) @ inverse_pose(pose))
    np.testing.assert_allclose(corrected, truth, atol=1e-7)
    assert differ(printed, truth)


def test_9_73_and_9_78_and_9_83_the_bracket_with_the_joint_rates_is_subtracted(reference, robot):
    q, v, a = random_state(robot, 2)
    s = stacked_dynamics(robot, q)
    twists, step = s.twists(v), 1e-6

    def twists_at(time):
        return stacked_dynamics(robot, q + v * time + 0.5 * a * time**2).twists(v + a * time)

    slope = (twists_at(step) - twists_at(-step)) / (2 * step)  # without gravity's V'_base
    bracket = s.ad_joints(v) @ s.Gamma @ twists
    np.testing.assert_allclose(s.Gamma @ slope + s.A @ a - bracket, slope, atol=1e-6)  # (9.73)
    assert differ(s.Gamma @ slope + s.A @ a + bracket, slope)
    np.testing.assert_allclose(s.L @ (s.A @ a - bracket), slope, atol=1e-6)  # (9.78)
    assert differ(s.L @ (s.A @ a + bracket), slope)

    coriolis = reference.bias(q, v) - reference.gravity(q)
    gyroscopic = s.ad_links(v).T @ s.G @ twists
    corrected = s.A.T @ s.L.T @ (-s.G @ s.L @ bracket - gyroscopic)  # (9.83)
    printed = s.A.T @ s.L.T @ (s.G @ s.L @ bracket - gyroscopic)
    np.testing.assert_allclose(corrected, coriolis, atol=1e-9)
    assert differ(printed, coriolis)


def test_9_95_the_bias_is_not_yet_divided_by_the_jacobian(robot):
    q, v, tau = random_state(robot, 3)
    frame = robot.frame(robot.tip_link)

    def jacobian_at(position):
        return adjoint(inverse_pose(frame.pose_link_frame)) @ body_jacobians(robot, position)[frame.joint]

    jacobian, step = jacobian_at(q), 1e-6
    slope = (jacobian_at(q + step * v) - jacobian_at(q - step * v)) / (2 * step)
    inverse, inertia, b = np.linalg.inv(jacobian), mass_matrix(robot, q), bias(robot, q, v)
    twist = jacobian @ v
    acceleration = jacobian @ forward_dynamics(robot, q, v, tau) + slope @ v  # (9.92)
    inertial = inertia @ (inverse @ acceleration - inverse @ slope @ inverse @ twist)
    np.testing.assert_allclose(inertial + b, tau, atol=1e-6)
    assert differ(inertial + inverse.T @ b, tau)
    found = task_space_dynamics(robot, q, v)
    np.testing.assert_allclose(found.inertia @ acceleration + found.bias, inverse.T @ tau, atol=1e-5)  # (9.96) is right


# -- [Yamamoto] -------------------------------------------------------------------------------------------------------


def test_printed_axis_of_4_18_is_that_of_the_link_before():
    """A sliding joint moves along z of its own link i: ^0R_i z as in (4.20), not ^0R_{i-1} z."""
    with pytest.warns(match="inertia"):
        robot = load_dh([DHRow(0.0, 0.0, 0.0, 0.0), DHRow(0.3, np.pi / 2, 0.2, 0.0, kind="prismatic")])
    q, v = np.array([[0.4, 0.3], [0.7, -0.5]])
    velocity = twist_jacobian(robot, q, robot.joints[1].link)[3:] @ v
    first, second = link_poses(robot, q)
    carried = np.cross(first[:3, 2] * v[0], second[:3, 3] - first[:3, 3])
    np.testing.assert_allclose(carried + second[:3, 2] * v[1], velocity, atol=1e-12)
    assert differ(carried + first[:3, 2] * v[1], velocity)


def test_printed_middle_of_4_35_takes_the_centre_of_mass_for_the_origin(robot):
    """s'' = v' = v' + ...: the middle one would be the acceleration of the frame's origin."""
    rng = np.random.default_rng(4)
    motion = PointMotion(*rng.normal(size=(3, 3)))
    center = robot.joints[2].inertia.com
    # A twist's derivative gives the same by another way, (9.17): v_c' + w × v_c with v_c = v + w × c.
    origin = rng.normal(size=3)
    origin_dot = motion.v_dot - np.cross(motion.omega, origin)
    velocity = origin + np.cross(motion.omega, center)
    truth = origin_dot + np.cross(motion.omega_dot, center) + np.cross(motion.omega, velocity)
    np.testing.assert_allclose(motion.acceleration_of(center), truth, atol=1e-12)
    assert differ(motion.v_dot, truth)


def test_sign_of_the_force_of_step_2_it_is_exerted_by_the_hand(robot):
    """^{n+1}f_{n+1} "which is added to end-effector": for a force added to it, the sign of (4.36) turns.

    The truth here is virtual work: to hold still against a force on the hand takes -J^T f.
    """
    (q,) = random_state(robot, 5, 1)
    zero = np.zeros(robot.n)
    force = np.array([10.0, -20.0, 30.0])  # added to the hand, base axes
    frame = robot.frame(robot.tip_link)
    in_hand = (link_poses(robot, q)[frame.joint] @ frame.pose_link_frame)[:3, :3].T @ force
    truth = gravity(robot, q) - twist_jacobian(robot, q)[3:].T @ force
    np.testing.assert_allclose(link_frame_inverse_dynamics(robot, q, zero, zero, force_tip=-in_hand), truth, atol=1e-9)
    assert differ(link_frame_inverse_dynamics(robot, q, zero, zero, force_tip=in_hand), truth)
