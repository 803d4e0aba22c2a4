# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The misprints of [LynchPark] that docs/errata.md lists: as printed they fail, as corrected they hold."""

import dataclasses

import numpy as np
import pytest
from pin_reference import PinReference, random_state
from planar_2r import GRAVITY, LENGTHS, MASSES, planar_2r

from robodyn_ros.description.model import Inertia
from robodyn_ros.dynamics.energy import kinetic_energy
from robodyn_ros.dynamics.forward_dynamics import mass_matrix_forward_dynamics as forward_dynamics
from robodyn_ros.kinematics.forward import forward_kinematics, joint_poses, joint_twist, link_poses
from robodyn_ros.kinematics.jacobian import body_jacobians, twist_jacobian
from robodyn_ros.kinematics.twists import exponential, lie_bracket, twist_in_child, twist_in_parent
from robodyn_ros.textbook.newton_euler import gravity, inverse_dynamics


@pytest.fixture(scope="module")
def robot():
    return PinReference("arm6").robot


def differ(first, second):
    """Whether two results are plainly not the same."""
    return np.max(np.abs(np.subtract(first, second))) > 1e-3 * np.max(np.abs(second))


def test_9_1_1_planar_2r():
    (m1, m2), (l1, l2) = MASSES, LENGTHS
    q, v, a = np.array([[0.4, -1.1], [0.7, 2.0], [-0.3, 1.9]])
    (c1, c2), s2, c12 = np.cos(q), np.sin(q[1]), np.cos(q[0] + q[1])
    truth = inverse_dynamics(planar_2r(), q, v, a)

    def first(cosine):
        return (
            ((m1 + m2) * l1**2 + m2 * (2 * l1 * l2 * c2 + l2**2)) * a[0]
            + m2 * (l1 * l2 * cosine + l2**2) * a[1]
            - 2 * m2 * l1 * l2 * v[0] * v[1] * s2
            - m2 * l1 * l2 * v[1] ** 2 * s2
            + (m1 + m2) * l1 * GRAVITY * c1
            + m2 * GRAVITY * l2 * c12
        )

    def second(coriolis, sign_of_gravity):
        inertial = m2 * (l1 * l2 * c2 + l2**2) * a[0] + m2 * l2**2 * a[1]
        return inertial + coriolis + sign_of_gravity * m2 * GRAVITY * l2 * c12

    printed_coriolis, coriolis = -m2 * l1 * l2 * v[0] * v[1] * s2, m2 * l1 * l2 * v[0] ** 2 * s2
    assert differ(first(c1), truth[0])
    assert first(c2) == pytest.approx(truth[0], rel=1e-12)
    assert differ(second(printed_coriolis, +1), truth[1])
    assert differ(second(coriolis, -1), truth[1])
    assert second(coriolis, +1) == pytest.approx(truth[1], rel=1e-12)


def test_9_1_1_the_mass_belongs_to_all_of_the_kinetic_energy():
    (m1, m2), (l1, l2) = MASSES, LENGTHS
    q, v = np.array([[0.4, -1.1], [0.7, 2.0]])
    c2 = np.cos(q[1])
    truth = kinetic_energy(planar_2r(), q, v)
    first = m1 * l1**2 * v[0] ** 2 / 2
    own = (l1**2 + 2 * l1 * l2 * c2 + l2**2) * v[0] ** 2
    rest = 2 * (l2**2 + l1 * l2 * c2) * v[0] * v[1] + l2**2 * v[1] ** 2
    assert differ(first + (m2 * own + rest) / 2, truth)
    assert first + m2 * (own + rest) / 2 == pytest.approx(truth, rel=1e-12)


def test_9_35_and_9_51_joint_twists_are_in_the_links_own_frame(robot):
    """A_i = Ad_{M_i^-1}(S_i) as (9.40) has it, not Ad_{M_{i-1}^-1}(S_i), nor in frame {i-1}."""
    (q,) = random_state(robot, 1, 1)
    home = link_poses(robot, np.zeros(robot.n))
    chain = np.eye(4)
    for index, joint in enumerate(robot.joints):
        screw = twist_in_parent(home[index], joint_twist(joint))
        chain = chain @ exponential(screw, q[joint.dof])
        between = joint.pose_parent_link
        # Corrected: the product of exponentials (9.37) and the chain of (9.50) are the same pose.
        corrected = twist_in_child(home[index], screw)
        np.testing.assert_allclose(chain @ home[index], link_poses(robot, q)[index], atol=1e-12)
        np.testing.assert_allclose(
            between @ exponential(corrected, q[joint.dof]), joint_poses(robot, q)[index], atol=1e-12
        )
    index = 1  # the shoulder, whose frame differs from the one before in position and axes
    before = home[index - 1]
    screw = twist_in_parent(home[index], joint_twist(robot.joints[index]))
    printed = twist_in_child(before, screw)
    pose = robot.joints[index].pose_parent_link @ exponential(printed, q[index])
    assert differ(pose, joint_poses(robot, q)[index])


