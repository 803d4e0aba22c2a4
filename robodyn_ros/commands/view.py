# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``robodyn view`` shows a running graph in a browser; ``simulate --view`` starts it beside the simulation."""

from __future__ import annotations

from argparse import Namespace

from robodyn_ros.commands.options import Subparsers
from robodyn_ros.commands.processes import ros_arguments
from robodyn_ros.commands.required import ros_required
from robodyn_ros.errors import InputError
from robodyn_ros.nodes.common.discovery import stay_on_this_machine
from robodyn_ros.nodes.common.signals import hold_stop_signals
from robodyn_ros.optional_packages import require
from robodyn_ros.resources import robot_file

OPTIONS = {
    "robot": (str, "the robot's URDF file, or name of a shipped robot: where relative paths of meshes begin"),
    "tip_link": (str, "link that the handle moves (default: that of the controller node, by its own default)"),
    "host": (str, "address to listen on (default: 127.0.0.1, this machine alone)"),
    "port": (int, "port of the page (default: 8080; 0: any that is free)"),
}


def add_commands(commands: Subparsers) -> None:
    """Add ``view``."""
    view = commands.add_parser(
        "view",
        help="show a running graph in a browser: robot, plots, gains, controllers",
        description="Serve a page that shows the robot of a running graph, live, and moves it: until Ctrl-C.",
    )
    for name, (kind, text) in OPTIONS.items():
        view.add_argument(f"--{name.replace('_', '-')}", type=kind, help=text)
    view.add_argument("--namespace", default="", help="namespace of the graph")
    view.set_defaults(run=run_view, takes_ros_arguments=True)


def run_view(options: Namespace) -> int:
    """Serve the page until SIGINT or SIGTERM.

    Raises:
        InputError: There is no such robot, or the port is out of range.
        RobodynError: viser or ROS 2 is not installed.
    """
    check_port("--port", options.port)
    require("viser")
    parameters = {name: getattr(options, name) for name in ("tip_link", "host", "port")
                  if getattr(options, name) is not None}
    if options.robot:
        parameters["robot_file"] = str(robot_file(options.robot).resolve())
    stay_on_this_machine()
    hold_stop_signals()
    with ros_required():
        from robodyn_ros.nodes.view.node import main
    return main([*ros_arguments(parameters, options.namespace), *options.ros_arguments])


def check_port(option: str, port: int | None) -> None:
    """Raise unless a number can be that of a port, or is None.

    Raises:
        InputError: It is out of range.
    """
    if port is not None and not 0 <= port <= 65535:
        raise InputError(f"{option}: expected a port from 0 to 65535, received {port}")
