# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Joint motion and efforts in the columns of a table, measured at the joints or at the motors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.base.bounded_files import expand_user
from robodyn_ros.base.checks import ANY_FINITE, as_joint_array
from robodyn_ros.base.errors import InputError, RecordingError, list_names
from robodyn_ros.description.model import Array
from robodyn_ros.robot import Robot
from robodyn_ros.toolbox.recording.bag_reader import FROM_ROS1
from robodyn_ros.toolbox.recording.table_file import Table

LARGEST_CURRENT = 500.0
"""A current above this is assumed to be in another unit [A]."""

MIN_RATIO = 1e-6
"""Least absolute gear ratio (motor turns per joint turn); the greatest is its reciprocal."""


def is_table(path: Path) -> bool:
    """Return whether a path is a table, not a recording of ROS 2.

    Raises:
        RecordingError: It is a recording of ROS 1.
    """
    if path.suffix == ".bag":
        raise RecordingError(f"{path}: it is a recording of ROS 1, {FROM_ROS1}")
    return path.suffix not in ("", ".mcap") and not expand_user(path).is_dir()


@dataclass(frozen=True)
class TableColumns:
    """Columns of a table of a robot's motion, by their names; see `robodyn identify --help`.

    Attributes:
        rate: Sampling rate, if no column has stamps [Hz].
        time: Column of the stamps.
        positions: Columns of the joint positions, one for each joint, as for `velocities` to `currents`.
        motor_positions: Those of the motor positions.
        velocities: Those of the velocities, at the side of the positions.
        efforts: Those of the joint efforts.
        motor_efforts: Those of the torques of the motors.
        currents: Those of the currents of the motors.
        torque_constants: Of the motors, or factors of the efforts; one, or one for each joint [N m/A].
        ratios: Turns of a motor per turn of its joint; one, or one for each joint.
        coupling: ``MOTOR:JOINT=N``: turns of a joint's motor per turn of another joint.
        degrees: Whether positions and velocities are in degrees.
        actuators: File of the actuators, which gives the turns of the motors; empty: none.
    """

    rate: float | None = None
    time: str | None = None
    positions: Sequence[str] | None = None
    motor_positions: Sequence[str] | None = None
    velocities: Sequence[str] | None = None
    efforts: Sequence[str] | None = None
    motor_efforts: Sequence[str] | None = None
    currents: Sequence[str] | None = None
    torque_constants: Sequence[float] = ()
    ratios: Sequence[float] = ()
    coupling: Sequence[str] = ()
    degrees: bool = False
    actuators: str = ""

    def refuse(self, path: Path) -> None:
        """Raise if a column or a unit was chosen for a recording of ROS 2.

        Raises:
            InputError: One was.
        """
        given = [f"--{each.name.replace('_', '-')}" for each in fields(self)
                 if each.name != "actuators" and getattr(self, each.name)]
        if given:
            raise InputError(f"{path} is a recording of ROS 2, whose topics name everything: {', '.join(given)} "
                             f"{'is' if len(given) == 1 else 'are'} for tables; leave out")


