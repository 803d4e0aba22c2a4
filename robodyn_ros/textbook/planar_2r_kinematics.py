# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Forward and inverse kinematics of the planar arm with two revolute joints, in closed form ([Yamamoto] 1.10)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.base.checks import as_array, as_floats
from robodyn_ros.base.errors import InputError


def planar_2r_position(q: ArrayLike, length_1: float, length_2: float) -> NDArray[Any]:
    """Position (x, y) of the tip, shape (2,) [m]. [Yamamoto] figure 1.11.

    Args:
        q: Angle of the first link from the x axis and of the second link from the first, shape (2,) [rad].
        length_1: Length of the first link [m].
        length_2: Length of the second link [m].

    Raises:
        InputError: Not of shape (2,).
    """
    q1, q2 = as_array(q, (2,), "q")
    return np.array(
        [length_1 * np.cos(q1) + length_2 * np.cos(q1 + q2), length_1 * np.sin(q1) + length_2 * np.sin(q1 + q2)]
    )


def planar_2r_inverse_kinematics(position: ArrayLike, length_1: float, length_2: float) -> NDArray[np.float64]:
    """Both solutions of inverse kinematics, shape (2, 2) [rad]. [Yamamoto] (1.24), upper and lower signs.

    The first row has q2 in [0, pi], the second in [-pi, 0]. At the edge of the reach both rows describe the same
    stretched or folded arm. With equal links and the tip at the shoulder every q1 is a solution; the function returns
    q1 = 0.

    Args:
        position: Position (x, y) of the tip, shape (2,) [m], floats.
        length_1: Length of the first link [m].
        length_2: Length of the second link [m].

    Returns:
        Rows q1, q2; q1 within (-pi, pi].

    Raises:
        InputError: Not of shape (2,), a length is not positive, or the position is out of reach.
    """
    x, y = as_floats(position, (2,), "position")
    l1, l2 = as_floats([length_1, length_2], (2,), "lengths")
    if l1 <= 0.0 or l2 <= 0.0:
        raise InputError(f"lengths: expected positive ones, received {l1:g} m and {l2:g} m")
    distance = np.hypot(x, y)
    # Rounding may put a position computed at the edge of the reach slightly beyond it.
    slack = 1e-12 * (l1 + l2)
    if not abs(l1 - l2) - slack <= distance <= l1 + l2 + slack:
        raise InputError(
            f"position: expected a distance from the shoulder between {abs(l1 - l2):g} m and {l1 + l2:g} m "
            f"(difference and sum of the links' lengths), received {distance:g} m"
        )
    # Heron's product equals the book's k^2 = (r^2 + l1^2 + l2^2)^2 - 2 (r^4 + l1^4 + l2^4) without cancellation near
    # the edge of the reach.
    r = distance
    k = np.sqrt(max(0.0, (l1 + l2 + r) * (l1 + l2 - r) * (r + l1 - l2) * (r - l1 + l2)))
    shoulder = np.arctan2(k, l1**2 + r**2 - l2**2)
    elbow = np.arctan2(k, -(l1**2 + l2**2 - r**2))
    direction = np.arctan2(y, x)
    q1 = np.array([direction - shoulder, direction + shoulder])
    if l1 == l2 and r <= slack:
        q1[:] = 0.0
    return np.column_stack([np.pi - (np.pi - q1) % (2.0 * np.pi), [elbow, -elbow]])
