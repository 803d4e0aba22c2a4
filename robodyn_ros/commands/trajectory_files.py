# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Reads joint trajectories from files: YAML of trajectory_msgs/JointTrajectory, CSV, or a recording."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from robodyn_ros.base.bounded_files import expand_user, read_file, read_yaml
from robodyn_ros.base.errors import InputError, shown, suggest, unknown
from robodyn_ros.base.optional_packages import require
from robodyn_ros.control.contract.controller import JointReference
from robodyn_ros.control.references.joint_trajectory import MAX_POINTS, JointTrajectory, Points
from robodyn_ros.control.references.trajectory_limits import check_positions, excessive_speeds
from robodyn_ros.description.model import Array
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.plant import default_position

MAX_CSV_BYTES = 16 * 2**20
"""Limit of a CSV file [bytes]."""
FIELDS = ("positions", "velocities", "accelerations")
_COLUMNS = {"": 0, "velocity": 1, "acceleration": 2}
_REST_TOLERANCE = 1e-9  # [rad or m]


def read_motion(path: str | Path, robot: Robot, place: str = "--trajectory") -> tuple[Points, JointTrajectory]:
    """Read a motion that a robot can follow.

    If the first point has time 0, the motion begins there, otherwise at the robot's default position.

    Args:
        path: A ``.yaml`` or ``.yml`` file, a ``.csv`` file, an ``.mcap`` file or the folder of a recording.
        robot: The robot.
        place: Option or key that names the file, for messages.

    Returns:
        The points in the order of the robot's joints, and the trajectory through them from time 0.

    Raises:
        InputError: The file cannot be read, is not a trajectory, has joints that differ from the robot's, or exceeds a
            limit.
        RecordingError: The recording cannot be read, or has no joint references.
    """
    path = expand_user(path)
    try:
        names, times, values = _read(path)
        points = Points.from_arrays(times, *(array[:, _columns(names, robot)] for array in values))
        rest = np.zeros(robot.n)
        begins_there = points.times[0] == 0.0
        q = points.q[0] if begins_there else default_position(robot)
        v, a = (np.nan_to_num(array[0]) if begins_there else rest for array in (points.v, points.a))
        start, points = JointReference(q, v, a), points.short_way(q, robot.model.angles)
        motion = JointTrajectory(start, 0.0, points)
        check_positions(robot.model, points, motion, start)
        if too_fast := excessive_speeds(robot.model, motion):
            raise InputError(f"{too_fast[0]}; give the points more time")
    except (InputError, OSError) as error:
        raise InputError(f"{place} {path}: {error}") from None
    return points, motion


def write_csv(path: Path, robot: Robot, points: Points) -> None:
    """Write points into a CSV file that `read_motion` reads.

    Args:
        path: The file.
        robot: The robot.
        points: Points with velocities and accelerations, in the order of its joints.

    Raises:
        OSError: The file cannot be written.
    """
    endings = ["" if not kind else f".{kind}" for kind in _COLUMNS]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["time", *(f"{joint}{ending}" for ending in endings for joint in robot.joint_names)])
        for time, *values in zip(points.times, points.q, points.v, points.a, strict=True):
            writer.writerow([f"{time:.9g}", *(f"{value:.12g}" for value in np.concatenate(values))])


def _read(path: Path) -> tuple[Sequence[str], Array, tuple[Array, Array, Array]]:
    """Return joint names, times (m,), and positions, velocities and accelerations, each (m, joints)."""
    if path.is_dir() or path.suffix == ".mcap":
        return _from_recording(path)
    if path.suffix == ".csv":
        return _from_csv(read_file(path, MAX_CSV_BYTES).decode("utf-8-sig", "replace"))
    if path.suffix in (".yaml", ".yml"):
        return _from_message(read_yaml(path))
    raise InputError("expected a file .yaml, .yml, .csv or .mcap, or the folder of a recording")


def _from_message(message: Any) -> tuple[Sequence[str], Array, tuple[Array, Array, Array]]:
    """Read a trajectory_msgs/JointTrajectory, alone or inside a moveit_msgs message."""
    if isinstance(message, Mapping):
        message = _without_moveit(message)
    _check_keys(message, ("header", "joint_names", "points"), "trajectory")
    names, points = message.get("joint_names"), message.get("points")
    if not isinstance(names, list) or not isinstance(points, list) or not points:
        raise InputError("expected the lists 'joint_names' and 'points', as of trajectory_msgs/JointTrajectory")
    stamp = (message.get("header") or {}).get("stamp")
    if stamp is not None and _seconds(stamp, "header.stamp") != 0.0:
        raise InputError("header.stamp: expected 0, since the motion begins at once: leave it out")
    times, rows = np.zeros(len(points)), np.full((3, len(points), len(names)), np.nan)
    for index, point in enumerate(points):
        _check_keys(point, (*FIELDS, "effort", "time_from_start"), f"point {index}")
        if point.get("effort"):
            raise InputError(f"point {index}: effort: expected none, as controllers follow motion only")
        times[index] = _seconds(point.get("time_from_start"), f"point {index}: time_from_start")
        for field, row in zip(FIELDS, rows[:, index], strict=True):
            if field == "positions" or point.get(field):
                row[:] = _numbers(point.get(field), len(names), f"point {index}: {field}")
    return [str(name) for name in names], times, (rows[0], rows[1], rows[2])


