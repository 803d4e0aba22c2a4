# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Analytic Jacobian (position and Euler angles) computed from the geometric Jacobian ([Yamamoto] 1.14).

Rows and vectors have the linear part first, like the book's r = (p, eta) and the robot's ``jacobian``. The geometric
Jacobian is the book's J_omega: r_omega' = (p', omega) = J_omega q'. The analytic Jacobian is the book's J:
r' = (p', eta') = J q'. The argument ``convention`` selects the angles eta; the book uses ZYZ.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.base.checks import as_array, as_floats
from robodyn_ros.textbook.euler_angles import ZYZ, EulerConvention


def tip_coordinates(pose: ArrayLike, convention: EulerConvention = ZYZ) -> NDArray[np.float64]:
    """Task coordinates r = f(q) = (position, angles) of the tip, shape (6,) [m, rad]. [Yamamoto] (1.20), before (1.36).

    Two sets of angles describe each rotation; the function returns the first one of ``convention.angles``.

    Args:
        pose: Pose of the tip in the base frame, shape (4, 4), floats.
        convention: Convention of the three angles.

    Raises:
        InputError: Not of shape (4, 4), or the upper left block is not a rotation matrix.
    """
    pose = as_floats(pose, (4, 4), "pose")
    return np.concatenate([pose[:3, 3], convention.angles(pose[:3, :3])[0]])


def geometric_from_analytic(
    analytic_jacobian: ArrayLike, angles: ArrayLike, convention: EulerConvention = ZYZ
) -> NDArray[Any]:
    """J_omega = diag(E, Omega) J, shape (6, n). [Yamamoto] (1.37).

    Args:
        analytic_jacobian: J, shape (6, n).
        angles: eta, shape (3,) [rad].
        convention: Convention of the three angles.

    Raises:
        InputError: A shape differs.
    """
    jacobian = as_array(analytic_jacobian, (6, None), "analytic_jacobian")
    return np.concatenate([jacobian[:3], convention.rate_matrix(angles) @ jacobian[3:]])


def analytic_from_geometric(
    geometric_jacobian: ArrayLike, angles: ArrayLike, convention: EulerConvention = ZYZ
) -> NDArray[Any]:
    """J = diag(E, Omega^-1) J_omega, shape (6, n): [Yamamoto] (1.36) by way of (1.35) and (1.37).

    Args:
        geometric_jacobian: J_omega, shape (6, n).
        angles: eta, shape (3,) [rad].
        convention: Convention of the three angles.

    Raises:
        InputError: A shape differs, or (floats only) Omega is singular at these angles.
    """
    jacobian = as_array(geometric_jacobian, (6, None), "geometric_jacobian")
    return np.concatenate([jacobian[:3], convention.inverse_rate_matrix(angles) @ jacobian[3:]])


def analytic_jacobian_derivative(
    geometric_jacobian: ArrayLike,
    geometric_jacobian_derivative: ArrayLike,
    v: ArrayLike,
    angles: ArrayLike,
    convention: EulerConvention = ZYZ,
) -> NDArray[Any]:
    """Time derivative of the analytic Jacobian, shape (6, n).

    The time derivative of (1.37), J_omega' = diag(0, Omega') J + diag(E, Omega) J', is solved for J'.

    Args:
        geometric_jacobian: J_omega, shape (6, n).
        geometric_jacobian_derivative: J_omega', shape (6, n).
        v: Joint velocities, shape (n,) [rad/s or m/s].
        angles: eta, shape (3,) [rad].
        convention: Convention of the three angles.

    Raises:
        InputError: A shape differs, or (floats only) Omega is singular at these angles.
    """
    jacobian = analytic_from_geometric(geometric_jacobian, angles, convention)
    derivative = as_array(geometric_jacobian_derivative, jacobian.shape, "geometric_jacobian_derivative")
    rates = jacobian[3:] @ as_array(v, (jacobian.shape[1],), "v")
    remainder = derivative[3:] - convention.rate_matrix_derivative(angles, rates) @ jacobian[3:]
    return np.concatenate([derivative[:3], convention.inverse_rate_matrix(angles) @ remainder])
