# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Kinematics in a moving and rotating frame ([Yamamoto] 4.1, 4.2), from which the recursion of chapter 4 follows.

Frame B moves in frame A. Vectors are in axes of A unless the text names frame B.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.base.checks import as_array
from robodyn_ros.kinematics.twists import cross


class FrameMotion(NamedTuple):
    """Motion of frame B in frame A."""

    rotation: NDArray[Any]  # R, whose columns are the axes of B, shape (3, 3)
    position: NDArray[Any]  # p_B0, position of the origin of B, shape (3,) [m]
    velocity: NDArray[Any]  # p_B0', shape (3,) [m/s]
    acceleration: NDArray[Any]  # p_B0'', shape (3,) [m/s^2]
    omega: NDArray[Any]  # angular velocity of B, shape (3,) [rad/s]
    omega_dot: NDArray[Any]  # its time derivative, shape (3,) [rad/s^2]

    def point(self, point: ArrayLike) -> NDArray[Any]:
        """Position p_B0 + R p of a point, shape (3,) [m]: [Yamamoto] (4.1).

        Args:
            point: p, in frame B, shape (3,) [m].

        Raises:
            InputError: Not of shape (3,).
        """
        return self.position + self.rotation @ as_array(point, (3,), "point")

    def point_velocity(self, point: ArrayLike, rate: ArrayLike) -> NDArray[Any]:
        """Velocity p_B0' + w × R p + R p' of a point, shape (3,) [m/s]: [Yamamoto] (4.2), (4.7).

        Args:
            point: p, in frame B, shape (3,) [m].
            rate: p', time derivative of p in frame B, shape (3,) [m/s].

        Raises:
            InputError: A shape differs.
        """
        arm = self.rotation @ as_array(point, (3,), "point")
        return self.velocity + cross(self.omega, arm) + self.rotation @ as_array(rate, (3,), "rate")

    def point_acceleration(self, point: ArrayLike, rate: ArrayLike, rate_dot: ArrayLike) -> NDArray[Any]:
        """Acceleration of a point, with centripetal and Coriolis acceleration, shape (3,) [m/s^2]: [Yamamoto] (4.8).

        The result is p_B0'' + w' × R p + w × (w × R p) + 2 w × R p' + R p''.

        Args:
            point: p, in frame B, shape (3,) [m].
            rate: p', time derivative of p in frame B, shape (3,) [m/s].
            rate_dot: p'', second time derivative of p in frame B, shape (3,) [m/s^2].

        Raises:
            InputError: A shape differs.
        """
        arm = self.rotation @ as_array(point, (3,), "point")
        rate, rate_dot = as_array(rate, (3,), "rate"), as_array(rate_dot, (3,), "rate_dot")
        turning = cross(self.omega_dot, arm) + cross(self.omega, cross(self.omega, arm))
        coriolis = 2.0 * cross(self.omega, self.rotation @ rate)
        return self.acceleration + turning + coriolis + self.rotation @ rate_dot

    def angular_velocity(self, omega: ArrayLike) -> NDArray[Any]:
        """Angular velocity in A of a frame that rotates in B, shape (3,) [rad/s]: [Yamamoto] (4.9).

        Args:
            omega: Angular velocity of that frame in B, in axes of B, shape (3,) [rad/s].

        Raises:
            InputError: Not of shape (3,).
        """
        return self.omega + self.rotation @ as_array(omega, (3,), "omega")

    def angular_acceleration(self, omega: ArrayLike, omega_dot: ArrayLike) -> NDArray[Any]:
        """Angular acceleration in A of a frame that rotates in B, shape (3,) [rad/s^2]: [Yamamoto] (4.10).

        Args:
            omega: Angular velocity of that frame in B, in axes of B, shape (3,) [rad/s].
            omega_dot: Time derivative of ``omega`` in B, shape (3,) [rad/s^2].

        Raises:
            InputError: A shape differs.
        """
        carried = self.rotation @ as_array(omega, (3,), "omega")
        return self.omega_dot + cross(self.omega, carried) + self.rotation @ as_array(omega_dot, (3,), "omega_dot")


def rotation_rate(rotation: ArrayLike, omega: ArrayLike) -> NDArray[Any]:
    """Time derivative dR/dt = [w × x, w × y, w × z], shape (3, 3) [1/s]: [Yamamoto] (4.3) to (4.6).

    Each axis of the rotating frame moves perpendicular to w and to itself (4.3), at the rate |w| sin theta (4.4). The
    vector product (4.5) combines both.

    Args:
        rotation: R = [x, y, z], shape (3, 3).
        omega: Angular velocity w, shape (3,) [rad/s].

    Raises:
        InputError: A shape differs.
    """
    axes, omega = as_array(rotation, (3, 3), "rotation").T, as_array(omega, (3,), "omega")
    return np.array([cross(omega, axis) for axis in axes]).T
