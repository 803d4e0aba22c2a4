"""Derivatives of link poses as 4×4 matrices: what [Yamamoto] chapter 3 builds Lagrange's equation from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robodyn_ros.checks import as_array
from robodyn_ros.description.model import Array, Joint, RobotModel, skew
from robodyn_ros.kinematics.forward import joint_poses, joint_twist


class PoseDerivatives(NamedTuple):
    """Pose of one link in the base frame and how it depends on the joint positions.

    Attributes:
        pose: ^0 T_k, shape (4, 4).
        first: d ^0 T_k / dq_i, shape (n, 4, 4).
        second: d^2 ^0 T_k / dq_i dq_j, shape (n, n, 4, 4), the same with i and j exchanged.
    """

    pose: Array
    first: Array
    second: Array

    def velocity(self, v: Array) -> Array:
        """d/dt ^0 T_k, shape (4, 4): [Yamamoto] (3.20)."""
        return np.tensordot(v, self.first, 1)

    def acceleration(self, v: Array, a: Array) -> Array:
        """d^2/dt^2 ^0 T_k, shape (4, 4): [Yamamoto] (3.24)."""
        return np.tensordot(v, np.tensordot(v, self.second, 1), 1) + np.tensordot(a, self.first, 1)

    def velocity_gradient(self, v: Array) -> Array:
        """d/dq_i of d/dt ^0 T_k, equally d/dt of d ^0 T_k / dq_i, shape (n, 4, 4): [Yamamoto] (3.22)."""
        return np.tensordot(v, self.second, 1)


def differentiator(joint: Joint) -> Array:
    """Q_j: differentiates a pose by its joint, d ^{j-1}T_j / d theta_j = ^{j-1}T_j Q_j. [Yamamoto] (3.30).

    For the book's joints about or along z it has two entries, 1 and -1, or one; for any axis it is the 4×4 matrix of
    the joint's twist, [A_j] of [LynchPark] (9.40).

    Args:
        joint: Its kind and axis count.

    Returns:
        Shape (4, 4).
    """
    twist = joint_twist(joint)
    matrix = np.zeros((4, 4))
    matrix[:3, :3], matrix[:3, 3] = skew(twist[:3]), twist[3:]
    return matrix


def pose_derivatives(model: RobotModel, q: Array) -> list[PoseDerivatives]:
    """Poses of all moving links with their first and second derivatives, [Yamamoto] (3.30).

    The book's product T_1 ... T_j Q_j T_{j+1} ... T_k is made link by link: what is known of a link, times ^{k-1}T_k,
    is known of the next, in which only the derivatives by its own joint are new. So it serves trees; a mimic joint's
    derivatives act on the position it follows, at its multiplier.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].

    Returns:
        In the order of ``model.joints``.

    Raises:
        InputError: q has another shape.
    """
    q = as_array(q, (model.n,), "q")
    at_base = PoseDerivatives(np.eye(4), np.zeros((model.n, 4, 4)), np.zeros((model.n, model.n, 4, 4)))
    links: list[PoseDerivatives] = []
    for joint, pose_parent_link in zip(model.joints, joint_poses(model, q), strict=True):
        parent = links[joint.parent] if joint.parent >= 0 else at_base
        own, by_own = joint.dof, joint.multiplier * differentiator(joint)
        pose = parent.pose @ pose_parent_link
        first, second = parent.first @ pose_parent_link, parent.second @ pose_parent_link
        mixed = first @ by_own
        second[own] += mixed
        second[:, own] += mixed
        second[own, own] += pose @ by_own @ by_own
        first[own] += pose @ by_own
        links.append(PoseDerivatives(pose, first, second))
    return links
