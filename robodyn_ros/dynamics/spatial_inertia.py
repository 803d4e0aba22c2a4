# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Spatial inertia of a rigid body, or of several joined bodies, as moments of mass."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robodyn_ros.description.model import Array, Inertia, product, skew
from robodyn_ros.kinematics.twists import cross

_UPPER = tuple(np.sort(np.indices((3, 3)), axis=0))  # for each element the row and the column of its upper twin


class SpatialInertia(NamedTuple):
    """Inertia of a rigid body as its moments of mass; they add up when bodies are joined.

    Ten numbers instead of the 36 of the spatial inertia G = [[I, [h]], [-[h], m 1]].
    """

    mass: float  # m [kg]
    first: Array  # first moment h = m c, shape (3,) [kg m]
    rotational: Array  # rotational inertia I about the frame's origin, shape (3, 3) [kg m^2]

    @classmethod
    def from_inertia(cls, inertia: Inertia) -> SpatialInertia:
        """The moments of a body from its centre of mass and its inertia about that point."""
        return cls(inertia.mass, inertia.mass * inertia.com, inertia.rotational_about_origin)

    @classmethod
    def from_moments(cls, mass: float, first: Array, second: Array) -> SpatialInertia:
        """A body from its second moments, I = tr(S) 1 - S, [Yamamoto] (3.17)."""
        return cls(mass, first, trace_minus(second))

    @property
    def second(self) -> Array:
        """Second moments, S = sum m_k r_k r_k^T = tr(I) / 2 - I, shape (3, 3) [kg m^2]: [Yamamoto] (3.11).

        Elements that were 0 in ``from_moments`` are 0 again, without rounding errors.
        """
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = self.rotational
        x, y, z = 0.5 * ((yy + zz) - xx), 0.5 * ((xx + zz) - yy), 0.5 * ((xx + yy) - zz)
        return np.array([[x, -xy, -xz], [-xy, y, -yz], [-xz, -yz, z]])

    def joined(self, other: SpatialInertia) -> SpatialInertia:
        """Both bodies joined to one; both in the same frame."""
        return SpatialInertia(self.mass + other.mass, self.first + other.first, self.rotational + other.rotational)

    def in_parent(self, pose_parent_child: Array) -> SpatialInertia:
        """The same body in the parent's frame: Ad_{T^-1}^T G Ad_{T^-1}, [Featherstone] 2.13.

        Args:
            pose_parent_child: T = (R, p), shape (4, 4).
        """
        rotation, position = pose_parent_child[:3, :3], pose_parent_child[:3, 3]
        first = product(rotation, self.first)
        # With I = sum m_k [r_k]^T [r_k] and r_k = p + R s_k, expressed in p and the rotated first moment.
        bracket, bracket_first = skew(position), skew(first)
        steiner = (product(bracket, bracket_first) + product(bracket_first, bracket)
                   + self.mass * product(bracket, bracket))
        return SpatialInertia(
            self.mass,
            first + self.mass * position,
            mirrored(product(rotation, self.rotational, rotation.T) - steiner),
        )

    def momentum(self, twist: Array) -> Array:
        """G V = (I w + h × v, m v - h × w), shape (6,): momentum for a twist, or wrench for an acceleration.

        [LynchPark] (9.25), about the frame's origin.
        """
        angular, linear = twist[:3], twist[3:]
        return np.concatenate(
            [self.rotational @ angular + cross(self.first, linear), self.mass * linear - cross(self.first, angular)]
        )


def trace_minus(matrix: Array) -> Array:
    """tr(A) 1 - A, shape (3, 3): sum m [r]^T [s] where A is sum m s r^T."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = matrix
    return np.array([[yy + zz, -xy, -xz], [-yx, xx + zz, -yz], [-zx, -zy, xx + yy]])


def mirrored(matrix: Array) -> Array:
    """A symmetric matrix from its upper triangle, shape (3, 3), so that a tape does not compute the lower one too."""
    upper: Array = matrix[_UPPER]
    return upper
