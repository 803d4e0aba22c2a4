"""Pose error of the tip link, and how the joint velocities change it."""

from __future__ import annotations

import numpy as np

from robodyn_ros.description.model import Array
from robodyn_ros.kinematics.rotation_vector import rotation_vector
from robodyn_ros.kinematics.twists import skew


def pose_error(pose: Array, target: Array) -> Array:
    """Pose error: (translation, rotation vector), shape (6,) [m, rad].

    The translation is in base axes. The rotation vector is that which turns the tip into the target, in the
    target's axes (equally the tip's: it lies on its own axis). A rotation vector and no difference of Euler angles,
    as those jump and have singular rates where first and last axis are aligned.

    Args:
        pose: Pose of the tip in the base frame, shape (4, 4).
        target: Pose wanted, in the base frame, shape (4, 4).
    """
    return np.concatenate([target[:3, 3] - pose[:3, 3], _rotation_vector(pose[:3, :3].T @ target[:3, :3])])


def pose_error_jacobian(jacobian: Array, pose: Array, rotation_error: Array) -> Array:
    """The matrix whose product with the joint velocities is the rate at which ``pose_error`` falls, shape (6, n).

    The linear rows are the geometric Jacobian's. A rotation vector phi changes with the tip's angular velocity
    omega, in its own axes, by phi' = -(E - [phi]/2 + c [phi]^2) omega, c = 1/|phi|^2 - cot(|phi|/2) / (2 |phi|): the
    inverse of the left Jacobian of the rotation group. On all three rows at once this changes nothing, as the matrix
    leaves phi as it is; it is there for single rows.

    Args:
        jacobian: Geometric Jacobian of the tip, linear rows first, base axes, shape (6, n).
        pose: Pose of the tip in the base frame, shape (4, 4).
        rotation_error: The last three elements of ``pose_error``, shape (3,) [rad].
    """
    bracket = skew(rotation_error)
    angle = np.sqrt(rotation_error @ rotation_error)
    # The series' first term where the difference of the two large terms has no digits left.
    c = 1.0 / 12.0 if angle < 1e-3 else 1.0 / angle**2 - 0.5 / (angle * np.tan(angle / 2.0))
    rate = np.eye(3) - 0.5 * bracket + c * (bracket @ bracket)
    return np.concatenate([jacobian[:3], rate @ (pose[:3, :3].T @ jacobian[3:])])


def _rotation_vector(rotation: Array) -> Array:
    """As :func:`rotation_vector.rotation_vector`, in a fraction of its time: a search calls it at every step."""
    r = rotation
    vector = 0.5 * np.array([r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]])
    sine, cosine = np.sqrt(vector @ vector), 0.5 * (r[0, 0] + r[1, 1] + r[2, 2] - 1.0)
    if sine > 1e-6:
        return vector * (np.arctan2(sine, cosine) / sine)
    return vector if cosine > 0.0 else rotation_vector(rotation)
