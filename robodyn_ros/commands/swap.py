# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``robodyn swap`` swaps the controller of a running graph; ``--watch`` repeats it at every save."""

from __future__ import annotations

import time
from argparse import Namespace
from typing import Protocol

from robodyn_ros.base.common_fields import filtered_name
from robodyn_ros.base.errors import PluginError, RobodynError
from robodyn_ros.commands.options import Subparsers, add_filter_option
from robodyn_ros.commands.required import ros_required

FAILED = 1


class SwapClient(Protocol):
    """Methods of ``ControllerClient`` that ``watch`` calls, declared here because importing that class needs ROS 2."""

    def try_out(self, controller: str) -> str:
        """Swap to a controller, and wait for its first ticks."""

    def wait_for_drop(self, seconds: float) -> str:
        """Wait until the controller is dropped; return why."""


def add_commands(commands: Subparsers) -> None:
    """Add ``swap``."""
    swap = commands.add_parser(
        "swap",
        help="put another controller in force in a running graph",
        description="Put another controller in force while the robot moves, as 'ros2 param set /controller controller "
        "NAME' does. A controller whose file has changed is imported anew.",
    )
    swap.add_argument("controller", help="such as pd or computed_torque, or package.module:Class of your own")
    add_filter_option(swap)
    swap.add_argument("--namespace", default="", help="namespace of the graph")
    swap.add_argument("--node", default="", help="name of the controller node, if it is not 'controller'")
    swap.add_argument("--watch", action="store_true", help="swap again whenever the controller's file, or a file "
                      "of the same folder that it imports, is saved; Ctrl-C ends it")
    swap.set_defaults(run=run_swap, error_code=FAILED)


def run_swap(options: Namespace) -> int:
    """Swap the controller, once or at every save.

    Raises:
        PluginError: The controller node refuses the controller or drops it at its first ticks; with ``--watch``, also
            if the controller has no source file here.
        RobodynError: The controller node does not answer.
    """
    with ros_required():
        from robodyn_ros.nodes.client.controller_client import ControllerClient
        from robodyn_ros.nodes.common.discovery import stay_on_this_machine

    stay_on_this_machine()
    controller = filtered_name(options.controller, options.filter)
    space = options.namespace.strip("/")
    node = options.node or (f"/{space}/controller" if space else "/controller")
    with ControllerClient("swap", node, namespace=options.namespace) as client:
        client.graph.waits_for_start = False
        if options.watch:
            return watch(client, controller)
        print(client.try_out(controller))
    return 0


def watch(client: SwapClient, controller: str) -> int:
    """Swap now and whenever a source file is saved; print each outcome and drop, until Ctrl-C.

    Args:
        client: The connection to the controller node.
        controller: Name of the controller.

    Raises:
        PluginError: The controller has no source file here.
        RobodynError: The controller node does not answer the first time.
    """
    from robodyn_ros.commands.plugin_watch import PluginWatch
    from robodyn_ros.control.plugins.registry import controller_source

    def sleep(seconds: float) -> None:
        if why := client.wait_for_drop(seconds):
            print_timed(why)

    plugin, reported = PluginWatch(controller_source(controller), sleep), ""
    try:
        swap_and_print(client, controller)
        while True:
            files = ", ".join(map(str, plugin.files))
            if files != reported:
                print_timed(f"watching {files}; Ctrl-C ends")
                reported = files
            plugin.wait_for_save()
            try:
                swap_and_print(client, controller)
            except RobodynError as error:  # the node may come back
                print_timed(str(error))
    except KeyboardInterrupt:
        print()
        return 0


def swap_and_print(client: SwapClient, controller: str) -> None:
    """Swap, and print that the controller runs, or why it was refused or dropped."""
    try:
        print_timed(client.try_out(controller))
    except PluginError as error:
        print_timed(str(error))


def print_timed(text: str) -> None:
    """Print a line with the time of day."""
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)
