# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Commands for a running graph: status, parameters, motions, simulated time and pushes, topics."""

from __future__ import annotations

import math
import sys
from argparse import ArgumentParser, Namespace
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from robodyn_ros.base.errors import InputError, unknown
from robodyn_ros.base.fields import Field
from robodyn_ros.commands.options import Subparsers, add_options, reader, warn
from robodyn_ros.commands.quantities import ANGLES, LENGTHS, parse_joint_values, parse_quantity
from robodyn_ros.commands.required import ros_required

FAILED = 1
SECONDS = {"s": 1.0, "ms": 0.001}
NEWTONS, NEWTON_METRES = {"N": 1.0, "kN": 1000.0}, {"Nm": 1.0}
CONTROLLER, SPEED = "controller", "speed_scaling"
ANSWER_SECONDS = 10.0
"""Longest wait for the answer to a stop [s]."""
STEP_SECONDS = 60.0
"""Longest wait for the answer of the service ``step`` [s]; each period adds a hundredth of it."""
JOINTS_HELP = "joint=value for some joints, such as elbow=0.5 or elbow=30deg; or one number for each joint [rad or m]"


class JointNames(Protocol):
    """The part of a `RobotModel` that names joints, declared here because importing that class delays commands."""

    @property
    def joints(self) -> Sequence[Any]:
        """All joints."""

    @property
    def leaders(self) -> Sequence[Any]:
        """The joints that move by themselves."""

    @property
    def joint_names(self) -> Sequence[str]:
        """Their names."""

    @property
    def held(self) -> Mapping[str, float]:
        """Joints that are held as if fixed."""


def add_commands(commands: Subparsers) -> None:
    """Add the commands that talk to a running graph."""
    status = _add(commands, "status", run_status, "show joints, errors, efforts, tip link, law, time, warnings and "
                  "publishers")
    status.add_argument("--watch", action="store_true", help="show it again and again, until Ctrl-C")
    params = _add(commands, "params", run_params, "list the parameters of the running nodes: value, range, meaning")
    params.add_argument("names", nargs="*", metavar="WORD", help="parameters, groups such as pd.gains, or words "
                        "in names and meanings (all)")
    _add_node(params)
    get = _add(commands, "get", run_get, "print values of parameters of the running nodes")
    get.add_argument("names", nargs="+", metavar="NAME", help="such as controller or payload.mass")
    _add_node(get)
    put = _add(commands, "set", run_set, "set parameters of the running nodes")
    put.add_argument("assignments", nargs="+", metavar="NAME=VALUE", help="such as payload.mass=1.5; NAME:=VALUE too")
    _add_node(put)

    move = _add(commands, "move", run_move, "move the robot and wait until it is there")
    move.add_argument("joints", nargs="*", metavar="JOINT=VALUE", help=JOINTS_HELP)
    move.add_argument("--pose", nargs="+", metavar="X", help="move the tip link instead: x y z in the base frame [m], "
                      "and if you like roll pitch yaw [rad]")
    move.add_argument("--duration", metavar="T", help="of the motion [s]; without it: a speed that one can watch")
    move.add_argument("--tolerance", metavar="D", help="distance from its goal at which a joint, or the tip link, has "
                      "arrived [rad or m] (default: 0.1 rad, 0.02 m); joints that were to stay: three times it")
    move.add_argument("--trajectory", metavar="FILE", help="follow a trajectory instead: YAML, CSV or a recording, "
                      "such as robodyn excite writes")

    speed = _add(commands, "speed", run_speed, "show or set the speed of all motions")
    speed.add_argument("percent", nargs="?", help="0 to 100 of the speed that is asked for (default: show it)")
    for name, action, text in (("stop", run_stop, "stop the robot until it is released"),
                               ("release", run_release, "end a stop: the controller begins at the current state"),
                               ("pause", run_pause, "pause the simulation"),
                               ("resume", run_resume, "let the simulation continue"),
                               ("reset", run_reset, "put the simulated robot back to its initial state")):
        _add(commands, name, action, text)
    step = _add(commands, "step", run_step, "run control periods of a paused simulation")
    step.add_argument("periods", nargs="?", type=reader(Field("periods", 1, "How many", minimum=1)), default=1,
                      help="how many (default: %(default)s)")
    state = _add(commands, "set-state", run_set_state, "put the simulated robot at positions, at rest or moving")
    state.add_argument("joints", nargs="*", metavar="JOINT=VALUE", help=JOINTS_HELP)
    state.add_argument("--velocity", nargs="+", default=[], metavar="JOINT=VALUE", help="likewise [rad/s or m/s]")
    push = _add(commands, "push", run_push, "push a link of the simulated robot, then let go")
    push.add_argument("link", help="link to push")
    push.add_argument("force", nargs=3, metavar="F", help="force along x, y and z of the link [N]")
    push.add_argument("--torque", nargs=3, metavar=("TX", "TY", "TZ"), default=["0"] * 3, help="torque likewise [N m]")
    push.add_argument("--duration", metavar="T", default="1", help="simulated time after which it ends [s]; "
                      "0: the next push ends it (default: %(default)s)")

    echo = _add(commands, "echo", run_echo, "print the messages of a topic, until Ctrl-C")
    echo.add_argument("topic", help="such as joint_states or controller/controller_state")
    add_options(echo, Field("count", 0, "End after so many messages; 0: never", minimum=0))


