# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``robodyn guard`` switches an effort controller of ros2_control off when the commands of a law stop."""

from __future__ import annotations

import math
from argparse import Namespace

from robodyn_ros.base.errors import InputError
from robodyn_ros.commands.graph_commands import FAILED, SECONDS
from robodyn_ros.commands.options import Subparsers
from robodyn_ros.commands.quantities import parse_quantity
from robodyn_ros.commands.required import ros_required

MIN_TIMEOUT, MAX_TIMEOUT = 0.02, 60.0


def add_commands(commands: Subparsers) -> None:
    """Add ``guard``."""
    guard = commands.add_parser(
        "guard", help="graph: switch an effort controller of ros2_control off when its commands stop",
        description="Watch the commands of any law, and deactivate the controller of ros2_control that passes them on "
        "when they stop, or are the same to the bit while the arm moves. Ends with exit code 1 then.")
    guard.add_argument("controllers", nargs="+", metavar="CONTROLLER", help="controllers to switch off")
    guard.add_argument("--topic", default="", help="topic of the commands (default: CONTROLLER/commands of the first)")
    guard.add_argument("--timeout", default="0.1", metavar="T", help="silence after which they have stopped [s] "
                       "(default: %(default)s)")
    guard.add_argument("--unchanged", metavar="T", help="time of commands that stay the same while a joint moves "
                       "after which they count as stopped [s]; 0: never (default: the time-out)")
    guard.add_argument("--manager", default="controller_manager", help="node of the controller manager (default: "
                       "%(default)s)")
    guard.add_argument("--namespace", default="", help="namespace of the graph")
    guard.set_defaults(run=run_guard, error_code=FAILED)


def run_guard(options: Namespace) -> int:
    """Wait until the commands stop, and switch the controllers off."""
    timeout = _duration(options.timeout, "--timeout")
    unchanged = timeout
    if options.unchanged is not None:
        unchanged = 0.0 if options.unchanged.strip() == "0" else _duration(options.unchanged, "--unchanged")
    with ros_required():
        from robodyn_ros.nodes.client.command_guard import ControllerSwitch, guard, service_types
        from robodyn_ros.nodes.client.graph_client import GraphClient
    services = service_types()
    topic = options.topic or f"{options.controllers[0]}/commands"
    with GraphClient("guard", options.namespace) as client:
        switch = ControllerSwitch(client, services, options.manager, options.controllers)
        for name in switch.inactive:
            _print_timed(f"'{name}' is not active yet")
        full_name = client.node.resolve_topic_name(topic)
        _print_timed(f"waiting for commands on {full_name}")
        client.wait_for(lambda: client.node.get_publishers_info_by_topic(full_name), "commands", math.inf)
        guard(client, switch, topic, timeout, unchanged, _print_timed)
    return FAILED


def _duration(text: str, option: str) -> float:
    seconds = parse_quantity(text, SECONDS, option)
    if not MIN_TIMEOUT <= seconds <= MAX_TIMEOUT:
        raise InputError(f"{option}: expected {MIN_TIMEOUT:g} to {MAX_TIMEOUT:g} s, received {seconds:g}")
    return seconds


def _print_timed(text: str) -> None:
    print(text, flush=True)
