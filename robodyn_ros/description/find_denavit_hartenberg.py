# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The modified Denavit-Hartenberg parameters of a robot, found from its joint axes ([Yamamoto] 1.6.1, 1.6.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_ros.base.errors import DescriptionError
from robodyn_ros.description.denavit_hartenberg import DHRow, DHTable
from robodyn_ros.description.joint_and_link_elements import snap, snap_pose
from robodyn_ros.description.model import Array, Frame, RobotModel

PARALLEL = 1e-8
"""Axes whose angle has a smaller sine than this count as parallel."""


def find_denavit_hartenberg(model: RobotModel, tip_link: str | None = None, parallel: float = PARALLEL) -> DHTable:
    """Find the Denavit-Hartenberg parameters of a chain: steps 1 to 12 of [Yamamoto] 1.6.1 and 1.6.2.

    ``load_dh`` applied to the result gives the same chain, with the same poses of its links and the same dynamics. The
    frame of a row is named after the link that the row moves, with _dh at the end; the frames of the links become
    further frames of the table. Where the steps leave a choice:

    * Frame 0 is frame 1 at joint position 0 (step 6), so the first row is zero; ``pose_base_0`` is its pose
      in the base frame.
    * Parallel axes have infinitely many common perpendiculars. The one through the foot of the previous perpendicular
      is taken, so that d = 0; for the first axis, the one through the origin of its link frame. If two axes coincide,
      x keeps its direction.
    * The x axis of the last frame is parallel to the previous x axis at joint position 0, and its origin is the foot of
      the previous perpendicular (step 7), so the last theta and d are zero.

    The common perpendicular of nearly parallel axes is far away. A larger ``parallel`` treats such axes as parallel;
    the error is as large as the angle that it neglects.

    Args:
        model: The robot. Joints outside the path from the base to the tip are left out, with the links that they move.
        tip_link: Name of the link at the chain's end; None for the robot's tip link.
        parallel: Axes whose angle has a smaller sine than this count as parallel.

    Returns:
        The table.

    Raises:
        InputError: No link has that name.
        DescriptionError: No joint moves the link, or a mimic joint is between the base and the link.
    """
    tip = model.frame(model.tip_link if tip_link is None else tip_link)
    path = _path(model, tip)
    joints = [model.joints[index] for index in path]
    poses: list[Array] = []
    for joint in joints:
        poses.append(poses[-1] @ joint.pose_parent_link if poses else joint.pose_parent_link)
    axes = [_Axis(pose[:3, 3], pose[:3, :3] @ joint.axis) for joint, pose in zip(joints, poses, strict=True)]
    dh_poses = _set_frames(axes, parallel)
    size = max(1.0, max(float(np.max(np.abs(pose[:3, 3]))) for pose in dh_poses))
    frames = {-1: np.eye(4)} | {
        index: np.linalg.inv(dh_pose) @ pose for index, dh_pose, pose in zip(path, dh_poses, poses, strict=True)
    }
    rows = []
    previous_poses = [dh_poses[0], *dh_poses[:-1]]
    for joint, index, previous, own in zip(joints, path, previous_poses, dh_poses, strict=True):
        a, alpha, d, theta = snap(_parameters(previous, own), size).tolist()
        rows.append(
            DHRow(
                a=a,
                alpha=alpha,
                d=d,
                theta=theta,
                kind=joint.kind,
                name=joint.name,
                link=f"{joint.link}_dh",
                inertia=joint.inertia.transformed(frames[index]),
                limits=joint.limits,
                damping=joint.damping,
                friction=joint.friction,
                reduction=joint.reduction,
            )
        )
    return DHTable(
        rows=tuple(rows),
        pose_base_0=dh_poses[0],
        frames=tuple(
            Frame(
                frame.name,
                path.index(frame.joint) if frame.joint >= 0 else -1,
                frames[frame.joint] @ frame.pose_link_frame,
            )
            for frame in model.frames.values()
            if frame.joint in frames and frame.name != model.base_link
        ),
        base_link=model.base_link,
        tip_link=tip.name,
    )


