# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The planar arm with two revolute joints in closed form: dynamics ([ManipulatorNotes] 4.3.3, 4.3.7), kinematics.

The kinematics are those of [Yamamoto] 1.10.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.base.checks import as_array, as_floats
from robodyn_ros.base.errors import InputError


@dataclass(frozen=True)
class Planar2R:
    """Planar arm of two links in the x-y plane with gravity along -y; both joints rotate about z.

    q, shape (2,) [rad], holds the angle of the first link from the x axis and the angle of the second link from the
    first. With ``com_1 = length_1``, ``com_2 = L_2`` and zero inertias, the arm is that of [LynchPark] 9.1.1. The
    text omits tau_1 and tau_2 ("after hard computing"); ``inverse_dynamics`` computes them.

    Attributes:
        mass_1: m_1 [kg].
        mass_2: m_2 [kg].
        length_1: l_1, from the first joint to the second [m].
        com_1: l_g1, from the first joint to the first link's centre of mass, on the line to the second joint [m].
        com_2: l_g2, from the second joint to the second link's centre of mass, on the link's own x axis [m].
        inertia_1: I_1, inertia of the first link about the z axis through its centre of mass [kg m^2].
        inertia_2: I_2, inertia of the second link about the z axis through its centre of mass [kg m^2].
        gravity: Magnitude g of the gravitational acceleration [m/s^2].
    """

    mass_1: float
    mass_2: float
    length_1: float
    com_1: float
    com_2: float
    inertia_1: float = 0.0
    inertia_2: float = 0.0
    gravity: float = 9.81

    def kinetic_energies(self, q: ArrayLike, v: ArrayLike) -> NDArray[Any]:
        """Kinetic energies K_1 and K_2 of the links, shape (2,) [J]. [ManipulatorNotes] 4.3.3.

        Args:
            q: Joint positions, shape (2,) [rad].
            v: Joint velocities, shape (2,) [rad/s].

        Raises:
            InputError: Not of shape (2,).
        """
        (_, q2), (v1, v2) = _pair(q, "q"), _pair(v, "v")
        l1, lg1, lg2 = self.length_1, self.com_1, self.com_2
        speed_1 = lg1**2 * v1**2
        speed_2 = l1**2 * v1**2 + lg2**2 * (v1 + v2) ** 2 + 2.0 * l1 * lg2 * np.cos(q2) * (v1**2 + v1 * v2)
        return 0.5 * np.array(
            [self.mass_1 * speed_1 + self.inertia_1 * v1**2, self.mass_2 * speed_2 + self.inertia_2 * (v1 + v2) ** 2]
        )

    def potential_energies(self, q: ArrayLike) -> NDArray[Any]:
        """Potential energies U_1, U_2, 0 at the height of the first joint, shape (2,) [J]. [ManipulatorNotes] 4.3.3.

        Args:
            q: Joint positions, shape (2,) [rad].

        Raises:
            InputError: Not of shape (2,).
        """
        q1, q2 = _pair(q, "q")
        heights = np.array([self.com_1 * np.sin(q1), self.length_1 * np.sin(q1) + self.com_2 * np.sin(q1 + q2)])
        return np.array([self.mass_1, self.mass_2]) * self.gravity * heights

    def mass_matrix(self, q: ArrayLike) -> NDArray[Any]:
        """Mass matrix M(q), shape (2, 2) [kg m^2]: K_1 + K_2 = v^T M v / 2. [ManipulatorNotes] 4.3.5, 4.3.7.

        Args:
            q: Joint positions, shape (2,) [rad].

        Raises:
            InputError: Not of shape (2,).
        """
        q2 = _pair(q, "q")[1]
        second = self.mass_2 * self.com_2**2 + self.inertia_2
        coupling = self.mass_2 * self.length_1 * self.com_2 * np.cos(q2)
        first = self.mass_1 * self.com_1**2 + self.inertia_1 + self.mass_2 * self.length_1**2
        return np.array([[first + second + 2.0 * coupling, second + coupling], [second + coupling, second]])

    def centrifugal_matrix(self, q: ArrayLike) -> NDArray[Any]:
        """Matrix C(q), shape (2, 2): C (v_1^2, v_2^2) are the centrifugal efforts. [ManipulatorNotes] 4.3.7.

        Args:
            q: Joint positions, shape (2,) [rad].

        Raises:
            InputError: Not of shape (2,).
        """
        lever = self._lever(q)
        return np.array([[0.0, -lever], [lever, 0.0]])

    def coriolis_product_matrix(self, q: ArrayLike) -> NDArray[Any]:
        """Matrix B(q), shape (2, 1): B v_1 v_2 are the Coriolis efforts. [ManipulatorNotes] 4.3.7.

        Args:
            q: Joint positions, shape (2,) [rad].

        Raises:
            InputError: Not of shape (2,).
        """
        return np.array([[-2.0 * self._lever(q)], [0.0]])

    def coriolis_centrifugal(self, q: ArrayLike, v: ArrayLike) -> NDArray[Any]:
        """Velocity efforts V(q, v) = C(q) [v^2] + B(q) [v_1 v_2], shape (2,) [N m]. [ManipulatorNotes] 4.3.7.

        Args:
            q: Joint positions, shape (2,) [rad].
            v: Joint velocities, shape (2,) [rad/s].

        Raises:
            InputError: Not of shape (2,).
        """
        v = _pair(v, "v")
        return self.centrifugal_matrix(q) @ v**2 + self.coriolis_product_matrix(q)[:, 0] * (v[0] * v[1])

    def gravity_efforts(self, q: ArrayLike) -> NDArray[Any]:
        """Gravity efforts G(q) = dU/dq, shape (2,) [N m]. [ManipulatorNotes] 4.3.1, 4.3.8.

        Args:
            q: Joint positions, shape (2,) [rad].

        Raises:
            InputError: Not of shape (2,).
        """
        q1, q2 = _pair(q, "q")
        second = self.mass_2 * self.com_2 * self.gravity * np.cos(q1 + q2)
        first = (self.mass_1 * self.com_1 + self.mass_2 * self.length_1) * self.gravity * np.cos(q1)
        return np.array([first + second, second])

    def inverse_dynamics(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> NDArray[Any]:
        """Joint efforts tau = M(q) a + V(q, v) + G(q), shape (2,) [N m]. [ManipulatorNotes] 4.3.6.

        Args:
            q: Joint positions, shape (2,) [rad].
            v: Joint velocities, shape (2,) [rad/s].
            a: Joint accelerations, shape (2,) [rad/s^2].

        Raises:
            InputError: Not of shape (2,).
        """
        return self.mass_matrix(q) @ _pair(a, "a") + self.coriolis_centrifugal(q, v) + self.gravity_efforts(q)

    def _lever(self, q: ArrayLike) -> Any:
        """b_211 = -b_122 = -b_112 = m_2 l_1 l_g2 sin q_2 [kg m^2], the only velocity coefficient of the arm."""
        return self.mass_2 * self.length_1 * self.com_2 * np.sin(_pair(q, "q")[1])


def _pair(value: ArrayLike, name: str) -> NDArray[Any]:
    return as_array(value, (2,), name)


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
