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
import time
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from robodyn_ros.commands.graph_commands import FAILED, SECONDS
from robodyn_ros.commands.options import Subparsers
from robodyn_ros.commands.quantities import parse_quantity
from robodyn_ros.commands.required import ros_required
from robodyn_ros.errors import InputError, RobodynError

if TYPE_CHECKING:
    from robodyn_ros.nodes.client.command_guard import CommandGuard, ControllerSwitch
    from robodyn_ros.nodes.client.graph_client import GraphClient

LEAST_TIMEOUT, LONGEST_TIMEOUT = 0.02, 60.0
ATTEMPTS = 5
AFTERMATH, HELD = 1.0, 0.05
"""The driver holds the arm if no joint moves by as much [rad or m] within this time after the switch [s]."""


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
        from robodyn_ros.nodes.client.command_guard import CommandGuard, ControllerSwitch, service_types
        from robodyn_ros.nodes.client.graph_client import GraphClient
    services = service_types()
    names, topic = ", ".join(options.controllers), options.topic or f"{options.controllers[0]}/commands"
    with GraphClient("guard", options.namespace) as client:
        switch = ControllerSwitch(client, services, options.manager, options.controllers)
        for name in switch.inactive:
            _tell(f"'{name}' is not active yet")
        full_name = client.node.resolve_topic_name(topic)
        _tell(f"waiting for commands on {full_name}")
        client.wait_for(lambda: client.node.get_publishers_info_by_topic(full_name), "commands", math.inf)
        requests: list[Any] = []
        with CommandGuard(client, topic, timeout, unchanged, lambda: requests.append(switch.ask())) as guard:
            client.wait_for(guard.armed.is_set, "first command", math.inf)
            has_states = bool(client.node.get_publishers_info_by_topic(client.node.resolve_topic_name("joint_states")))
            _tell(f"armed: guarding {topic} for {timeout:g} s without a command" + (
                "" if has_states else "; without joint_states, frozen commands are not noticed"))
            _wait_for_alarm(client, guard, switch, options.manager)
            _tell(f"{guard.alarm}: switching {names} off")
            _switch_off(switch, requests)
            _tell(f"{names}: switched off")
            _tell_what_follows(client, guard)
    return FAILED


def _wait_for_alarm(client: GraphClient, guard: CommandGuard, switch: ControllerSwitch, manager: str) -> None:
    """Wait for the alarm; tell meanwhile whether the controller manager can be asked."""
    ready = True

    def fired() -> bool:
        nonlocal ready
        if ready != (ready := switch.is_ready()):
            _tell(f"node '{manager}' is back" if ready else f"node '{manager}' has left: nothing can be switched off")
        return guard.fired

    client.wait_for(fired, "end of the commands", math.inf)


def _switch_off(switch: ControllerSwitch, requests: list[Any]) -> None:
    """Wait for the answer to the request that was sent, and ask again where it fails."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return switch.check(requests[-1])
        except RobodynError as error:
            if attempt == ATTEMPTS:
                raise
            _tell(f"{error}; trying again")
            time.sleep(0.1)
            requests.append(switch.ask())


def _tell_what_follows(client: GraphClient, guard: CommandGuard) -> None:
    """Tell from the joint states whether the driver holds the arm."""
    if not guard.hears_states:
        _tell("the driver decides what the arm does now; there are no joint_states that show it")
        return
    end = time.monotonic() + AFTERMATH
    client.wait_for(lambda: time.monotonic() > end, "joint states", 2.0 * AFTERMATH)
    moved = guard.moved()
    outcome = "the driver holds the arm" if moved < HELD else "the driver does not hold the arm, stop it by other means"
    _tell(f"within {AFTERMATH:g} s the joints have moved by up to {moved:.3g} rad or m: {outcome}")


def _duration(text: str, option: str) -> float:
    seconds = parse_quantity(text, SECONDS, option)
    if not LEAST_TIMEOUT <= seconds <= LONGEST_TIMEOUT:
        raise InputError(f"{option}: expected {LEAST_TIMEOUT:g} to {LONGEST_TIMEOUT:g} s, received {seconds:g}")
    return seconds


def _tell(text: str) -> None:
    print(text, flush=True)
