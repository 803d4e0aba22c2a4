# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Forward kinematics: poses of links from joint positions."""

from __future__ import annotations

import numpy as np

from robodyn_ros.description.model import Array, Joint, RobotModel
from robodyn_ros.kinematics.arguments import checks_joint_arrays
from robodyn_ros.kinematics.twists import exponential


def joint_twist(joint: Joint) -> Array:
    """Twist A_i of a joint in its own link frame [LynchPark] (9.40).

    One half of the twist is zero, because the origin of the link frame lies on the joint axis.

    Args:
        joint: The joint.

    Returns:
        (axis, 0) of a revolute or continuous joint, (0, axis) of a prismatic one, shape (6,).
    """
    zero = np.zeros(3)
    return np.concatenate([zero, joint.axis] if joint.kind == "prismatic" else [joint.axis, zero])


@checks_joint_arrays
def joint_poses(model: RobotModel, q: Array) -> list[Array]:
    """Pose T_{parent,i} = M_{parent,i} e^{[A_i] theta_i} of every joint, [LynchPark] (9.53).

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].

    Returns:
        Pose of each link frame in its parent's link frame, in the order of ``model.joints``, each of shape (4, 4).

    Raises:
        InputError: An array has another shape.
    """
    return [
        joint.pose_parent_link @ exponential(joint_twist(joint), joint.multiplier * q[joint.dof] + joint.offset)
        for joint in model.joints
    ]


def link_poses(model: RobotModel, q: Array) -> list[Array]:
    """Pose of each moving link in the base frame: [LynchPark] (9.36) to (9.38), a product of (9.35) from link to link.

    [Yamamoto] (1.18) computes the same from (1.17). The pose times a position in the link frame gives a point of the
    link in the base frame, (1.19).

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].

    Returns:
        T_0i in the order of ``model.joints``, each of shape (4, 4).

    Raises:
        InputError: q has another shape.
    """
    poses: list[Array] = []
    for joint, pose_parent_link in zip(model.joints, joint_poses(model, q), strict=True):
        poses.append(pose_parent_link if joint.parent < 0 else poses[joint.parent] @ pose_parent_link)
    return poses


def forward_kinematics(model: RobotModel, q: Array, link: str | None = None) -> Array:
    """Pose of a named link in the base frame, [LynchPark] (9.37), [Yamamoto] (1.18).

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        link: Name of any link of the description; None for the tip link.

    Returns:
        T_base_link, shape (4, 4), of floats or of traced scalars, like q.

    Raises:
        InputError: q has another shape; or no link has that name.
    """
    frame = model.frame(model.tip_link if link is None else link)
    if frame.joint < 0:
        return frame.pose_link_frame + np.zeros((4, 4), dtype=q.dtype)
    path = path_to(model, frame.joint)
    poses = joint_poses(model, q)
    pose = poses[path[0]]
    for index in path[1:]:
        pose = pose @ poses[index]
    return pose @ frame.pose_link_frame


def path_to(model: RobotModel, joint: int) -> list[int]:
    """Indices of the joints from the base to the given joint, which is the last one; empty for the base (-1)."""
    path = []
    while joint >= 0:
        path.append(joint)
        joint = model.joints[joint].parent
    return path[::-1]
