# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A robot from a table of modified Denavit-Hartenberg parameters ([Yamamoto] 1.6).

Frame i lies on joint i's axis, which is its z axis; row i of the table leads from frame i-1 to frame i.
``find_denavit_hartenberg`` goes the other way, from a robot to its table.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from numbers import Real
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.base.errors import shown
from robodyn_ros.description import ranges
from robodyn_ros.description.held_joints import hold_massless_joints
from robodyn_ros.description.joint_and_link_elements import snap_pose
from robodyn_ros.description.model import (
    STANDARD_GRAVITY,
    Array,
    Frame,
    Inertia,
    Joint,
    JointKind,
    Limits,
    RobotModel,
)
from robodyn_ros.description.ranges import MAX_JOINTS
from robodyn_ros.description.report import Report
from robodyn_ros.description.urdf import check_gravity

_RANGES = {"a": ranges.LENGTH, "alpha": ranges.ANGLE, "d": ranges.LENGTH, "theta": ranges.ANGLE,
           "damping": ranges.FRICTION, "friction": ranges.FRICTION, "reduction": ranges.REDUCTION}


@dataclass(frozen=True, eq=False)
class DHRow:
    """One row of a table: the four parameters of a link, and the properties of its joint.

    The joint position adds to theta (revolute) or d (prismatic). The value in the table is the offset, the book's
    theta-bar and d-bar ([Yamamoto] 1.6.3, 1.6.4).

    Attributes:
        a: Along x of frame i-1, from its origin to the foot of the common perpendicular on axis i [m].
        alpha: About x of frame i-1, from axis i-1 to axis i [rad].
        d: Along axis i, from the foot of the perpendicular to the origin of frame i [m].
        theta: About axis i, from x of frame i-1 to x of frame i [rad].
        kind: ``revolute``, ``continuous`` or ``prismatic``.
        name: Name of the joint; an empty name becomes joint1, joint2, …
        link: Name of the link; an empty name becomes link1, link2, …
        inertia: Inertia of the link, in frame i.
        limits: Limits of the joint.
        damping: Viscous friction [N m s/rad or N s/m].
        friction: Coulomb friction [N m or N].
        reduction: Gear reduction, motor turns per joint turn.
    """

    a: float
    alpha: float
    d: float
    theta: float
    kind: JointKind = "revolute"
    name: str = ""
    link: str = ""
    inertia: Inertia = field(default_factory=Inertia.zero)
    limits: Limits = field(default_factory=Limits)
    damping: float = 0.0
    friction: float = 0.0
    reduction: float = 1.0


@dataclass(frozen=True, eq=False)
class DHTable:
    """A chain described by its Denavit-Hartenberg parameters.

    Attributes:
        rows: One row per joint, beginning at the base.
        pose_base_0: Pose of frame 0 in the base frame, shape (4, 4).
        frames: Further named frames, such as a tool; ``joint`` is the number of the row from 0, or -1 for the base.
        base_link: Name of the base link.
        tip_link: Name of the tip: a row's link or a frame; empty for the last row's link.
    """

    rows: tuple[DHRow, ...]
    pose_base_0: Array = field(default_factory=lambda: np.eye(4))
    frames: tuple[Frame, ...] = ()
    base_link: str = "base_link"
    tip_link: str = ""


