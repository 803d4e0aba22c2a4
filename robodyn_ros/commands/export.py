# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``robodyn export``: a control law, or functions of a robot's dynamics, as C sources or for ros2_control."""

from __future__ import annotations

import os.path
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

from robodyn_ros.base.common_fields import DELAY, PERIOD, STEP, filtered_name
from robodyn_ros.base.fields import Field
from robodyn_ros.commands.law_parameters import add_law_options, given_parameters
from robodyn_ros.commands.options import (
    Subparsers,
    add_filter_option,
    add_law_ignores_option,
    add_options,
    add_robot_options,
    given_robot,
)

TARGETS = ("c", "ros2_control")


def add_commands(commands: Subparsers) -> None:
    """Add ``export``."""
    export = commands.add_parser(
        "export", help="write a control law, or functions of the dynamics, in C, or a controller for ros2_control",
        description="Write a control law, or functions of a robot's dynamics, in C99, for micro-controllers and "
        "real-time loops: no memory is allocated, and all numbers are those of this robot. Or write a law as a "
        "package of ros2_control.")
    export.add_argument("law", nargs="?", metavar="LAW", help="name of a controller, such as computed_torque, or "
                        "module:Class")
    add_robot_options(export)
    export.add_argument("--to", choices=TARGETS, default=TARGETS[0], help="c: the law, and trajectories, limits, soft "
                        "start, stop and prediction over a delay of this robot; ros2_control: an ament_cmake package "
                        "with a plugin of controller_interface (default: %(default)s)")
    add_filter_option(export)
    add_law_options(export)
    add_options(export, *(replace(field, default=None, description=f"{text} (default: {field.default})")
                          for field, text in ((PERIOD, f"{PERIOD.description} that default gains are for"),
                                              (DELAY, DELAY.description))))
    export.add_argument("--actuators", metavar="FILE", help="YAML file of actuators and friction, or its name in "
                        "config/: of the plant; known to the law or the functions; it adds the command interface "
                        "voltage to a package of ros2_control")
    add_law_ignores_option(export)
    export.add_argument("--function", nargs="+", metavar="NAME", help="methods of robot.dynamics(), such as "
                        "inverse_dynamics gravity mass_matrix")
    export.add_argument("--plant", action="store_true", help="the simulated robot: a step of motors, elastic joints, "
                        "friction, stops and rigid bodies, for hardware in the loop")
    add_options(export, replace(STEP, default=None, description=f"{STEP.description}, of the plant (default: "
                                f"{STEP.default})"))
    export.add_argument("--precision", choices=("double", "float"), default="double",
                        help="type of all numbers in C (default: %(default)s)")
    add_options(export, Field("flash", None, "Flash memory of the micro-controller; code that is estimated not to fit "
                              "is refused", unit="kB", minimum=0.0, above=True),
                Field("output", Path("export"), "new folder for the files"))
    export.set_defaults(run=run_export)


def run_export(options: Namespace) -> int:
    """Write the files, and print their paths and sizes.

    Raises:
        InputError: A function or gain is unknown, options contradict each other, or the folder exists or cannot be
            written.
        PluginError: There is no such law.
        CompileError: The law cannot be traced.
        RobodynError: The robot cannot be used.
    """
    from robodyn_ros.toolbox.export import write_new

    files = _files(options)
    for path, text in zip(write_new(options.output, files), files.values(), strict=True):
        print(f"written: {path}, {text.count(chr(10))} lines")
    return 0


def _files(options: Namespace) -> dict[str, str]:
    """Return the texts of the files by path in the new folder."""
    from robodyn_ros.base.errors import InputError
    from robodyn_ros.toolbox.export.c_source import check_size, files_of

    to_ros2_control = options.to == "ros2_control"
    if [bool(options.law), bool(options.function), options.plant].count(True) != 1:
        raise InputError("export: expected one of a law, --function NAME …, and --plant")
    for option, given, needed, fits in (
            ("--filter", options.filter, "a law", options.law),
            ("--set", options.set, "a law", options.law),
            ("--params-file", options.params_file, "a law", options.law),
            ("--to ros2_control", to_ros2_control, "a law", options.law),
            ("--law-ignores", options.law_ignores, "a law", options.law),
            ("--period", options.period is not None, "a law", options.law),
            ("--delay", options.delay is not None, "a law", options.law),
            ("--step", options.step is not None, "--plant", options.plant),
            ("--flash", options.flash is not None, "--to c", not to_ros2_control),
            ("--precision float", options.precision == "float", "--to c", not to_ros2_control)):
        if given and not fits:
            raise InputError(f"export: {option} has no effect without {needed}; leave it out")
    if os.path.exists(options.output):  # False if it cannot be accessed
        raise InputError(f"export: '{options.output}' exists; name a new folder, or remove it")
    if options.law:
        options.law = filtered_name(options.law, options.filter)
    robot = given_robot(options)
    if options.actuators:
        robot.model.check_inertia()  # before actuators are created
        robot = robot.with_actuators(options.actuators)
    robot = robot.ignoring(*options.law_ignores)
    if to_ros2_control:
        return _package(options, robot)
    sources = _sources(options, robot)
    if options.flash is not None:
        check_size(sources, options.flash)
    return files_of(sources)


def _sources(options: Namespace, robot: Any) -> list[Any]:
    """Return the requested C sources."""
    from robodyn_ros.simulation.plant_model import PlantModel
    from robodyn_ros.toolbox.export import delay_source, dynamics_source, law_source, motion_source, plant_source

    if options.function:
        return [dynamics_source(robot, options.function, options.precision)]
    if options.plant:
        step = STEP.default if options.step is None else options.step
        return [plant_source(PlantModel.from_robot(robot, step), options.precision)]
    law = _law(options, robot)
    name = _name(options.law)
    return [law_source(law, name, options.precision), motion_source(robot, options.precision, name),
            delay_source(law.robot, options.precision, name)]


def _package(options: Namespace, robot: Any) -> dict[str, str]:
    """Return the files of a package for ros2_control."""
    from robodyn_ros.toolbox.export import ros2_control_package

    return ros2_control_package(_law(options, robot), _name(options.law), robot.actuators)


def _name(law: str) -> str:
    """Return a law's name in C, the prefix of its parameters."""
    from robodyn_ros.control.plugins.registry import prefix

    return prefix(law)


def _law(options: Namespace, robot: Any) -> Any:
    """Return the law with default gains for the timing, and with the given values."""
    from robodyn_ros.control.plugins.registry import make_controller

    robot = robot.with_timing(PERIOD.default if options.period is None else options.period, options.delay or 0)
    return make_controller(options.law, robot, given_parameters(options.set, [options.law], robot,
                                                                options.params_file).get(options.law))
