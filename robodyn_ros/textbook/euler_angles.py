# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Orientation by three angles: ZYZ Euler angles and roll, pitch, yaw ([Yamamoto] 1.3, 1.4, 1.13).

Both conventions use a vector of three angles. ZYZ is (phi, theta, psi), the book's eta. Roll, pitch, yaw have this
order, as in URDF; they are the book's (psi, theta, phi). Two such vectors describe each rotation. At the singular case
(sin(theta) = 0 for ZYZ, cos(pitch) = 0 for roll, pitch, yaw) the first and the last axis are aligned, and a
one-parameter family of vectors describes the same rotation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.base.checks import as_array, is_traced
from robodyn_ros.base.errors import InputError
from robodyn_ros.kinematics.arguments import as_rotation
from robodyn_ros.kinematics.twists import cross

SINGULAR = 1e-8
"""Below this |sin(theta)| or |cos(pitch)|, first and last axis count as aligned; see :func:`zyz_from_rotation`."""


def rotation_from_zyz(angles: ArrayLike) -> NDArray[Any]:
    """Rot(Z, phi) Rot(Y, theta) Rot(Z, psi), shape (3, 3). [Yamamoto] (1.8).

    Args:
        angles: phi, theta, psi, shape (3,) [rad]; floats or traced scalars.

    Raises:
        InputError: Not of shape (3,).
    """
    angles = as_array(angles, (3,), "angles")
    (c_phi, c_theta, c_psi), (s_phi, s_theta, s_psi) = np.cos(angles), np.sin(angles)
    return np.array(
        [
            [c_phi * c_theta * c_psi - s_phi * s_psi, -c_phi * c_theta * s_psi - s_phi * c_psi, c_phi * s_theta],
            [s_phi * c_theta * c_psi + c_phi * s_psi, -s_phi * c_theta * s_psi + c_phi * c_psi, s_phi * s_theta],
            [-s_theta * c_psi, s_theta * s_psi, c_theta],
        ]
    )


def zyz_from_rotation(rotation: ArrayLike, psi_if_singular: float = 0.0) -> NDArray[np.float64]:
    """Both sets of ZYZ Euler angles of a rotation, shape (2, 3) [rad]. [Yamamoto] (1.9), psi corrected.

    The first row has theta in (0, pi), the second in (-pi, 0). If sin(theta) = 0, the rotation determines only
    phi + psi (theta = 0) or phi - psi (theta = pi). In this case psi is ``psi_if_singular``, and both rows are equal.
    The angles reproduce the rotation with an error of about 1e-15 / |sin(theta)|, at most 1e-8.

    Args:
        rotation: Rotation matrix, shape (3, 3), floats.
        psi_if_singular: Value of psi in the singular case [rad].

    Returns:
        Rows phi, theta, psi. phi and psi are within (-pi, pi], except in the singular case with psi other than 0.

    Raises:
        InputError: Not a rotation matrix.
    """
    r = as_rotation(rotation, "rotation")
    s_theta = np.hypot(r[0, 2], r[1, 2])
    if s_theta < SINGULAR:
        psi = psi_if_singular
        if r[2, 2] > 0.0:
            solution = [np.arctan2(r[1, 0], r[1, 1]) - psi, 0.0, psi]
        else:
            solution = [-np.arctan2(r[1, 0], r[1, 1]) + psi, np.pi, psi]
        return np.array([solution, solution])
    return np.array(
        [
            [np.arctan2(r[1, 2] / s, r[0, 2] / s), np.arctan2(s, r[2, 2]), np.arctan2(r[2, 1] / s, -r[2, 0] / s)]
            for s in (s_theta, -s_theta)
        ]
    )


def zyz_rate_matrix(angles: ArrayLike) -> NDArray[Any]:
    """Matrix Omega, (3, 3): angular velocity in base axes = Omega · rates of ZYZ angles. [Yamamoto] (1.30)-(1.34).

    Its determinant is -sin(theta).

    Args:
        angles: phi, theta, psi, shape (3,) [rad]; floats or traced scalars.

    Raises:
        InputError: Not of shape (3,).
    """
    angles = as_array(angles, (3,), "angles")
    (c_phi, c_theta, _), (s_phi, s_theta, _) = np.cos(angles), np.sin(angles)
    return np.array([[0.0, -s_phi, s_theta * c_phi], [0.0, c_phi, s_theta * s_phi], [1.0, 0.0, c_theta]])


