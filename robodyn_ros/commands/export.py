# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``robodyn export``: a control law, or functions of a robot's dynamics, as C sources."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from robodyn_ros.commands.options import Subparsers, add_options, add_robot_options, given_robot
from robodyn_ros.timing import DEFAULT_PERIOD


def add_commands(commands: Subparsers) -> None:
    """Add ``export``."""
    export = commands.add_parser(
        "export", help="write a control law, or functions of the dynamics, in C",
        description="Write a control law, or functions of a robot's dynamics, as one C99 file and its header, for "
        "micro-controllers and real-time loops: no memory is allocated, and all numbers are those of this robot.")
    export.add_argument("law", nargs="?", metavar="LAW", help="name of a controller, such as computed_torque, or "
                        "module:Class")
    add_robot_options(export)
    export.add_argument("--set", nargs="+", default=[], metavar="GAIN=VALUE", help="gains that the law begins with, "
                        "such as gains.elbow_joint.p=80")
    export.add_argument("--period", type=float, default=DEFAULT_PERIOD, help="control period for which default gains "
                        "are derived [s] (default: %(default)s)")
    export.add_argument("--function", nargs="+", metavar="NAME",
                        help="methods of robot.dynamics(), such as inverse_dynamics gravity mass_matrix")
    export.add_argument("--precision", choices=("double", "float"), default="double",
                        help="type of all numbers (default: %(default)s)")
    add_options(export, ("output", Path("export"), "new folder for both files"))
    export.set_defaults(run=run_export)


def run_export(options: Namespace) -> int:
    """Write the files, and print their paths and sizes.

    Raises:
        InputError: A function or gain is unknown, or the folder exists.
        PluginError: There is no such law.
        CompileError: The law cannot be traced.
        RobodynError: The robot cannot be used.
        OSError: The folder cannot be written.
    """
    from robodyn_ros.errors import InputError
    from robodyn_ros.export import dynamics_source, law_source

    if bool(options.law) == bool(options.function):
        raise InputError("export: expected a law, or --function NAME …, and not both")
    if options.set and not options.law:
        raise InputError("export: --set has no effect without a law; leave it out")
    robot = given_robot(options)
    if options.law:
        law = _law(options.law, robot.with_timing(options.period), options.set)
        source = law_source(law, options.law.rpartition(":")[2], options.precision)
    else:
        source = dynamics_source(robot, options.function, options.precision)
    for path, text in zip(source.write(options.output), (source.header, source.source), strict=True):
        print(f"written: {path}, {text.count(chr(10))} lines")
    return 0


def _law(name: str, robot: Any, assignments: Sequence[str]) -> Any:
    """A law with some gains set anew."""
    from robodyn_ros.commands.quantities import parse_quantity
    from robodyn_ros.control.registry import make_controller
    from robodyn_ros.errors import InputError

    law, values = make_controller(name, robot), {}
    for assignment in assignments:
        gain, equals, text = assignment.partition("=")
        if not (gain and equals):
            raise InputError(f"export: --set: expected GAIN=VALUE, received '{assignment}'")
        values[gain] = parse_quantity(text, {}, f"--set {gain}")
    return make_controller(name, robot, law.parameters.with_flat_values(robot, values)) if values else law
