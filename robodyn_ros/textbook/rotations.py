# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Rotation matrices about the axes of a frame and about any axis ([Yamamoto] 1.1, 1.2, appendix B).

The columns of a rotation matrix R_ab are the axes of frame b in axes of frame a (1.1). Therefore r_a = R_ab r_b (1.2),
the inverse is the transpose (1.3), and R_ac = R_ab R_bc (1.4). NumPy writes these as ``@`` and ``.T``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.base.checks import as_array, is_traced
from robodyn_ros.base.errors import InputError
from robodyn_ros.kinematics.rotation_vector import rotation_vector
from robodyn_ros.kinematics.twists import cross


def rotation_x(angle: Any) -> NDArray[Any]:
    """Rot(X, angle), shape (3, 3). [Yamamoto] (1.7).

    Args:
        angle: Angle [rad], float or traced scalar.
    """
    cos, sin = np.cos(angle), np.sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, cos, -sin], [0.0, sin, cos]])


def rotation_y(angle: Any) -> NDArray[Any]:
    """Rot(Y, angle), shape (3, 3). [Yamamoto] (1.6).

    Args:
        angle: Angle [rad], float or traced scalar.
    """
    cos, sin = np.cos(angle), np.sin(angle)
    return np.array([[cos, 0.0, sin], [0.0, 1.0, 0.0], [-sin, 0.0, cos]])


def rotation_z(angle: Any) -> NDArray[Any]:
    """Rot(Z, angle), shape (3, 3). [Yamamoto] (1.5).

    Args:
        angle: Angle [rad], float or traced scalar.
    """
    cos, sin = np.cos(angle), np.sin(angle)
    return np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]])


def rotation_about_axis(axis: ArrayLike, angle: Any) -> NDArray[Any]:
    """Rotation matrix Rot(k, angle) about any axis, shape (3, 3). [Yamamoto] (B.12), (B.13), element (3, 2) corrected.

    Args:
        axis: Unit vector k, shape (3,); floats or traced scalars.
        angle: Angle [rad], float or traced scalar.

    Raises:
        InputError: The axis is not of shape (3,) or not of unit length (within 1e-6).
    """
    axis = as_array(axis, (3,), "axis")
    if not is_traced(axis) and abs(np.linalg.norm(axis) - 1.0) > 1e-6:
        raise InputError(
            f"axis: expected a unit vector, received {axis.tolist()} of length {np.linalg.norm(axis):.6g}; divide by it"
        )
    kx, ky, kz = axis
    cos, sin = np.cos(angle), np.sin(angle)
    versine = 1.0 - cos
    return np.array(
        [
            [kx * kx * versine + cos, kx * ky * versine - kz * sin, kz * kx * versine + ky * sin],
            [kx * ky * versine + kz * sin, ky * ky * versine + cos, kz * ky * versine - kx * sin],
            [kx * kz * versine - ky * sin, ky * kz * versine + kx * sin, kz * kz * versine + cos],
        ]
    )


def rotate_about_axis(vector: ArrayLike, axis: ArrayLike, angle: Any) -> NDArray[Any]:
    """Rotate a vector about an axis through the origin, without a matrix. [Yamamoto] (B.7), (C.12).

    Args:
        vector: Vector p, shape (3,).
        axis: Unit vector k, shape (3,).
        angle: Angle [rad].

    Returns:
        The rotated vector p*, shape (3,), in the axes and units of ``vector``.

    Raises:
        InputError: A vector is not of shape (3,).
    """
    p = as_array(vector, (3,), "vector")
    k = as_array(axis, (3,), "axis")
    cos, sin = np.cos(angle), np.sin(angle)
    return (1.0 - cos) * (p @ k) * k + sin * cross(k, p) + cos * p


def axis_angle_from_rotation(rotation: ArrayLike) -> tuple[NDArray[np.float64], float]:
    """Axis and angle of a rotation matrix: [Yamamoto] (B.12) inverted, by SciPy.

    Axis and angle with both signs reversed describe the same rotation; the function returns an angle between 0 and
    pi. For the identity it returns the axis (0, 0, 1). At exactly half a turn both signs of the axis are correct, and
    SciPy selects one.

    Args:
        rotation: Rotation matrix, shape (3, 3), floats.

    Returns:
        Unit axis, shape (3,), and angle [rad].

    Raises:
        InputError: Not a rotation matrix.
    """
    vector = rotation_vector(rotation)
    angle = float(np.linalg.norm(vector))
    if angle == 0.0:
        return np.array([0.0, 0.0, 1.0]), 0.0
    return vector / angle, angle
