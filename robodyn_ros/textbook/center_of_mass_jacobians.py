"""Jacobians of the links' centres of mass, with their derivatives."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robodyn_ros.checks import as_array
from robodyn_ros.description.model import Array, RobotModel, skew
from robodyn_ros.kinematics.forward import link_poses, path_to
from robodyn_ros.kinematics.twists import cross


class LinkJacobians(NamedTuple):
    """How a link's centre of mass and its orientation move with the joints; all in base axes.

    Attributes:
        mass: Of the link [kg].
        position: Of its centre of mass, p_l or s_i, shape (3,) [m].
        inertia: Inertia tensor about the centre of mass, R I R^T, shape (3, 3) [kg m^2].
        linear: J_P: velocity of the centre of mass = J_P v, shape (3, n).
        angular: J_O: angular velocity = J_O v, shape (3, n).
    """

    mass: float
    position: Array
    inertia: Array
    linear: Array
    angular: Array


class LinkJacobianDerivatives(NamedTuple):
    """Derivatives of a ``LinkJacobians`` by the joint positions; the last axis is that of the position.

    Attributes:
        linear: dJ_P/dq_k, shape (3, n, n).
        angular: dJ_O/dq_k, shape (3, n, n).
        inertia: d(R I R^T)/dq_k, shape (3, 3, n).
    """

    linear: Array
    angular: Array
    inertia: Array


def link_jacobians(model: RobotModel, q: Array) -> list[LinkJacobians]:
    """Centres of mass of all moving links with their Jacobians, column by column.

    J_P and J_O of [LagrangeNotes] (35), J_s and J_omega of [Yamamoto] (3.32), (3.33), J_v and J_omega of
    [ManipulatorNotes] 4.3.4: a revolute joint about z_j through p_j gives the columns z_j × (p - p_j) and z_j, a
    prismatic joint z_j and 0. A joint that does not carry the link gives 0. The texts count frames each in its own
    way; here z_j and p_j are the axis and the origin of the frame of the link that joint j moves.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].

    Returns:
        In the order of ``model.joints``.

    Raises:
        InputError: q has another shape.
    """
    q = as_array(q, (model.n,), "q")
    poses = link_poses(model, q)
    links = []
    for index, (joint, pose) in enumerate(zip(model.joints, poses, strict=True)):
        rotation = pose[:3, :3]
        position = pose[:3, 3] + rotation @ joint.inertia.com
        linear, angular = np.zeros((2, 3, model.n), dtype=np.result_type(q, float))
        for before in path_to(model, index):
            by = model.joints[before]
            by_linear, by_angular = _columns(model, poses, before, position)
            linear[:, by.dof] += by_linear
            angular[:, by.dof] += by_angular
        inertia = rotation @ joint.inertia.rotational @ rotation.T
        links.append(LinkJacobians(joint.inertia.mass, position, inertia, linear, angular))
    return links


def link_jacobian_derivatives(model: RobotModel, q: Array) -> list[LinkJacobianDerivatives]:
    """Derivatives of all ``link_jacobians``: what the texts leave to the reader where they write dM/dq_k.

    A joint turns, as a rigid body, all that comes after it: its turning w_k changes the columns of the joints behind it
    by w_k × column, and R I R^T by [w_k] R I R^T - R I R^T [w_k]. A joint behind moves the centre of mass alone; dJ_P
    is symmetric in both joints, being the second derivative of the position.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].

    Returns:
        In the order of ``model.joints``.

    Raises:
        InputError: q has another shape.
    """
    poses = link_poses(model, as_array(q, (model.n,), "q"))
    derivatives = []
    for index, link in enumerate(link_jacobians(model, q)):
        linear, angular = np.zeros((2, 3, model.n, model.n), dtype=link.linear.dtype)
        path = path_to(model, index)
        columns = [_columns(model, poses, joint, link.position) for joint in path]
        dofs = [model.joints[joint].dof for joint in path]
        for later, (later_linear, later_angular) in enumerate(columns):
            for earlier, (_, turning) in enumerate(columns[: later + 1]):
                bend = cross(turning, later_linear)
                linear[:, dofs[later], dofs[earlier]] += bend
                if earlier != later:
                    linear[:, dofs[earlier], dofs[later]] += bend
                    angular[:, dofs[later], dofs[earlier]] += cross(turning, later_angular)
        turned = np.stack([skew(turning) @ link.inertia for turning in link.angular.T], axis=-1)
        derivatives.append(LinkJacobianDerivatives(linear, angular, turned + turned.swapaxes(0, 1)))
    return derivatives


def _columns(model: RobotModel, poses: list[Array], index: int, position: Array) -> tuple[Array, Array]:
    """What one joint adds to J_P and J_O of a link that it carries, the centre of mass being at ``position``."""
    joint, pose = model.joints[index], poses[index]
    axis = joint.multiplier * (pose[:3, :3] @ joint.axis)
    if joint.kind == "prismatic":
        return axis, np.zeros(3)
    return cross(axis, position - pose[:3, 3]), axis
