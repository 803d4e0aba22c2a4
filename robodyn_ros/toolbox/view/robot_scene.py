# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The three-dimensional part of the page: robot, desired pose, tip path, wrenches, surfaces, grid and camera."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import viser

from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.kinematics.reach import reach
from robodyn_ros.simulation.surface_shapes import ShapeKind, SurfaceShape
from robodyn_ros.toolbox.view.framing import FIELD_OF_VIEW, Framing
from robodyn_ros.toolbox.view.link_meshes import frame_poses, link_meshes
from robodyn_ros.toolbox.view.robot_figure import RobotFigure, position_and_quaternion

SURFACE_COLOR, SURFACE_OPACITY = (115, 140, 178), 0.5
GHOST = (0.20, 0.75, 0.45, 0.30)
PATH_COLOR, BACKGROUND = np.array([225, 120, 20]), np.array([255, 255, 255])
WRENCH_COLORS = {"external": ((215, 40, 40), (240, 140, 140)), "measured": ((40, 90, 215), (150, 175, 240))}
"""Colours of force and torque, by the kind of wrench."""
PATH_POINTS = 400
CANVAS_ASPECT = 0.8
"""Width divided by height of the area between the panels, before a browser reports it."""
MIN_DEVIATION = 0.004
"""The desired pose of a link is drawn if its deviation exceeds this share of the robot's size."""


class SurfaceFigures:
    """Draws surfaces.

    Args:
        scene: Scene to draw in.
    """

    def __init__(self, scene: viser.SceneApi) -> None:
        self._scene = scene
        self._figures: list[Any] = []

    def show(self, shapes: Sequence[SurfaceShape]) -> None:
        """Replace the shapes."""
        for figure in self._figures:
            figure.remove()
        self._figures = [self._add(f"/surfaces/{number}", shape) for number, shape in enumerate(shapes)]

    def _add(self, name: str, shape: SurfaceShape) -> Any:
        position, quaternion = position_and_quaternion(shape.pose)
        x, y, z = shape.size.tolist()
        look: dict[str, Any] = {"color": SURFACE_COLOR, "opacity": SURFACE_OPACITY, "cast_shadow": False,
                                "receive_shadow": False, "position": position, "wxyz": quaternion}
        if shape.kind is ShapeKind.BOX:
            return self._scene.add_box(name, dimensions=(x, y, z), **look)
        if shape.kind is ShapeKind.SPHERE:
            return self._scene.add_icosphere(name, 0.5, scale=(x, y, z), **look)
        return self._scene.add_cylinder(name, 0.5, 1.0, scale=(x, y, z), **look)


class DrawingFigures:
    """Draws the lines and arrows that a controller requests.

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
        """Replace the lines and arrows.

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


