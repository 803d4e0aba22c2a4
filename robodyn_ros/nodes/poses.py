"""Poses as 4x4 matrices into the messages that carry them."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import Point, Pose, Quaternion, Transform, Vector3
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

Array = NDArray[np.float64]


def to_pose(matrix: Array) -> Pose:
    """A pose message.

    Args:
        matrix: Pose of a frame in another one, shape (4, 4).
    """
    pose = Pose()
    _fill(pose.position, pose.orientation, matrix)
    return pose


def to_transform(matrix: Array) -> Transform:
    """A transform message: what tf calls the transform from parent to child.

    Args:
        matrix: Pose of the child frame in the parent frame, shape (4, 4).
    """
    transform = Transform()
    _fill(transform.translation, transform.rotation, matrix)
    return transform


def _fill(position: Point | Vector3, orientation: Quaternion, matrix: Array) -> None:
    position.x, position.y, position.z = matrix[:3, 3].tolist()
    x, y, z, w = Rotation.from_matrix(matrix[:3, :3]).as_quat().tolist()
    orientation.x, orientation.y, orientation.z, orientation.w = x, y, z, w
