# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
import pytest
from pin_reference import PinReference, random_state

from robodyn_ros.base.errors import InputError
from robodyn_ros.dynamics.robot_dynamics import InlineDynamics
from robodyn_ros.kinematics.forward import forward_kinematics
from robodyn_ros.kinematics.jacobian import body_jacobians
from robodyn_ros.kinematics.twists import adjoint, inverse_pose
from robodyn_ros.textbook.newton_euler import bias, forward_dynamics, mass_matrix
from robodyn_ros.textbook.task_space import task_space_dynamics


def tip_jacobian(robot, q):
    """In the tip's own frame."""
    frame = robot.frame(robot.tip_link)
    return adjoint(inverse_pose(frame.pose_link_frame)) @ body_jacobians(robot, q)[frame.joint]


def drift(robot, q, v, step=1e-6):
    """J' v by differences."""
    return (tip_jacobian(robot, q + step * v) - tip_jacobian(robot, q - step * v)) @ v / (2 * step)


@pytest.mark.parametrize("seed", range(5))
def test_six_joints_as_the_book_has_it(seed):
    """(9.97)-(9.99), with the inverse of J."""
    robot = PinReference("arm6").robot
    q, v, tau = random_state(robot, seed)
    jacobian, inertia = tip_jacobian(robot, q), mass_matrix(robot, q)
    inverse = np.linalg.inv(jacobian)
    found = task_space_dynamics(robot, q, v)
    expected = inverse.T @ inertia @ inverse
    size = 1e-8 * np.linalg.cond(jacobian)
    np.testing.assert_allclose(found.inertia, expected, rtol=size, atol=size * np.max(np.abs(expected)))
    expected = inverse.T @ bias(robot, q, v) - expected @ drift(robot, q, v)  # J' J^-1 V = J' v
    np.testing.assert_allclose(found.bias, expected, rtol=size, atol=size * np.max(np.abs(expected)))
    # The motion under tau, seen at the tip.
    acceleration = jacobian @ forward_dynamics(robot, q, v, tau) + drift(robot, q, v)
    expected = inverse.T @ tau
    np.testing.assert_allclose(found.inertia @ acceleration + found.bias, expected, rtol=size, atol=size * 100)


@pytest.mark.parametrize("link", [None, "link6"])
def test_seven_joints_move_under_a_wrench_as_lambda_says(link):
    """No joint efforts, a wrench on the link alone: F = Lambda V' + eta."""
    robot = PinReference("arm7").robot
    q, v, _ = random_state(robot, 3)
    wrench = np.random.default_rng(3).normal(size=6)
    name = link or robot.tip_link
    a = forward_dynamics(robot, q, v, np.zeros(7), exerted={name: -wrench})
    frame = robot.frame(name)
    jacobian = adjoint(inverse_pose(frame.pose_link_frame)) @ body_jacobians(robot, q)[frame.joint]
    step = 1e-6

    def twist(time):
        position = q + v * time + 0.5 * a * time**2
        return (
            adjoint(inverse_pose(frame.pose_link_frame)) @ body_jacobians(robot, position)[frame.joint] @ (v + a * time)
        )

    acceleration = (twist(step) - twist(-step)) / (2 * step)
    found = task_space_dynamics(robot, q, v, link)
    np.testing.assert_allclose(found.inertia @ acceleration + found.bias, wrench, atol=1e-6)
    np.testing.assert_allclose(
        found.inertia @ (jacobian @ np.linalg.solve(mass_matrix(robot, q), jacobian.T)), np.eye(6), atol=1e-9
    )


def test_the_public_frame_is_the_same_dynamics():
    robot = PinReference("arm7").robot
    q, v, _ = random_state(robot, 4)
    rotation = forward_kinematics(robot, q)[:3, :3]
    swap = np.roll(np.eye(6), 3, axis=0)
    to_tip = np.kron(np.eye(2), rotation.T) @ swap  # from base axes, linear first
    book = task_space_dynamics(robot, q, v)
    np.testing.assert_allclose(InlineDynamics(robot).task_space_inertia(q), to_tip.T @ book.inertia @ to_tip, atol=1e-9)
    # In base axes V' is the acceleration of the point itself, in the link's the derivative of components.
    velocity = InlineDynamics(robot).jacobian(q) @ v
    turning = to_tip @ np.concatenate([np.cross(velocity[3:], velocity[:3]), np.zeros(3)])
    expected = to_tip.T @ (book.bias - book.inertia @ turning)
    np.testing.assert_allclose(InlineDynamics(robot).task_space_bias(q, v), expected, atol=1e-8)


def test_wrong_arguments_are_named():
    arm = PinReference("arm6").robot
    with pytest.raises(InputError, match=r"v.*\(6,\).*\(5,\)"):
        task_space_dynamics(arm, np.zeros(6), np.zeros(5))
    with pytest.raises(InputError, match="base_link.*does not move"):
        task_space_dynamics(arm, np.zeros(6), np.zeros(6), arm.base_link)
