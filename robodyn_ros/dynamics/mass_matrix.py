"""The mass matrix: composite rigid bodies (the one to compile), and the book's sum over links."""

from __future__ import annotations

import numpy as np

from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.dynamics.base_parameters import regrouped_bodies
from robodyn_ros.kinematics.forward import joint_poses, joint_twist
from robodyn_ros.kinematics.jacobian import body_jacobians
from robodyn_ros.kinematics.twists import wrench_in_parent


def mass_matrix(model: RobotModel, q: Array) -> Array:
    """M(q) by composite rigid bodies, [Featherstone] 6.2.

    Column i is what the joints must bear when joint i alone accelerates by one: all that it carries is then one rigid
    body, whose wrench every joint towards the base passes on. Bodies are as ``regrouped_bodies`` has them.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].

    Returns:
        Symmetric and positive definite, shape (n, n); exactly 0 where two joints carry no common link.
    """
    joints = model.joints
    poses = joint_poses(model, q)
    composites = regrouped_bodies(model)
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
