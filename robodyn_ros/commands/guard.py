# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``robodyn guard`` switches an effort controller of ros2_control off when the commands of a law stop."""

from __future__ import annotations

import time
from argparse import Namespace

from robodyn_ros.commands.graph_commands import FAILED, SECONDS
from robodyn_ros.commands.options import Subparsers
from robodyn_ros.commands.quantities import parse_quantity
from robodyn_ros.commands.required import ros_required
from robodyn_ros.errors import InputError, RobodynError

LEAST_TIMEOUT, LONGEST_TIMEOUT = 0.02, 60.0
ATTEMPTS = 5


def add_commands(commands: Subparsers) -> None:
    """Add ``guard``."""
    guard = commands.add_parser(
        "guard", help="graph: switch an effort controller of ros2_control off when its commands stop",
        description="Watch the commands of any law, and deactivate the controller of ros2_control that passes them on "
        "when they stop. Ends with exit code 1 then.")
    guard.add_argument("controllers", nargs="+", metavar="CONTROLLER", help="controllers to switch off")
    guard.add_argument("--topic", default="", help="topic of the commands (default: CONTROLLER/commands of the first)")
    guard.add_argument("--timeout", default="0.1", metavar="T", help="silence after which they have stopped [s] "
                       "(default: %(default)s)")
    guard.add_argument("--manager", default="controller_manager", help="node of the controller manager (default: "
                       "%(default)s)")
    guard.add_argument("--namespace", default="", help="namespace of the graph")
    guard.set_defaults(run=run_guard, error_code=FAILED)


def run_guard(options: Namespace) -> int:
    """Wait until the commands stop, and switch the controllers off."""
    timeout = parse_quantity(options.timeout, SECONDS, "--timeout")
    if not LEAST_TIMEOUT <= timeout <= LONGEST_TIMEOUT:
        raise InputError(f"--timeout: expected {LEAST_TIMEOUT:g} to {LONGEST_TIMEOUT:g} s, received {timeout:g}")
    with ros_required():
        from robodyn_ros.nodes.client.command_guard import switch_controller_type, switch_off, wait_for_silence
        from robodyn_ros.nodes.client.graph_client import GraphClient
    service_type = switch_controller_type()
    names, topic = ", ".join(options.controllers), options.topic or f"{options.controllers[0]}/commands"
    with GraphClient("guard", options.namespace) as client:
        wait_for_silence(client, topic, timeout, lambda: print(f"guarding {topic}", flush=True))
        print(f"no command on {topic} for {timeout:g} s: switching {names} off", flush=True)
        for attempt in range(1, ATTEMPTS + 1):
            try:
                switch_off(client, service_type, options.manager, options.controllers)
                break
            except RobodynError as error:
                if attempt == ATTEMPTS:
                    raise
                print(f"{error}; trying again", flush=True)
                time.sleep(0.1)
    print(f"{names}: switched off", flush=True)
    return FAILED