def test_9_47_and_9_58_the_parents_twist_is_taken_to_the_childs_frame(robot):
    q, v, _ = random_state(robot, 2)

    def twists(position):
        return [jacobian @ v for jacobian in body_jacobians(robot, position)]

    step = 1e-6
    slopes = [(x - y) / (2 * step) for x, y in zip(twists(q + step * v), twists(q - step * v), strict=True)]
    index = 3
    pose = joint_poses(robot, q)[index]
    rate = joint_twist(robot.joints[index]) * v[index]
    parent = twists(q)[index - 1]
    own = twist_in_child(pose, slopes[index - 1])
    np.testing.assert_allclose(own + lie_bracket(twist_in_child(pose, parent), rate), slopes[index], atol=1e-7)
    np.testing.assert_allclose(own + lie_bracket(twists(q)[index], rate), slopes[index], atol=1e-7)  # (9.55) is right
    assert differ(own + lie_bracket(twist_in_parent(pose, parent), rate), slopes[index])


def test_initialisation_the_base_accelerates_against_gravity(robot):
    """Lifting costs effort: with V'_0 = (0, g) as printed, g(q) has the wrong sign."""
    (q,) = random_state(robot, 3, 1)

    def potential(position):
        poses = link_poses(robot, position)
        heights = [
            joint.inertia.mass * robot.gravity @ (pose @ [*joint.inertia.com, 1.0])[:3]
            for joint, pose in zip(robot.joints, poses, strict=True)
        ]
        return -sum(heights)

    step = 1e-5
    slope = [(potential(q + h) - potential(q - h)) / (2 * step) for h in step * np.eye(robot.n)]
    np.testing.assert_allclose(gravity(robot, q), slope, atol=1e-6)
    assert differ(-gravity(robot, q), slope)


def test_9_81_and_get_joint_accel_the_tip_wrench_is_what_the_robot_exerts(robot):
    """The recursion's F_{n+1} is what link n does to what follows; a wrench applied *to* the robot has its sign turned.

    The truth here is a heavier last link: a weight at the tip pulls on the robot with its weight.
    """
    (q,) = random_state(robot, 4, 1)
    zero = np.zeros(robot.n)
    tip = robot.frame(robot.tip_link)
    weight = Inertia(2.5, tip.pose_link_frame[:3, 3], np.zeros((3, 3)))
    last = robot.joints[tip.joint]
    heavier = (*robot.joints[:-1], dataclasses.replace(last, inertia=last.inertia + weight))
    loaded = gravity(dataclasses.replace(robot, joints=heavier), q)

    applied = np.array([0.0, 0.0, 0.0, *(2.5 * robot.gravity)])  # to the robot, base axes
    in_tip_axes = np.kron(np.eye(2), forward_kinematics(robot, q)[:3, :3].T) @ applied
    exerted, opposite = {robot.tip_link: -in_tip_axes}, {robot.tip_link: in_tip_axes}
    jacobian = twist_jacobian(robot, q)
    # (9.81), and the recursion with F_tip, the wrench that the robot exerts on the weight.
    np.testing.assert_allclose(gravity(robot, q) + jacobian.T @ -applied, loaded, atol=1e-9)
    np.testing.assert_allclose(inverse_dynamics(robot, q, zero, zero, exerted), loaded, atol=1e-9)
    assert differ(inverse_dynamics(robot, q, zero, zero, opposite), loaded)
    # GetJointAccel: efforts that hold the loaded robot do not move it.
    np.testing.assert_allclose(forward_dynamics(robot, q, zero, loaded, exerted), zero, atol=1e-8)
    assert np.max(np.abs(forward_dynamics(robot, q, zero, loaded, opposite))) > 1.0
