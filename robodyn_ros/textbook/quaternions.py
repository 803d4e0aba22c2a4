# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Unit quaternions in the order x, y, z, w of ROS ([Yamamoto] appendix C).

The book puts the scalar first in (C.1) to (C.5) and (C.12) to (C.16), and last in (C.6) to (C.10), which give the
transposed matrix; (C.3) multiplies in the reverse order. Here the scalar is always last, the product is Hamilton's,
and the matrix is that of appendix B. docs/errata.md gives the details.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from robodyn_ros.base.checks import as_array, is_traced
from robodyn_ros.base.errors import InputError
from robodyn_ros.kinematics.arguments import as_rotation
from robodyn_ros.kinematics.quaternions import quaternion_conjugate, quaternion_product


def quaternion_from_axis_angle(axis: ArrayLike, angle: Any) -> NDArray[Any]:
    """Quaternion x, y, z, w of a rotation about an axis, shape (4,). [Yamamoto] (C.4), (C.14).

    Args:
        axis: Unit vector k, shape (3,).
        angle: Angle [rad].

    Raises:
        InputError: The axis is not of shape (3,).
    """
    return np.append(as_array(axis, (3,), "axis") * np.sin(angle / 2.0), np.cos(angle / 2.0))


def rotate_by_quaternion(quaternion: ArrayLike, vector: ArrayLike) -> NDArray[Any]:
    """Rotate a vector by P = A Q B, where B is the conjugate of A. [Yamamoto] (C.13) to (C.16).

    Args:
        quaternion: Unit quaternion x, y, z, w, shape (4,).
        vector: Vector, shape (3,).

    Returns:
        The rotated vector, shape (3,).

    Raises:
        InputError: A shape differs.
    """
    vector = as_array(vector, (3,), "vector")
    pure = np.append(vector, 0.0)
    return quaternion_product(quaternion_product(quaternion, pure), quaternion_conjugate(quaternion))[:3]


def rotation_from_quaternion(quaternion: ArrayLike) -> NDArray[Any]:
    """Rotation matrix of a unit quaternion, shape (3, 3). [Yamamoto] (C.6), corrected and transposed.

    Args:
        quaternion: Unit quaternion x, y, z, w, shape (4,); floats or traced scalars.

    Raises:
        InputError: Not of shape (4,) or not of unit length (within 1e-6).
    """
    quaternion = as_array(quaternion, (4,), "quaternion")
    if not is_traced(quaternion) and abs(np.linalg.norm(quaternion) - 1.0) > 1e-6:
        raise InputError(
            f"quaternion: expected unit length, received x, y, z, w = {quaternion.tolist()} of length "
            f"{np.linalg.norm(quaternion):.6g}; divide by it"
        )
    x, y, z, w = quaternion
    return np.array(
        [
            [x * x - y * y - z * z + w * w, 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
            [2.0 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2.0 * (y * z - x * w)],
            [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), -x * x - y * y + z * z + w * w],
        ]
    )


def quaternion_from_rotation(rotation: ArrayLike) -> NDArray[np.float64]:
    """Unit quaternion x, y, z, w of a rotation matrix, shape (4,), by SciPy; accurate for every rotation.

    Two quaternions describe each rotation; the function returns the one with w >= 0.

    Args:
        rotation: Rotation matrix, shape (3, 3), floats.

    Raises:
        InputError: Not a rotation matrix.
    """
    return Rotation.from_matrix(as_rotation(rotation, "rotation")).as_quat(canonical=True)


def quaternion_from_rotation_elements(rotation: ArrayLike) -> NDArray[Any]:
    """Unit quaternion x, y, z, w by the book's formula, which can be traced. [Yamamoto] (C.7) to (C.10), corrected.

    The formula divides by w. It loses accuracy near half a turn and is undefined at half a turn. The function takes
    the positive sign of w in (C.7). Use :func:`quaternion_from_rotation` for floats.

    Args:
        rotation: Rotation matrix, shape (3, 3); floats or traced scalars.

    Raises:
        InputError: Not of shape (3, 3), or (floats only) the rotation is half a turn.
    """
    r = as_array(rotation, (3, 3), "rotation")
    trace = r[0, 0] + r[1, 1] + r[2, 2]
    if not is_traced(r) and 1.0 + trace < 1e-12:
        raise InputError(
            f"rotation: half a turn (trace {trace:.6g}) has w = 0, and (C.8) to (C.10) divide by w; "
            "use quaternion_from_rotation"
        )
    w = 0.5 * np.sqrt(1.0 + trace)
    return np.array([r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1], 4.0 * w * w]) / (4.0 * w)
