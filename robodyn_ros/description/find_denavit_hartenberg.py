"""The modified Denavit-Hartenberg parameters of a robot, found from its joint axes ([Yamamoto] 1.6.1, 1.6.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_ros.description.denavit_hartenberg import DHRow, DHTable
from robodyn_ros.description.joint_and_link_elements import snap, snap_pose
from robodyn_ros.description.model import Array, Frame, RobotModel
from robodyn_ros.errors import DescriptionError

PARALLEL = 1e-8
"""Axes whose angle has a smaller sine than this count as parallel."""


def find_denavit_hartenberg(model: RobotModel, tip_link: str | None = None, parallel: float = PARALLEL) -> DHTable:
    """Finds the Denavit-Hartenberg parameters of a chain: steps 1 to 12 of [Yamamoto] 1.6.1 and 1.6.2.

    ``load_dh`` of the result is the same chain, with the same poses of its links and the same dynamics. The frames
    of the rows are called after the links that they move, with _dh at the end; the links keep theirs, as further
    frames. Where the steps leave a choice:

    * Frame 0 is frame 1 at joint position 0 (step 6), so the first row is zero; where the chain stands in the base
      frame is in ``pose_base_0``.
    * Parallel axes have no one common perpendicular: it is put through the foot of the one before, so that d = 0
      (for the first axis, through its link frame's origin). Of axes in one line, x keeps its direction.
    * The last frame has its x along the one before at joint position 0 and its origin at the foot of that (step 7),
      so the last theta and d are zero.

    Nearly parallel axes have their common perpendicular far away; a larger ``parallel`` takes them as parallel, at
    the price of an error as large.

    Args:
        model: The robot. Joints off the way from the base to the tip are left out, with the links that they move.
        tip_link: Name of the link at the chain's end; None for the robot's tip link.
        parallel: Axes whose angle has a smaller sine than this count as parallel.

    Returns:
        The table.

    Raises:
        InputError: No link has that name.
        DescriptionError: No joint moves the link, or a mimic joint lies on the way to it.
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
    befores = [dh_poses[0], *dh_poses[:-1]]
    for joint, index, before, after in zip(joints, path, befores, dh_poses, strict=True):
        a, alpha, d, theta = snap(_parameters(before, after), size).tolist()
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
    """Steps 1 and 2: the joints from the base to the tip."""
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
    """Steps 3 to 7: the pose of every row's frame at joint position 0, in the base frame."""
    poses = []
    x_before = _perpendicular(axes[0].z)
    foot = axes[0].point
    for axis, after in zip(axes, [*axes[1:], axes[-1]], strict=True):
        origin, x = _common_perpendicular(axis, after, foot, x_before, parallel)
        poses.append(_pose(origin, x, axis.z))
        foot, x_before = after.foot(origin), x
    return poses


def _common_perpendicular(axis: _Axis, after: _Axis, foot: Array, x: Array, parallel: float) -> tuple[Array, Array]:
    """Step 4: where the common perpendicular with the axis after leaves an axis, and its direction.

    Args:
        axis: The axis Z_i.
        after: The axis Z_(i+1); the same one at the chain's end.
        foot: The point P_i of Z_i, to choose where there is a choice.
        x: The direction of X_(i-1), to choose where there is a choice.
        parallel: Sine of the angle below which the axes are parallel.
    """
    normal = np.cross(axis.z, after.z)
    sine = np.linalg.norm(normal)
    if sine < parallel:
        across = after.foot(foot) - foot
        distance = np.linalg.norm(across)
        # Below this two lines differ by rounding alone.
        return foot, (across / distance if distance > 1e-12 * max(1.0, float(np.abs(foot).max())) else x)
    along = np.cross(after.point - axis.point, after.z) @ normal / sine**2
    return axis.point + along * axis.z, normal / sine


def _perpendicular(z: Array) -> Array:
    """Of the base's x and y axes the one that is more across z, made perpendicular to it."""
    x = np.eye(3)[int(np.argmin(np.abs(z[:2])))]
    x = x - (x @ z) * z
    return x / np.linalg.norm(x)


def _pose(origin: Array, x: Array, z: Array) -> Array:
    pose = np.eye(4)
    # Parallel axes leave x perpendicular to z only as nearly as they are parallel.
    y = np.cross(z, x)
    y /= np.linalg.norm(y)
    pose[:3, 0], pose[:3, 1], pose[:3, 2], pose[:3, 3] = np.cross(y, z), y, z, origin
    return snap_pose(pose, max(1.0, float(np.max(np.abs(origin)))))


def _parameters(before: Array, after: Array) -> Array:
    """Steps 8 to 12: a, alpha, d, theta between two frames, given by their poses; shape (4,)."""
    x_before, z_before, x, z = before[:3, 0], before[:3, 2], after[:3, 0], after[:3, 2]
    across = after[:3, 3] - before[:3, 3]
    alpha = np.arctan2(np.cross(z_before, z) @ x_before, z_before @ z)
    theta = np.arctan2(np.cross(x_before, x) @ z, x_before @ x)
    return np.array([across @ x_before, alpha, across @ z, theta])
