"""The ``robodyn`` command: the nodes, the whole simulation in one process, and a look at robot descriptions.

Nothing of ROS is imported before a subcommand needs it, so that ``robodyn check`` works without it.
"""

from __future__ import annotations

import argparse
import importlib
import math
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from robodyn_ros.commands.simulation_setup import DEFAULT_ROBOT, NODES, TIME_MODES, set_up
from robodyn_ros.errors import DescriptionWarning, InputError, RobodynError
from robodyn_ros.nodes.common.signals import hold_stop_signals

if TYPE_CHECKING:
    from robodyn_ros.robot import Robot

PROGRAMS = {
    "hardware": "node: the simulated robot, efforts in, joint states out",
    "controller": "node: the control law, chosen and swapped by the parameter 'controller'",
    "dynamics": "node: inverse and forward dynamics, kinematics and their like as services",
    "state_publisher": "node: /tf, /tf_static and robot_description for RViz",
    "swap": "put another controller in force in a running graph",
    "demo": "the arm follows a trajectory while its controller is swapped; prints tracking errors",
}
"""Subcommands that hand every further argument to ``main`` of a node's module, or of that name in this package."""


ROBOT_OPTION = "robot", DEFAULT_ROBOT, "name or URDF file"
PERIOD_AND_STEP_OPTIONS = ("period", 0.002, "control period [s]"), ("step", 0.001, "step of the simulation [s]")
POSITION_NOISE = "standard deviation of measured positions [rad or m]"
VELOCITY_NOISE = "standard deviation of measured velocities [rad/s or m/s]"

USAGE_ERROR = 2
ROS_ARGUMENTS = "--ros-args"
NODE_USAGE = f"parameters are given as ROS 2 has it: {ROS_ARGUMENTS} -p robot:=arm6"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: What follows the command's name; None takes that of this process.

    Returns:
        The exit code: 0, or 2 where a file, name or value given cannot be used.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        name, rest = "".join(given[:1]), given[1:]
        node_help = name in NODES and rest in (["-h"], ["--help"])
        if name in PROGRAMS and not node_help:
            return run_program(name, rest)
        split = given.index(ROS_ARGUMENTS) if ROS_ARGUMENTS in given else len(given)
        options = make_parser().parse_args(given[:split], argparse.Namespace(ros_arguments=given[split:]))
        return int(options.run(options))
    except RobodynError as error:
        print(f"robodyn: error: {error}", file=sys.stderr)
        return USAGE_ERROR
    except KeyboardInterrupt:
        return 0


def run_console_script(name: str) -> int:
    """Run a subcommand that is installed as a program of its own, as ``ros2 run`` expects it."""
    return main([name, *sys.argv[1:]])


hardware, controller, dynamics, state_publisher = (partial(run_console_script, name) for name in NODES)


def run_program(name: str, arguments: Sequence[str]) -> int:
    """Run a node or another program until it ends.

    Args:
        name: Key of ``PROGRAMS``.
        arguments: Handed on, ``--ros-args`` and all.

    Returns:
        The program's exit code.

    Raises:
        InputError: A node is given arguments of another kind than ROS 2's.
        RobodynError: ROS 2 or the generated interfaces are not there.
    """
    if name in NODES:
        if arguments and arguments[0] != ROS_ARGUMENTS:
            raise InputError(f"{name}: unexpected argument '{arguments[0]}'; {NODE_USAGE}")
        hold_stop_signals()
    return int(import_with_ros(NODES.get(name, f"robodyn_ros.commands.{name}")).main(list(arguments)) or 0)


