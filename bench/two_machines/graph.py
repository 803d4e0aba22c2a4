# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Hardware on one machine and controller on another one: motions of the arm, and cuts of the link, are measured."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Self
from unittest.mock import patch

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import JointState

from bench.followed_states import SETTLED, FollowedStates
from bench.two_machines.link import Quality
from bench.two_machines.network import ADDRESSES, Network
from robodyn_ros.base.errors import RobodynError
from robodyn_ros.base.timing import to_seconds
from robodyn_ros.commands.demo import SWINGS
from robodyn_ros.commands.processes import NodeProcess
from robodyn_ros.control.references.joint_trajectory import Points
from robodyn_ros.description.model import Array
from robodyn_ros.description.resources import robot_file
from robodyn_ros.nodes.client.robot_client import RobotClient
from robodyn_ros.nodes.common.discovery import OLD_PROFILES, PEERS, PROFILES, RANGE, THIS_MACHINE
from robodyn_ros.nodes.common.discovery import SERVER as DISCOVERY_SERVER
from robodyn_ros.nodes.common.messages import read_stamp
from robodyn_ros.nodes.common.topics import CONTROL_QOS
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.tracking import TrackingSample

ROBOT, LAW = "arm6", "computed_torque"
DEADLINE = 120.0
"""Longest wait for nodes that start, and for commands after a cut [s]."""
SERVER_PORT = 11811
REFUSAL_SECONDS = 2.0  # within which a program ends that refuses its arguments [s]
SERVER = f"{ADDRESSES['robot']}:{SERVER_PORT}"
SECONDS_PER_SWING = 1.0
"""Time of each part of the motion that is measured [s]."""
AT_REST = 0.02
"""Greatest speed of a joint after a law was dropped [rad/s]."""
BEGIN = np.array([0.0, -1.2, 1.4, -1.6, -1.2, 0.0])
"""Joint positions at the beginning and at the end of the motion [rad]."""

NO_PROFILES = {PROFILES: "", OLD_PROFILES: ""}
Environment = Mapping[str, Mapping[str, str]]
DISCOVERY: dict[str, Environment] = {
    "multicast": {machine: {RANGE: "SUBNET", **NO_PROFILES} for machine in ADDRESSES},
    "static peers": {
        "robot": {RANGE: THIS_MACHINE, PEERS: ADDRESSES["desk"], **NO_PROFILES},
        "desk": {RANGE: THIS_MACHINE, PEERS: ADDRESSES["robot"], **NO_PROFILES}},
    "discovery server": {machine: {RANGE: "SUBNET", DISCOVERY_SERVER: SERVER, **NO_PROFILES} for machine in ADDRESSES},
}
"""Ways in which the nodes of the two machines find each other: environment variables of each machine.

No profile of this process may take the place of these.
"""


