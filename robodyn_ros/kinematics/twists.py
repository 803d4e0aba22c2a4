# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Algebra of twists, wrenches and rigid-body displacements, which the recursions use.

A twist is (angular velocity, linear velocity); a wrench is (moment, force). Both have shape (6,), and both refer to
the origin and the axes of one frame, as in [LynchPark]. ``pose_a_b`` is the homogeneous transform T_ab, shape (4, 4):
the pose of frame b in frame a. All functions take arrays of floats or of ``compile`` scalars.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robodyn_ros.description.model import Array, skew


def cross(first: Array, second: Array) -> Array:
    """Vector product first × second of two vectors of shape (3,); much faster than NumPy's for one pair."""
    (a, b, c), (x, y, z) = first, second
    return np.array([b * z - c * y, c * x - a * z, a * y - b * x])


def adjoint(pose_a_b: Array) -> Array:
    """Matrix [Ad_T] that transforms a twist from frame b to frame a.

    Args:
        pose_a_b: T_ab, shape (4, 4).

    Returns:
        Shape (6, 6).
    """
    rotation, position = pose_a_b[:3, :3], pose_a_b[:3, 3]
    return np.block([[rotation, np.zeros((3, 3))], [skew(position) @ rotation, rotation]])


def ad(twist: Array) -> Array:
    """Matrix [ad_V] of the Lie bracket, [LynchPark] (9.29).

    Args:
        twist: V, shape (6,).

    Returns:
        Shape (6, 6).
    """
    omega, v = skew(twist[:3]), skew(twist[3:])
    return np.block([[omega, np.zeros((3, 3))], [v, omega]])


def lie_bracket(first: Array, second: Array) -> Array:
    """Lie bracket [V1, V2] = [ad_V1] V2, [LynchPark] (9.28), (9.30), without the zeros of the matrix.

    Args:
        first: V1, shape (6,).
        second: V2, shape (6,).

    Returns:
        Shape (6,).
    """
    angular = cross(first[:3], second[:3])
    return np.concatenate([angular, cross(first[3:], second[:3]) + cross(first[:3], second[3:])])


def ad_transpose(twist: Array, wrench: Array) -> Array:
    """ad_V^T(F) = [ad_V]^T F, [LynchPark] (9.31).

    Args:
        twist: V, shape (6,).
        wrench: F, shape (6,).

    Returns:
        Shape (6,).
    """
    omega, v = twist[:3], twist[3:]
    moment, force = wrench[:3], wrench[3:]
    return np.concatenate([cross(moment, omega) + cross(force, v), cross(force, omega)])


def twist_in_parent(pose_parent_child: Array, twist_child: Array) -> Array:
    """Transform a twist from the child's frame to the parent's: Ad_T(V) = (R w, p × R w + R v).

    Args:
        pose_parent_child: T = (R, p), shape (4, 4).
        twist_child: V = (w, v), shape (6,).

    Returns:
        Shape (6,).
    """
    rotation, position = pose_parent_child[:3, :3], pose_parent_child[:3, 3]
    angular = rotation @ twist_child[:3]
    return np.concatenate([angular, cross(position, angular) + rotation @ twist_child[3:]])


def twist_in_child(pose_parent_child: Array, twist_parent: Array) -> Array:
    """Transform a twist from the parent's frame to the child's: Ad_{T^-1}(V) = (R^T w, R^T (v + w × p)).

    Args:
        pose_parent_child: T = (R, p), shape (4, 4).
        twist_parent: V = (w, v), shape (6,).

    Returns:
        Shape (6,).
    """
    rotation, position = pose_parent_child[:3, :3], pose_parent_child[:3, 3]
    omega, v = twist_parent[:3], twist_parent[3:]
    return np.concatenate([rotation.T @ omega, rotation.T @ (v + cross(omega, position))])


def wrench_in_parent(pose_parent_child: Array, wrench_child: Array) -> Array:
    """Transform a wrench from the child's frame to the parent's: Ad_{T^-1}^T(F) = (R m + p × R f, R f).

    Args:
        pose_parent_child: T = (R, p), shape (4, 4).
        wrench_child: F = (m, f), shape (6,).

    Returns:
        Shape (6,).
    """
    rotation, position = pose_parent_child[:3, :3], pose_parent_child[:3, 3]
    force = rotation @ wrench_child[3:]
    return np.concatenate([rotation @ wrench_child[:3] + cross(position, force), force])


def inverse_pose(pose_a_b: Array) -> Array:
    """Invert a pose: T^-1 = (R^T, -R^T p), the pose of frame a in frame b.

    Args:
        pose_a_b: T = (R, p), shape (4, 4).

    Returns:
        Shape (4, 4).
    """
    rotation, position = pose_a_b[:3, :3], pose_a_b[:3, 3]
    return homogeneous(rotation.T, -(rotation.T @ position))


def exponential(twist: Array, theta: Any) -> Array:
    """Displacement e^{[A] theta} along a joint's twist, [LynchPark] (9.35), (9.53), by Rodrigues' formula.

    The terms are collected by 1, cos and sin. For an axis along x, y or z the terms need no arithmetic.

    Args:
        twist: A = (w, v) of floats, shape (6,); w is a unit vector, or zero for a prismatic joint.
        theta: Joint position [rad or m], a float or a ``compile`` scalar.

    Returns:
        Shape (4, 4).
    """
    omega, v = twist[:3], twist[3:]
    if not np.any(omega):
        return homogeneous(np.eye(3), v * theta)
    along, bracket = np.outer(omega, omega), skew(omega)
    across = np.eye(3) - along  # = -[w]^2 for a unit vector w
    sine, cosine = np.sin(theta), np.cos(theta)
    position = along @ v * theta + bracket @ v * (1.0 - cosine) + across @ v * sine
    return homogeneous(along + across * cosine + bracket * sine, position)


def homogeneous(rotation: Array, position: Array) -> Array:
    """Combine R and p to one matrix, shape (4, 4), without checks; NaN passes through to the result."""
    return np.block([[rotation, position[:, None]], [np.zeros(3), 1.0]])