@dataclass(frozen=True, eq=False)
class JointTable:
    """Motion and efforts at the joints.

    Attributes:
        path: Path of the table.
        time: Stamps, shape (N,) [s].
        position: Shape (N, n) [rad or m].
        velocity: Shape (N, n) [rad/s or m/s]; None: not measured.
        effort: Shape (N, n) [N m or N].
        motor_position: Motor positions at the gear outputs if the joints were measured, too, shape (N, n) [rad or m];
            None: not measured.
        motors: Motor turns per turn of each joint, shape (n, n).
        from_motors: Whether the efforts were measured at the motors.
        at_motors: Whether the positions were measured at the motors.
    """

    path: Path
    time: Array
    position: Array
    velocity: Array | None
    effort: Array
    motor_position: Array | None
    motors: Array
    from_motors: bool
    at_motors: bool

    @classmethod
    def from_file(cls, path: Path, chosen: TableColumns, robot: Robot) -> Self:
        """Read a table.

        Args:
            path: The table.
            chosen: Its columns.
            robot: The robot whose joints the columns belong to.

        Raises:
            RecordingError: The file cannot be read, or its numbers are implausible.
            InputError: Options are missing or exclude each other, or a column is missing.
        """
        files = {expand_user(path): Table.from_file(path)}
        motors = motor_matrix(chosen, robot)
        uses: dict[str, str] = {} if chosen.time is None else {chosen.time: "time"}

        def columns(name: str) -> Array | None:
            return None if getattr(chosen, name) is None else _columns(files, path, getattr(chosen, name),
                                                                        name, robot, uses)

        at_joints, at_motors = columns("positions"), columns("motor_positions")
        if at_joints is None and at_motors is None:
            raise InputError(f"{path}: expected --positions or --motor-positions, or both, received none; columns are "
                             f"{list_names(files[expand_user(path)].columns)}")
        velocity = columns("velocities")
        reflected = None if at_motors is None else _to_joints(at_motors, motors)
        position: Any = reflected if at_joints is None else at_joints
        if velocity is not None and at_joints is None:
            velocity = _to_joints(velocity, motors)
        if chosen.degrees:
            turning = np.array([joint.kind != "prismatic" for joint in robot.model.leaders])
            unit = np.where(turning, np.pi / 180.0, 1.0)
            position, velocity = position * unit, None if velocity is None else velocity * unit
            reflected = None if reflected is None else reflected * unit
        efforts = {name: columns(name) for name in ("efforts", "motor_efforts", "currents")}
        given = {name: values for name, values in efforts.items() if values is not None}
        if len(given) != 1:
            raise InputError(f"{path}: expected one of --efforts, --motor-efforts and --currents, received "
                             f"{len(given) or 'none'}")
        (kind, effort), = given.items()
        if kind == "currents":
            _check_currents(path, effort, chosen, robot)
        effort = effort * as_joint_array(chosen.torque_constants or [1.0], robot.n, ANY_FINITE, "--torque-constants",
                                         robot.joint_names)
        if kind != "efforts":
            effort = effort @ motors
        time = _time(files[expand_user(path)], chosen, len(position))
        arrays = [time, position, effort, *(each for each in (velocity, reflected) if each is not None)]
        if len({len(array) for array in arrays}) > 1:
            raise RecordingError(f"{path}: expected columns of one length, received "
                                 f"{', '.join(str(len(array)) for array in arrays)} rows of stamps, positions, efforts "
                                 f"{'and velocities ' if velocity is not None else ''}in its files")
        motor_position = None if at_joints is None else reflected
        return cls(path, time, position, velocity, effort, motor_position, motors, kind != "efforts",
                   at_joints is None)

    @property
    def coupling(self) -> Array | None:
        """Coupling of motors to several joints, relative to the ratio of their own, shape (n, n); None: uncoupled."""
        own = np.diagonal(self.motors)
        return None if np.array_equal(self.motors, np.diag(own)) else self.motors / own[:, None]

    @property
    def has_rotor(self) -> NDArray[np.bool_]:
        """Which joints have a geared motor, whose rotor counts, shape (n,)."""
        return np.abs(np.diagonal(self.motors)) != 1.0


def motor_matrix(chosen: TableColumns, robot: Robot) -> Array:
    """Return the motor turns per joint turn from the chosen, or else the actuator file, shape (n, n).

    Raises:
        InputError: A number, or the name of a joint, does not fit; or the options and the file differ.
    """
    described = _described_motors(chosen, robot)
    if described is not None and not chosen.ratios and not chosen.coupling:
        return described
    ratios = as_joint_array(chosen.ratios or [1.0], robot.n, ANY_FINITE, "--ratios", robot.joint_names)
    wrong = ratios[(np.abs(ratios) < MIN_RATIO) | (np.abs(ratios) > 1.0 / MIN_RATIO)]
    if len(wrong):
        raise InputError(f"--ratios: expected turns of a motor for one of its joint, from {MIN_RATIO:g} to "
                         f"{1.0 / MIN_RATIO:g} in absolute value, received {wrong[0]:g}")
    motors = np.diag(ratios)
    for text in chosen.coupling:
        names, _, number = text.partition("=")
        motor, _, joint = names.partition(":")
        try:
            place, turns = (robot.model.joint_index(motor), robot.model.joint_index(joint)), float(number)
            if place[0] == place[1]:
                raise ValueError("the joint of the motor itself belongs to --ratios")
            if motors[place] or not np.isfinite(turns):
                raise ValueError("expected one finite number for a motor and a joint")
        except ValueError as error:  # includes InputError
            raise InputError(f"--coupling {text}: expected MOTOR:JOINT=TURNS with the names of two joints, such as "
                             f"{robot.joint_names[-1]}:{robot.joint_names[-2]}=32; {error}") from None
        motors[place] = turns
    if described is not None and not np.allclose(motors, described):
        raise InputError(f"--ratios, --coupling: {chosen.actuators} has other turns of the motors: "
                         f"{described.tolist()}; leave the options out, or correct the file")
    if np.linalg.cond(motors / np.abs(ratios)[:, None]) > 1e6:
        raise InputError("--coupling: expected independent couplings, received a singular matrix")
    return motors


