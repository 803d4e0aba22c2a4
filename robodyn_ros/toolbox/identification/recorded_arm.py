# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A recording of a robot or a table of its motion, for commands that compare it with a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np

from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.base.errors import InputError, RecordingError
from robodyn_ros.base.optional_packages import require
from robodyn_ros.description.model import Array
from robodyn_ros.description.resources import robot_file
from robodyn_ros.robot import Robot
from robodyn_ros.toolbox.identification.measured_motion import (
    MIN_DURATION,
    EvenSamples,
    MeasuredMotion,
    check_units,
    check_velocities,
    even_samples,
    prepare,
)
from robodyn_ros.toolbox.recording.joint_table import JointTable, TableColumns, is_table
from robodyn_ros.toolbox.recording.run import Run


@dataclass(frozen=True, eq=False)
class RecordedArm:
    """Measured motion and efforts of a robot.

    Attributes:
        path: Path of the recording or table.
        source: The `Run`, or the `JointTable`.
        robot: The described robot: the given or the recorded one.
        time: Stamps, shape (N,) [s].
        position: Shape (N, n), in the order of the robot's joints [rad or m].
        velocity: Shape (N, n) [rad/s or m/s]; None: to be computed from positions.
        effort: Shape (N, n) [N m or N].
        motor_position: Motor positions at the gear outputs, shape (N, n) [rad or m]; None: not measured in addition to
            the links.
        warn: Called with each warning.
    """

    path: Path
    source: Run | JointTable
    robot: Robot
    time: Array
    position: Array
    velocity: Array | None
    effort: Array
    motor_position: Array | None
    warn: Callable[[str], None]

    @classmethod
    def from_file(cls, path: Path, columns: TableColumns, robot: str, namespace: str | None,
                  warn: Callable[[str], None]) -> Self:
        """Read a recording or a table.

        Args:
            path: Path of a rosbag2 folder with MCAP, an .mcap file, or a table.
            columns: Columns of a table.
            robot: Name or file of the robot; empty: the recorded one.
            namespace: Namespace of the recorded robot; None: there is only one.
            warn: Called with each warning.

        Raises:
            RobodynError: It cannot be read, or belongs to another robot; units are implausible; an option has no
                effect; or a package is missing.
        """
        if is_table(path):
            if not robot:
                raise InputError(f"{path} is a table, which names no robot: expected --robot, received none")
            described = Robot.from_urdf(robot_file(robot))
            table = JointTable.from_file(path, columns, described)
            arm = cls(path, table, described, table.time, table.position, table.velocity, table.effort,
                      table.motor_position, warn)
            remedy = ("angles are in rad (--degrees for others) and those of the joints (--motor-positions and "
                      "--ratios for those of the motors), stamps in s, efforts in N m or N")
        else:
            columns.refuse(path)
            require("mcap_ros2")
            run, described = recorded_run(path, robot, namespace, warn)
            states, order = run.states, [run.joint_names.index(name) for name in described.joint_names]
            arm = cls(path, run, described, states.time, states.position[:, order], None, states.effort[:, order],
                      _motor_positions(run, order), warn)
            remedy = "record rad, m, N m and N"
        check_units(described.model, arm.time, arm.position, arm.effort, str(path), remedy)
        if arm.velocity is not None:
            check_velocities(described.joint_names, arm.time, arm.position, arm.velocity, str(path))
        return arm

    def prepared_motors(self, cutoff: float, end: float = 1.0) -> MeasuredMotion:
        """Return the filtered motion of the motors at the times of `prepared`; arguments as there.

        Raises:
            RecordingError: As for `prepared`; or the motors jump and the links do not.
        """
        assert self.motor_position is not None
        motors = replace(self, position=self.motor_position, velocity=None, warn=lambda _: None)
        return motors.prepared(cutoff, end=end)

    def even_samples(self, cutoff: float, end: float = 1.0) -> EvenSamples:
        """Return the measured samples at even times, see `measured_motion.even_samples`.

        Args:
            cutoff: Cutoff of the position filter, which determines the least sampling rate [Hz].
            end: Share of the samples at which to end.
        """
        part = slice(round(end * len(self.time)))
        return even_samples(self.robot.model, self.time[part], self.position[part], self.effort[part], str(self.path),
                            None if self.velocity is None else self.velocity[part], cutoff)

    def prepared(self, cutoff: float, settings: HardwareSettings | None = None, begin: float = 0.0, end: float = 1.0,
                 shortest: float = MIN_DURATION) -> MeasuredMotion:
        """Return the filtered motion between two shares of the recording.

        Args:
            cutoff: Of the filter on positions [Hz].
            settings: Actuators, whose gear losses are subtracted from the efforts; None: no losses.
            begin: Share of the samples to skip at the beginning.
            end: Share of the samples at which to end.
            shortest: Least duration [s].
        """
        part = slice(round(begin * len(self.time)), round(end * len(self.time)))
        motion = prepare(self.robot.model, self.time[part], self.position[part], self.effort[part], str(self.path),
                         cutoff, None if self.velocity is None else self.velocity[part], shortest)
        for note in motion.notes:
            self.warn(note)
        if settings is not None:
            actuators = settings.joint_actuators(self.robot.model)
            motion = replace(motion, effort=actuators.effort_behind_gears(motion.effort, motion.v))
        return motion


def _motor_positions(run: Run, order: list[int]) -> Array | None:
    """Return the motor positions at the joint states' times; None: not recorded, or equal to the link positions."""
    motors, states = run.motors, run.states
    if motors is None or len(motors.time) < 2:
        return None
    found = np.stack([np.interp(states.time, motors.time, column) for column in motors.position.T], axis=1)
    rigid = np.array_equal(found, states.position)
    return None if rigid or not np.isfinite(found).all() else found[:, order]


def recorded_run(path: Path, given: str, namespace: str | None, warn: Callable[[str], None]) -> tuple[Run, Robot]:
    """Return a recording and the described robot: the given or, if none is, the recorded one; see `RecordedArm`."""
    run, robot = Run(path, namespace), None
    if given:
        robot = Robot.from_urdf(robot_file(given), gravity=run.gravity)
        recorded = (*run.joint_names, *run.other_joints)
        if not set(robot.joint_names) <= set(recorded):
            raise RecordingError(f"{path}: it is of another robot: robot '{robot.name}' has the joints "
                                 f"{', '.join(robot.joint_names)}, the recording {', '.join(recorded)}; give "
                                 "--robot the recorded robot")
        if set(robot.joint_names) != set(run.joint_names):
            run = Run(path, namespace, robot.joint_names)
    for note in run.notes:
        warn(note)
    return run, robot or run.robot
