# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Jacobian of a link by differentiation of its pose, as [Yamamoto] 1.14 defines it, and its time derivative."""

from __future__ import annotations

import numpy as np

from robodyn_ros.base.checks import as_array
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.textbook.pose_derivatives import PoseDerivatives, pose_derivatives


def twist_jacobian(model: RobotModel, q: Array, link: str | None = None) -> Array:
    """J_omega of [Yamamoto] (1.37) with angular rows first: (angular velocity, velocity of the origin) = J v.

    Column i differentiates the link's pose by q_i. Its linear part is the derivative of the origin's position, as in
    (1.36). Its angular part is the vector w of [w] = (dR/dq_i) R^T, as in [LynchPark] (9.49). Both are in base axes.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        link: Name of any link of the description; None for the tip link.

    Returns:
        Shape (6, n), angular rows first.

    Raises:
        InputError: q has another shape; or no link has that name.
    """
    derivatives = _link_derivatives(model, q, link)
    rotation = derivatives.pose[:3, :3]
    return np.array([
        np.concatenate([_vector(first[:3, :3] @ rotation.T), first[:3, 3]]) for first in derivatives.first
    ]).T


def twist_jacobian_derivative(model: RobotModel, q: Array, v: Array, link: str | None = None) -> Array:
    """Time derivative of ``twist_jacobian`` by the product rule, with the second derivatives of the pose.

    It is J_omega' of [Yamamoto] summary 1.15.

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
    v = as_array(v, (model.n,), "v")
    derivatives = _link_derivatives(model, q, link)
    rotation, rotation_rate = derivatives.pose[:3, :3], derivatives.velocity(v)[:3, :3]
    return np.array([
        np.concatenate([
            _vector(first_rate[:3, :3] @ rotation.T + first[:3, :3] @ rotation_rate.T),
            first_rate[:3, 3],
        ])
        for first, first_rate in zip(derivatives.first, derivatives.velocity_gradient(v), strict=True)
    ]).T


def _link_derivatives(model: RobotModel, q: Array, link: str | None) -> PoseDerivatives:
    """Pose derivatives of any link; the derivatives are 0 for a link that does not move."""
    frame = model.frame(model.tip_link if link is None else link)
    of_joints = pose_derivatives(model, q)
    if frame.joint < 0:
        n, kind = model.n, of_joints[0].pose.dtype
        return PoseDerivatives(
            frame.pose_link_frame, np.zeros((n, 4, 4), dtype=kind), np.zeros((n, n, 4, 4), dtype=kind)
        )
    of_joint = of_joints[frame.joint]
    return PoseDerivatives(*(array @ frame.pose_link_frame for array in of_joint))


def _vector(matrix: Array) -> Array:
    """Vector w of a skew-symmetric matrix [w], shape (3,)."""
    return np.array([matrix[2, 1], matrix[0, 2], matrix[1, 0]])
