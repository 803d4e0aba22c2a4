# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Jacobians, which map joint velocities to twists of links, and their time derivative."""

from __future__ import annotations

import numpy as np

from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.kinematics.arguments import checks_joint_arrays
from robodyn_ros.kinematics.forward import joint_poses, joint_twist, link_poses, path_to
from robodyn_ros.kinematics.twists import adjoint, cross, inverse_pose


def twist_jacobian(model: RobotModel, q: Array, link: str | None = None) -> Array:
    """Jacobian of a link's angular velocity and of its origin's linear velocity, both in base axes.

    This is J_omega of [Yamamoto] (1.37), computed column by column instead of by differentiation. A revolute joint
    about the axis z_j through p_j has the angular column z_j and the linear column z_j × (p - p_j), with the origin p
    of the link. A prismatic joint has the linear column z_j.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        link: Name of any link of the description; None for the tip link.

    Returns:
        Shape (6, n), angular rows first.

    Raises:
        InputError: q has another shape; or no link has that name.
    """
    frame = model.frame(model.tip_link if link is None else link)
    jacobian = np.zeros((6, model.n), dtype=np.result_type(q, float))
    if frame.joint < 0:
        return jacobian
    poses = link_poses(model, q)
    origin = (poses[frame.joint] @ frame.pose_link_frame)[:3, 3]
    for index in path_to(model, frame.joint):
        joint = model.joints[index]
        axis = poses[index][:3, :3] @ joint.axis
        if joint.kind == "prismatic":
            jacobian[3:, joint.dof] += joint.multiplier * axis
        else:
            jacobian[:3, joint.dof] += joint.multiplier * axis
            jacobian[3:, joint.dof] += joint.multiplier * cross(axis, origin - poses[index][:3, 3])
    return jacobian


def body_jacobians(model: RobotModel, q: Array) -> list[Array]:
    """Body Jacobian J_ib of every moving link, V_i = J_ib v in link frame i: [LynchPark] (9.46) column by column.

    The mass matrix (9.59) to (9.61) is a sum over these Jacobians.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].

    Returns:
        In the order of ``model.joints``, each of shape (6, n), angular rows first.
    """
    jacobians: list[Array] = []
    for joint, pose in zip(model.joints, joint_poses(model, q), strict=True):
        jacobian = np.zeros((6, model.n), dtype=np.result_type(q, float))
        if joint.parent >= 0:
            jacobian += adjoint(inverse_pose(pose)) @ jacobians[joint.parent]
        jacobian[:, joint.dof] += joint.multiplier * joint_twist(joint)
        jacobians.append(jacobian)
    return jacobians


@checks_joint_arrays
def twist_jacobian_derivative(model: RobotModel, q: Array, v: Array, link: str | None = None) -> Array:
    """Time derivative J_omega' of the Jacobian of a link's angular velocity and its origin's velocity, in base axes.

    The function differentiates the columns z_j and z_j x (p - p_j) of the Jacobian. Each axis rotates with its link,
    z_j' = omega_j x z_j, and each point moves with its link. [Yamamoto] summary 1.15 uses this derivative.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
        link: Name of any link of the description; None for the tip link.

    Returns:
        Shape (6, n), angular rows first.

    Raises:
        InputError: An array has another shape; or no link has that name.
    """
    frame = model.frame(model.tip_link if link is None else link)
    derivative = np.zeros((6, model.n), dtype=np.result_type(q, v, float))
    if frame.joint < 0:
        return derivative
    poses = link_poses(model, q)
    path = path_to(model, frame.joint)
    axes, points, spins, velocities = [], [], [], []
    spin, velocity, point = np.zeros(3), np.zeros(3), np.zeros(3)
    for index in path:
        joint = model.joints[index]
        axis = poses[index][:3, :3] @ joint.axis
        rate = joint.multiplier * v[joint.dof]
        origin = poses[index][:3, 3]
        velocity = velocity + cross(spin, origin - point)
        if joint.kind == "prismatic":
            velocity = velocity + axis * rate
        else:
            spin = spin + axis * rate
        point = origin
        axes.append(axis)
        points.append(point)
        spins.append(spin)
        velocities.append(velocity)
    tip = (poses[frame.joint] @ frame.pose_link_frame)[:3, 3]
    tip_velocity = velocity + cross(spin, tip - point)
    for index, axis, point, spin, velocity in zip(path, axes, points, spins, velocities, strict=True):
        joint = model.joints[index]
        axis_rate = cross(spin, axis)
        if joint.kind == "prismatic":
            derivative[3:, joint.dof] += joint.multiplier * axis_rate
        else:
            derivative[:3, joint.dof] += joint.multiplier * axis_rate
            derivative[3:, joint.dof] += joint.multiplier * (
                cross(axis_rate, tip - point) + cross(axis, tip_velocity - velocity)
            )
    return derivative