def zyz_rate_matrix_derivative(angles: ArrayLike, rates: ArrayLike) -> NDArray[Any]:
    """Time derivative of :func:`zyz_rate_matrix`, shape (3, 3) [rad/s].

    Args:
        angles: phi, theta, psi, shape (3,) [rad].
        rates: Their rates, shape (3,) [rad/s].

    Raises:
        InputError: A shape differs.
    """
    angles = as_array(angles, (3,), "angles")
    phi_dot, theta_dot, _ = as_array(rates, (3,), "rates")
    (c_phi, c_theta, _), (s_phi, s_theta, _) = np.cos(angles), np.sin(angles)
    return np.array(
        [
            [0.0, -c_phi * phi_dot, c_theta * c_phi * theta_dot - s_theta * s_phi * phi_dot],
            [0.0, -s_phi * phi_dot, c_theta * s_phi * theta_dot + s_theta * c_phi * phi_dot],
            [0.0, 0.0, -s_theta * theta_dot],
        ]
    )


def rotation_from_roll_pitch_yaw(angles: ArrayLike) -> NDArray[Any]:
    """Rot(Z, yaw) Rot(Y, pitch) Rot(X, roll), shape (3, 3). [Yamamoto] (1.10), element (1, 3) corrected.

    Args:
        angles: roll, pitch, yaw, shape (3,) [rad]; floats or traced scalars.

    Raises:
        InputError: Not of shape (3,).
    """
    angles = as_array(angles, (3,), "angles")
    (c_psi, c_theta, c_phi), (s_psi, s_theta, s_phi) = np.cos(angles), np.sin(angles)
    return np.array(
        [
            [c_phi * c_theta, c_phi * s_theta * s_psi - s_phi * c_psi, c_phi * s_theta * c_psi + s_phi * s_psi],
            [s_phi * c_theta, s_phi * s_theta * s_psi + c_phi * c_psi, s_phi * s_theta * c_psi - c_phi * s_psi],
            [-s_theta, c_theta * s_psi, c_theta * c_psi],
        ]
    )


def roll_pitch_yaw_from_rotation(rotation: ArrayLike, roll_if_singular: float = 0.0) -> NDArray[np.float64]:
    """Both sets of roll, pitch, yaw of a rotation, shape (2, 3) [rad]. [Yamamoto] (1.10), solved for the angles.

    The solution follows (1.9), which solves (1.8) for ZYZ angles. The first row has the pitch in (-pi/2, pi/2). If
    cos(pitch) = 0, the rotation determines only yaw - roll (pitch = pi/2) or yaw + roll (pitch = -pi/2). In this case
    roll is ``roll_if_singular``, and both rows are equal.

    Args:
        rotation: Rotation matrix, shape (3, 3), floats.
        roll_if_singular: Value of roll in the singular case [rad].

    Returns:
        Rows roll, pitch, yaw. All are within (-pi, pi], except in the singular case with a roll other than 0.

    Raises:
        InputError: Not a rotation matrix.
    """
    r = as_rotation(rotation, "rotation")
    c_pitch = np.hypot(r[0, 0], r[1, 0])
    if c_pitch < SINGULAR:
        up = 1.0 if r[2, 0] < 0.0 else -1.0
        yaw = np.arctan2(-r[0, 1], r[1, 1]) + up * roll_if_singular
        solution = [roll_if_singular, up * np.pi / 2.0, yaw]
        return np.array([solution, solution])
    return np.array(
        [
            [np.arctan2(r[2, 1] / c, r[2, 2] / c), np.arctan2(-r[2, 0], c), np.arctan2(r[1, 0] / c, r[0, 0] / c)]
            for c in (c_pitch, -c_pitch)
        ]
    )


def roll_pitch_yaw_rate_matrix(angles: ArrayLike) -> NDArray[Any]:
    """Matrix, shape (3, 3), that maps rates of roll, pitch, yaw to angular velocity in base axes.

    [Yamamoto] (1.30) to (1.34) derive the matrix for ZYZ angles in the same way. Its determinant is cos(pitch).

    Args:
        angles: roll, pitch, yaw, shape (3,) [rad]; floats or traced scalars.

    Raises:
        InputError: Not of shape (3,).
    """
    angles = as_array(angles, (3,), "angles")
    (_, c_pitch, c_yaw), (_, s_pitch, s_yaw) = np.cos(angles), np.sin(angles)
    return np.array([[c_yaw * c_pitch, -s_yaw, 0.0], [s_yaw * c_pitch, c_yaw, 0.0], [-s_pitch, 0.0, 1.0]])


