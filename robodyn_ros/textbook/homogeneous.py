# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Homogeneous transformation matrices ([Yamamoto] 1.5, 1.8).

``pose_a_b``, the book's ^A T_B, is the pose of frame b in frame a. It maps coordinates in b to coordinates in a
(1.11), (1.12). Poses chain as ``pose_a_c = pose_a_b @ pose_b_c`` (1.13), (1.18). This module checks the arguments and
calls the functions of ``kinematics.twists``, which the recursions use without checks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.base.checks import as_array
from robodyn_ros.base.errors import InputError
from robodyn_ros.kinematics import twists
from robodyn_ros.textbook.rotations import rotation_about_axis, rotation_x, rotation_y, rotation_z

_ABOUT = {"x": rotation_x, "y": rotation_y, "z": rotation_z}


def homogeneous(rotation: ArrayLike, translation: ArrayLike) -> NDArray[Any]:
    """Build a pose from a rotation matrix and an origin, shape (4, 4). [Yamamoto] definition before (1.12).

    Args:
        rotation: Rotation matrix R_ab, shape (3, 3).
        translation: Origin of frame b in frame a, shape (3,) [m].

    Raises:
        InputError: A shape differs.
    """
    return twists.homogeneous(as_array(rotation, (3, 3), "rotation"), as_array(translation, (3,), "translation"))


def homogeneous_inverse(pose: ArrayLike) -> NDArray[Any]:
    """Compute pose_b_a from pose_a_b without a matrix inversion, shape (4, 4). [Yamamoto] (1.14).

    Args:
        pose: Pose, shape (4, 4).

    Raises:
        InputError: Not of shape (4, 4).
    """
    return twists.inverse_pose(as_array(pose, (4, 4), "pose"))


def rotation_transform(axis: str | ArrayLike, angle: Any) -> NDArray[Any]:
    """T_rot(axis, angle): rotation without translation, shape (4, 4). [Yamamoto] (1.15).

    Args:
        axis: "x", "y", "z", or a unit vector of shape (3,).
        angle: Angle [rad].

    Raises:
        InputError: The axis is none of these.
    """
    if isinstance(axis, str):
        if axis not in _ABOUT:
            raise InputError(f"axis: expected 'x', 'y', 'z' or a unit vector, received {axis!r}")
        return homogeneous(_ABOUT[axis](angle), np.zeros(3))
    return homogeneous(rotation_about_axis(axis, angle), np.zeros(3))


def translation_transform(a: Any, b: Any, c: Any) -> NDArray[Any]:
    """T_tran(a, b, c): translation without rotation, shape (4, 4). [Yamamoto] (1.16).

    Args:
        a: Translation along x [m].
        b: Translation along y [m].
        c: Translation along z [m].
    """
    return homogeneous(np.eye(3), np.array([a, b, c]))


def transform_point(pose: ArrayLike, point: ArrayLike) -> NDArray[Any]:
    """Convert the coordinates of a point from frame b to frame a, shape (3,) [m]. [Yamamoto] (1.11), (1.12), (1.19).

    With the pose of a link in the base frame, the function gives the position of any point of that link.

    Args:
        pose: Pose of frame b in frame a, shape (4, 4).
        point: Coordinates in frame b, shape (3,) [m].

    Raises:
        InputError: A shape differs.
    """
    pose = as_array(pose, (4, 4), "pose")
    return pose[:3, 3] + pose[:3, :3] @ as_array(point, (3,), "point")
