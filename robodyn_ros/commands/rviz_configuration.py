# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""RViz's configuration for one robot: its frames, its topics, and a camera and markers of its size.

The file config/robodyn.rviz fits ``arm6`` without a namespace. The launch file opens a copy that fits the robot.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import yaml

from robodyn_ros.base.errors import InputError
from robodyn_ros.description.model import Array
from robodyn_ros.description.resources import config_file
from robodyn_ros.kinematics.reach import reach
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.plant import default_position
from robodyn_ros.simulation.standard_motion import excursion_points
from robodyn_ros.toolbox.view.framing import ELEVATION, Framing, shape_corners
from robodyn_ros.toolbox.view.link_meshes import frame_poses, link_meshes

FIELD_OF_VIEW = 0.785
"""RViz's vertical field of view [rad]."""
FILE_REACH = 1.3
"""Reach of ``arm6``, for which the lengths in config/robodyn.rviz were chosen [m]."""
ASPECT = 1.25
"""Least ratio of width to height of RViz's picture, in the file's window."""
SEEN = 0.9
"""Share of the picture's half width and height that the robot and its tip may fill."""
AZIMUTH = -1.9
"""Direction of the camera relative to the robot's reach [rad]: beside the robot, in front of walls that it faces."""
_CENTRINGS, _NEAREST = 10, 1.2
LENGTHS = {"TF": ("Marker Scale",), "Pose": ("Axes Length", "Axes Radius"), "Path": ("Line Width",),
           "Effort": ("Scale", "Width"), "Wrench": ("Force Arrow Scale", "Torque Arrow Scale", "Arrow Width")}
"""Properties of each display that scale with the robot."""


def rviz_configuration(robot: Robot, folder: Path | None = None, namespace: str = "", frame_prefix: str = "") -> str:
    """Return config/robodyn.rviz for a robot, as YAML.

    Args:
        robot: The robot.
        folder: Folder of its URDF file, to which mesh paths are relative.
        namespace: Namespace of the nodes.
        frame_prefix: Prefix of the tf frames.

    Raises:
        InputError: RViz cannot show frames with this prefix.
    """
    tf_prefix = _tf_prefix(frame_prefix)
    configuration = yaml.safe_load(config_file("robodyn.rviz").read_text(encoding="utf-8"))
    manager = configuration["Visualization Manager"]
    size = reach(robot.model) / FILE_REACH
    for display in manager["Displays"]:
        if "TF Prefix" in display:
            display["TF Prefix"] = tf_prefix
        if "Robot Description" in display:
            display["Robot Description"] = _in_namespace(namespace, display["Robot Description"])
        for field in ("Topic", "Description Topic"):
            if field in display:
                display[field]["Value"] = _in_namespace(namespace, display[field]["Value"])
        for length in LENGTHS.get(display["Class"].rpartition("/")[2], ()):
            display[length] = round(display[length] * size, 5)
    manager["Global Options"]["Fixed Frame"] = frame_prefix + robot.model.base_link
    shapes, poses = link_meshes(robot.model, folder)[0], frame_poses(robot.model, default_position(robot))
    manager["Displays"][0]["Cell Size"] = Framing.from_shapes(shapes, poses).cell
    manager["Views"]["Current"].update(_camera(shape_corners(shapes, poses), tip_positions(robot)))
    return yaml.safe_dump(configuration, sort_keys=False, width=100_000)


def tip_positions(robot: Robot) -> Array:
    """Return the tip positions in the first pose and at the ends of an `excursion` from it, shape (4, 3) [m]."""
    return np.array([frame_poses(robot.model, q)[robot.tip_link][:3, 3]
                     for q in (default_position(robot), *excursion_points(robot).q)])


def _camera(corners: Array, tips: Array) -> dict[str, Any]:
    """Return the properties of RViz's orbiting camera with which the robot fills the picture.

    Args:
        corners: Of the boxes around its shapes, shape (N, 3), in base axes [m].
        tips: Tip positions that must also be visible, shape (M, 3) [m].
    """
    points = np.vstack([corners, tips])
    lower, upper = points.min(axis=0), points.max(axis=0)
    center, radius = (lower + upper) / 2.0, max(float(np.linalg.norm(upper - lower)) / 2.0, 1e-3)
    farthest = tips[np.argmax(np.hypot(tips[:, 0], tips[:, 1]))]
    yaw = np.arctan2(farthest[1], farthest[0]) + AZIMUTH
    towards = np.array([np.cos(ELEVATION) * np.cos(yaw), np.cos(ELEVATION) * np.sin(yaw), np.sin(ELEVATION)])
    right = np.array([-np.sin(yaw), np.cos(yaw), 0.0])
    half = SEEN * np.tan(FIELD_OF_VIEW / 2.0)
    for _ in range(_CENTRINGS):
        x, y, z = ((points - center) @ axis for axis in (right, np.cross(towards, right), towards))
        distance = max(float((z + np.maximum(np.abs(x) / ASPECT, np.abs(y)) / half).max()), radius * _NEAREST)
        seen = [each / (distance - z) for each in (x, y)]
        shift = [(each.max() + each.min()) / 2.0 * distance for each in seen]
        center = center + shift[0] * right + shift[1] * np.cross(towards, right)
    x, y, z = (round(float(value), 4) for value in center)
    return {"Distance": round(distance, 4), "Focal Point": {"X": x, "Y": y, "Z": z},
            "Pitch": ELEVATION, "Yaw": round(float(yaw % (2.0 * np.pi)), 4),
            "Near Clip Distance": round(0.01 * radius, 6), "Focal Shape Size": round(0.03 * radius, 4)}


def _tf_prefix(frame_prefix: str) -> str:
    """Return RViz's TF Prefix, to which it appends "/" and the link name; raise for other frames."""
    if frame_prefix and not (frame_prefix.endswith("/") and frame_prefix.strip("/")):
        raise InputError(f"frame_prefix: RViz joins prefix, '/' and link: expected a prefix that ends in '/', such as "
                         f"'{frame_prefix.strip('/') or 'robot1'}/', received '{frame_prefix}'; or omit rviz:=true")
    return frame_prefix.removesuffix("/")


def _in_namespace(namespace: str, topic: str) -> str:
    """Return the absolute name of a topic in a namespace."""
    return f"/{namespace.strip('/')}{topic}" if namespace.strip("/") else topic
