"""The mass matrix: composite rigid bodies (the one to compile), and the book's sum over links."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robodyn_ros.description.model import Array, Inertia, RobotModel, skew
from robodyn_ros.kinematics.forward import joint_poses, joint_twist
from robodyn_ros.kinematics.jacobian import body_jacobians
from robodyn_ros.kinematics.twists import cross, wrench_in_parent


class Composite(NamedTuple):
    """Inertia of a rigid body as its moments of mass, which add up where bodies are joined.

    Ten numbers where the spatial inertia G = [[I, [h]], [-[h], m 1]] has 36.

    Attributes:
        mass: m [kg].
        first: First moment h = m c, shape (3,) [kg m].
        rotational: Rotational inertia I about the frame's origin, shape (3, 3) [kg m^2].
    """

    mass: float
    first: Array
    rotational: Array

    @classmethod
    def of(cls, inertia: Inertia) -> Composite:
        """The moments of a body from its centre of mass and its inertia there."""
        return cls(inertia.mass, inertia.mass * inertia.com, inertia.rotational_about_origin)

    def joined(self, other: Composite) -> Composite:
        """Both bodies as one; given in the same frame."""
        return Composite(self.mass + other.mass, self.first + other.first, self.rotational + other.rotational)

    def in_parent(self, pose_parent_child: Array) -> Composite:
        """The same body in the parent's frame: Ad_{T^-1}^T G Ad_{T^-1}, [Featherstone] 2.13.

        Args:
            pose_parent_child: T = (R, p), shape (4, 4).
        """
        rotation, position = pose_parent_child[:3, :3], pose_parent_child[:3, 3]
        first = rotation @ self.first
        # With I = sum m_k [r_k]^T [r_k] and r_k = p + R s_k, in p and the rotated first moment.
        bracket, bracket_first = skew(position), skew(first)
        steiner = bracket @ bracket_first + bracket_first @ bracket + self.mass * (bracket @ bracket)
        return Composite(
            self.mass,
            first + self.mass * position,
            mirrored(rotation @ self.rotational @ rotation.T - steiner),
        )

    def momentum(self, twist: Array) -> Array:
        """G V = (I w + h × v, m v - h × w), shape (6,): momentum at a twist, or wrench at an acceleration.

        [LynchPark] (9.25), about the frame's origin.
        """
        angular, linear = twist[:3], twist[3:]
        return np.concatenate(
            [self.rotational @ angular + cross(self.first, linear), self.mass * linear - cross(self.first, angular)]
        )


def mass_matrix(model: RobotModel, q: Array) -> Array:
    """M(q) by composite rigid bodies, [Featherstone] 6.2.

    Column i is what the joints must bear when joint i alone accelerates by one: all that it carries is then one rigid
    body, whose wrench every joint towards the base passes on.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].

    Returns:
        Symmetric and positive definite, shape (n, n); exactly 0 where two joints carry no common link.
    """
    joints = model.joints
    poses = joint_poses(model, q)
    composites = [Composite.of(joint.inertia) for joint in joints]
    matrix = np.zeros((model.n, model.n), dtype=np.result_type(q, float))
    for index in reversed(range(len(joints))):
        joint = joints[index]
        if joint.parent >= 0:
            composites[joint.parent] = composites[joint.parent].joined(composites[index].in_parent(poses[index]))
        wrench = joint.multiplier * composites[index].momentum(joint_twist(joint))
        matrix[joint.dof, joint.dof] += joint.multiplier * (wrench @ joint_twist(joint))
        child = index
        while (parent := joints[child].parent) >= 0:
            wrench = wrench_in_parent(poses[child], wrench)
            entry = joints[parent].multiplier * (wrench @ joint_twist(joints[parent]))
            matrix[joint.dof, joints[parent].dof] += entry
            matrix[joints[parent].dof, joint.dof] += entry
            child = parent
    return matrix


def mass_matrix_from_jacobians(model: RobotModel, q: Array) -> Array:
    """M(q) = sum of J_ib^T G_i J_ib over the links, [LynchPark] (9.61).

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].

    Returns:
        Shape (n, n).
    """
    matrix = np.zeros((model.n, model.n), dtype=np.result_type(q, float))
    for joint, jacobian in zip(model.joints, body_jacobians(model, q), strict=True):
        matrix += jacobian.T @ joint.inertia.spatial() @ jacobian
    return matrix


def mirrored(matrix: Array) -> Array:
    """A symmetric matrix, shape (n, n), from its upper triangle, so that the tape computes the lower one not again."""
    return np.triu(matrix) + np.triu(matrix, 1).T
