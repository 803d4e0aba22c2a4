# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Forward kinematics as a product of exponentials, with the home poses and screws of [LynchPark] chapter 9."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robodyn_ros.base.checks import as_array
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.kinematics.arguments import checks_joint_arrays
from robodyn_ros.kinematics.forward import joint_twist, path_to
from robodyn_ros.kinematics.twists import exponential, homogeneous, inverse_pose, twist_in_child, twist_in_parent


class Home(NamedTuple):
    """Link poses and joint screws of a robot in its zero position, where every joint is at 0.

    Mimic joints are at 0 too, regardless of their offset; see ``joint_positions``.
    """

    poses: list[Array]  # M_i, pose of a frame on each moving link in the base frame, shape (4, 4) each
    screws: list[Array]  # S_i, twist of each joint in the base frame, shape (6,) each

    def relative_poses(self, model: RobotModel) -> list[Array]:
        """M_{i-1,i} = M_{i-1}^-1 M_i of each joint, [LynchPark] (9.39), shape (4, 4) each; i-1 is the parent link."""
        return [
            pose if joint.parent < 0 else inverse_pose(self.poses[joint.parent]) @ pose
            for joint, pose in zip(model.joints, self.poses, strict=True)
        ]

    def joint_twists(self) -> list[Array]:
        """A_i = Ad_{M_i^-1}(S_i), [LynchPark] (9.40), of each joint in its own link's frame, shape (6,) each."""
        return [twist_in_child(pose, screw) for pose, screw in zip(self.poses, self.screws, strict=True)]


def home(model: RobotModel, at_centers_of_mass: bool = False) -> Home:
    """Compute M_i and S_i of [LynchPark] (9.37) in the zero position.

    Args:
        model: The robot.
        at_centers_of_mass: True for frames at the links' centres of mass with the axes of the link frames, as in
            [LynchPark] 9.3; False for the link frames of the description.

    Returns:
        Poses and screws in the order of ``model.joints``.
    """
    link_poses: list[Array] = []
    for joint in model.joints:
        before = np.eye(4) if joint.parent < 0 else link_poses[joint.parent]
        link_poses.append(before @ joint.pose_parent_link)  # (9.38)
    screws = [twist_in_parent(pose, joint_twist(joint)) for joint, pose in zip(model.joints, link_poses, strict=True)]
    if not at_centers_of_mass:
        return Home(link_poses, screws)
    poses = [
        pose @ homogeneous(np.eye(3), joint.inertia.com) for joint, pose in zip(model.joints, link_poses, strict=True)
    ]
    return Home(poses, screws)


@checks_joint_arrays
def joint_positions(model: RobotModel, q: Array) -> list[Array]:
    """Position theta_i of every joint, mimic joints included, in the order of ``model.joints``.

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].

    Raises:
        InputError: An array has another shape.
    """
    return [joint.multiplier * q[joint.dof] + joint.offset for joint in model.joints]


def product_of_exponentials(model: RobotModel, q: Array, link: str | None = None) -> Array:
    """Pose T_0n = e^{[S_1] theta_1} ... e^{[S_n] theta_n} M of a link, [LynchPark] (9.36), (9.37), (9.49).

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        link: Name of any link of the description; None for the tip link.

    Returns:
        T_base_link, shape (4, 4), of floats or of traced scalars, like q.

    Raises:
        InputError: q has another shape; no link has that name.
    """
    q = as_array(q, (model.n,), "q")
    frame = model.frame(model.tip_link if link is None else link)
    zero, positions = home(model), joint_positions(model, q)
    pose = np.eye(4) + np.zeros((4, 4), dtype=q.dtype)
    for index in path_to(model, frame.joint):
        pose = pose @ exponential(zero.screws[index], positions[index])
    at_home = np.eye(4) if frame.joint < 0 else zero.poses[frame.joint]
    return pose @ (at_home @ frame.pose_link_frame)