def _add(commands: Subparsers, name: str, run: Callable[[Namespace], int], text: str) -> ArgumentParser:
    parser: ArgumentParser = commands.add_parser(name, help=f"graph: {text}", description=f"{text}.".capitalize())
    parser.add_argument("--namespace", default="", help="namespace of the graph")
    parser.set_defaults(run=run, error_code=FAILED)
    return parser


def _add_node(parser: ArgumentParser) -> None:
    parser.add_argument("--node", default="", help="this node's only, such as controller (default: all nodes)")


def run_status(options: Namespace) -> int:
    """Print the status of a graph's robot; return 1 if it has no joint states."""
    with _join("status", options) as client:
        from robodyn_ros.nodes.client.robot_status import StatusReader, lines

        reader = StatusReader(client)
        while True:
            status = reader.read()
            text = "\n".join(lines(reader.model, status))
            if not options.watch:
                print(text)
                return int(math.isnan(status.time))
            print(f"\x1b[H\x1b[J{text}" if sys.stdout.isatty() else f"{text}\n", flush=True)


def run_params(options: Namespace) -> int:
    """Print parameters of the graph's nodes with values, ranges and meanings."""
    entries = _ask_parameters("params", options, options.node, lambda parameters: parameters.containing(options.names))
    node = ""
    for entry in entries:
        if entry.node != node:
            node = entry.node
            print(f"{node}:")
        allowed = f"  ({entry.range})" if entry.range else ""
        fixed = "  (fixed while the node runs)" if entry.descriptor.read_only else ""
        print(f"  {entry.name} = {_shown(entry.value)}{allowed}{fixed}")
        if entry.descriptor.description:
            print(f"      {entry.descriptor.description}")
    return 0


def run_get(options: Namespace) -> int:
    """Print values of parameters."""
    entries = _ask_parameters("get", options, options.node, lambda parameters: parameters.entries(options.names))
    for entry in entries:
        print(f"{entry.node} {entry.name} = {_shown(entry.value)}")
    return 0


def run_set(options: Namespace) -> int:
    """Set parameters, and print their new values."""
    values: dict[str, str] = {}
    for assignment in options.assignments:
        name, equals, value = assignment.partition("=")
        name = name.removesuffix(":")
        if not (name and equals):
            raise InputError(f"expected NAME=VALUE, received '{assignment}'")
        if name in values:
            raise InputError(f"parameter '{name}' has two values")
        values[name] = value
    entries = _ask_parameters("set", options, options.node, lambda parameters: parameters.set(values))
    for entry in entries:
        print(f"{entry.node} {entry.name} = {_shown(entry.value)}")
    return 0


