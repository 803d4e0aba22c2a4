# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Twists and accelerations of all links, from the base to the leaves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.kinematics.forward import joint_twist
from robodyn_ros.kinematics.twists import lie_bracket, twist_in_child


class LinkMotion(NamedTuple):
    """Twist of a link and its derivative, in the link's own frame."""

    twist: Array  # V = (w, v), shape (6,) [rad/s, m/s]
    acceleration: Array  # V', derivative of V, shape (6,) [rad/s^2, m/s^2]


def link_motions(
    model: RobotModel, poses: list[Array], v: Array, a: Array, base_acceleration: Array
) -> list[LinkMotion]:
    """Compute the motion of each link from the motion of its parent, [LynchPark] (9.54) and (9.55).

    Args:
        model: The robot.
        poses: T_{parent,i} of every joint, as ``joint_poses`` gives them.
        v: Joint velocities, shape (n,) [rad/s or m/s].
        a: Joint accelerations, shape (n,) [rad/s^2 or m/s^2].
        base_acceleration: V'_0 of the base, in the base frame, shape (6,).

    Returns:
        In the order of ``model.joints``.
    """
    motions: list[LinkMotion] = []
    for joint, pose in zip(model.joints, poses, strict=True):
        axis = joint_twist(joint)
        rate, rate_dot = joint.multiplier * v[joint.dof], joint.multiplier * a[joint.dof]
        parent = LinkMotion(np.zeros(6), base_acceleration) if joint.parent < 0 else motions[joint.parent]
        twist = twist_in_child(pose, parent.twist) + axis * rate
        acceleration = twist_in_child(pose, parent.acceleration)
        acceleration = acceleration + lie_bracket(twist, axis) * rate + axis * rate_dot
        motions.append(LinkMotion(twist, acceleration))
    return motions
