# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Surfaces that a robot can touch, in a viser scene."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import viser

from robodyn_ros.simulation.surface_shapes import ShapeKind, SurfaceShape
from robodyn_ros.toolbox.view.robot_figure import position_and_quaternion

COLOR, OPACITY = (115, 140, 178), 0.5


class SurfaceFigures:
    """Draws surfaces.

    Args:
        scene: Scene to draw in.
    """

    def __init__(self, scene: viser.SceneApi) -> None:
        self._scene = scene
        self._figures: list[Any] = []

    def show(self, shapes: Sequence[SurfaceShape]) -> None:
        """Draw shapes in place of the former ones."""
        for figure in self._figures:
            figure.remove()
        self._figures = [self._add(f"/surfaces/{number}", shape) for number, shape in enumerate(shapes)]

    def _add(self, name: str, shape: SurfaceShape) -> Any:
        position, quaternion = position_and_quaternion(shape.pose)
        x, y, z = shape.size.tolist()
        look: dict[str, Any] = {"color": COLOR, "opacity": OPACITY, "cast_shadow": False, "receive_shadow": False,
                                "position": position, "wxyz": quaternion}
        if shape.kind is ShapeKind.BOX:
            return self._scene.add_box(name, dimensions=(x, y, z), **look)
        if shape.kind is ShapeKind.SPHERE:
            return self._scene.add_icosphere(name, 0.5, scale=(x, y, z), **look)
        return self._scene.add_cylinder(name, 0.5, 1.0, scale=(x, y, z), **look)
