# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Surfaces that a robot can touch: planes, boxes, spheres and cylinders, as signed distances.

The bodies are convex. The signed distance of a convex body is a convex function of the point, so the tangent plane at
one point never overestimates the distance of another point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.compile import greater, less, maximum, minimum, where
from robodyn_ros.description.model import Array

_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Material:
    """Compliance and friction of a surface."""

    stiffness: float  # k, force per penetration [N/m]
    damping: float  # c of Hunt and Crossley, per velocity of penetration [s/m]
    friction: float  # Coulomb coefficient mu


@dataclass(frozen=True, eq=False)
class Surface:
    """The surface of a convex body that is fixed to the base."""

    name: str  # name in messages
    material: Material  # compliance and friction
    rotation: Array  # axes of the body in base axes, shape (3, 3)
    position: Array  # origin of the body in the base frame, shape (3,) [m]

    def distance(self, point: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
        """Return the signed distance of a point and its gradient, the normal that points out of the body.

        Args:
            point: Point in the base frame, floats or traced scalars, shape (3,) [m].

        Returns:
            The distance, negative inside [m]; and the unit normal in base axes, shape (3,).
        """
        distance, normal = self._local_distance(self.rotation.T @ (point - self.position))
        return distance, self.rotation @ normal

    def _local_distance(self, x: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
        """Like :meth:`distance`, in the frame of the body."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Plane(Surface):
    """The half space below the plane through the origin with normal z."""

    def _local_distance(self, x: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
        return x[2], np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class Box(Surface):
    """A box about the origin."""

    size: Array  # lengths of the edges, shape (3,) [m]

    def _local_distance(self, x: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
        distance, slopes = _outside_of_box(abs(x) - 0.5 * self.size)
        return distance, slopes * _direction(x)


@dataclass(frozen=True, eq=False)
class Sphere(Surface):
    """A sphere about the origin."""

    radius: float  # [m]

    def _local_distance(self, x: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
        length = np.sqrt(x @ x)
        return length - self.radius, x / maximum(length, _TINY)


@dataclass(frozen=True, eq=False)
class Cylinder(Surface):
    """A cylinder about the origin with axis z."""

    radius: float  # [m]
    length: float  # [m]

    def _local_distance(self, x: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
        from_axis = np.sqrt(x[0] * x[0] + x[1] * x[1])
        distance, slopes = _outside_of_box(np.array([from_axis - self.radius, abs(x[2]) - 0.5 * self.length]))
        radial = slopes[0] / maximum(from_axis, _TINY)
        return distance, np.array([radial * x[0], radial * x[1], slopes[1] * _direction(x[2])])


def _outside_of_box(beyond: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
    """Return the signed distance of a box and its gradient, from the distances beyond its faces, shape (2,) or (3,).

    Outside, the nearest point can be on a face, an edge or a corner; inside, it is on the nearest face.
    """
    outside = maximum(beyond, 0.0)
    length = np.sqrt(outside @ outside)
    nearest: Any = beyond[0]
    for other in beyond[1:]:
        nearest = maximum(nearest, other)
    on_face: list[Any] = []
    taken: Any = 0.0
    for value in beyond:
        chosen = where(less(value, nearest), 0.0, 1.0 - taken)
        on_face.append(chosen)
        taken = maximum(taken, chosen)
    slopes = where(greater(length, 0.0), outside / maximum(length, _TINY), np.array(on_face))
    return length + minimum(nearest, 0.0), slopes


def _direction(x: Any) -> Any:
    """1 for numbers of 0 or more, else -1."""
    return where(less(x, 0.0), -1.0, 1.0)