def dh_transform(a: Any, alpha: Any, d: Any, theta: Any) -> NDArray[Any]:
    """Pose of frame i in frame i-1, shape (4, 4). [Yamamoto] (1.17).

    Args:
        a: Along x of frame i-1 [m].
        alpha: About x of frame i-1 [rad].
        d: Along z of frame i [m].
        theta: About z of frame i [rad].
    """
    c_theta, s_theta, c_alpha, s_alpha = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
    return np.array(
        [
            [c_theta, -s_theta, 0.0, a],
            [c_alpha * s_theta, c_alpha * c_theta, -s_alpha, -d * s_alpha],
            [s_alpha * s_theta, s_alpha * c_theta, c_alpha, d * c_alpha],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def load_dh(
    table: DHTable | Sequence[DHRow | Mapping[str, Any] | Sequence[float]],
    *,
    name: str = "robot",
    strict: bool = False,
    gravity: Sequence[float] | Array = STANDARD_GRAVITY,
) -> RobotModel:
    """Build a robot from a table of modified Denavit-Hartenberg parameters, [Yamamoto] (1.18) of (1.17).

    The link frames are those of the book, so (4.40) gives the origin of each in the previous frame.

    Args:
        table: A table, or a sequence of rows. A row is a ``DHRow``, a mapping of its attributes, or the four numbers a,
            alpha, d, theta of a revolute joint.
        name: Name of the robot.
        strict: Whether physically implausible values that can be computed are errors instead of warnings.
        gravity: Gravitational acceleration in base axes, shape (3,) [m/s^2].

    Returns:
        The robot.

    Raises:
        DescriptionError: A row has an unknown attribute or kind, a parameter that is not a finite number, or the
            name of another row; or the table causes a warning, and ``strict`` is set.
        InputError: ``gravity`` is not three finite numbers.

    Warns:
        DescriptionWarning: No row has an inertia, so that kinematics works and dynamics does not; or the last rows have
            none, and their joints are held as if fixed.
    """
    gravity = check_gravity(gravity)
    report = Report(f"Denavit-Hartenberg table of '{name}'")
    if not isinstance(table, DHTable):
        if isinstance(table, str | Mapping) or not isinstance(table, Iterable):
            raise report.error(None, f"it is {type(table).__name__}", "give a DHTable or a sequence of rows")
        read = [_read_row(row, number, report) for number, row in enumerate(islice(table, MAX_JOINTS + 1), start=1)]
        table = DHTable(tuple(read))
    if not table.rows:
        raise report.error(None, "it has no rows", "give one per joint")
    if len(table.rows) > MAX_JOINTS:
        raise report.error(None, f"it has more than {MAX_JOINTS} rows", "describe fewer joints")
    rows = [_complete(row, number, report) for number, row in enumerate(table.rows, start=1)]
    pose_base_0 = _check_pose(table.pose_base_0, "pose_base_0", report)
    joints: list[Joint] = []
    for number, row in enumerate(rows, start=1):
        step = dh_transform(row.a, row.alpha, row.d, row.theta)
        pose = pose_base_0 @ step if number == 1 else step
        joints.append(
            Joint(
                name=row.name,
                link=row.link,
                kind=row.kind,
                parent=number - 2,
                pose_parent_link=snap_pose(pose, float(np.max(np.abs(pose[:3, 3])))),
                axis=np.array([0.0, 0.0, 1.0]),
                inertia=row.inertia,
                dof=number - 1,
                limits=row.limits,
                damping=row.damping,
                friction=row.friction,
                reduction=row.reduction,
            )
        )
    frames = [Frame(table.base_link, -1, np.eye(4))]
    frames += [Frame(joint.link, index, np.eye(4)) for index, joint in enumerate(joints)]
    frames += [_check_frame(frame, len(rows), report) for frame in table.frames]
    _check_distinct("joint", [joint.name for joint in joints], report)
    _check_distinct("link", [frame.name for frame in frames], report)
    tip_link = table.tip_link or joints[-1].link
    if tip_link not in [frame.name for frame in frames]:
        raise report.error(None, f"no link is called '{tip_link}', the tip link", "name a row's link or a frame")
    model = RobotModel(
        name=name,
        joints=tuple(joints),
        joint_names=tuple(joint.name for joint in joints),
        frames={frame.name: frame for frame in frames},
        base_link=table.base_link,
        tip_link=tip_link,
        gravity=gravity,
    )
    model = hold_massless_joints(model, report, {})
    report.close(strict=strict)
    return model


def _read_row(row: DHRow | Mapping[str, Any] | Sequence[float], number: int, report: Report) -> DHRow:
    if isinstance(row, DHRow):
        return row
    if isinstance(row, Mapping):
        known = [attribute.name for attribute in dataclasses.fields(DHRow)]
        unknown = [key for key in row if key not in known]
        missing = [key for key in known[:4] if key not in row]
        if unknown or missing:
            received = ", ".join([f"unknown {shown(key)}" for key in unknown] + [f"no {shown(key)}" for key in missing])
            raise report.error(None, f"row {number} has {received}", f"a row has {', '.join(known)}")
        return DHRow(**row)
    if isinstance(row, str) or not isinstance(row, Sequence | np.ndarray) or len(row) != 4:
        raise report.error(None, f"row {number} is {shown(row)}", "give a, alpha, d, theta, a mapping, or a DHRow")
    a, alpha, d, theta = row
    return DHRow(a, alpha, d, theta)


def _complete(row: DHRow, number: int, report: Report) -> DHRow:
    """Check the values of a row and fill in its names."""
    for parameter, allowed in _RANGES.items():
        value = getattr(row, parameter)
        if not isinstance(value, Real) or not allowed.holds(float(value)):
            raise report.error(None, f"row {number}: {parameter} = {shown(value)} is not {allowed}", "correct it")
    if row.kind not in get_args(JointKind):
        raise report.error(
            None, f"row {number}: unknown kind {shown(row.kind)}", f"use one of {', '.join(get_args(JointKind))}"
        )
    if not isinstance(row.limits, Limits) or not row.limits.lower < row.limits.upper:
        raise report.error(
            None, f"row {number}: limits = {shown(row.limits)}", "give Limits whose lower end is below the upper"
        )
    _check_inertia(row.inertia, number, report)
    return dataclasses.replace(row, name=row.name or f"joint{number}", link=row.link or f"link{number}")


def _check_inertia(inertia: Inertia, number: int, report: Report) -> None:
    if not isinstance(inertia, Inertia):
        problem = f"row {number}: inertia = {shown(inertia)} is not an Inertia"
        raise report.error(None, problem, "give Inertia(mass, com, rotational), all in frame i")
    arrays = (np.asarray(inertia.mass), np.asarray(inertia.com), np.asarray(inertia.rotational))
    allowed = (ranges.MASS, ranges.LENGTH, ranges.MOMENT_OF_INERTIA)
    if [array.shape for array in arrays] != [(), (3,), (3, 3)] or not all(
            each.holds(array).all() for each, array in zip(allowed, arrays, strict=True)):
        problem = f"row {number}: expected finite numbers of shapes (), (3,), (3, 3), received {shown(inertia)}"
        raise report.error(None, problem, "correct mass, com or rotational; their numbers may be up to "
                           f"{', '.join(f'{each.maximum:g}' for each in allowed)}")
    moments = np.linalg.eigvalsh(arrays[2])
    if inertia.mass < 0.0 or moments[0] < -1e-6 * np.max(np.abs(moments)):
        raise report.error(
            None,
            f"row {number}: mass {inertia.mass:g} kg, principal moments {shown(moments.tolist())} kg m^2",
            "no body has a negative mass or moment of inertia: correct them",
        )


def _check_pose(pose: Array, name: str, report: Report) -> Array:
    pose = np.asarray(pose, dtype=np.float64)
    if (
        pose.shape != (4, 4)
        or not ranges.LENGTH.holds(pose[:3, 3]).all()
        or not np.allclose(pose[:3, :3].T @ pose[:3, :3], np.eye(3), atol=1e-6)
        or np.linalg.det(pose[:3, :3]) < 0.0
        or not np.isfinite(pose).all()
        or not np.array_equal(pose[3], [0.0, 0.0, 0.0, 1.0])
    ):
        problem = f"{name} is not a pose: {shown(pose.tolist())}"
        raise report.error(None, problem, "give a homogeneous transform of shape (4, 4)")
    return pose


def _check_frame(frame: Frame, row_count: int, report: Report) -> Frame:
    if not -1 <= frame.joint < row_count:
        raise report.error(
            None,
            f"frame '{frame.name}' is on row {frame.joint}",
            f"rows count from 0 to {row_count - 1}; -1 is the base",
        )
    return Frame(frame.name, frame.joint, _check_pose(frame.pose_link_frame, f"frame '{frame.name}'", report))


def _check_distinct(kind: str, names: Sequence[str], report: Report) -> None:
    for name in names:
        if names.count(name) > 1:
            raise report.error(None, f"two {kind}s are called '{name}'", "rename one")
