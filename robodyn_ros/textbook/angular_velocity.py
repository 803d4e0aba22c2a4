# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Angular velocity of a rigid body and the velocity of its points ([Yamamoto] 1.12)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.base.checks import as_array, as_floats
from robodyn_ros.base.errors import InputError
from robodyn_ros.kinematics.twists import cross


def angular_velocity_about_axis(axis: ArrayLike, speed: Any) -> NDArray[Any]:
    """Angular velocity of a rotation about an axis, shape (3,) [rad/s]. [Yamamoto] (1.25), corrected; (1.28), (1.29).

    Args:
        axis: Unit vector along the axis, shape (3,).
        speed: Rate of the angle [rad/s].

    Raises:
        InputError: The axis is not of shape (3,).
    """
    return as_array(axis, (3,), "axis") * speed


def point_velocity(angular_velocity: ArrayLike, point: ArrayLike) -> NDArray[Any]:
    """Velocity v = omega x p of a point of a body that rotates about the origin, shape (3,) [m/s].

    [Yamamoto] (1.27), (D.1).

    Args:
        angular_velocity: Shape (3,) [rad/s], in the axes of ``point``.
        point: Position from a point on the axis, shape (3,) [m].

    Raises:
        InputError: A shape differs.
    """
    return cross(as_array(angular_velocity, (3,), "angular_velocity"), as_array(point, (3,), "point"))


def angular_velocity_from_point(point: ArrayLike, velocity: ArrayLike) -> NDArray[np.float64]:
    """Angular velocity p x v / |p|^2 from the velocity of one point, shape (3,) [rad/s]. [Yamamoto] (1.26).

    A rotation about p does not move the point. One point therefore determines only the component of the angular
    velocity that is perpendicular to p. (1.26) assumes that the whole angular velocity is perpendicular to p.

    Args:
        point: Position from a point on the axis, shape (3,) [m].
        velocity: Its velocity, shape (3,) [m/s].

    Raises:
        InputError: A shape differs, or the point lies at the origin.
    """
    point = as_floats(point, (3,), "point")
    if not point.any():
        raise InputError("point: expected a point away from the origin, received (0, 0, 0), which no rotation moves")
    return cross(point, as_floats(velocity, (3,), "velocity")) / (point @ point)