def import_with_ros(module: str) -> ModuleType:
    """Import a module that needs ROS 2, or say what is missing.

    Raises:
        RobodynError: ROS 2 or the generated interfaces are not there.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "robodyn_ros":
            raise
        raise RobodynError(
            f"{error}: {module} needs ROS 2 and this workspace's interfaces; source a ROS 2 installation if there is "
            "one, run 'make setup', then source install/setup.bash"
        ) from error


def make_parser() -> argparse.ArgumentParser:
    """The parser of every subcommand."""
    parser = argparse.ArgumentParser(
        prog="robodyn", description="Robot dynamics from a URDF, a simulated robot and its controllers, on ROS 2."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    for name, what in PROGRAMS.items():
        commands.add_parser(name, help=what, description=f"{what}; {NODE_USAGE}" if name in NODES else what)

    simulate = commands.add_parser(
        "simulate",
        help="all four nodes in one process, until Ctrl-C",
        description="Run hardware, controller, dynamics and state publisher in one process. Parameters come from "
        "config/simulation.yaml, then --params-file, then the options here, then --ros-args as ROS 2 knows them.",
    )
    add_options(simulate, ROBOT_OPTION)
    simulate.add_argument("--controller", default="", help="controller plugin, such as pd or computed_torque")
    simulate.add_argument("--time-mode", choices=TIME_MODES, default="", help="what paces the simulation")
    simulate.add_argument("--real-time-factor", default="", help="simulated seconds per second, for --time-mode scaled")
    simulate.add_argument("--actuators", default="", help="YAML file of actuators and friction, or its name in config/")
    simulate.add_argument("--namespace", default="", help="namespace of all nodes and topics")
    simulate.add_argument("--params-file", default="", help="YAML file of further ROS parameters")
    simulate.set_defaults(run=run_simulate)

    robots = commands.add_parser("robots", help="list the robots shipped")
    robots.set_defaults(run=run_robots)

    check = commands.add_parser(
        "check", help="load a URDF and say what is in it", description="Load a URDF and print what was found."
    )
    check.add_argument("file", help="path of a URDF file, or the name of a shipped robot")
    check.add_argument("--strict", action="store_true", help="take what is physically odd for an error")
    check.add_argument("--tip-link", help="link meant where none is named")
    check.set_defaults(run=run_check)

    tune = commands.add_parser(
        "tune",
        help="search the gains of a control law by thousands of simulated motions",
        description="Search the gains of a control law for a robot: thousands of simulated motions with other gains, "
        "law and robot compiled as one. Writes a YAML file for 'robodyn simulate --params-file', and pictures.",
    )
    add_options(tune, ROBOT_OPTION, ("controller", "computed_torque", "law that follows joints or poses"))
    tune.add_argument("--gains", nargs="+", help="parameters to search (default: p, d, i and the like)")
    add_options(
        tune,
        ("output", Path("tune_output"), "folder"),
        ("generations", 60, "generations of the search"),
        ("population", 128, "robots in a generation"),
        ("seed", 0, "of search and noise"),
        ("threads", usable_processors(), "threads"),
        ("span", 10.0, "factor by which each gain is varied either way"),
        ("smoothness", 0.01, "tracking error [rad or m] worth efforts that change by their limits at each tick"),
        *PERIOD_AND_STEP_OPTIONS,
        ("position-noise", 1e-4, POSITION_NOISE),
        ("velocity-noise", 0.01, VELOCITY_NOISE),
    )
    tune.set_defaults(run=run_tune)

    compare = commands.add_parser(
        "compare",
        help="several control laws on the same robot and motion: a table and a picture",
        description="Simulate control laws with their default parameters on the same robot and the same motion. Prints "
        "errors, efforts and work of each, and draws them.",
    )
    compare.add_argument("controllers", nargs="*", help="laws that follow joints or poses (default: all)")
    add_options(
        compare,
        ROBOT_OPTION,
        ("output", Path("compare.png"), "picture"),
        ("seed", 0, "of the noise"),
        ("mass-error", 0.0, "how much heavier the simulated links are than the laws know [%%]"),
        *PERIOD_AND_STEP_OPTIONS,
        ("position-noise", 0.0, POSITION_NOISE),
        ("velocity-noise", 0.0, VELOCITY_NOISE),
    )
    compare.set_defaults(run=run_compare)

    cache = commands.add_parser("cache", help="compiled code kept on disk: where and how much, or remove it")
    cache.add_argument("action", choices=("info", "clear"), help="say what is kept, or remove it")
    cache.set_defaults(run=run_cache)
    return parser


def add_options(parser: argparse.ArgumentParser, *options: tuple[str, str | int | float | Path, str]) -> None:
    """Add options of one value: the name of each, its default, which has the value's type, and what it means."""
    for name, default, what in options:
        parser.add_argument(f"--{name}", type=type(default), default=default, help=f"{what} (default: %(default)s)")