def run_move(options: Namespace) -> int:
    """Move the joints, or the tip link, and wait for the end of the motion."""
    if sum(map(bool, (options.joints, options.pose, options.trajectory))) != 1:
        raise InputError("move: expected positions of joints, or --pose X Y Z [ROLL PITCH YAW], or --trajectory FILE")
    if options.trajectory and options.duration:
        raise InputError("move: --duration has no effect with --trajectory, whose points have times; leave it out")
    if options.pose and len(options.pose) not in (3, 6):
        raise InputError(f"--pose: expected x y z, or x y z roll pitch yaw, received {len(options.pose)} numbers")
    duration = None if options.duration is None else _duration(options.duration)
    if duration == 0.0:
        raise InputError("--duration: expected more than 0 s")
    tolerance = None
    if options.tolerance is not None:
        tolerance = parse_quantity(options.tolerance, {**ANGLES, **LENGTHS}, "--tolerance")
        if not tolerance > 0.0:
            raise InputError(f"--tolerance: expected more than 0, received {options.tolerance}")
    with _join("move", options) as client:
        import numpy as np

        from robodyn_ros.nodes.client.motion_requests import MotionRequests

        requests = MotionRequests(client)
        requests.tolerance = tolerance
        if options.trajectory:
            from robodyn_ros.commands.trajectory_files import read_motion

            print(requests.follow(read_motion(options.trajectory, requests.robot)[0]))
        elif options.joints:
            print(requests.move_joints(_joint_values(options.joints, requests.robot.model), duration))
        else:
            from scipy.spatial.transform import Rotation

            position = np.array([parse_quantity(text, LENGTHS, "--pose") for text in options.pose[:3]])
            angles = [parse_quantity(text, ANGLES, "--pose") for text in options.pose[3:]]
            rotation = np.asarray(Rotation.from_euler("xyz", angles).as_matrix()) if angles else None
            print(requests.move_tip(position, rotation, duration))
    return 0


def run_speed(options: Namespace) -> int:
    """Show or set the speed of all motions."""
    assignments = {}
    if options.percent is not None:
        percent = parse_quantity(options.percent.removesuffix("%"), {"percent": 1.0}, "speed")
        if not 0.0 <= percent <= 100.0:
            raise InputError(f"speed: expected 0 to 100 %, received {options.percent}")
        assignments[SPEED] = str(percent / 100.0)
    entries = _ask_parameters("speed", options, CONTROLLER, lambda parameters: (
        parameters.set(assignments) if assignments else parameters.entries([SPEED])))
    for entry in entries:
        print(f"{100.0 * entry.value:g} %")
    return 0


def run_stop(options: Namespace) -> int:
    """Stop the robot."""
    return _trigger(options, "stop")


def run_release(options: Namespace) -> int:
    """End a stop."""
    return _trigger(options, "release")


def run_pause(options: Namespace) -> int:
    """Pause the simulation."""
    return _simulation(options, lambda requests: requests.pause(True))


def run_resume(options: Namespace) -> int:
    """Let the simulation continue."""
    return _simulation(options, lambda requests: requests.pause(False))


def run_reset(options: Namespace) -> int:
    """Reset the simulated robot to its initial state."""
    return _simulation(options, lambda requests: requests.reset())


def run_step(options: Namespace) -> int:
    """Run control periods of a paused simulation."""
    return _simulation(options, lambda requests: requests.step(
        options.periods, STEP_SECONDS * (1.0 + 0.01 * options.periods)))


def run_set_state(options: Namespace) -> int:
    """Set the state of the simulated robot."""
    if not options.joints and not options.velocity:
        raise InputError("set-state: expected positions or --velocity, received neither")
    with _join("set_state", options) as client:
        from robodyn_ros.nodes.client.motion_requests import MotionRequests
        from robodyn_ros.nodes.client.simulation_requests import Simulation

        model = MotionRequests(client).robot.model
        print(client.run(Simulation(client.graph).set_state(
            _joint_values(options.joints, model) if options.joints else {},
            _joint_values(options.velocity, model, per="/s") if options.velocity else {})))
    return 0


