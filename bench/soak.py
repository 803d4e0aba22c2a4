# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Runs the nodes for a time under ordinary use, prints what they did, and ends with 1 if a goal failed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from argparse import ArgumentParser
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

from bench.process_trace import ProcessSample, at_equal_times, growth
from robodyn_ros.base.errors import RobodynError
from robodyn_ros.commands.processes import NodeProcess
from robodyn_ros.control.references.joint_trajectory import Points
from robodyn_ros.description.resources import robot_file
from robodyn_ros.nodes.client.robot_client import RobotClient
from robodyn_ros.nodes.common.joint_wire import JointWire
from robodyn_ros.nodes.common.topics import unserved_subscription
from robodyn_ros.robot import Robot

ROBOT = "arm6"
POSES = np.array([[1.2, -0.6, 0.9, 0.4, 0.5, 0.3], [-0.6, -1.2, 1.5, -0.4, -0.5, -0.3]])
LAWS = ("pd_gravity", "computed_torque_pid", "joint_impedance", "adaptive", "computed_torque")
SWAP_SECONDS, MOTION_SECONDS, SERVICE_SECONDS, SAMPLE_SECONDS = 10.0, 3.0, 1.0, 2.0
"""Times between swaps, motions, requests, and looks at the processes [s]."""

DEPTH = 5000
"""Commands that wait until this process looks at them."""

START_SECONDS = 150.0
LARGEST_GROWTH = 0.02
"""Growth of a node's memory from a fifth of the time on, relative."""

SETTLED_MINUTES = 10.0
"""From this length on, memory is judged; a shorter run sees the nodes fill their caches."""


class Sleeper:
    """A process that only sleeps until each period, and counts those that it misses: the machine's own misses.

    Args:
        rate: Periods per second [Hz].

    Attributes:
        counts: Periods, missed ones, and the greatest lateness [s], since its start.
    """

    def __init__(self, rate: int) -> None:
        self.counts: tuple[float, ...] = (0.0, 0.0, 0.0)
        self._process = subprocess.Popen([sys.executable, "-m", "bench.sleeping", str(rate)],
                                         stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> Sleeper:
        """Return the process."""
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.counts = tuple(map(float, line.split()))


class Soak:
    """Uses a running graph as people do, and watches it.

    Args:
        client: A client of the graph.
        nodes: The processes by name.

    Attributes:
        done: How often something was done, by name.
        samples: What each process used.
        values: The last diagnostics of the hardware, of the controller, by name.
        unsafe: Commands that are malformed, not finite or beyond the effort limits.
        share: Greatest effort of any joint, relative to its limit.
    """

    def __init__(self, client: RobotClient, nodes: dict[str, NodeProcess]) -> None:
        robot = Robot.from_urdf(robot_file(ROBOT))
        self._client, self._nodes, self._joint_names = client, nodes, robot.joint_names
        self._limit = robot.model.effort_limit
        self._wire = JointWire(robot.joint_names, ["effort"])
        self._commands = unserved_subscription(client.node, JointState, "joint_commands", QoSProfile(depth=DEPTH))
        client.node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 10)
        client.checks.append(self._take_commands)
        self.done: Counter[str] = Counter()
        self.samples: dict[str, list[ProcessSample]] = {name: [] for name in nodes}
        self.values: dict[str, dict[str, str]] = {}
        self.unsafe, self.share = 0, 0.0

    def run(self, end: float) -> None:
        """Move, swap, ask and look until a time [s].

        Raises:
            RobodynError: A node ended, or does not answer.
        """
        actions = ((SWAP_SECONDS, self._swap), (MOTION_SECONDS, self._move), (SERVICE_SECONDS, self._ask),
                   (SAMPLE_SECONDS, self._sample))
        due = [time.monotonic()] * len(actions)
        while (now := time.monotonic()) < end:
            for place, (seconds, action) in enumerate(actions):
                if now >= due[place]:
                    due[place] = max(due[place] + seconds, now)
                    action(self.done[action.__name__])
                    self.done[action.__name__] += 1
            until = min(*due, end)
            self._client.wait_for(lambda until=until: time.monotonic() >= until,  # type: ignore[misc]
                                  "time", START_SECONDS)

    def _swap(self, number: int) -> None:
        self._client.swap(LAWS[number % len(LAWS)], START_SECONDS)

    def _move(self, number: int) -> None:
        self._client.follow(self._joint_names, Points.from_arrays([2.0], POSES[number % 2]), START_SECONDS)

    def _ask(self, number: int) -> None:
        self._client.gravity_effort(self._joint_names, POSES[number % 2], START_SECONDS)
        result = self._client.set_parameters("controller", {"state_publish_rate": 50.0 + number % 100}, START_SECONDS)
        if not result.successful:
            raise RobodynError(f"soak: the controller refused a parameter: {result.reason}")

    def _sample(self, _: int) -> None:
        for name, node in self._nodes.items():
            node.check()
            self.samples[name].append(ProcessSample.of(node.pid))

    def _take_commands(self) -> None:
        while (taken := self._commands.handle.take_message(JointState, True)) is not None:
            self.done["commands"] += 1
            known = self._wire.decode(taken[0])
            share = np.inf if known is None else float((np.abs(known[1][0]) / self._limit).max())
            self.unsafe += not share <= 1.0  # also NaN
            self.share = max(self.share, share)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self.values.setdefault(status.name, {}).update({item.key: item.value for item in status.values})

    def total(self, name: str) -> int:
        """Return a counter of the diagnostics, of all nodes that have it."""
        return sum(int(values.get(name, 0)) for values in self.values.values())