def usable_processors() -> int:
    """How many processors this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_simulate(options: argparse.Namespace) -> int:
    """Run the graph in this process until Ctrl-C."""
    setup = set_up(options.robot, options.controller, options.time_mode, options.real_time_factor, options.params_file,
                   options.actuators)
    hold_stop_signals()
    return int(import_with_ros("robodyn_ros.commands.simulate").main(setup, options.namespace, options.ros_arguments))


def run_robots(_: argparse.Namespace) -> int:
    """List the robots that come with the package."""
    from robodyn_ros import resources
    from robodyn_ros.description.urdf import load_urdf

    for name in resources.shipped_robots():
        model = load_urdf(resources.robot_file(name))
        print(f"{name:<12} {model.n} joints ({', '.join(model.joint_names)}), tip link {model.tip_link}")
    return 0


def run_check(options: argparse.Namespace) -> int:
    """Load a description and print what was found: joints, limits, masses, warnings."""
    from robodyn_ros.description.urdf import load_urdf
    from robodyn_ros.resources import robot_file

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DescriptionWarning)
        model = load_urdf(robot_file(options.file), strict=options.strict, tip_link=options.tip_link)
    mass = sum(joint.inertia.mass for joint in model.joints)
    print(f"{model.name}: {model.n} joints, {len(model.frames)} links, {mass:.6g} kg moving")
    print(f"base link {model.base_link}, tip link {model.tip_link}")
    row = "{:<24} {:<11} {:>10} {:>10} {:>10} {:>10} {:>10}".format
    print(row("joint", "kind", "lower", "upper", "velocity", "effort", "mass"))
    for joint in model.joints:
        limits = joint.limits
        numbers = (limits.lower, limits.upper, limits.velocity, limits.effort, joint.inertia.mass)
        kind = joint.kind if joint.name in model.joint_names else "mimic"
        print(row(joint.name, kind, *("none" if math.isinf(x) else f"{x:.4g}" for x in numbers)))
    for warning in caught:
        print(f"warning: {warning.message}")
    return 0


def run_tune(options: argparse.Namespace) -> int:
    """Search gains, print and draw what was found, and write it into a file."""
    from robodyn_ros.commands.tune_program import tune_robot

    return run_with_robot(tune_robot, options)


def run_compare(options: argparse.Namespace) -> int:
    """Compare control laws, print and draw what each did."""
    from robodyn_ros.commands.compare_program import compare_robot

    return run_with_robot(compare_robot, options)


def run_with_robot(program: Callable[[Robot, argparse.Namespace], int], options: argparse.Namespace) -> int:
    """Run a program on the robot that the options name.

    Raises:
        RobodynError: A file cannot be read or written.
    """
    from robodyn_ros.resources import robot_file
    from robodyn_ros.robot import Robot

    try:
        return program(Robot.from_urdf(robot_file(options.robot)), options)
    except OSError as error:
        raise RobodynError(f"{options.command}: {error}") from error


def run_cache(options: argparse.Namespace) -> int:
    """Say what compiled code is kept, or remove it."""
    from robodyn_ros.compile import cache

    try:
        kept = cache.contents() if options.action == "info" else cache.clear()
    except OSError as error:
        raise RobodynError(f"cache {options.action}: {error}") from error
    what = f"{kept.entries} entries, {kept.size / 2**20:.1f} MiB"
    where = cache.directory() or f"nowhere ({cache.VARIABLE} or the system says so)"
    print(f"{where}: {what}" if options.action == "info" else f"{where}: removed {what}")
    return 0