def _without_moveit(message: Mapping[str, Any]) -> Any:
    """Return the joint trajectory of a moveit_msgs message: RobotTrajectory, or one that contains it."""
    if isinstance(parts := message.get("trajectory"), list):  # in DisplayTrajectory
        if len(parts) != 1:
            raise InputError(f"trajectory: expected one RobotTrajectory, received {len(parts)}; give each one a file")
        return _without_moveit(parts[0]) if isinstance(parts[0], Mapping) else parts[0]
    for field in ("trajectory", "planned_trajectory", "solution"):
        if isinstance(inner := message.get(field), Mapping):
            return _without_moveit(inner)
    if "joint_trajectory" not in message:
        return message
    _check_keys(message, ("joint_trajectory", "multi_dof_joint_trajectory"), "RobotTrajectory")
    if (message.get("multi_dof_joint_trajectory") or {}).get("points"):
        raise InputError("multi_dof_joint_trajectory: expected no points, as this robot's joints have one degree of "
                         "freedom each")
    return message["joint_trajectory"]


def _from_csv(text: str) -> tuple[Sequence[str], Array, tuple[Array, Array, Array]]:
    """Read columns ``time``, ``JOINT``, ``JOINT.velocity`` and ``JOINT.acceleration`` by the names in the first row."""
    lines = [(number, row) for number, row in enumerate(csv.reader(io.StringIO(text)), 1) if any(map(str.strip, row))]
    header = [name.strip() for name in lines[0][1]] if lines else []
    if "time" not in header or len(set(header)) < len(header):
        raise InputError(f"line 1: expected different names of columns, time [s] among them, received {header}")
    kinds: dict[str, tuple[str, int]] = {}
    for column in header:
        joint, _, kind = column.rpartition(".")
        kinds[column] = (joint, _COLUMNS[kind]) if joint and kind in _COLUMNS else (column, 0)
    names = [column for column in header if column != "time" and kinds[column] == (column, 0)]
    rows, times = np.full((3, len(lines) - 1, len(names)), np.nan), np.zeros(len(lines) - 1)
    for column, (joint, _) in kinds.items():
        if column != "time" and joint not in names:
            raise InputError(f"line 1: column '{column}': there is no column '{joint}': {suggest(joint, names)}")
    for index, (number, row) in enumerate(lines[1:]):
        values = dict(zip(header, _numbers(row, len(header), f"line {number}"), strict=True))
        times[index] = values.pop("time")
        for column, value in values.items():
            joint, which = kinds[column]
            rows[which, index, names.index(joint)] = value
    return names, times, (rows[0], rows[1], rows[2])


def _from_recording(path: Path) -> tuple[Sequence[str], Array, tuple[Array, Array, Array]]:
    """Return the recorded joint references, from the first movement to the last."""
    require("mcap_ros2")
    from robodyn_ros.toolbox.recording.replay_plan import ReferenceMotion, ReplayPlan
    from robodyn_ros.toolbox.recording.run import Run

    run = Run(path)
    plan = ReplayPlan(run, swaps=False)
    motions = [request for request in plan.requests if isinstance(request, ReferenceMotion)]
    if not motions:
        raise InputError("no controller followed joints while it was recorded")
    times = np.concatenate([motion.tick * plan.period + motion.points.times for motion in motions])
    q, v, a = (np.vstack([getattr(motion.points, name) for motion in motions]) for name in "qva")
    moving = np.flatnonzero(np.abs(np.diff(q, axis=0)).max(axis=1) > _REST_TOLERANCE)
    if not len(moving):
        raise InputError("the references stood still while it was recorded")
    first, last = int(moving[0]), int(moving[-1]) + 1
    kept = np.unique(np.append(np.arange(first, last, -(-(last - first + 2) // MAX_POINTS)), last))
    v[last] = a[last] = 0.0
    return run.joint_names, times[kept] - times[first], (q[kept], v[kept], a[kept])


def _columns(names: Sequence[str], robot: Robot) -> list[int]:
    """Return the column of each joint of a robot among named columns."""
    for name in names:
        robot.model.joint_index(name)  # raises for an unknown joint
    if len(set(names)) < len(names):
        raise InputError(f"expected different joints, received {', '.join(names)}")
    missing = [name for name in robot.joint_names if name not in names]
    if missing:
        raise InputError(f"expected all joints of robot '{robot.name}', {', '.join(missing)} "
                         f"{'is' if len(missing) == 1 else 'are'} missing")
    return [names.index(name) for name in robot.joint_names]


def _seconds(value: Any, where: str) -> float:
    if isinstance(value, Mapping):
        _check_keys(value, ("sec", "nanosec"), where)
        sec, nanosec = _numbers([value.get("sec", 0), value.get("nanosec", 0)], 2, where)
        return sec + 1e-9 * nanosec
    return _numbers([value], 1, where)[0]


def _numbers(values: Any, count: int, where: str) -> list[float]:
    try:
        numbers = [float(value) for value in values]
    except (TypeError, ValueError):
        raise InputError(f"{where}: expected {count} numbers, received {shown(values)}") from None
    if len(numbers) != count:
        raise InputError(f"{where}: expected {count} numbers, received {len(numbers)}")
    return numbers


def _check_keys(section: Any, known: Iterable[str], where: str) -> None:
    if not isinstance(section, Mapping):
        raise InputError(f"{where}: expected the keys {', '.join(known)}, received {shown(section)}")
    for key in section:
        if key not in known:
            raise InputError(f"{where}: {unknown('key', key, known)}")