def _path(model: RobotModel, tip: Frame) -> list[int]:
    """Indices of the joints from the base to the tip (steps 1 and 2)."""
    path: list[int] = []
    index = tip.joint
    while index >= 0:
        path.insert(0, index)
        joint = model.joints[index]
        if joint.name != model.joint_names[joint.dof]:
            raise DescriptionError(
                f"joint '{joint.name}' of '{model.name}' is a mimic joint, and a Denavit-Hartenberg table has one "
                "joint position per row: choose a tip link before it"
            )
        index = joint.parent
    if not path:
        raise DescriptionError(
            f"no joint of '{model.name}' moves link '{tip.name}', so there are no parameters to find: choose another"
        )
    return path


@dataclass(frozen=True, eq=False)
class _Axis:
    """A joint axis at joint position 0, in base axes: a point on it and its direction, each of shape (3,)."""

    point: Array
    z: Array

    def foot(self, point: Array) -> Array:
        """The point of the axis nearest to a given point, shape (3,)."""
        return self.point + self.z * (self.z @ (point - self.point))


def _set_frames(axes: Sequence[_Axis], parallel: float) -> list[Array]:
    """Poses of the frames of all rows at joint position 0, in the base frame (steps 3 to 7)."""
    poses = []
    previous_x = _perpendicular(axes[0].z)
    foot = axes[0].point
    for axis, next_axis in zip(axes, [*axes[1:], axes[-1]], strict=True):
        origin, x = _common_perpendicular(axis, next_axis, foot, previous_x, parallel)
        poses.append(_pose(origin, x, axis.z))
        foot, previous_x = next_axis.foot(origin), x
    return poses


def _common_perpendicular(
    axis: _Axis, next_axis: _Axis, foot: Array, x: Array, parallel: float
) -> tuple[Array, Array]:
    """Foot on an axis of its common perpendicular with the next axis, and the direction of that perpendicular (step 4).

    Args:
        axis: The axis Z_i.
        next_axis: The axis Z_(i+1); at the end of the chain, ``axis`` again.
        foot: The point P_i of Z_i, used if the axes are parallel.
        x: The direction of X_(i-1), used if the axes coincide.
        parallel: Sine of the angle below which the axes are parallel.
    """
    normal = np.cross(axis.z, next_axis.z)
    sine = np.linalg.norm(normal)
    if sine < parallel:
        across = next_axis.foot(foot) - foot
        distance = np.linalg.norm(across)
        # A smaller distance is rounding noise: the axes coincide.
        return foot, (across / distance if distance > 1e-12 * max(1.0, float(np.abs(foot).max())) else x)
    along = np.cross(next_axis.point - axis.point, next_axis.z) @ normal / sine**2
    return axis.point + along * axis.z, normal / sine


def _perpendicular(z: Array) -> Array:
    """Unit vector perpendicular to z, close to the x or y axis of the base, whichever is farther from z."""
    x = np.eye(3)[int(np.argmin(np.abs(z[:2])))]
    x = x - (x @ z) * z
    unit: Array = x / np.linalg.norm(x)
    return unit


def _pose(origin: Array, x: Array, z: Array) -> Array:
    pose = np.eye(4)
    # With axes that only count as parallel, x is not exactly perpendicular to z.
    y = np.cross(z, x)
    y /= np.linalg.norm(y)
    pose[:3, 0], pose[:3, 1], pose[:3, 2], pose[:3, 3] = np.cross(y, z), y, z, origin
    return snap_pose(pose, max(1.0, float(np.max(np.abs(origin)))))


def _parameters(previous: Array, own: Array) -> Array:
    """Parameters a, alpha, d, theta between two frames, given by their poses, shape (4,) (steps 8 to 12)."""
    previous_x, previous_z, x, z = previous[:3, 0], previous[:3, 2], own[:3, 0], own[:3, 2]
    offset = own[:3, 3] - previous[:3, 3]
    alpha = np.arctan2(np.cross(previous_z, z) @ previous_x, previous_z @ z)
    theta = np.arctan2(np.cross(previous_x, x) @ z, previous_x @ x)
    return np.array([offset @ previous_x, alpha, offset @ z, theta])
