# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Dynamics in task-space coordinates of a link: [LynchPark] 9.6, and for any number of joints [Khatib].

F = Lambda V' + eta relates the twist rate V' of a link to the wrench F on it. Joint efforts tau are equivalent to the
wrench F = J^-T tau. The functions that take matrices accept the Jacobian of any frame, with all rows or some of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robodyn_ros.base.checks import as_array
from robodyn_ros.base.errors import InputError
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.kinematics.forward import joint_poses
from robodyn_ros.kinematics.jacobian import body_jacobians
from robodyn_ros.kinematics.link_motions import link_motions
from robodyn_ros.kinematics.twists import adjoint, inverse_pose, twist_in_child
from robodyn_ros.textbook.linear_system import solve_symmetric
from robodyn_ros.textbook.newton_euler import bias, mass_matrix


def task_space_inertia(mass_matrix: Array, jacobian: Array) -> Array:
    """Task-space inertia Lambda = (J M^-1 J^T)^-1 [Khatib]; J^-T M J^-1 for a square J, [LynchPark] (9.98).

    Args:
        mass_matrix: M, shape (n, n).
        jacobian: J, shape (m, n) with m <= n.

    Returns:
        Shape (m, m). Lambda does not exist at a singular position; its elements grow without bound near one.

    Raises:
        InputError: There are more rows than joints, or rows depend on each other at every position of the robot.
    """
    rows, columns = jacobian.shape
    if rows > columns:
        raise InputError(
            f"task-space inertia: expected as many rows of the Jacobian as there are joints, {columns}, or fewer, "
            f"received {rows}; choose rows that the robot can move independently"
        )
    mobility = jacobian @ solve_symmetric(mass_matrix, jacobian.T)
    return solve_symmetric(
        mobility,
        np.eye(rows),
        "task-space inertia: row {} of the Jacobian, counted from 0, is zero or depends on the rows before it wherever "
        "the robot is; choose rows that the robot can move independently",
    )


def task_space_bias(inertia: Array, mass_matrix: Array, jacobian: Array, drift: Array, bias: Array) -> Array:
    """Task-space bias eta = Lambda (J M^-1 b - J' v) [Khatib], shape (m,).

    For a square J it is eta = J^-T b - Lambda J' J^-1 V, [LynchPark] (9.99).

    Args:
        inertia: Lambda, shape (m, m).
        mass_matrix: M, shape (n, n).
        jacobian: J, shape (m, n).
        drift: J' v, shape (m,): acceleration of the link with zero joint accelerations.
        bias: b(q, v) = c + g, shape (n,).

    Returns:
        Shape (m,).
    """
    return inertia @ (jacobian @ solve_symmetric(mass_matrix, bias) - drift)


def dynamically_consistent_inverse(inertia: Array, mass_matrix: Array, jacobian: Array) -> Array:
    """Generalised inverse J^+ = M^-1 J^T Lambda [Khatib], which gives joint velocities of least kinetic energy.

    Joint efforts tau are equivalent to the wrench F = J^+T tau at the link; for a square J it is J^-T tau. Efforts
    (1 - J^T J^+T) tau do not accelerate the link.

    Args:
        inertia: Lambda, shape (m, m).
        mass_matrix: M, shape (n, n).
        jacobian: J, shape (m, n).

    Returns:
        Shape (n, m).
    """
    return solve_symmetric(mass_matrix, jacobian.T) @ inertia


class TaskSpaceDynamics(NamedTuple):
    """Coefficients of F = Lambda V' + eta, [LynchPark] (9.97)."""

    inertia: Array  # lambda, shape (6, 6)
    bias: Array  # eta, shape (6,)


def task_space_dynamics(model: RobotModel, q: Array, v: Array, link: str | None = None) -> TaskSpaceDynamics:
    """Compute the dynamics in coordinates of the end-effector frame, [LynchPark] (9.90)-(9.99).

    (9.95) prints J^-T before b; this factor belongs to (9.96) only.

    Args:
        model: The robot, with 6 joints in the book and 6 or more here.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s]; the book writes J^-1 V.
        link: Name of any link of the description; None for the tip link.

    Returns:
        Lambda and eta for V and F in the link's own frame, angular part first.

    Raises:
        InputError: An array has another shape; no link has that name; the link does not move; there are fewer than 6
            joints; or the link cannot move in all directions at any position of the robot.
    """
    q, v = as_array(q, (model.n,), "q"), as_array(v, (model.n,), "v")
    frame = model.frame(model.tip_link if link is None else link)
    if frame.joint < 0:
        raise InputError(f"task space: link '{frame.name}' of robot '{model.name}' does not move; name one that does")
    poses = joint_poses(model, q)
    jacobian = adjoint(inverse_pose(frame.pose_link_frame)) @ body_jacobians(model, q)[frame.joint]
    motion = link_motions(model, poses, v, np.zeros(model.n), np.zeros(6))[frame.joint]
    drift = twist_in_child(frame.pose_link_frame, motion.acceleration)  # (9.92) with no joint acceleration
    inertia = mass_matrix(model, q)
    at_link = task_space_inertia(inertia, jacobian)
    return TaskSpaceDynamics(at_link, task_space_bias(at_link, inertia, jacobian, drift, bias(model, q, v)))
