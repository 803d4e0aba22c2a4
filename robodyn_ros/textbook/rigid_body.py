# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""One rigid body: inertia tensor, change of its axes and point, Euler's equation ([Yamamoto] appendices D, E, F).

Robot models store inertias as ``Inertia`` of ``robodyn_ros.description.model``. This module holds the book's formulas
for the same quantities.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.base.checks import as_array, as_floats
from robodyn_ros.base.errors import InputError
from robodyn_ros.kinematics.twists import cross


def inertia_tensor(points: ArrayLike, masses: ArrayLike) -> NDArray[Any]:
    """Inertia tensor of N mass points about the origin, shape (3, 3) [kg m^2]. [Yamamoto] (D.6) to (D.8).

    Args:
        points: Positions of the points, shape (N, 3) [m].
        masses: Masses dm of the points, shape (N,) [kg].

    Raises:
        InputError: A shape differs.
    """
    points = as_array(points, (None, 3), "points")
    masses = as_array(masses, (points.shape[0],), "masses")
    second_moments = points.T @ (masses[:, None] * points)
    return np.trace(second_moments) * np.eye(3) - second_moments


def angular_momentum(inertia: ArrayLike, angular_velocity: ArrayLike) -> NDArray[Any]:
    """Angular momentum M = I omega, shape (3,) [kg m^2/s]. [Yamamoto] (D.7), (D.9), (F.1), (F.9).

    Args:
        inertia: Inertia tensor, shape (3, 3) [kg m^2].
        angular_velocity: In the same axes, shape (3,) [rad/s].

    Raises:
        InputError: A shape differs.
    """
    return as_array(inertia, (3, 3), "inertia") @ as_array(angular_velocity, (3,), "angular_velocity")


def inertia_in_outer_axes(rotation_a_b: ArrayLike, inertia_b: ArrayLike) -> NDArray[Any]:
    """Convert an inertia tensor from axes of b to axes of a: R I R^T, shape (3, 3) [kg m^2]. [Yamamoto] (D.15), (F.4).

    The inverse conversion (D.14) is the same formula with the transposed rotation.

    Args:
        rotation_a_b: Axes of b in axes of a, shape (3, 3).
        inertia_b: Inertia tensor in axes of b, shape (3, 3) [kg m^2].

    Raises:
        InputError: A shape differs.
    """
    rotation = as_array(rotation_a_b, (3, 3), "rotation_a_b")
    return rotation @ as_array(inertia_b, (3, 3), "inertia_b") @ rotation.T


def parallel_axes(inertia_com: ArrayLike, mass: Any, offset: ArrayLike) -> NDArray[Any]:
    """Inertia tensor about a point other than the centre of mass, shape (3, 3) [kg m^2]. [Yamamoto] (E.9), (E.10).

    Args:
        inertia_com: Inertia tensor about the centre of mass, shape (3, 3) [kg m^2].
        mass: Mass [kg].
        offset: Vector from the centre of mass to the point, of either sign, in the same axes, shape (3,) [m].

    Raises:
        InputError: A shape differs.
    """
    offset = as_array(offset, (3,), "offset")
    steiner = offset @ offset * np.eye(3) - np.outer(offset, offset)
    return as_array(inertia_com, (3, 3), "inertia_com") + mass * steiner


def eulers_moment(inertia: ArrayLike, angular_velocity: ArrayLike, angular_acceleration: ArrayLike) -> NDArray[Any]:
    """Moment N = I omega' + omega x I omega, shape (3,) [N m]. [Yamamoto] (F.11) in body axes, (F.16) in fixed axes.

    Args:
        inertia: Inertia tensor about the centre of mass or a fixed point, shape (3, 3) [kg m^2].
        angular_velocity: In the same axes, shape (3,) [rad/s].
        angular_acceleration: In the same axes, shape (3,) [rad/s^2].

    Raises:
        InputError: A shape differs.
    """
    omega = as_array(angular_velocity, (3,), "angular_velocity")
    return angular_momentum(inertia, angular_acceleration) + cross(omega, angular_momentum(inertia, omega))


def eulers_angular_acceleration(inertia: ArrayLike, angular_velocity: ArrayLike, moment: ArrayLike) -> NDArray[Any]:
    """Angular acceleration I^-1 (N - omega x I omega), shape (3,) [rad/s^2]: [Yamamoto] (F.16) solved for omega'.

    Args:
        inertia: Inertia tensor about the centre of mass or a fixed point, shape (3, 3) [kg m^2], floats.
        angular_velocity: In the same axes, shape (3,) [rad/s].
        moment: N, in the same axes, shape (3,) [N m].

    Raises:
        InputError: A shape differs, or the inertia tensor is singular.
    """
    inertia = as_floats(inertia, (3, 3), "inertia")
    omega = as_floats(angular_velocity, (3,), "angular_velocity")
    moments = np.linalg.eigvalsh(inertia)
    if moments[0] <= 1e-14 * moments[2]:
        raise InputError(
            f"inertia: expected positive principal moments, received {moments.tolist()} kg m^2: the body has no "
            "inertia about some axis"
        )
    return np.linalg.solve(inertia, as_floats(moment, (3,), "moment") - cross(omega, inertia @ omega))
