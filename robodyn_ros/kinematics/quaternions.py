# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Unit quaternions in ROS's order x, y, z, w; ``textbook.quaternions`` has the book's other formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.base.checks import as_array
from robodyn_ros.compile import less, maximum, where
from robodyn_ros.kinematics.twists import cross


def quaternion_product(left: ArrayLike, right: ArrayLike) -> NDArray[Any]:
    """Hamilton's product: the rotation ``right`` followed by ``left``. [Yamamoto] (C.3), vector part corrected.

    Args:
        left: Quaternion x, y, z, w, shape (4,).
        right: Quaternion x, y, z, w, shape (4,).

    Returns:
        Quaternion x, y, z, w, shape (4,).

    Raises:
        InputError: A quaternion is not of shape (4,).
    """
    left = as_array(left, (4,), "left")
    right = as_array(right, (4,), "right")
    q, q0 = left[:3], left[3]
    p, p0 = right[:3], right[3]
    return np.append(q0 * p + p0 * q + cross(q, p), q0 * p0 - q @ p)


def quaternion_conjugate(quaternion: ArrayLike) -> NDArray[Any]:
    """Conjugate of a quaternion, shape (4,): the inverse rotation of a unit quaternion. [Yamamoto] (C.15).

    Args:
        quaternion: Quaternion x, y, z, w, shape (4,).

    Raises:
        InputError: Not of shape (4,).
    """
    return as_array(quaternion, (4,), "quaternion") * np.array([-1.0, -1.0, -1.0, 1.0])


def quaternion_by_largest_element(rotation: ArrayLike) -> NDArray[Any]:
    """Unit quaternion x, y, z, w, shape (4,), by its largest element; can be traced, accurate for every rotation.

    The formulas are (C.7) to (C.10), but they divide by the largest of x, y, z and w in magnitude [Shepperd]. The
    function selects the sign that makes this element positive.

    Args:
        rotation: Rotation matrix, shape (3, 3); floats or traced scalars.

    Raises:
        InputError: Not of shape (3, 3).
    """
    r = as_array(rotation, (3, 3), "rotation")
    x, y, z = r[0, 0], r[1, 1], r[2, 2]
    antisymmetric = r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]  # 4 w (x, y, z)
    symmetric = r[0, 1] + r[1, 0], r[2, 0] + r[0, 2], r[1, 2] + r[2, 1]  # 4 (x y, z x, y z)
    products = np.array([  # each row is 4 times one element times the quaternion
        [1.0 + x - y - z, symmetric[0], symmetric[1], antisymmetric[0]],
        [symmetric[0], 1.0 - x + y - z, symmetric[2], antisymmetric[1]],
        [symmetric[1], symmetric[2], 1.0 - x - y + z, antisymmetric[2]],
        [antisymmetric[0], antisymmetric[1], antisymmetric[2], 1.0 + x + y + z],
    ])
    best, square = products[3], products[3, 3]
    for row in range(3):
        larger = less(square, products[row, row])
        best = where(larger, products[row], best)
        square = where(larger, products[row, row], square)
    return best / (2.0 * np.sqrt(maximum(square, 1.0)))
