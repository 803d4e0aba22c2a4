# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""What the controller in force wants drawn, in the scene of the view."""

from __future__ import annotations

from typing import Any

import numpy as np
import viser

from robodyn_ros.description.model import Array


class DrawingFigures:
    """Draws lines and arrows.

    Args:
        scene: Scene to draw in.
        size: Reach of the robot [m].
    """

    def __init__(self, scene: viser.SceneApi, size: float) -> None:
        none, thickness = np.zeros((1, 2, 3), np.float32), 0.006 * size
        self._lines = scene.add_line_segments("/drawing/lines", none, np.zeros((1, 2, 3)), visible=False, thickness=4.0,
                                              thickness_units="screen")
        self._arrows = scene.add_arrows("/drawing/arrows", none, np.zeros((1, 3)), visible=False,
                                        shaft_radius=thickness, head_radius=2.5 * thickness,
                                        head_length=6.0 * thickness)

    def show(self, lines: Array, line_colors: Array, arrows: Array, arrow_colors: Array) -> None:
        """Draw lines and arrows in place of the former ones.

        Args:
            lines: Shape (k, 2, 3), in the base frame [m].
            line_colors: Shape (k, 3), from 0 to 1.
            arrows: Shape (m, 2, 3), in the base frame [m].
            arrow_colors: Shape (m, 3), from 0 to 1.
        """
        _set(self._lines, lines, np.repeat(line_colors[:, None], 2, axis=1))
        _set(self._arrows, arrows, arrow_colors)


def _set(handle: Any, points: Array, colors: Array) -> None:
    handle.visible = bool(len(points))
    if len(points):
        handle.points = points.astype(np.float32)
        handle.colors = np.round(255.0 * colors).astype(np.uint8)
