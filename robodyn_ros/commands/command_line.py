"""The ``robodyn`` command: parses the command line and runs one command.

A command imports what it needs when it runs, so that ``robodyn --help`` is quick and ``robodyn check`` works without
ROS.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial

from robodyn_ros.commands import (
    cache_command,
    demo_command,
    graph_commands,
    node_commands,
    robot_commands,
    rollout_commands,
    swap,
    view,
)
from robodyn_ros.commands.simulation_setup import NODES
from robodyn_ros.errors import InputError, RobodynError

GROUPS = (node_commands, view, swap, graph_commands, demo_command, robot_commands, rollout_commands, cache_command)
"""Modules of commands, in the order of ``robodyn --help``."""

USAGE_ERROR, INTERRUPTED = 2, 130
ROS_ARGUMENTS = "--ros-args"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: Arguments after the command's name; None takes those of this process.

    Returns:
        The exit code: 0; 1 where the running graph refuses or fails a request; 2 where a file, name or value given
        cannot be used; 130 after Ctrl-C.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    split = given.index(ROS_ARGUMENTS) if ROS_ARGUMENTS in given else len(given)
    options = make_parser().parse_args(given[:split])
    options.ros_arguments = given[split:]
    try:
        if options.ros_arguments and not options.takes_ros_arguments:
            raise InputError(f"{options.command}: takes no {ROS_ARGUMENTS}; see robodyn {options.command} --help")
        return int(options.run(options))
    except (RobodynError, OSError) as error:
        print(f"robodyn: error: {error}", file=sys.stderr)
        return int(options.error_code)
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return INTERRUPTED


def make_parser() -> argparse.ArgumentParser:
    """Make the parser of all commands; its result has the attribute ``run``, the function that runs the command."""
    parser = argparse.ArgumentParser(
        prog="robodyn", description="Robot dynamics from a URDF, a simulated robot and its controllers, on ROS 2."
    )
    parser.set_defaults(takes_ros_arguments=False, error_code=USAGE_ERROR)
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    for group in GROUPS:
        group.add_commands(commands)
    return parser


def run_console_script(name: str) -> int:
    """Run a node that is installed as a program of its own, as ``ros2 run`` expects it."""
    return main([name, *sys.argv[1:]])


hardware, controller, dynamics, state_publisher = (partial(run_console_script, name) for name in NODES)
view_node = partial(run_console_script, "view")
