# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Conversion of poses and wrenches to messages and back."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import Point, Pose, Quaternion, Vector3, Wrench

from robodyn_ros.base.checks import Range
from robodyn_ros.description.model import Array
from robodyn_ros.kinematics.quaternions import quaternion_by_largest_element
from robodyn_ros.nodes.common.messages import FORCE, MessageError


def to_pose(matrix: Array) -> Pose:
    """Return a pose message.

    Args:
        matrix: Pose of a frame in another one, shape (4, 4).
    """
    numbers = to_numbers(matrix)
    return from_arrays(numbers[:3], numbers[3:])


def to_arrays(pose: Pose) -> tuple[Array, Array]:
    """Return position, shape (3,) [m], and quaternion x, y, z, w, shape (4,), of a pose message."""
    orientation = pose.orientation
    return to_vector(pose.position), np.array([orientation.x, orientation.y, orientation.z, orientation.w])


def to_vector(vector: Point | Vector3) -> Array:
    """Return x, y, z of a message, shape (3,)."""
    return np.array([vector.x, vector.y, vector.z])


def read_vector(vector: Point | Vector3, what: str, allowed: Range) -> Array:
    """Return x, y, z of a message, shape (3,).

    Args:
        vector: The message.
        what: Name of the field in the error.
        allowed: Range of each number.

    Raises:
        MessageError: A number is not finite or out of range.
    """
    return _checked(to_vector(vector), what, allowed)


def from_arrays(position: Array, quaternion: Array) -> Pose:
    """Return a pose message of a position, shape (3,) [m], and a quaternion x, y, z, w, shape (4,)."""
    pose = Pose(position=Point(), orientation=Quaternion())
    set_vector(pose.position, position)
    set_quaternion(pose.orientation, quaternion)
    return pose


def set_vector(message: Point | Vector3, vector: Array) -> None:
    """Write x, y, z, shape (3,), into a message."""
    message.x, message.y, message.z = vector.tolist()


def read_wrench(wrench: Wrench, what: str) -> Array:
    """Return (force, torque) of a wrench message, shape (6,) [N, N m].

    Args:
        wrench: The message.
        what: Name of the wrench in the error.

    Raises:
        MessageError: A component is not finite or out of range.
    """
    return _checked(np.concatenate([to_vector(wrench.force), to_vector(wrench.torque)]), what, FORCE)


def _checked(values: Array, what: str, allowed: Range) -> Array:
    if not allowed.holds(values).all():
        raise MessageError("out of range" if np.isfinite(values).all() else "not finite",
                           f"{what}: expected {str(allowed).replace('a finite number', 'finite numbers', 1)}, received "
                           f"{values.tolist()}")
    return values


def to_wrench(wrench: Array) -> Wrench:
    """Return a wrench message of (force, torque), shape (6,) [N, N m]."""
    message = Wrench()
    set_vector(message.force, wrench[:3])
    set_vector(message.torque, wrench[3:])
    return message


def to_numbers(matrix: Array) -> Array:
    """Return position [m] and quaternion x, y, z, w of a pose, shape (7,); can be traced.

    Args:
        matrix: Pose of a frame in another one, shape (4, 4).
    """
    return np.concatenate([matrix[:3, 3], quaternion_by_largest_element(matrix[:3, :3])])


def set_quaternion(message: Quaternion, quaternion: Array) -> None:
    """Write x, y, z, w, shape (4,), into a message."""
    message.x, message.y, message.z, message.w = quaternion.tolist()