@contextmanager
def discovery_server(network: Network) -> Iterator[None]:
    """Run Fast DDS's discovery server on the machine ``robot``."""
    with network.here("robot"):
        process = _server(["42"]) or _server([])  # Fast DDS 3 calls its command "server" 42; Fast DDS 2 has no commands
    if process is None:
        raise RobodynError("fast-discovery-server ends at once, with and without the command 42")
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def _server(command: list[str]) -> subprocess.Popen[bytes] | None:
    """Start the discovery server; None: it refuses the arguments."""
    process = subprocess.Popen(["fast-discovery-server", *command, "-i", "0", "-l", ADDRESSES["robot"], "-p",
                                str(SERVER_PORT)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        process.wait(REFUSAL_SECONDS)
    except subprocess.TimeoutExpired:
        return process
    return None


class TwoMachines:
    """A context manager that runs hardware on the machine ``robot`` and controller on the machine ``desk``.

    This process takes part in the network of ``robot`` meanwhile, so that it hears the hardware over no link.

    Args:
        network: The machines.
        discovery: Environment of each machine; see ``DISCOVERY``.
        controller: Parameters of the controller node, besides the robot.

    Attributes:
        nodes: The processes, by the names of the nodes.
        client: This process's connection to the graph.
        states: Joint states since they were last cleared.
        samples: Controller states since they were last cleared.
    """

    def __init__(self, network: Network, discovery: Environment, **controller: object) -> None:
        self.network, self._discovery = network, discovery
        self._controller = {"controller": LAW, "state_publish_rate": 100.0, **controller}
        self._stack = ExitStack()
        self._joint_names = Robot.from_urdf(robot_file(ROBOT)).joint_names
        self.nodes: dict[str, NodeProcess] = {}
        self.states: list[JointState] = []
        self.samples: list[TrackingSample] = []
        self._values: dict[str, str] = {}

    def __enter__(self) -> Self:
        """Start the nodes and wait until the hardware follows the controller."""
        with ExitStack() as stack:
            stack.enter_context(self.network.here("robot"))
            stack.enter_context(patch.dict(os.environ, self._discovery["robot"]))
            positions = {f"initial_position.{name}": float(value) for name, value in zip(
                self._joint_names, BEGIN, strict=True)}
            self._stack = stack
            self.nodes["hardware"] = stack.enter_context(
                NodeProcess("hardware", {"robot": ROBOT, "time_mode": "real_time", **positions}))
            self.start_on_desk("controller", {"robot": ROBOT, **self._controller})
            self.client = stack.enter_context(RobotClient("two_machines"))
            self.client.checks += [node.check for node in self.nodes.values()]
            self.followed = FollowedStates(self.client.node)
            self.client.node.create_subscription(JointState, "joint_states", self.states.append, CONTROL_QOS)
            self.samples = self.client.record()
            self.client.node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 10)
            try:
                self.next_state(self.followed.includes, "joint state that follows commands")
            except RobodynError as error:
                printed = "\n".join(f"{name} printed:\n{node.output()[-1000:]}" for name, node in self.nodes.items())
                raise RobodynError(f"{error}\n{len(self.states)} joint states came; {printed}") from None
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the nodes."""
        self._stack.close()

    def start_on_desk(self, node: str, parameters: Mapping[str, object]) -> NodeProcess:
        """Start a node on the machine ``desk``."""
        with patch.dict(os.environ, self._discovery["desk"]):
            self.nodes[node] = self._stack.enter_context(NodeProcess(
                node, parameters, command=self.network.command("desk", "-m", "robodyn_ros", node)))
        return self.nodes[node]

    def wait(self, seconds: float) -> None:
        """Serve callbacks for a while [s]."""
        end = time.monotonic() + seconds
        self.client.wait_for(lambda: time.monotonic() >= end, "end of a wait", DEADLINE)

    def next_state(self, condition: Callable[[JointState], bool], what: str) -> JointState:
        """Return the first joint state that is stamped from now on and fits."""
        now = time.time_ns()
        self.states.clear()

        def find() -> list[JointState]:
            return [state for state in self.states if read_stamp(state.header.stamp) > now and condition(state)]

        return self.client.wait_for(find, what, DEADLINE)[0]

    def cut(self, seconds: float) -> tuple[float, float]:
        """Cut the link for a while.

        Args:
            seconds: Length of the cut, longer than the time-out of commands [s].

        Returns:
            Time from the cut to the first joint state of the safe behaviour, and from its end to the first one that
            follows commands [s].
        """
        self.next_state(self.followed.includes, "joint state that follows commands")
        self.network.set(Quality(cut=True))
        begin, end = time.time_ns(), time.monotonic() + seconds
        safe = self.next_state(lambda state: not self.followed.includes(state), "safe joint state")
        self.wait(end - time.monotonic())
        self.network.set(Quality())
        joined = time.time_ns()
        back = self.next_state(self.followed.includes, "joint state that follows commands again")
        return (to_seconds(read_stamp(safe.header.stamp) - begin),
                to_seconds(read_stamp(back.header.stamp) - SETTLED - joined))

    def move(self) -> tuple[Array, float]:
        """Run the motion of the demo.

        Returns:
            Desired minus measured joint positions at each state that the controller published, shape (N, n) [rad], and
            the part of the control periods in which no new command came.

        Raises:
            RobodynError: The controller dropped its law, and stops the arm; it has the law again over a perfect link.
        """
        points: Sequence[Array] = [*(BEGIN + SWINGS), BEGIN]
        times = SECONDS_PER_SWING * np.arange(1.0, len(points) + 1.0)
        before, samples = self._report(), self.samples
        samples.clear()
        self.client.follow(self._joint_names, Points.from_arrays(times, np.array(points)), DEADLINE)
        end = self.client.wait_for(lambda: samples, "controller state", DEADLINE)[0].time + times[-1] + 0.5
        self.client.wait_for(lambda: samples[-1].time > end, "end of the motion", DEADLINE)
        if samples[-1].controller != LAW:
            why = re.findall(f"'{LAW}' was dropped, (.*); after", self.nodes["controller"].output())
            self.network.set(Quality())
            self.next_state(lambda state: bool(np.abs(state.velocity).max() < AT_REST), "arm at rest")
            self.client.swap(LAW)
            raise RobodynError(f"the law was dropped: {why[-1]}")
        after = self._report()
        periods, unanswered = (int(after[name]) - int(before[name])
                               for name in ("periods", "periods without a new command"))
        return np.array([sample.desired - sample.measured for sample in samples]), unanswered / periods

    def _report(self) -> dict[str, str]:
        """Return the values of the hardware's next diagnostics."""
        self._values = {}
        return self.client.wait_for(lambda: self._values, "diagnostics of the hardware", DEADLINE)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name == "/hardware":
                self._values = {item.key: item.value for item in status.values}
