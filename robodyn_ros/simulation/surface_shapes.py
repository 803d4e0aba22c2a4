# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Shapes that draw the surfaces of a world: boxes, spheres and cylinders."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from robodyn_ros.description.model import Array
from robodyn_ros.simulation.surfaces import Box, Cylinder, Plane, Sphere, Surface

PLANE_EDGE, PLANE_THICKNESS = 2.4, 0.01
"""Size of the slab that represents a plane, relative to the robot's reach."""


class ShapeKind(StrEnum):
    """Kinds of shapes."""

    BOX = "box"
    SPHERE = "sphere"
    CYLINDER = "cylinder"


@dataclass(frozen=True, eq=False)
class SurfaceShape:
    """A shape about the origin of its frame."""

    name: str  # name of the surface
    kind: ShapeKind  # kind of the shape; the axis of a cylinder is z
    size: Array  # extents along its axes, shape (3,) [m]
    pose: Array  # pose of its frame in the base frame, shape (4, 4)


def surface_shape(surface: Surface, reach: float) -> SurfaceShape:
    """Return the shape of a surface; a plane becomes a slab below it, near the robot's base.

    Args:
        surface: The surface.
        reach: Reach of the robot [m].
    """
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = surface.rotation, surface.position
    match surface:
        case Plane():
            size = reach * np.array([PLANE_EDGE, PLANE_EDGE, PLANE_THICKNESS])
            normal = surface.rotation[:, 2]
            pose[:3, 3] = (normal @ surface.position - 0.5 * size[2]) * normal
            return SurfaceShape(surface.name, ShapeKind.BOX, size, pose)
        case Box():
            return SurfaceShape(surface.name, ShapeKind.BOX, surface.size, pose)
        case Sphere():
            return SurfaceShape(surface.name, ShapeKind.SPHERE, np.full(3, 2.0 * surface.radius), pose)
        case Cylinder():
            size = np.array([2.0 * surface.radius, 2.0 * surface.radius, surface.length])
            return SurfaceShape(surface.name, ShapeKind.CYLINDER, size, pose)
    raise TypeError(f"surface '{surface.name}': there is no shape for {type(surface).__name__}")