def _described_motors(chosen: TableColumns, robot: Robot) -> Array | None:
    """Return the motor turns per joint turn from the actuator file, shape (n, n); None: no file with motors."""
    if not chosen.actuators:
        return None
    actuators = HardwareSettings.named(chosen.actuators).joint_actuators(robot.model)
    if not actuators.is_motor.any():
        return None
    return np.stack([actuators.motors.gear.motor_motion(unit) for unit in np.eye(robot.n)], axis=1)


def _columns(files: dict[Path, Table], path: Path, patterns: Sequence[str], option: str, robot: Robot,
             uses: dict[str, str]) -> Array:
    """Return the columns named by an option, one per joint, shape (N, n); `uses` has the columns of earlier chosen."""
    names, arrays = [], []
    for pattern in patterns:
        table, _, column = pattern.rpartition(":")
        other = expand_user(path).parent / table
        use_other = bool(table) and pattern not in files[expand_user(path)].columns
        if use_other and other not in files:
            files[other] = Table.from_file(other)
        found, values = files[other if use_other else expand_user(path)].array([column if use_other else pattern])
        names += [f"{table}:{name}" if use_other else name for name in found]
        arrays.append(values)
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"--{option.replace('_', '-')}: expected another column for each joint, received '{twice}' "
                         "twice")
    if shared := next((name for name in names if name in uses), None):
        raise InputError(f"--{option.replace('_', '-')}: expected other columns than --"
                         f"{uses[shared].replace('_', '-')}, received '{shared}' for both")
    uses |= dict.fromkeys(names, option)
    if len(names) != robot.n:
        raise InputError(f"--{option.replace('_', '-')}: expected {robot.n} columns, for "
                         f"{list_names(robot.joint_names)} of robot '{robot.name}' in this order, received "
                         f"{len(names)}: {list_names(names)}")
    if len({len(array) for array in arrays}) > 1:
        raise RecordingError(f"{path}: expected files of as many rows, received "
                             f"{' and '.join(str(len(array)) for array in arrays)}")
    return np.concatenate(arrays, axis=1)


def _to_joints(values: Any, motors: Array) -> Array:
    return np.asarray(np.linalg.solve(motors, values.T).T)


def _check_currents(path: Path, currents: Array, chosen: TableColumns, robot: Robot) -> None:
    if not chosen.torque_constants:
        raise InputError("--currents: expected --torque-constants [N m/A], of the motors of "
                         f"{list_names(robot.joint_names)}, received none")
    greatest = np.nanmax(np.abs(currents), axis=0, initial=0.0)
    if greatest.max() > LARGEST_CURRENT:
        j = int(np.argmax(greatest))
        raise RecordingError(f"{path}: the current of joint '{robot.joint_names[j]}' reaches {greatest[j]:.4g} A: "
                             f"expected at most {LARGEST_CURRENT:g} A; is the column in mA? write A into the file")


def _time(table: Table, chosen: TableColumns, rows: int) -> Array:
    if bool(chosen.time) == bool(chosen.rate):
        raise InputError(f"{table.path}: expected --time COLUMN or --rate HZ, received "
                         f"{'both' if chosen.time else 'none'}; columns are {list_names(table.columns)}")
    if chosen.rate:
        return np.arange(rows) / chosen.rate
    (name,), values = table.array([chosen.time or ""])
    time = values[:, 0]
    back = np.flatnonzero(~(np.diff(time) >= 0.0))
    if len(back):
        raise RecordingError(f"{table.path}: column '{name}': expected stamps that never go back, received "
                             f"{time[back[0] + 1]:.9g} after {time[back[0]]:.9g} in row {back[0] + 2}")
    return np.asarray(time - time[0])
