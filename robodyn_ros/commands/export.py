# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``robodyn export``: functions of a robot's dynamics as C sources."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from robodyn_ros.commands.options import Subparsers, add_options, add_robot_options, given_robot


def add_commands(commands: Subparsers) -> None:
    """Add ``export``."""
    export = commands.add_parser(
        "export", help="write functions of the dynamics in C",
        description="Write functions of a robot's dynamics as one C99 file and its header, for micro-controllers and "
        "real-time loops: no memory is allocated, and all numbers are those of this robot.")
    add_robot_options(export)
    export.add_argument("--function", nargs="+", required=True, metavar="NAME",
                        help="methods of robot.dynamics(), such as inverse_dynamics gravity mass_matrix")
    export.add_argument("--precision", choices=("double", "float"), default="double",
                        help="type of all numbers (default: %(default)s)")
    add_options(export, ("output", Path("export"), "new folder for both files"))
    export.set_defaults(run=run_export)


def run_export(options: Namespace) -> int:
    """Write the files, and print their paths and sizes.

    Raises:
        InputError: A function is unknown, or the folder exists.
        RobodynError: The robot cannot be used.
        OSError: The folder cannot be written.
    """
    from robodyn_ros.errors import InputError
    from robodyn_ros.export import dynamics_source

    if options.output.exists():
        raise InputError(f"export: '{options.output}' exists; name a new folder by --output, or remove it")
    source = dynamics_source(given_robot(options), options.function, options.precision)
    for path, text in zip(source.write(options.output), (source.header, source.source), strict=True):
        print(f"written: {path}, {text.count(chr(10))} lines")
    return 0
