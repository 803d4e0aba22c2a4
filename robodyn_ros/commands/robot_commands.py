# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``robodyn robots`` lists the shipped robots; ``robodyn check`` reads a URDF and prints its contents."""

from __future__ import annotations

import warnings
from argparse import Namespace

from robodyn_ros.base.common_fields import STEP
from robodyn_ros.base.errors import DescriptionError, DescriptionRemark, DescriptionWarning
from robodyn_ros.commands.law_parameters import add_params_file_option, law_report
from robodyn_ros.commands.options import Subparsers, add_complete_option, add_options, add_tip_link_option

FINDINGS = 1


def add_commands(commands: Subparsers) -> None:
    """Add ``robots`` and ``check``."""
    robots = commands.add_parser("robots", help="list the robots that come with the package")
    robots.set_defaults(run=run_robots)

    check = commands.add_parser(
        "check", help="print what a URDF contains, and what is doubtful in it",
        description="Print a robot's tree, limits, masses, reach and Denavit-Hartenberg table, the loader's warnings, "
        "and doubts about its values. Exit code: 0 without findings, 1 with warnings or doubts, 2 if the robot cannot "
        "be used.",
    )
    check.add_argument("file", help="path of a URDF or xacro file, or name of a shipped robot")
    check.add_argument("--actuators", metavar="FILE", help="YAML file of actuators and friction, or its name in "
                       "config/: its motors, friction and elastic joints are described, too")
    add_options(check, STEP)
    add_params_file_option(check)
    check.add_argument("--strict", action="store_true", help="refuse a robot with warnings or doubts")
    add_complete_option(check)
    add_tip_link_option(check)
    check.set_defaults(run=run_check)


def run_robots(_: Namespace) -> int:
    """List the robots that come with the package."""
    from robodyn_ros.description import resources
    from robodyn_ros.description.urdf import load_urdf

    for name in resources.shipped_robots():
        model = load_urdf(resources.robot_file(name))
        print(f"{name:<12} {model.n} joints ({', '.join(model.joint_names)}), tip link {model.tip_link}")
    return 0


def run_check(options: Namespace) -> int:
    """Read a URDF, and print its contents and doubtful values.

    Returns:
        The exit code: 0, or 1 if there are warnings or doubts.

    Raises:
        RobodynError: The file does not exist, the description cannot be used, or it has findings and ``--strict`` is
            set.
    """
    from robodyn_ros.commands.robot_report import describe_actuators, report
    from robodyn_ros.description.resources import robot_file
    from robodyn_ros.robot import Robot

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DescriptionWarning)
        file = robot_file(options.file)
        left_out = [str(each.message) for each in caught if not isinstance(each.message, DescriptionRemark)]
        if options.strict and left_out:
            raise DescriptionError("\n".join([*left_out, "(an error because of --strict)"]))
        robot = Robot.from_urdf(file, strict=options.strict, tip_link=options.tip_link)
    lines, doubts = report(robot, file)
    if options.actuators is not None:
        more, doubted = describe_actuators(robot, options.actuators, options.step)
        lines, doubts = [*lines, "", *more], [*doubts, *doubted]
    if options.params_file:
        more, doubted = law_report(robot, options.params_file)
        lines, doubts = [*lines, "", *more], [*doubts, *doubted]
    if options.strict and doubts:
        raise DescriptionError("\n".join([*doubts, "(an error because of --strict)"]))
    print("\n".join(lines))
    remarks = [warning.message for warning in caught if isinstance(warning.message, DescriptionRemark)]
    warned = [warning.message for warning in caught if warning.message not in remarks]
    for kind, messages in (("remark", remarks), ("warning", warned), ("doubt", doubts)):
        for message in messages:
            print(f"{kind}: {message}")
    found = len(warned) + len(doubts)
    print(f"\n{found or 'no'} finding{'s'[:found != 1]}")
    return FINDINGS if found else 0
