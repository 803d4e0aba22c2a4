# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Positions of camera and grid such that a robot of any size fills the picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_ros.description.model import Array
from robodyn_ros.toolbox.view.link_meshes import LinkMesh

FIELD_OF_VIEW = 0.7
"""Vertical field of view of the camera [rad]."""
AZIMUTH, ELEVATION = -1.0, 0.42
"""Direction of the camera [rad]: from the horizontal direction of the robot's reach, and above the horizon."""
MARGIN = 1.15


@dataclass(frozen=True, eq=False)
class Framing:
    """A box around the robot."""

    center: Array  # centre of the box in the base frame, shape (3,) [m]
    radius: float  # half the box's diagonal [m]
    floor: float  # height of the lowest point of the box [m]

    @classmethod
    def from_shapes(cls, shapes: Sequence[LinkMesh], poses: Mapping[str, Array]) -> Framing:
        """Return the box around all shapes in one pose of the robot.

        Args:
            shapes: The robot's shapes, one or more.
            poses: Pose of each link in the base frame, shape (4, 4).
        """
        corners = shape_corners(shapes, poses)
        lower, upper = corners.min(axis=0), corners.max(axis=0)
        return cls((lower + upper) / 2.0, max(float(np.linalg.norm(upper - lower)) / 2.0, 1e-3), float(lower[2]))

    def camera_position(self, aspect: float = 1.0, field_of_view: float = FIELD_OF_VIEW) -> Array:
        """Return the camera position from which the whole box is visible, shape (3,) [m].

        The camera looks at the centre of the box.

        Args:
            aspect: Width of the picture divided by its height.
            field_of_view: Vertical, of the camera [rad].
        """
        half_angle = np.arctan(np.tan(field_of_view / 2.0) * min(aspect, 1.0))
        distance = MARGIN * self.radius / np.sin(half_angle)
        along = np.arctan2(self.center[1], self.center[0]) if np.hypot(*self.center[:2]) > 0.1 * self.radius else 0.0
        azimuth = along + AZIMUTH
        position: Array = self.center + distance * np.array([
            np.cos(ELEVATION) * np.cos(azimuth), np.cos(ELEVATION) * np.sin(azimuth), np.sin(ELEVATION)])
        return position

    @property
    def cell(self) -> float:
        """Edge of the grid's cells [m]: 1, 2 or 5 times a power of ten, about a quarter of the radius."""
        power = 10.0 ** np.floor(np.log10(self.radius / 4.0))
        return float(power * max(step for step in (1.0, 2.0, 5.0) if step * power <= self.radius / 4.0))


def shape_corners(shapes: Sequence[LinkMesh], poses: Mapping[str, Array]) -> Array:
    """Return the corners of the boxes around shapes, shape (8 N, 3) [m]; arguments as for `Framing.from_shapes`."""
    return np.concatenate([
        (poses[shape.link] @ np.c_[_corners(shape.mesh.bounds), np.ones(8)].T)[:3].T for shape in shapes
    ])


def _corners(bounds: Array) -> Array:
    """Return the eight corners of a box, shape (8, 3), from its lowest and highest corner, shape (2, 3)."""
    return np.array([[bounds[i][0], bounds[j][1], bounds[k][2]] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
