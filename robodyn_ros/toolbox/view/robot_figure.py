# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A robot in a viser scene: meshes of its links, moved by its joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import viser
from scipy.spatial.transform import Rotation

from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.toolbox.view.link_meshes import LinkMesh, frame_poses

MIN_VISIBLE_CHANGE = 2e-5
"""Smaller changes of joint positions do not redraw the picture [rad or m]."""


class RobotFigure:
    """Draws a robot.

    Args:
        scene: Scene to draw in.
        model: The robot.
        shapes: Its shapes.
        root: Name of the parent scene node of the robot, with a leading slash.
        axes_length: Length of the axes of link frames [m].
        ghost: Colour and opacity of all shapes, each from 0 to 1; None: their own colours.

    Attributes:
        poses: Last drawn pose of each link in the base frame, by name, shape (4, 4) each.
    """

    def __init__(self, scene: viser.SceneApi, model: RobotModel, shapes: Sequence[LinkMesh], root: str,
                 axes_length: float, ghost: tuple[float, float, float, float] | None = None) -> None:
        self._model, self._q = model, np.zeros(model.n)
        self.poses: dict[str, Array] = frame_poses(model, np.zeros(model.n))
        self._root = scene.add_frame(root, show_axes=False)
        self._frames = {
            link: scene.add_frame(f"{root}/{node_name(link)}", show_axes=False, axes_length=axes_length,
                                  axes_radius=0.03 * axes_length)
            for link in self.poses
        }
        for index, shape in enumerate(shapes):
            name, color = f"{root}/{node_name(shape.link)}/{index}", ghost or shape.color
            if color is None:
                scene.add_mesh_trimesh(name, shape.mesh)
            else:
                scene.add_mesh_simple(name, shape.mesh.vertices, shape.mesh.faces, color=color[:3], side="double",
                                      opacity=None if color[3] >= 1.0 else color[3], cast_shadow=ghost is None,
                                      receive_shadow=ghost is None)
        self._place()

    def show(self, q: Array) -> None:
        """Draw the links at joint positions.

        Args:
            q: Joint positions, shape (n,) [rad or m].
        """
        if np.abs(q - self._q).max() > MIN_VISIBLE_CHANGE:
            self._q = np.array(q)
            self.poses = frame_poses(self._model, q)
            self._place()

    def set_visible(self, visible: bool) -> None:
        """Show or hide the whole robot."""
        self._root.visible = visible

    def set_links_visible(self, visible: Mapping[str, bool]) -> None:
        """Show or hide links by name."""
        for link, shown in visible.items():
            self._frames[link].visible = shown

    def set_axes(self, shown: bool) -> None:
        """Show or hide the axes of all link frames."""
        for frame in self._frames.values():
            frame.show_axes = shown

    def _place(self) -> None:
        poses = np.array([self.poses[link] for link in self._frames])
        quaternions = Rotation.from_matrix(poses[:, :3, :3]).as_quat(scalar_first=True)
        for frame, pose, quaternion in zip(self._frames.values(), poses, quaternions, strict=True):
            frame.position, frame.wxyz = pose[:3, 3], quaternion


def node_name(link: str) -> str:
    """Return a link's name as a scene node, without slashes, which would begin another node."""
    return link.replace("/", "\u2215")


def position_and_quaternion(pose: Array) -> tuple[Array, Array]:
    """Convert a pose, shape (4, 4), to position, shape (3,) [m], and quaternion w, x, y, z, shape (4,)."""
    return pose[:3, 3], Rotation.from_matrix(pose[:3, :3]).as_quat(scalar_first=True)


def to_pose(position: Array, wxyz: Array) -> Array:
    """Convert position, shape (3,) [m], and quaternion w, x, y, z, shape (4,), to a pose, shape (4, 4)."""
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_quat(wxyz, scalar_first=True).as_matrix()
    pose[:3, 3] = position
    return pose
