"""The ``robodyn`` command: the nodes, the whole simulation in one process, and a look at robot descriptions.

Nothing of ROS is imported before a subcommand needs it, so that ``robodyn check`` works without it.
"""

from __future__ import annotations

import argparse
import importlib
import math
import sys
import warnings
from collections.abc import Sequence

from robodyn_ros.errors import DescriptionWarning, RobodynError

PROGRAMS = {
    "hardware": "node: the simulated robot, efforts in, joint states out",
    "controller": "node: the control law, chosen and swapped by the parameter 'controller'",
    "dynamics": "node: inverse and forward dynamics, kinematics and their like as services",
    "state_publisher": "node: /tf, /tf_static and robot_description for RViz",
    "demo": "the arm follows a trajectory while its controller is swapped; prints tracking errors",
}
"""Subcommands that hand every further argument to ``main`` of the module of this name in ``robodyn_ros.nodes``."""

USAGE_ERROR = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: What follows the command's name; None takes that of this process.

    Returns:
        The exit code: 0, or 2 where a file, name or value given cannot be used.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if given and given[0] in PROGRAMS:
            return run_program(given[0], given[1:])
        options = make_parser().parse_args(given)
        return int(options.run(options))
    except RobodynError as error:
        print(f"robodyn: {error}", file=sys.stderr)
        return USAGE_ERROR
    except KeyboardInterrupt:
        return 0


def run_program(name: str, arguments: Sequence[str]) -> int:
    """Run a node (or the demo) until it ends.

    Args:
        name: Key of ``PROGRAMS``.
        arguments: Handed on, ``--ros-args`` and all.

    Returns:
        The program's exit code.
    """
    try:
        import rclpy  # noqa: F401 - asked for here, to tell its absence from a fault in a node
    except ImportError as error:
        raise RobodynError(
            f"'robodyn {name}' needs ROS 2, but rclpy cannot be imported ({error}); source a ROS 2 installation, "
            "or run 'make setup' and use its .venv"
        ) from error
    module = importlib.import_module(f"robodyn_ros.nodes.{name}")
    return int(module.main(list(arguments)) or 0)


def make_parser() -> argparse.ArgumentParser:
    """The parser of every subcommand."""
    parser = argparse.ArgumentParser(
        prog="robodyn", description="Robot dynamics from a URDF, a simulated robot and its controllers, on ROS 2."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    for name, what in PROGRAMS.items():
        commands.add_parser(name, help=what)

    simulate = commands.add_parser(
        "simulate",
        help="all four nodes in one process, until Ctrl-C",
        description="Run hardware, controller, dynamics and state publisher in one process. Parameters come from "
        "config/simulation.yaml, then config/<robot>.yaml, then --params-file, then the options here.",
    )
    simulate.add_argument("--robot", default="arm6", help="shipped robot or path of a URDF file (default: %(default)s)")
    simulate.add_argument("--controller", help="controller plugin, such as pd or computed_torque")
    simulate.add_argument("--time-mode", choices=("real_time", "scaled", "lockstep"), help="what paces the simulation")
    simulate.add_argument("--real-time-factor", type=float, help="simulated seconds per second, for --time-mode scaled")
    simulate.add_argument("--namespace", default="", help="namespace of all nodes and topics")
    simulate.add_argument("--params-file", help="YAML of further ROS parameters")
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
    return parser


def run_simulate(options: argparse.Namespace) -> int:
    """Run the graph in this process."""
    raise RobodynError("not there yet")


def run_robots(_: argparse.Namespace) -> int:
    """List the shipped robots with what their files say of them."""
    from robodyn_ros import Robot, resources

    for name in resources.robot_names():
        robot = Robot.from_urdf(resources.robot_file(name))
        print(f"{name:<12} {robot.n} joints, tip {robot.tip_link}")
    return 0


def run_check(options: argparse.Namespace) -> int:
    """Load a description and print what was found: joints, limits, masses, warnings."""
    from robodyn_ros import Robot, resources

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DescriptionWarning)
        robot = Robot.from_urdf(resources.find_robot(options.file), strict=options.strict, tip_link=options.tip_link)
    model = robot.model
    mass = sum(joint.inertia.mass for joint in model.joints)
    print(f"{robot.name}: {robot.n} joints, {len(model.frames)} links, {mass:.6g} kg moving")
    print(f"base link {model.base_link}, tip link {robot.tip_link}")
    row = "{:<24} {:<11} {:>10} {:>10} {:>10} {:>10} {:>10}".format
    print(row("joint", "kind", "lower", "upper", "velocity", "effort", "mass"))
    for joint in model.joints:
        limits = joint.limits
        numbers = (limits.lower, limits.upper, limits.velocity, limits.effort, joint.inertia.mass)
        kind = joint.kind if joint.name in robot.joint_names else "mimic"
        print(row(joint.name, kind, *("none" if math.isinf(x) else f"{x:.4g}" for x in numbers)))
    for warning in caught:
        print(f"warning: {warning.message}")
    return 0
