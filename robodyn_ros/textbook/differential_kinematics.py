# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Conversion of velocities and accelerations between joints and tip, in both directions ([Yamamoto] summary 1.15).

The functions take any Jacobian J and its time derivative: the geometric one (r_omega' = (p', omega)) or the analytic
one (r' = (p', eta')), with all six rows or some of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.base.checks import as_array, as_floats
from robodyn_ros.base.errors import InputError

SINGULAR = 1e-10
"""Smallest ratio of least to greatest singular value for which a Jacobian counts as regular."""


def tip_velocity(jacobian: ArrayLike, v: ArrayLike) -> NDArray[Any]:
    """Velocity r' = J q' of the tip, shape (m,). [Yamamoto] 1.15, (1.36), (1.37).

    Args:
        jacobian: J, shape (m, n).
        v: Joint velocities q', shape (n,) [rad/s or m/s].

    Raises:
        InputError: A shape differs.
    """
    jacobian = as_array(jacobian, (None, None), "jacobian")
    return jacobian @ as_array(v, (jacobian.shape[1],), "v")


def tip_acceleration(jacobian: ArrayLike, jacobian_derivative: ArrayLike, v: ArrayLike, a: ArrayLike) -> NDArray[Any]:
    """Acceleration r'' = J q'' + J' q' of the tip, shape (m,). [Yamamoto] 1.15.

    Args:
        jacobian: J, shape (m, n).
        jacobian_derivative: Its time derivative J' at these velocities, shape (m, n).
        v: Joint velocities q', shape (n,) [rad/s or m/s].
        a: Joint accelerations q'', shape (n,) [rad/s^2 or m/s^2].

    Raises:
        InputError: A shape differs.
    """
    jacobian = as_array(jacobian, (None, None), "jacobian")
    derivative = as_array(jacobian_derivative, jacobian.shape, "jacobian_derivative")
    return tip_velocity(jacobian, a) + tip_velocity(derivative, v)


def joint_velocity(jacobian: ArrayLike, tip_velocity: ArrayLike) -> NDArray[np.float64]:
    """Joint velocities q' = J^-1 r', shape (n,) [rad/s or m/s]. [Yamamoto] 1.15, (1.22).

    With more joints than rows, the result is the solution of least norm. With fewer joints than rows, the result
    minimises the squared error in mixed units; better leave out the rows that the robot cannot move independently.

    Args:
        jacobian: J, shape (m, n), floats.
        tip_velocity: r', shape (m,).

    Raises:
        InputError: A shape differs, or the Jacobian is singular.
    """
    jacobian = as_floats(jacobian, (None, None), "jacobian")
    target = as_floats(tip_velocity, (jacobian.shape[0],), "tip_velocity")
    u, s, vt = np.linalg.svd(jacobian, full_matrices=False)
    if s[-1] <= SINGULAR * s[0]:
        raise InputError(
            f"jacobian: expected a regular one, received singular values from {s[0]:.3g} down to {s[-1]:.3g}: "
            "the joints cannot move the tip in every direction at this position; move away from the singular "
            "position, or leave out rows"
        )
    return vt.T @ ((u.T @ target) / s)


def joint_acceleration(
    jacobian: ArrayLike, jacobian_derivative: ArrayLike, tip_velocity: ArrayLike, tip_acceleration: ArrayLike
) -> NDArray[np.float64]:
    """Joint accelerations q'' = J^-1 (r'' - J' J^-1 r'), shape (n,) [rad/s^2 or m/s^2]. [Yamamoto] 1.15.

    Args:
        jacobian: J, shape (m, n), floats.
        jacobian_derivative: Its time derivative J', shape (m, n).
        tip_velocity: r', shape (m,).
        tip_acceleration: r'', shape (m,).

    Raises:
        InputError: A shape differs, or the Jacobian is singular.
    """
    jacobian = as_floats(jacobian, (None, None), "jacobian")
    derivative = as_floats(jacobian_derivative, jacobian.shape, "jacobian_derivative")
    target = as_floats(tip_acceleration, (jacobian.shape[0],), "tip_acceleration")
    return joint_velocity(jacobian, target - derivative @ joint_velocity(jacobian, tip_velocity))