def run_push(options: Namespace) -> int:
    """Push a link of the simulated robot."""
    force = [parse_quantity(text, NEWTONS, "force") for text in options.force]
    torque = [parse_quantity(text, NEWTON_METRES, "--torque") for text in options.torque]
    duration = _duration(options.duration)
    with _join("push", options) as client:
        import numpy as np

        from robodyn_ros.nodes.client.motion_requests import MotionRequests
        from robodyn_ros.nodes.client.pushes import push

        links = list(MotionRequests(client).robot.model.frames)
        if options.link not in links:
            raise InputError(unknown("link", options.link, links))
        push(client, options.link, np.array(force + torque), duration)
    print(f"pushed '{options.link}'" + (f" for {duration:g} s" if duration else "; the push lasts until the next one"))
    return 0


def run_echo(options: Namespace) -> int:
    """Print messages of a topic."""
    printed = 0

    def show(text: str) -> None:
        nonlocal printed
        if not options.count or printed < options.count:
            print(f"{text}---", flush=True)
            printed += 1

    with _join("echo", options) as client:
        from robodyn_ros.nodes.client.topic_echo import listen

        listen(client, options.topic, show)
        client.wait_for(lambda: options.count and printed >= options.count, f"message on {options.topic}", math.inf)
    return 0


@contextmanager
def _join(name: str, options: Namespace) -> Iterator[Any]:
    """Yield a `GraphClient`, limited to this machine unless the environment says otherwise.

    The nodes are found while the context imports the module with its requests.
    """
    with ros_required():
        from robodyn_ros.nodes.client.graph_client import GraphClient
        from robodyn_ros.nodes.common.discovery import stay_on_this_machine

        stay_on_this_machine()
        with GraphClient(name, options.namespace) as client:
            client.graph.waits_for_start = False
            yield client


def _ask_parameters(name: str, options: Namespace, node: str, ask: Callable[[Any], Any]) -> Any:
    """Return the entries, by name, that `GraphParameters` of one node or all give; warn about silent nodes."""
    with _join(name, options) as client:
        from robodyn_ros.nodes.client.graph_parameters import GraphParameters

        parameters = GraphParameters(client.graph, node)
        entries = client.run(ask(parameters))
    for silent in parameters.silent:
        warn(f"node '{silent}' gave no answer (is its computer busy?): its parameters are left out")
    return sorted(entries, key=lambda entry: (entry.node, entry.name))


def _trigger(options: Namespace, service: str) -> int:
    """Stop or release the robot, and print the answer."""
    with _join(service, options) as client:
        print(client.run(client.graph.supervise(service, ANSWER_SECONDS)))
    return 0


def _simulation(options: Namespace, request: Callable[[Any], Any]) -> int:
    """Send one request to the simulated hardware, and print its answer."""
    with _join(options.command.replace("-", "_"), options) as client:
        from robodyn_ros.nodes.client.simulation_requests import Simulation

        print(client.run(request(Simulation(client.graph))))
    return 0


def _joint_values(words: Sequence[str], model: JointNames, per: str = "") -> dict[str, float]:
    """Run `parse_joint_values` for a robot; for a joint that cannot move by itself, the error says why."""
    leaders = {joint.name: model.joint_names[joint.dof] for joint in model.joints}
    for name in (word.partition("=")[0] for word in words):
        if name in leaders and name != leaders[name]:
            raise InputError(f"joint '{name}' follows '{leaders[name]}' (mimic): name that one instead")
        if name in model.held:
            raise InputError(f"joint '{name}' is held as if fixed, since it moves no inertia")
    return parse_joint_values(words, {joint.name: joint.kind for joint in model.leaders}, per)


def _duration(text: str) -> float:
    seconds = parse_quantity(text, SECONDS, "--duration")
    if not 0.0 <= seconds <= 3600.0:
        raise InputError(f"--duration: expected 0 to 3600 s, received {seconds:g}")
    return seconds


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, str):
        return value if "\n" not in value else f"({len(value)} characters)"
    if isinstance(value, list | tuple | array):
        return "[" + ", ".join(map(_shown, value)) + "]"
    return str(value)