def main() -> int:
    """Run the soak; see docs/attack.md."""
    parser = ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="how long (default: 60)")
    parser.add_argument("--rate", type=int, default=1000, help="control periods per second (default: 1000)")
    options = parser.parse_args()
    minutes, rate = options.minutes, options.rate
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ.setdefault("ROS_DOMAIN_ID", str(os.getpid() % 100 + 1))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "recording"
        client = stack.enter_context(RobotClient("soak"))
        nodes = {name: stack.enter_context(NodeProcess(name, {"robot": ROBOT, **parameters})) for name, parameters in (
            ("hardware", {"update_rate": rate}), ("controller", {"controller": LAWS[-1]}), ("dynamics", {}),
            ("state_publisher", {}))}
        nodes["recorder"] = stack.enter_context(NodeProcess(
            "recorder", command=("-m", "robodyn_ros", "record", "--output", str(folder))))
        soak = Soak(client, nodes)
        client.wait_for(lambda: soak.done["commands"] > rate and folder.exists() and soak.total("periods"),
                        "commands and recording", START_SECONDS)
        sleeper = stack.enter_context(Sleeper(rate))
        before = {name: soak.total(name) for name in ("periods", "missed periods")}
        soak.done.clear()
        begin = time.monotonic()
        soak.run(begin + 60.0 * minutes)
        end = time.monotonic()
        counted = {name: soak.total(name) - value for name, value in before.items()}
        slept, sleep_missed, sleep_worst = sleeper.counts
        output = {name: node.output() for name, node in nodes.items()}
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        lines = [
            f"{(end - begin) / 60.0:.1f} minutes, {ROBOT} at {rate} Hz, recording of {size / 2**20:.0f} MB",
            f"{soak.done['_swap']:,} swaps, {soak.done['_move']:,} trajectories, {2 * soak.done['_ask']:,} requests",
            f"{soak.done['commands']:,} commands seen, {soak.unsafe} unsafe; greatest effort {soak.share:.3f} of the "
            "limit",
            f"{soak.total('dropped controllers')} controllers dropped, {soak.total('new starts')} new starts, "
            f"{soak.total('stale commands')} times without commands",
            f"hardware: {counted['missed periods']:,} of {counted['periods']:,} periods missed; a process that only "
            f"sleeps: {sleep_missed:,.0f} of {slept:,.0f}, {1e3 * sleep_worst:.1f} ms late at worst", ""]
        failures = [f"{soak.unsafe} unsafe commands"] if soak.unsafe else []
        failures += [f"'{name}' printed a traceback: {text[text.index('Traceback'):][:1500]}"
                     for name, text in output.items() if "Traceback" in text]
        for field, unit in (("memory", " [MB]"), ("descriptors", ""), ("threads", "")):
            lines.append(f"{field}{unit} at equal times")
            for name, samples in soak.samples.items():
                grown = growth(samples, field, begin, end)
                lines.append(f"  {name:<16} " + " ".join(f"{value:g}" for value in at_equal_times(
                    samples, field, begin, end)) + f"   {100.0 * grown:+.2f} %")
                if minutes >= SETTLED_MINUTES and grown > (LARGEST_GROWTH if field == "memory" else 0.0):
                    failures.append(f"{field} of '{name}' grew by {100.0 * grown:.2f} %")
    print("\n".join([*lines, "", f"goals that failed: {len(failures)}" if failures else "all goals held", *failures]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
