# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Time from ``robodyn simulate`` to the first joint state that a command of the controller led to."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import numpy as np
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState

from bench.beside_the_nodes import CONTROLLER, processor_time, wait_for_output
from bench.followed_states import FollowedStates
from bench.report import Section
from robodyn_ros.base.code_cache import VARIABLE
from robodyn_ros.base.errors import RobodynError
from robodyn_ros.commands.processes import NodeProcess
from robodyn_ros.nodes.common.topics import CONTROL_QOS

REPETITIONS = 7
COMPILED, KEPT = "compiled", "kept"
AIMS = {COMPILED: 2.0, KEPT: 1.2}
"""Greatest times aimed at [s]."""

BYTECODE = "PYTHONPYCACHEPREFIX"
"""Environment variable of the folder where Python keeps bytecode; an installed package has it."""

DEADLINE = 60.0
PATIENCE = 20.0
LAST_COMPILED = "ready: robot"
"""Line of the log after the last function is compiled and kept."""


def start(robot: str, to_the_last: bool = False) -> tuple[float, float]:
    """Start all nodes of a robot and wait for the first joint state to which a command led, then stop them.

    Args:
        robot: Name of a shipped robot.
        to_the_last: Whether the nodes go on until all their code is compiled and kept.

    Returns:
        The time until then, and the processor time of the nodes and of the process that supervises them [s].

    Raises:
        RobodynError: The command ended, or there was no such state in time.
    """
    controlled: list[float] = []

    def note(state: JointState) -> None:
        if followed.includes(state):
            controlled.append(time.monotonic())

    with ExitStack() as stack:
        rclpy.init()  # a participant that has seen an earlier start end finds the next one up to 3 s late
        stack.callback(rclpy.try_shutdown)
        listener, executor = Node("bench_listener", start_parameter_services=False), SingleThreadedExecutor()
        stack.callback(listener.destroy_node)
        stack.callback(executor.shutdown)
        executor.add_node(listener)
        followed = FollowedStates(listener)
        listener.create_subscription(JointState, "joint_states", note, CONTROL_QOS)
        begin = time.monotonic()
        command = stack.enter_context(NodeProcess("simulate", stop_seconds=PATIENCE, command=(
            "-m", "robodyn_ros", "simulate", f"--robot={robot}", f"--controller={CONTROLLER}")))
        while not controlled:
            command.check()
            if time.monotonic() > begin + DEADLINE:
                raise RobodynError(f"bench: no joint state followed a command within {DEADLINE:g} s")
            executor.spin_once(timeout_sec=0.1)
        used = sum(map(processor_time, _family(command.pid)))
        if to_the_last:
            wait_for_output(command, LAST_COMPILED)
    return controlled[0] - begin, used


def _family(pid: int) -> list[int]:
    """Return a process and those that it has started."""
    return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]


def rows(robots: tuple[str, ...] = ("arm6", "arm7"), repetitions: int = REPETITIONS) -> Iterator[list[str]]:
    """Two rows for each robot: with an empty cache of code, and with what an earlier start has kept."""
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    for robot in robots:
        with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, {BYTECODE: f"{folder}/bytecode"}):
            os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
            caches = {COMPILED: [str(Path(folder) / f"empty {count}") for count in range(repetitions)],
                      KEPT: [str(Path(folder) / "kept")] * repetitions}
            with patch.dict(os.environ, {VARIABLE: caches[KEPT][0]}):
                start(robot, to_the_last=True)
            for what, caches_of_runs in caches.items():
                runs = []
                for cache in caches_of_runs:
                    with patch.dict(os.environ, {VARIABLE: cache}):
                        runs.append(start(robot))
                times, used = np.array(runs).T
                low, high = np.percentile(times, [25, 75])
                yield [robot, what, f"{np.median(times):.2f}", f"{low:.2f} to {high:.2f}", f"{np.median(used):.2f}",
                       f"{AIMS[what]:g} s", "met" if np.median(times) <= AIMS[what] else "**missed**"]


START_UP = Section(
    "Start of the nodes",
    f"Seconds from `robodyn simulate --controller={CONTROLLER}` to the first joint state that a command of the "
    "controller led to, received by a node that was there before; median and quartiles of "
    f"{REPETITIONS} starts. \"compiled\": the cache of compiled code is empty; \"kept\": an earlier start has filled "
    "it. Processor time is that of the nodes and of the process that supervises them, until then. Files, Python's "
    "bytecode among them, were written and read before.",
    ("robot", "code", "time [s]", "quartiles", "of the processor [s]", "aim", ""),
    rows,
)
