# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Rotation vectors (axis times angle): conversion of a vector and its rates to rotation, velocity and acceleration.

A polynomial in time can interpolate rotation vectors. ``rotation_motion`` and ``left_jacobian`` can be traced. The
closed forms lose digits at small angles; the first terms of their series replace them there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.compile import less, where
from robodyn_ros.description.model import Array, skew
from robodyn_ros.kinematics.arguments import as_rotation
from robodyn_ros.kinematics.quaternions import quaternion_by_largest_element
from robodyn_ros.kinematics.twists import cross

_SMALL = 0.01
"""Square of the angle below which series are used [rad^2]; the omitted terms are below float precision."""


class RotationMotion(NamedTuple):
    """Orientation, angular velocity and angular acceleration of a frame."""

    quaternion: Array  # x, y, z, w of exp(phi), shape (4,)
    velocity: Array  # angular velocity in outer axes, shape (3,) [rad/s]
    acceleration: Array  # angular acceleration in outer axes, shape (3,) [rad/s^2]


def rotation_motion(phi: Array, rate: Array, second_rate: Array) -> RotationMotion:
    """Compute the motion of R = exp(phi) from a rotation vector and its derivatives.

    The formulas are omega = J phi' and omega' = J phi'' + J' phi' with the left Jacobian of the rotation group,
    J = E + B [phi] + C [phi]^2, B = (1 - cos a)/a^2, C = (a - sin a)/a^3, a = |phi|.

    Args:
        phi: Rotation vector, shape (3,) [rad]; floats or traced scalars, like the other arguments.
        rate: phi', shape (3,) [rad/s].
        second_rate: phi'', shape (3,) [rad/s^2].
    """
    square, growth = phi @ phi, phi @ rate
    b, c, b_slope, c_slope = _coefficients(square)
    turned = cross(phi, rate)
    velocity = rate + b * turned + c * cross(phi, turned)
    acceleration = (
        second_rate + b * cross(phi, second_rate) + c * cross(phi, cross(phi, second_rate))
        + growth * (b_slope * turned + c_slope * cross(phi, turned)) + c * cross(rate, turned)
    )
    return RotationMotion(quaternion_from_rotation_vector(phi), velocity, acceleration)


def quaternion_from_rotation_vector(phi: Array) -> Array:
    """Unit quaternion x, y, z, w of exp(phi), shape (4,).

    Args:
        phi: Rotation vector, shape (3,) [rad]; floats or traced scalars.
    """
    half, share = _half_angle(phi @ phi)
    return np.append(share * phi, half)


def rotation_vector_from_quaternion(quaternion: Array) -> Array:
    """Rotation vector of a unit quaternion, shape (3,) [rad]: (C.1) inverted, for the angle between 0 and pi.

    Args:
        quaternion: Quaternion x, y, z, w, shape (4,), floats; its negative is the same rotation.
    """
    shorter = quaternion if quaternion[3] >= 0.0 else -quaternion
    vector, cosine = shorter[:3], shorter[3]
    sine = np.sqrt(vector @ vector)
    return vector * (2.0 * np.arctan2(sine, cosine) / sine if sine > 0.0 else 2.0)


def left_jacobian(phi: Array) -> Array:
    """Left Jacobian J with omega = J phi', shape (3, 3); singular only at full turns (|phi| = 2 pi, 4 pi, ...).

    Args:
        phi: Rotation vector, shape (3,) [rad].
    """
    b, c, _, _ = _coefficients(phi @ phi)
    bracket = skew(phi)
    return np.eye(3) + b * bracket + c * (bracket @ bracket)


def rotation_vector(rotation: ArrayLike) -> NDArray[np.float64]:
    """Rotation vector (axis times angle) of a rotation matrix, shape (3,) [rad]: [Yamamoto] (B.12) inverted.

    Args:
        rotation: Rotation matrix, shape (3, 3), floats.

    Returns:
        Vector along the axis whose length is the angle, between 0 and pi.

    Raises:
        InputError: Not a rotation matrix.
    """
    return rotation_vector_from_quaternion(quaternion_by_largest_element(as_rotation(rotation, "rotation")))


def _coefficients(square: Any) -> tuple[Any, Any, Any, Any]:
    """B, C and (dB/da)/a, (dC/da)/a at a = sqrt(square)."""
    small = less(square, _SMALL)
    safe = where(small, 1.0, square)
    a = np.sqrt(safe)
    sin, cos = np.sin(a), np.cos(a)
    b = where(small, 0.5 + square * (-1.0 / 24 + square * (1.0 / 720 - square / 40320)), (1.0 - cos) / safe)
    c = where(small, 1.0 / 6 + square * (-1.0 / 120 + square * (1.0 / 5040 - square / 362880)), (a - sin) / (a * safe))
    b_slope = where(small, -1.0 / 12 + square * (1.0 / 180 - square / 6720),
                    (a * sin + 2.0 * cos - 2.0) / (safe * safe))
    c_slope = where(small, -1.0 / 60 + square * (1.0 / 1260 - square / 60480),
                    (3.0 * sin - a * (2.0 + cos)) / (safe * safe * a))
    return b, c, b_slope, c_slope


def _half_angle(square: Any) -> tuple[Any, Any]:
    """cos(a/2) and sin(a/2)/a at a = sqrt(square)."""
    small = less(square, _SMALL)
    a = np.sqrt(where(small, 1.0, square))
    cos = where(small, 1.0 + square * (-1.0 / 8 + square * (1.0 / 384 - square / 46080)), np.cos(0.5 * a))
    share = where(small, 0.5 + square * (-1.0 / 48 + square * (1.0 / 3840 - square / 645120)), np.sin(0.5 * a) / a)
    return cos, share
