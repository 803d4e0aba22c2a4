# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Newton-Euler dynamics of trees in the twist form of [LynchPark] 9.3."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from robodyn_ros.description.model import Array, Inertia, RobotModel
from robodyn_ros.kinematics.arguments import checks_joint_arrays
from robodyn_ros.kinematics.forward import joint_poses, joint_twist
from robodyn_ros.kinematics.jacobian import body_jacobians
from robodyn_ros.kinematics.twists import cross, lie_bracket, twist_in_child, wrench_in_parent
from robodyn_ros.textbook.linear_system import solve_symmetric


@checks_joint_arrays
def inverse_dynamics(
    model: RobotModel,
    q: Array,
    v: Array,
    a: Array,
    exerted: Mapping[str, Array] | None = None,
) -> Array:
    """Compute joint efforts tau = M(q) a + c(q, v) + g(q) + J^T F_tip, (9.81), from a joint acceleration.

    The function runs the recursion of [LynchPark] (9.53)-(9.57), extended in four ways:

    - A link has any number of children; (9.56) sums their wrenches.
    - The link frame is the description's instead of a frame at the centre of mass. The equations have the same form
      in every frame fixed to the link, but G_i is block diagonal (9.52) only at the centre of mass. See
      ``body_wrench``.
    - A joint that shares a degree of freedom (mimic joint) moves at ``multiplier`` times the rate of the degree of
      freedom, and adds ``multiplier`` times its own effort (9.57).
    - Any link may exert a wrench on the environment, not only the tip link.

    Gravity enters as an acceleration -g of the base. The book's text says so; its initialisation prints (0, g).

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
        a: Joint accelerations, shape (n,) [rad/s^2 or m/s^2].
        exerted: Wrenches F_tip = (moment, force) that links exert on the environment, by link name, each in its
            link's frame, shape (6,) [N m, N]; None for none.

    Returns:
        Joint efforts, shape (n,) [N m or N].

    Raises:
        InputError: An array has another shape; or no link has a name of ``exerted``.
    """
    poses = joint_poses(model, q)  # (9.53)
    base_acceleration = np.concatenate([np.zeros(3), -model.gravity])
    twists: list[Array] = []  # V_i
    accelerations: list[Array] = []  # V_i'
    forces: list[Array] = []  # F_i of (9.56), at first without the terms of the children
    for joint, pose in zip(model.joints, poses, strict=True):
        axis = joint_twist(joint)
        rate, rate_dot = joint.multiplier * v[joint.dof], joint.multiplier * a[joint.dof]
        parent_twist = np.zeros(6) if joint.parent < 0 else twists[joint.parent]
        parent_acceleration = base_acceleration if joint.parent < 0 else accelerations[joint.parent]
        twists.append(twist_in_child(pose, parent_twist) + axis * rate)  # (9.54)
        accelerations.append(  # (9.55)
            twist_in_child(pose, parent_acceleration) + lie_bracket(twists[-1], axis) * rate + axis * rate_dot
        )
        forces.append(body_wrench(joint.inertia, twists[-1], accelerations[-1]))
    for link, wrench in (exerted or {}).items():
        frame = model.frame(link)
        if frame.joint >= 0:  # a wrench on a link that does not move loads no joint
            forces[frame.joint] = forces[frame.joint] + wrench_in_parent(frame.pose_link_frame, wrench)

    tau = np.asarray(model.rotor_inertia @ a, dtype=np.result_type(q, v, a, float))  # of the rotors
    for index in reversed(range(len(model.joints))):
        joint = model.joints[index]
        tau[joint.dof] += joint.multiplier * (forces[index] @ joint_twist(joint))  # (9.57)
        if joint.parent >= 0:  # (9.56), the sum over the children
            forces[joint.parent] = forces[joint.parent] + wrench_in_parent(poses[index], forces[index])
    return tau


def body_wrench(inertia: Inertia, twist: Array, acceleration: Array) -> Array:
    """Wrench that accelerates one rigid body: F = G V' - ad_V^T(G V), [LynchPark] (9.33), a term of (9.56).

    The function computes force (9.17) and moment (9.20) at the centre of mass and moves the moment to the link
    frame's origin. This takes fewer operations than G and ad_V about that origin.

    Args:
        inertia: Inertia of the body in the link frame.
        twist: Twist V = (w, v) of the link frame, in its own axes, shape (6,).
        acceleration: V', its derivative, shape (6,).

    Returns:
        (moment, force) about the link frame's origin, shape (6,).
    """
    omega, omega_dot = twist[:3], acceleration[:3]
    velocity = twist[3:] + cross(omega, inertia.com)
    velocity_dot = acceleration[3:] + cross(omega_dot, inertia.com)
    force = inertia.mass * (velocity_dot + cross(omega, velocity))  # (9.17)
    moment = inertia.rotational @ omega_dot + cross(omega, inertia.rotational @ omega)  # (9.20)
    return np.concatenate([moment + cross(inertia.com, force), force])


@checks_joint_arrays
def bias(model: RobotModel, q: Array, v: Array) -> Array:
    """Bias b(q, v) = c(q, v) + g(q) of [LynchPark] (9.1): inverse dynamics with zero acceleration (9.5).

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].

    Returns:
        Joint efforts, shape (n,) [N m or N].

    Raises:
        InputError: An array has another shape.
    """
    return inverse_dynamics(model, q, v, np.zeros(model.n))


def gravity(model: RobotModel, q: Array) -> Array:
    """Gravity efforts g(q) of [LynchPark] (9.84): inverse dynamics at rest.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].

    Returns:
        The joint efforts that hold the robot still, shape (n,) [N m or N].

    Raises:
        InputError: q has another shape.
    """
    return inverse_dynamics(model, q, np.zeros(model.n), np.zeros(model.n))


def mass_matrix(model: RobotModel, q: Array) -> Array:
    """Mass matrix M(q) = sum of J_ib^T G_i J_ib over the links, [LynchPark] (9.61).

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].

    Returns:
        Symmetric and positive definite, shape (n, n).

    Raises:
        InputError: q has another shape.
    """
    matrix = model.rotor_inertia.astype(np.result_type(q, float))  # of the rotors
    for joint, jacobian in zip(model.joints, body_jacobians(model, q), strict=True):
        matrix += jacobian.T @ joint.inertia.spatial() @ jacobian
    return matrix


@checks_joint_arrays
def forward_dynamics(
    model: RobotModel,
    q: Array,
    v: Array,
    tau: Array,
    exerted: Mapping[str, Array] | None = None,
) -> Array:
    """Solve M(q) a = tau - b(q, v) - J^T F_tip for the acceleration a, (9.89): GetJointAccel of [LynchPark] 9.5.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
        tau: Joint efforts, shape (n,) [N m or N].
        exerted: As for ``inverse_dynamics``.

    Returns:
        Joint accelerations, shape (n,) [rad/s^2 or m/s^2].

    Raises:
        InputError: An array has another shape; a joint moves no inertia; or no link has a name of ``exerted``.
    """
    without_acceleration = inverse_dynamics(model, q, v, np.zeros(model.n), exerted)
    return solve_symmetric(mass_matrix(model, q), tau - without_acceleration)
