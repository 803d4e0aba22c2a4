# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Derivatives of link poses as 4×4 matrices; [Yamamoto] chapter 3 derives Lagrange's equation from them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robodyn_ros.base.checks import as_array
from robodyn_ros.description.model import Array, Joint, RobotModel, skew
from robodyn_ros.kinematics.forward import joint_poses, joint_twist


class PoseDerivatives(NamedTuple):
    """Pose of one link in the base frame, and its first and second derivatives by the joint positions."""

    pose: Array  # ^0 T_k, shape (4, 4)
    first: Array  # d ^0 T_k / dq_i, shape (n, 4, 4)
    second: Array  # d^2 ^0 T_k / dq_i dq_j, shape (n, n, 4, 4), symmetric in i and j

    def velocity(self, v: Array) -> Array:
        """First time derivative d/dt ^0 T_k, shape (4, 4): [Yamamoto] (3.20)."""
        return np.tensordot(v, self.first, 1)

    def acceleration(self, v: Array, a: Array) -> Array:
        """Second time derivative d^2/dt^2 ^0 T_k, shape (4, 4): [Yamamoto] (3.24)."""
        return np.tensordot(v, np.tensordot(v, self.second, 1), 1) + np.tensordot(a, self.first, 1)

    def velocity_gradient(self, v: Array) -> Array:
        """Derivative of d/dt ^0 T_k by q_i, equal to d/dt of d ^0 T_k / dq_i, shape (n, 4, 4): [Yamamoto] (3.22)."""
        return np.tensordot(v, self.second, 1)


def differentiator(joint: Joint) -> Array:
    """Matrix Q_j with d ^{j-1}T_j / d theta_j = ^{j-1}T_j Q_j. [Yamamoto] (3.30).

    For any joint axis it is the 4×4 matrix [A_j] of the joint's twist, [LynchPark] (9.40). The book's joints about or
    along z have two nonzero elements, 1 and -1, or one.

    Args:
        joint: The joint; the function uses its kind and its axis.

    Returns:
        Shape (4, 4).
    """
    twist = joint_twist(joint)
    matrix = np.zeros((4, 4))
    matrix[:3, :3], matrix[:3, 3] = skew(twist[:3]), twist[3:]
    return matrix


def pose_derivatives(model: RobotModel, q: Array) -> list[PoseDerivatives]:
    """Compute the poses of all moving links and their first and second derivatives, [Yamamoto] (3.30).

    The book's product T_1 ... T_j Q_j T_{j+1} ... T_k is computed from link to link. Pose and derivatives of a link
    are those of its parent times ^{k-1}T_k; the link's own joint adds its derivatives. The function therefore accepts
    trees. Derivatives by a mimic joint are multiplied by its ``multiplier`` and added at the joint that it follows.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].

    Returns:
        One entry for each moving link, in the order of ``model.joints``.

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
