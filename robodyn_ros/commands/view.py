# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``robodyn view`` shows a running graph in a browser; ``simulate --view`` starts it with the simulation."""

from __future__ import annotations

from argparse import Namespace

from robodyn_ros.base.common_fields import PORT
from robodyn_ros.base.fields import Field
from robodyn_ros.base.optional_packages import require
from robodyn_ros.commands.options import Subparsers, add_options
from robodyn_ros.commands.processes import ros_arguments
from robodyn_ros.commands.required import ros_required
from robodyn_ros.description.resources import robot_file
from robodyn_ros.nodes.common.discovery import stay_on_this_machine
from robodyn_ros.nodes.common.signals import hold_stop_signals

OPTIONS = (
    Field("robot", None, "The robot's URDF file, or name of a shipped robot: where relative paths of meshes begin",
          kind=str),
    Field("tip_link", None, "Link that the handle moves (default: that of the controller node, by its own default)",
          kind=str),
    Field("host", None, "Address to listen on (default: 127.0.0.1, this machine alone)", kind=str),
    PORT.renamed("port", default=None, kind=int, description=f"{PORT.description} (default: {PORT.default})"),
)


def add_commands(commands: Subparsers) -> None:
    """Add ``view``."""
    view = commands.add_parser(
        "view",
        help="show a running graph in a browser: robot, plots, gains, controllers",
        description="Serve a page that shows the robot of a running graph, live, and moves it: until Ctrl-C.",
    )
    add_options(view, *OPTIONS)
    view.add_argument("--namespace", default="", help="namespace of the graph")
    view.set_defaults(run=run_view, takes_ros_arguments=True)


def run_view(options: Namespace) -> int:
    """Serve the page until SIGINT or SIGTERM.

    Raises:
        InputError: There is no such robot.
        RobodynError: viser or ROS 2 is not installed.
    """
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
