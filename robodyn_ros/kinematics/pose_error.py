# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Pose error of the tip link, and its Jacobian."""

from __future__ import annotations

import numpy as np

from robodyn_ros.description.model import Array, skew
from robodyn_ros.kinematics.rotation_vector import rotation_vector


def pose_error(pose: Array, target: Array) -> Array:
    """Pose error: (translation, rotation vector), shape (6,) [m, rad].

    The translation is in base axes. The rotation vector describes the rotation from the tip to the target. It has the
    same elements in the axes of the target and of the tip, because the rotation does not move its own axis. A
    difference of Euler angles would jump, and its rates are singular if the first and the last axis are aligned.

    Args:
        pose: Pose of the tip in the base frame, shape (4, 4).
        target: Target pose in the base frame, shape (4, 4).
    """
    return np.concatenate([target[:3, 3] - pose[:3, 3], _rotation_vector(pose[:3, :3].T @ target[:3, :3])])


def pose_error_jacobian(jacobian: Array, pose: Array, rotation_error: Array) -> Array:
    """Matrix, shape (6, n), whose product with the joint velocities is the rate of decrease of ``pose_error``.

    The linear rows are those of the geometric Jacobian. With the tip's angular velocity omega in tip axes, the
    rotation vector phi changes by phi' = -(E - [phi]/2 + c [phi]^2) omega, c = 1/|phi|^2 - cot(|phi|/2) / (2 |phi|).
    The matrix in parentheses is the inverse of the left Jacobian of the rotation group; it maps phi to itself. An exact
    Newton step on all three angular rows is therefore the same without it. A selection of angular rows needs it.

    Args:
        jacobian: Geometric Jacobian of the tip, linear rows first, base axes, shape (6, n).
        pose: Pose of the tip in the base frame, shape (4, 4).
        rotation_error: The last three elements of ``pose_error``, shape (3,) [rad].
    """
    bracket = skew(rotation_error)
    angle = np.sqrt(rotation_error @ rotation_error)
    # For small angles the first term of the series replaces the difference of two large, nearly equal terms.
    c = 1.0 / 12.0 if angle < 1e-3 else 1.0 / angle**2 - 0.5 / (angle * np.tan(angle / 2.0))
    rate = np.eye(3) - 0.5 * bracket + c * (bracket @ bracket)
    return np.concatenate([jacobian[:3], rate @ (pose[:3, :3].T @ jacobian[3:])])


def _rotation_vector(rotation: Array) -> Array:
    """Faster form of :func:`rotation_vector.rotation_vector`; a search calls it at every step."""
    r = rotation
    vector = 0.5 * np.array([r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]])
    sine, cosine = np.sqrt(vector @ vector), 0.5 * (r[0, 0] + r[1, 1] + r[2, 2] - 1.0)
    if sine > 1e-6:
        return vector * (np.arctan2(sine, cosine) / sine)
    return vector if cosine > 0.0 else rotation_vector(rotation)
