# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A recording of a robot or a table of its motion, for commands that compare it with a model."""

from __future__ import annotations

import sys
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from robodyn_ros.base.errors import InputError, RecordingError
from robodyn_ros.base.optional_packages import require
from robodyn_ros.commands.table_columns import JointTable, is_table, refuse_table_options
from robodyn_ros.description.model import Array


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
    """

    path: Path
    source: Any
    robot: Any
    time: Array
    position: Array
    velocity: Array | None
    effort: Array
    motor_position: Array | None = None

    @classmethod
    def from_options(cls, path: Path, options: Namespace) -> Self:
        """Read a recording or a table.

        Args:
            path: Path of a rosbag2 folder with MCAP, an .mcap file, or a table.
            options: With ``robot``, ``namespace``, and those of `add_table_options`.

        Raises:
            RobodynError: It cannot be read, or belongs to another robot; units are implausible; an option has no
                effect; or a package is missing.
        """
        from robodyn_ros.toolbox.identification.measured_motion import check_units, check_velocities

        if is_table(path):
            robot = _given_robot(path, options)
            source: Any = JointTable.from_options(path, options, robot)
            arm = cls(path, source, robot, source.time, source.position, source.velocity, source.effort,
                      source.motor_position)
            remedy = ("angles are in rad (--degrees for others) and those of the joints (--motor-positions and "
                      "--ratios for those of the motors), stamps in s, efforts in N m or N")
        else:
            refuse_table_options(options, path)
            require("mcap_ros2")
            source, robot = recorded_run(path, options)
            states, order = source.states, [source.joint_names.index(name) for name in robot.joint_names]
            arm = cls(path, source, robot, states.time, states.position[:, order], None, states.effort[:, order],
                      _motor_positions(source, order))
            remedy = "record rad, m, N m and N"
        check_units(robot.model, arm.time, arm.position, arm.effort, str(path), remedy)
        if arm.velocity is not None:
            check_velocities(robot.joint_names, arm.time, arm.position, arm.velocity, str(path))
        return arm

    def prepared_motors(self, cutoff: float, end: float = 1.0) -> Any:
        """Return the filtered motion of the motors at the times of `prepared`; arguments as there.

        Raises:
            RecordingError: As for `prepared`; or the motors jump and the links do not.
        """
        from dataclasses import replace

        position: Any = self.motor_position
        motors = replace(self, position=position, velocity=None)
        return motors.prepared(cutoff, end=end, prints_warnings=False)

    def even_samples(self, cutoff: float, end: float = 1.0) -> Any:
        """Return the measured samples at even times, see `measured_motion.even_samples`.

        Args:
            cutoff: Cutoff of the position filter, which determines the least sampling rate [Hz].
            end: Share of the samples at which to end.
        """
        from robodyn_ros.toolbox.identification.measured_motion import even_samples

        part = slice(round(end * len(self.time)))
        return even_samples(self.robot.model, self.time[part], self.position[part], self.effort[part], str(self.path),
                            None if self.velocity is None else self.velocity[part], cutoff)

    def prepared(self, cutoff: float, settings: Any = None, begin: float = 0.0, end: float = 1.0,
                 shortest: float | None = None, prints_warnings: bool = True) -> Any:
        """Return the filtered motion between two shares of the recording; warnings are printed.

        Args:
            cutoff: Of the filter on positions [Hz].
            settings: `HardwareSettings`, whose gear losses are subtracted from the efforts; None: no losses.
            begin: Share of the samples to skip at the beginning.
            end: Share of the samples at which to end.
            shortest: Least duration [s]; None: `MIN_DURATION`.
            prints_warnings: Whether warnings are printed.
        """
        from dataclasses import replace

        from robodyn_ros.toolbox.identification.measured_motion import MIN_DURATION, prepare

        part = slice(round(begin * len(self.time)), round(end * len(self.time)))
        motion = prepare(self.robot.model, self.time[part], self.position[part], self.effort[part], str(self.path),
                         cutoff, None if self.velocity is None else self.velocity[part],
                         MIN_DURATION if shortest is None else shortest)
        for note in motion.notes if prints_warnings else ():
            print(f"robodyn: warning: {note}", file=sys.stderr)
        if settings is not None:
            actuators = settings.joint_actuators(self.robot.model)
            motion = replace(motion, effort=actuators.effort_behind_gears(motion.effort, motion.v))
        return motion


def _motor_positions(run: Any, order: list[int]) -> Array | None:
    """Return the motor positions at the joint states' times; None: not recorded, or equal to the link positions."""
    import numpy as np

    motors, states = run.motors, run.states
    if motors is None or len(motors.time) < 2:
        return None
    found = np.stack([np.interp(states.time, motors.time, column) for column in motors.position.T], axis=1)
    rigid = np.array_equal(found, states.position)
    return None if rigid or not np.isfinite(found).all() else found[:, order]


def recorded_run(path: Path, options: Namespace) -> tuple[Any, Any]:
    """Return the recording and the described robot: the given or the recorded one."""
    from robodyn_ros.description.resources import robot_file
    from robodyn_ros.robot import Robot
    from robodyn_ros.toolbox.recording.run import Run

    run, robot = Run(path, options.namespace or None), None
    if options.robot:
        robot = Robot.from_urdf(robot_file(options.robot), gravity=run.gravity)
        recorded = (*run.joint_names, *run.other_joints)
        if not set(robot.joint_names) <= set(recorded):
            raise RecordingError(f"{path}: it is of another robot: robot '{robot.name}' has the joints "
                                 f"{', '.join(robot.joint_names)}, the recording {', '.join(recorded)}; give "
                                 "--robot the recorded robot")
        if set(robot.joint_names) != set(run.joint_names):
            run = Run(path, options.namespace or None, robot.joint_names)
    for note in run.notes:
        print(f"robodyn: warning: {note}", file=sys.stderr)
    return run, robot or run.robot


def _given_robot(path: Path, options: Namespace) -> Any:
    from robodyn_ros.description.resources import robot_file
    from robodyn_ros.robot import Robot

    if not options.robot:
        raise InputError(f"{path} is a table, which names no robot: expected --robot, received none")
    return Robot.from_urdf(robot_file(options.robot))