class RobotScene:
    """Everything that a page draws of one robot.

    Args:
        server: The page's server.
        model: The robot.
        folder: Folder of its URDF file; None if unknown.
        q: Joint positions for the initial grid and camera, shape (n,) [rad or m].

    Attributes:
        warnings: One sentence for each shape that differs from the URDF.
        size: Length of the robot's longest chain of links [m].
        force_scale: Length of a force's arrow divided by the force [m/N].
        surfaces: Surfaces that the robot can touch.
    """

    def __init__(self, server: viser.ViserServer, model: RobotModel, folder: Path | None, q: Array) -> None:
        self.server, self._model = server, model
        self._shapes, self.warnings = link_meshes(model, folder)
        self.size = reach(model)
        weight = 9.81 * max(sum(joint.inertia.mass for joint in model.joints), 1e-6)
        self.force_scale = 0.5 * self.size / weight
        self._torque_scale = 2.0 * self.force_scale / self.size
        self._framing = Framing.from_shapes(self._shapes, frame_poses(model, q))
        scene = server.scene
        scene.set_up_direction("+z")
        self.robot = RobotFigure(scene, model, self._shapes, "/robot", 0.12 * self.size)
        self._ghost = RobotFigure(scene, model, self._shapes, "/desired", 0.12 * self.size, ghost=GHOST)
        self._ghost.set_visible(False)
        self._desired_tip = scene.add_frame("/desired tip", axes_length=0.1 * self.size,
                                            axes_radius=0.004 * self.size, visible=False)
        self._path: deque[Array] = deque(maxlen=PATH_POINTS + 1)
        self._path_lines = scene.add_line_segments("/tip path", np.zeros((PATH_POINTS, 2, 3)), _path_colors(),
                                                   thickness=3.0,
                                                   thickness_units="screen")
        thickness = 0.006 * self.size
        self._arrows = {
            kind: scene.add_arrows(f"/{kind} wrench", np.zeros((2, 2, 3)), np.array(colors), visible=False,
                                   shaft_radius=thickness, head_radius=2.5 * thickness, head_length=6.0 * thickness)
            for kind, colors in WRENCH_COLORS.items()
        }
        self.surfaces = SurfaceFigures(scene)
        self.drawing = DrawingFigures(scene, self.size)
        self.grid = self._add_grid()
        self.ghost_wanted = True
        self.show(q)
        self._place_camera()

    def show(self, q: Array) -> None:
        """Draw the robot at joint positions, and extend the path of its tip.

        Args:
            q: Joint positions, shape (n,) [rad or m].
        """
        self.robot.show(q)
        tip = self.tip_pose[:3, 3]
        if not self._path or np.linalg.norm(tip - self._path[-1]) > 1e-3 * self.size:
            self._path.append(tip)
            points = np.array(self._path)
            lines = np.repeat(points[:1], PATH_POINTS, axis=0)[:, None].repeat(2, axis=1)
            if len(points) > 1:
                lines[-(len(points) - 1):] = np.stack([points[:-1], points[1:]], axis=1)
            self._path_lines.points = lines.astype(np.float32)

    @property
    def tip_pose(self) -> Array:
        """Pose of the tip link in the base frame as drawn, shape (4, 4)."""
        return self.robot.poses[self._model.tip_link]

    def show_desired(self, q: Array | None, tip: Array | None = None) -> Array:
        """Show the desired pose.

        Args:
            q: Desired joint positions, shape (n,) [rad or m]; None: none.
            tip: Desired pose of the tip link, shape (4, 4); None: none.

        Returns:
            The desired pose of the tip link, or else the drawn pose, shape (4, 4).
        """
        if q is not None:
            self._ghost.show(q)
            # Per link, since two shapes in the same place flicker.
            self._ghost.set_links_visible({
                link: self._deviation(pose, self.robot.poses[link]) > MIN_DEVIATION * self.size
                for link, pose in self._ghost.poses.items()})
        self._ghost.set_visible(self.ghost_wanted and q is not None)
        self._desired_tip.visible = self.ghost_wanted and tip is not None
        if tip is not None:
            self._desired_tip.position, self._desired_tip.wxyz = position_and_quaternion(tip)
            return tip
        return self.tip_pose if q is None else self._ghost.poses[self._model.tip_link]

    def show_wrench(self, kind: str, link: str, wrench: Array) -> None:
        """Show a wrench as two arrows, of force and of torque, from the link's origin.

        Args:
            kind: Key of ``WRENCH_COLORS``.
            link: Name of the link.
            wrench: (force, torque) about its origin in its axes, shape (6,) [N, N m]; zeros: hidden.
        """
        pose, arrows = self.robot.poses.get(link), self._arrows[kind]
        arrows.visible = pose is not None and bool(np.any(wrench))
        if pose is None or not arrows.visible:
            return
        vectors = (pose[:3, :3] @ wrench.reshape(2, 3).T).T * [[self.force_scale], [self._torque_scale]]
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors *= np.minimum(1.0, 1.5 * self.size / np.maximum(lengths, 1e-9))
        arrows.points = np.stack([np.broadcast_to(pose[:3, 3], (2, 3)), pose[:3, 3] + vectors], axis=1
                                 ).astype(np.float32)

    def clear_path(self) -> None:
        """Clear the path of the tip."""
        self._path.clear()
        self._path_lines.points = np.zeros((PATH_POINTS, 2, 3), np.float32)

    def set_path_visible(self, visible: bool) -> None:
        """Show or hide the tip's path."""
        self._path_lines.visible = visible

    def set_shadows(self, shown: bool) -> None:
        """Show or hide shadows; without a graphics processor, they take most of the computing time."""
        self.server.scene.configure_default_lights(cast_shadow=shown)

    def frame_robot(self, client: viser.ClientHandle) -> None:
        """Move the camera of one browser to show the whole robot in its present pose."""
        camera, framing = client.camera, Framing.from_shapes(self._shapes, self.robot.poses)
        with client.atomic():
            camera.position = framing.camera_position(camera.aspect)
            camera.look_at = framing.center
            camera.fov = FIELD_OF_VIEW

    def _deviation(self, pose: Array, other: Array) -> float:
        """Distance between two poses of a link [m], including rotation at a tenth of the robot's size."""
        difference = pose - other
        return float(np.linalg.norm(difference[:3, 3]) + 0.1 * self.size * np.abs(difference[:3, :3]).max())

    def _place_camera(self) -> None:
        camera = self.server.initial_camera
        camera.position, camera.look_at = self._framing.camera_position(CANVAS_ASPECT), self._framing.center
        camera.fov, camera.near, camera.far = FIELD_OF_VIEW, 0.01 * self._framing.radius, 1000.0 * self._framing.radius
        for client in self.server.get_clients().values():
            self.frame_robot(client)

    def _add_grid(self) -> viser.GridHandle:
        framing = self._framing
        edge = 20.0 * framing.cell * np.ceil(0.2 * framing.radius / framing.cell)
        return self.server.scene.add_grid(
            "/grid", width=edge, height=edge, cell_size=framing.cell, section_size=5.0 * framing.cell,
            position=(0.0, 0.0, framing.floor),
            cell_color=(225, 228, 232), section_color=(190, 195, 202), fade_distance=30.0 * framing.radius)


def _path_colors() -> Array:
    """Colours of the path's lines, shape (PATH_POINTS, 2, 3); older lines are paler."""
    age = np.linspace(0.0, 1.0, PATH_POINTS + 1)[:, None]
    colors = (BACKGROUND + age * (PATH_COLOR - BACKGROUND)).astype(np.uint8)
    return np.stack([colors[:-1], colors[1:]], axis=1)
