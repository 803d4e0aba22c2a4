"""Newton-Euler inverse dynamics in the twist form of [LynchPark] 9.3, for trees."""

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
    """The efforts that give the robot an acceleration: tau = M(q) a + c(q, v) + g(q) + J^T F_tip, (9.81).

    The recursion of [LynchPark] (9.53)-(9.57). Four things are wider than in the book:

    - A link has any number of children, whose wrenches (9.56) sums.
    - The link frame is the description's, not the centre of mass; the equations keep their form in every frame fixed
      to the link, G_i being block diagonal (9.52) in the book's only. See ``body_wrench``.
    - Joints that share a degree of freedom (mimic joints) move at ``multiplier`` times its rate, and their efforts
      (9.57) act on it at that leverage.
    - Any link, not the tip alone, may exert a wrench on the environment.

    Gravity enters as an acceleration -g of the base (the book's text; its initialisation prints (0, g)).

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
        a: Joint accelerations, shape (n,) [rad/s^2 or m/s^2].
        exerted: F_tip = (moment, force) that links exert on the environment, by the link's name, each in its link's
            frame, shape (6,) [N m, N]; None for none.

    Returns:
        Joint efforts, shape (n,) [N m or N].

    Raises:
        InputError: An array has another shape; or no link has a name of ``exerted``.
    """
    poses = joint_poses(model, q)  # (9.53)
    base_acceleration = np.concatenate([np.zeros(3), -model.gravity])
    twists: list[Array] = []  # V_i
    accelerations: list[Array] = []  # V_i'
    forces: list[Array] = []  # F_i of (9.56), first the link's own part alone
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

    tau = np.zeros(model.n, dtype=np.result_type(q, v, a, float))
    for index in reversed(range(len(model.joints))):
        joint = model.joints[index]
        tau[joint.dof] += joint.multiplier * (forces[index] @ joint_twist(joint))  # (9.57)
        if joint.parent >= 0:  # (9.56), the sum over the children
            forces[joint.parent] = forces[joint.parent] + wrench_in_parent(poses[index], forces[index])
    return tau


def body_wrench(inertia: Inertia, twist: Array, acceleration: Array) -> Array:
    """The wrench that moves one rigid body: F = G V' - ad_V^T(G V), [LynchPark] (9.33), the own part of (9.56).

    At the centre of mass this is force (9.17) and moment (9.20). They are written out here, and the moment then taken
    about the link frame's origin, which is less arithmetic than G and ad_V about that origin.

    Args:
        inertia: The body's, in the link frame.
        twist: V = (w, v) of the link frame, in it, shape (6,).
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
    """b(q, v) = c(q, v) + g(q) of [LynchPark] (9.1): inverse dynamics at no acceleration (9.5).

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
    """g(q) of [LynchPark] (9.84): inverse dynamics at rest.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].

    Returns:
        The joint efforts that hold the robot still, shape (n,) [N m or N].
    """
    return inverse_dynamics(model, q, np.zeros(model.n), np.zeros(model.n))


def mass_matrix(model: RobotModel, q: Array) -> Array:
    """M(q) = sum of J_ib^T G_i J_ib over the links, [LynchPark] (9.61).

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].

    Returns:
        Symmetric and positive definite, shape (n, n).

    Raises:
        InputError: q has another shape.
    """
    matrix = np.zeros((model.n, model.n), dtype=np.result_type(q, float))
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
    """GetJointAccel of [LynchPark] 9.5: the solution a of M(q) a = tau - b(q, v) - J^T F_tip, (9.89).

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
