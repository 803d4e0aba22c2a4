# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Jacobians of the links' centres of mass, and their derivatives."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robodyn_ros.base.checks import as_array
from robodyn_ros.description.model import Array, RobotModel, skew
from robodyn_ros.kinematics.forward import link_poses, path_to
from robodyn_ros.kinematics.twists import cross


class LinkJacobians(NamedTuple):
    """Mass, inertia and centre-of-mass Jacobians of one link; all vectors are in base axes."""

    mass: float  # mass of the link [kg]
    position: Array  # position of the centre of mass, p_l or s_i, shape (3,) [m]
    inertia: Array  # inertia tensor about the centre of mass, R I R^T, shape (3, 3) [kg m^2]
    linear: Array  # J_P, shape (3, n); the velocity of the centre of mass is J_P v
    angular: Array  # J_O, shape (3, n); the angular velocity of the link is J_O v


class LinkJacobianDerivatives(NamedTuple):
    """Derivatives of a ``LinkJacobians`` by the joint positions; the last array axis counts the joint position q_k."""

    linear: Array  # dJ_P/dq_k, shape (3, n, n)
    angular: Array  # dJ_O/dq_k, shape (3, n, n)
    inertia: Array  # d(R I R^T)/dq_k, shape (3, 3, n)


def link_jacobians(model: RobotModel, q: Array) -> list[LinkJacobians]:
    """Compute the centres of mass of all moving links and their Jacobians, column by column.

    The Jacobians are J_P and J_O of [LagrangeNotes] (35), J_s and J_omega of [Yamamoto] (3.32), (3.33), J_v and
    J_omega of [ManipulatorNotes] 4.3.4. A revolute joint about z_j through p_j has the columns z_j × (p - p_j) and
    z_j; a prismatic joint has the columns z_j and 0. The columns of a joint that does not carry the link are 0. Each
    text numbers the frames differently; here z_j and p_j are axis and origin of the frame of the link that joint j
    moves.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].

    Returns:
        One entry for each moving link, in the order of ``model.joints``.

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
    """Compute the derivatives of all ``link_jacobians``; the texts write dM/dq_k without giving them.

    Joint k rotates all links behind it as one rigid body. Its axis w_k therefore changes the columns of the joints
    behind it by w_k × column, and R I R^T by [w_k] R I R^T - R I R^T [w_k]. A joint behind joint k does not change
    the axis of joint k; it only moves the centre of mass. dJ_P is symmetric in both joints, because it is the second
    derivative of the position.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].

    Returns:
        One entry for each moving link, in the order of ``model.joints``.

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
    """Contribution of one joint to J_P and J_O of a link that it carries, whose centre of mass is at ``position``."""
    joint, pose = model.joints[index], poses[index]
    axis = joint.multiplier * (pose[:3, :3] @ joint.axis)
    if joint.kind == "prismatic":
        return axis, np.zeros(3)
    return cross(axis, position - pose[:3, 3]), axis
