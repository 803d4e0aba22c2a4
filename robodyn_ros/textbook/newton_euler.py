"""Newton-Euler inverse dynamics in the twist form of [LynchPark] 9.3, for trees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from robodyn_ros.description.model import Array, Inertia, RobotModel
from robodyn_ros.kinematics.arguments import checks_joint_arrays
from robodyn_ros.kinematics.forward import joint_poses, joint_twist
from robodyn_ros.kinematics.twists import cross, lie_bracket, twist_in_child, wrench_in_parent


@checks_joint_arrays
def inverse_dynamics(
    model: RobotModel,
    q: Array,
    v: Array,
    a: Array,
    wrench_tip: Array | None = None,
    wrenches: Mapping[str, Array] | None = None,
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
        wrench_tip: F_tip = (moment, force) that the tip link exerts on the environment, in the tip link's frame,
            shape (6,) [N m, N]; None for none.
        wrenches: The same for other links, by their names, each in its link's frame.

    Returns:
        Joint efforts, shape (n,) [N m or N].

    Raises:
        InputError: An array has another shape; or no link has a name of ``wrenches``.
    """
    joints = model.joints
    poses = joint_poses(model, q)  # (9.53)
    base_acceleration = np.concatenate([np.zeros(3), -model.gravity])
    wrenches_of_links = [  # of (9.56), their own part
        body_wrench(joint.inertia, motion.twist, motion.acceleration)
        for joint, motion in zip(joints, link_motions(model, poses, v, a, base_acceleration), strict=True)
    ]
    add_exerted_wrenches(model, wrenches_of_links, wrench_tip, wrenches)

    return joint_efforts(model, poses, wrenches_of_links, np.result_type(q, v, a, float))


def joint_efforts(model: RobotModel, poses: list[Array], wrenches: list[Array], kind: DTypeLike = float) -> Array:
    """The backward iteration of [LynchPark] 9.3, (9.56) and (9.57): what joints exert so that the links' wrenches act.

    Args:
        model: The robot.
        poses: T_{parent,i} of every joint, as ``joint_poses`` gives them.
        wrenches: (moment, force) that each moving link by itself takes, in its frame, shape (6,) each.
        kind: Of the numbers.

    Returns:
        Joint efforts, shape (n,) [N m or N].
    """
    passed_on = list(wrenches)  # F_i of (9.56)
    tau = np.zeros(model.n, dtype=kind)
    for index in reversed(range(len(model.joints))):
        joint = model.joints[index]
        tau[joint.dof] += joint.multiplier * (passed_on[index] @ joint_twist(joint))  # (9.57)
        if joint.parent >= 0:
            passed_on[joint.parent] = passed_on[joint.parent] + wrench_in_parent(poses[index], passed_on[index])
    return tau


class LinkMotion(NamedTuple):
    """How a link moves, in its own frame.

    Attributes:
        twist: V = (w, v), shape (6,).
        acceleration: V', its derivative, shape (6,).
    """

    twist: Array
    acceleration: Array


def link_motions(
    model: RobotModel, poses: list[Array], v: Array, a: Array, base_acceleration: Array
) -> list[LinkMotion]:
    """The forward iteration of [LynchPark] 9.3, (9.54) and (9.55).

    Args:
        model: The robot.
        poses: T_{parent,i} of every joint, as ``joint_poses`` gives them.
        v: Joint velocities, shape (n,) [rad/s or m/s].
        a: Joint accelerations, shape (n,) [rad/s^2 or m/s^2].
        base_acceleration: V'_0 of the base, in it, shape (6,).

    Returns:
        In the order of ``model.joints``.
    """
    motions: list[LinkMotion] = []
    for joint, pose in zip(model.joints, poses, strict=True):
        axis = joint_twist(joint)
        rate, rate_dot = joint.multiplier * v[joint.dof], joint.multiplier * a[joint.dof]
        before = LinkMotion(np.zeros(6), base_acceleration) if joint.parent < 0 else motions[joint.parent]
        twist = twist_in_child(pose, before.twist) + axis * rate  # (9.54)
        acceleration = twist_in_child(pose, before.acceleration)
        acceleration = acceleration + lie_bracket(twist, axis) * rate + axis * rate_dot  # (9.55)
        motions.append(LinkMotion(twist, acceleration))
    return motions


def add_exerted_wrenches(
    model: RobotModel, totals: list[Array], wrench_tip: Array | None, wrenches: Mapping[str, Array] | None
) -> None:
    """Adds the wrenches that links exert on the environment, each in its link's frame, to those of the moving links.

    Args:
        model: The robot.
        totals: Wrench of every moving link, in its frame; changed in place.
        wrench_tip: Of the tip link, shape (6,); None for none.
        wrenches: Of other links by name; one of a link that does not move bears on no joint.

    Raises:
        InputError: No link has that name.
    """
    exerted = list((wrenches or {}).items())
    if wrench_tip is not None:
        exerted.append((model.tip_link, wrench_tip))
    for link, wrench in exerted:
        frame = model.frame(link)
        if frame.joint >= 0:
            totals[frame.joint] = totals[frame.joint] + wrench_in_parent(frame.pose_link_frame, wrench)


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
