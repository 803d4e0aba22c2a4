# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Options that several commands share, and a function that declares options with a default."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from robodyn_ros.commands.simulation_setup import DEFAULT_ROBOT

DEMO_CONTROLLERS = ["pd", "computed_torque"]
"""Controllers of ``robodyn demo`` where none are named."""

Subparsers: TypeAlias = "_SubParsersAction[ArgumentParser]"
"""Type of the result of ``add_subparsers``. Each module of a command adds its parser and the default ``run``."""


def add_robot_options(parser: ArgumentParser) -> None:
    """Add the options that name the robot and its tip link; see `given_robot`."""
    add_options(parser, ("robot", DEFAULT_ROBOT, "name of a shipped robot or of one of robot_descriptions, or path of "
                         "a URDF, MJCF or xacro file; arguments may follow a xacro file: 'arm.urdf.xacro "
                         "gripper:=true'"))
    add_complete_option(parser)
    parser.add_argument("--tip-link", metavar="LINK", help="link that laws and commands of the tip move (default: the "
                        "tool frame of the longest arm, before the fingers of a gripper)")


def given_robot(options: Namespace) -> Any:
    """Return the `Robot` that the options name.

    Raises:
        RobodynError: There is none, or it cannot be used.
    """
    from robodyn_ros.resources import robot_file
    from robodyn_ros.robot import Robot  # other commands shall not wait for SciPy

    return Robot.from_urdf(robot_file(options.robot), tip_link=options.tip_link)


def add_task_options(parser: ArgumentParser, controllers: str, defaults: Sequence[str] = ()) -> None:
    """Add the options of commands that have controllers follow a motion: robot, controllers, motion and actuators.

    Args:
        parser: Parser of a command.
        controllers: Help text of the controllers.
        defaults: The controllers without this option.
    """
    add_robot_options(parser)
    parser.add_argument("--controllers", nargs="+", metavar="NAME", default=list(defaults), help=controllers)
    parser.add_argument("--trajectory", metavar="FILE", help="follow this motion: trajectory_msgs/JointTrajectory as "
                        "YAML, CSV with the columns time and joints, or a recording (default: a test motion)")
    parser.add_argument("--actuators", metavar="FILE", help="YAML file of actuators and friction, or its name in "
                        "config/ (default: ideal sources of effort, friction of the robot's description)")


def add_options(parser: ArgumentParser, *options: tuple[str, str | int | float | Path, str]) -> None:
    """Add options with one value each.

    Args:
        parser: Parser of a command.
        *options: Name, default and help text of each option; the value has the type of the default.
    """
    for name, default, text in options:
        parser.add_argument(f"--{name}", type=type(default), default=default, help=f"{text} (default: %(default)s)")


def add_complete_option(parser: ArgumentParser) -> None:
    """Add ``--complete``, which `command_line.main` carries out for every command with a robot."""
    parser.add_argument("--complete", metavar="HOW", default="", help="estimate the robot's missing inertias, as "
                        "robodyn complete does: mass=KG or density=KG_PER_M3, and repair, with commas; auto: no number")
