# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Shared options of commands, and a function that declares options with a default."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace, _ActionsContainer, _SubParsersAction
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from robodyn_ros.base.common_fields import COMPLETE, FILTER, PARTS_OF_DRIVETRAINS, ROBOT, TIP_LINK, filtered_name
from robodyn_ros.base.errors import InputError
from robodyn_ros.base.fields import Field

DEMO_CONTROLLERS = ["pd", "computed_torque"]
"""Default controllers of ``robodyn demo``."""

Subparsers: TypeAlias = "_SubParsersAction[ArgumentParser]"
"""Type of the result of ``add_subparsers``. Each module of a command adds its parser and the default ``run``."""


def warn(text: str) -> None:
    """Print a warning on stderr."""
    print(f"robodyn: warning: {text}", file=sys.stderr)


ROBOT_OPTIONS = (ROBOT.name, COMPLETE.name, TIP_LINK.name)
"""Names of the options of `add_robot_options`."""


def add_robot_options(parser: ArgumentParser) -> None:
    """Add the options that name the robot and its tip link; see `given_robot`."""
    add_options(parser, ROBOT)
    add_complete_option(parser)
    add_tip_link_option(parser)


def add_tip_link_option(parser: ArgumentParser) -> None:
    """Add ``--tip-link``."""
    add_options(parser, TIP_LINK, metavar="LINK")


def given_robot(options: Namespace) -> Any:
    """Return the `Robot` that the options name.

    Raises:
        RobodynError: The robot does not exist, or cannot be used.
    """
    from robodyn_ros.description.resources import robot_file
    from robodyn_ros.robot import Robot  # other commands shall not wait for SciPy

    return Robot.from_urdf(robot_file(options.robot), tip_link=options.tip_link)


def add_task_options(parser: ArgumentParser, controllers: str, defaults: Sequence[str] = ()) -> None:
    """Add the options of commands in which controllers follow a motion: robot, controllers, motion and actuators.

    Args:
        parser: Parser of a command.
        controllers: Help text of the controllers.
        defaults: The controllers without this option.
    """
    parser.add_argument("more_controllers", nargs="*", metavar="NAME", help="short for --controllers")
    add_robot_options(parser)
    parser.add_argument("--controllers", nargs="+", metavar="NAME", default=[], help=controllers)
    add_filter_option(parser)
    parser.set_defaults(default_controllers=tuple(defaults))
    parser.add_argument("--trajectory", metavar="FILE", help="follow this motion: trajectory_msgs/JointTrajectory as "
                        "YAML, CSV with the columns time and joints, or a recording (default: a test motion)")
    parser.add_argument("--actuators", metavar="FILE", help="YAML file of actuators and friction, or its name in "
                        "config/ (default: ideal sources of effort, friction of the robot's description)")


def named_controllers(options: Namespace, defaults: Iterable[str] | None = None) -> list[str]:
    """Return the controllers named by the options of `add_task_options`, or else the defaults."""
    named = [*options.more_controllers, *options.controllers]
    chosen = named or list(options.default_controllers if defaults is None else defaults)
    return [filtered_name(name, options.filter) for name in chosen]


def add_law_ignores_option(parser: ArgumentParser) -> None:
    """Add ``--law-ignores``."""
    parser.add_argument("--law-ignores", nargs="+", choices=PARTS_OF_DRIVETRAINS, default=[], metavar="PART",
                        help="what laws and their default gains ignore of actuators and description: rotors, friction, "
                        "springs; all three: they know rigid links only")


def add_filter_option(parser: ArgumentParser) -> None:
    """Add ``--filter``."""
    parser.add_argument("--filter", choices=FILTER.choices, help="safety: the controllers behind the safety filter; "
                        "friction: the friction of the drives compensated; as with '+safety' or '+friction' behind "
                        "their names")


def add_options(parser: _ActionsContainer, *options: Field, metavar: str | None = None) -> None:
    """Add options with one value each, or several for a list; values are checked during parsing.

    Args:
        parser: Parser of a command, or a group of its options.
        *options: Declarations; underscores of a name become hyphens.
        metavar: Placeholder of the value in the help.
    """
    for option in options:
        meaning = option.text.removesuffix(".").replace("%", "%%")
        meaning = meaning if meaning[1:2].isupper() else meaning[:1].lower() + meaning[1:]
        default = "" if option.default in (None, []) else " (default: %(default)s)"
        several: dict[str, Any] = {"nargs": "+"} if option.is_list else {}
        parser.add_argument(f"--{option.name.replace('_', '-')}", type=reader(option), default=option.default,
                            choices=option.choices or None, metavar=metavar, help=meaning + default, **several)


def reader(option: Field) -> Callable[[str], Any]:
    """Return a function for argparse that reads and checks a word, or each word of a list."""
    one = option.renamed(option.name, default=None, kind=option.value_type, length=None)

    def read(word: str) -> Any:
        try:
            return one.read(word, "")
        except InputError as error:
            raise ArgumentTypeError(str(error).removeprefix(": ")) from None

    return read


def add_complete_option(parser: ArgumentParser) -> None:
    """Add ``--complete``; `command_line.main` applies it for every command with a robot."""
    add_options(parser, COMPLETE, metavar="HOW")