def roll_pitch_yaw_rate_matrix_derivative(angles: ArrayLike, rates: ArrayLike) -> NDArray[Any]:
    """Time derivative of :func:`roll_pitch_yaw_rate_matrix`, shape (3, 3) [rad/s].

    Args:
        angles: roll, pitch, yaw, shape (3,) [rad].
        rates: Their rates, shape (3,) [rad/s].

    Raises:
        InputError: A shape differs.
    """
    angles = as_array(angles, (3,), "angles")
    _, pitch_dot, yaw_dot = as_array(rates, (3,), "rates")
    (_, c_pitch, c_yaw), (_, s_pitch, s_yaw) = np.cos(angles), np.sin(angles)
    return np.array(
        [
            [-s_yaw * c_pitch * yaw_dot - c_yaw * s_pitch * pitch_dot, -c_yaw * yaw_dot, 0.0],
            [c_yaw * c_pitch * yaw_dot - s_yaw * s_pitch * pitch_dot, -s_yaw * yaw_dot, 0.0],
            [-c_pitch * pitch_dot, 0.0, 0.0],
        ]
    )


@dataclass(frozen=True)
class EulerConvention:
    """A convention of three angles for an orientation, with its conversions.

    Attributes:
        name: Name of the convention in error messages.
        rotation: Function from angles to the rotation matrix, shape (3, 3).
        angles: Function from a rotation matrix to both sets of angles, shape (2, 3) [rad].
        rate_matrix: Function from angles to the matrix that maps rates to angular velocity in base axes.
        rate_matrix_derivative: Function from angles and rates to the time derivative of that matrix.
    """

    name: str
    rotation: Callable[[ArrayLike], NDArray[Any]]
    angles: Callable[[ArrayLike], NDArray[np.float64]]
    rate_matrix: Callable[[ArrayLike], NDArray[Any]]
    rate_matrix_derivative: Callable[[ArrayLike, ArrayLike], NDArray[Any]]

    def angular_velocity(self, angles: ArrayLike, rates: ArrayLike) -> NDArray[Any]:
        """Angular velocity in base axes, shape (3,) [rad/s], from angles and rates. [Yamamoto] (1.34)."""
        return self.rate_matrix(angles) @ as_array(rates, (3,), "rates")

    def inverse_rate_matrix(self, angles: ArrayLike) -> NDArray[Any]:
        """Matrix, shape (3, 3), that maps angular velocity in base axes to rates of the angles. [Yamamoto] (1.35).

        The function divides the adjugate by the determinant, so that traced scalars can be used.

        Raises:
            InputError: (floats only) The matrix is singular at these angles.
        """
        matrix = self.rate_matrix(angles)
        a, b, c = matrix.T
        determinant = a @ cross(b, c)
        if not is_traced(matrix) and abs(determinant) < SINGULAR:
            raise InputError(
                f"angles: expected angles where {self.name} rates are determined, received "
                f"{np.asarray(angles).tolist()}: first and last axis are aligned there, and rates exist only for some "
                "angular velocities; use another convention or the angular velocity itself"
            )
        return np.array([cross(b, c), cross(c, a), cross(a, b)]) / determinant

    def rates(self, angles: ArrayLike, angular_velocity: ArrayLike) -> NDArray[Any]:
        """Rates of the angles, shape (3,) [rad/s], from angular velocity in base axes. [Yamamoto] (1.35).

        Raises:
            InputError: (floats only) The rate matrix is singular at these angles.
        """
        return self.inverse_rate_matrix(angles) @ as_array(angular_velocity, (3,), "angular_velocity")


ZYZ = EulerConvention(
    "ZYZ Euler angle", rotation_from_zyz, zyz_from_rotation, zyz_rate_matrix, zyz_rate_matrix_derivative
)
ROLL_PITCH_YAW = EulerConvention(
    "roll, pitch, yaw",
    rotation_from_roll_pitch_yaw,
    roll_pitch_yaw_from_rotation,
    roll_pitch_yaw_rate_matrix,
    roll_pitch_yaw_rate_matrix_derivative,
)
