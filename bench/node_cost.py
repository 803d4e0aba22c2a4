# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Processor time of each node in real time, compared with two bare echoes of the same messages at the same rate."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.utilities import get_rmw_implementation_identifier
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from bench.beside_the_nodes import CONTROLLER, processor_time, wait_for_output
from bench.hardware_reports import HardwareReports
from bench.report import Section, ratio_cells
from bench.start_up import LAST_COMPILED
from bench.timing import Comparison
from robodyn_ros.base.errors import RobodynError
from robodyn_ros.commands.processes import NodeProcess
from robodyn_ros.description.resources import robot_file
from robodyn_ros.nodes.common.transport import set_up_transport
from robodyn_ros.robot import Robot

JUDGED_BY_ECHO = ("hardware", "controller")
NODES = (*JUDGED_BY_ECHO, "state_publisher", "dynamics")
LISTENED = {"state_publisher": (TFMessage, "/tf"), "dynamics": (JointState, "/dynamics/gravity_effort")}
"""Type and topic of what the nodes publish at rates of their own."""

REPETITIONS, SECONDS = 3, 10.0
SETTLING = 5.0
"""Time from the start of the last process until the cost is measured [s]; the start itself is another row."""
GREATEST_RATIO, GREATEST_SHARE = 1.3, 0.02
"""Aims: of hardware and controller to their bare echo, and of the others, of a core."""

LEAST_RATE = 0.8
"""Part of the control periods that the hardware has to run for its cost to count."""


def shares(pids: dict[str, int], seconds: float) -> dict[str, float]:
    """Return the processor time of processes as part of a core, over the given time [s]."""
    begin = time.monotonic()
    before = {name: processor_time(pid) for name, pid in pids.items()}
    time.sleep(seconds)
    elapsed = time.monotonic() - begin
    return {name: (processor_time(pid) - before[name]) / elapsed for name, pid in pids.items()}


def our_shares(robot: str, rate: int, seconds: float) -> dict[str, float]:
    """Return the cost of each node, and of those that publish for others once more while somebody listens.

    Args:
        robot: Name of a shipped robot.
        rate: Control periods per second [Hz].
        seconds: Duration of each of the two measurements [s].

    Raises:
        RobodynError: The hardware ran too few periods for its rate: the machine is too busy.
    """
    parameters: dict[str, dict[str, object]] = {
        "hardware": {"robot": robot, "time_mode": "real_time", "update_rate": rate},
        "controller": {"robot": robot, "controller": CONTROLLER}}
    with ExitStack() as stack:
        nodes = {name: stack.enter_context(NodeProcess(name, parameters.get(name, {"robot": robot})))
                 for name in NODES}
        reports = HardwareReports()
        stack.callback(reports.close)
        wait_for_output(nodes["dynamics"], LAST_COMPILED)
        begin, before = reports.listen(SETTLING, list(nodes.values()))[-1]
        unheard = shares({name: node.pid for name, node in nodes.items()}, seconds)
        end, after = reports.listen(1.0, list(nodes.values()))[-1]
        periods = (int(after["periods"]) - int(before["periods"])) / (end - begin)
        if periods < LEAST_RATE * rate:
            raise RobodynError(f"bench: the hardware ran {periods:.0f} periods/s instead of {rate}: the machine is "
                               "busy; run this section when it is not")
        listener = Node("bench_listener", start_parameter_services=False)
        stack.callback(listener.destroy_node)
        for kind, topic in LISTENED.values():
            listener.create_subscription(kind, topic, lambda _: None, 1)
        reports.listen(1.0, list(nodes.values()))
        heard = shares({name: nodes[name].pid for name in LISTENED}, seconds)
    return unheard | {f"{name}, with a subscriber": share for name, share in heard.items()}


def bare_shares(joints: int, rate: int, seconds: float, by_udp: bool) -> dict[str, float]:
    """Return the cost of the two ends of a bare echo, then that of two more processes that only receive its states.

    Args:
        joints: Number of joints in the messages.
        rate: Control periods per second [Hz].
        seconds: Duration of each of the two measurements [s].
        by_udp: Send as our nodes do; otherwise as rmw_fastrtps does by itself, through shared memory.
    """
    command = [sys.executable, "-m", "bench.bare_echo"]
    environment = dict(os.environ)
    if by_udp:
        set_up_transport(environment, get_rmw_implementation_identifier())
    with ExitStack() as stack:
        def start(*mode: str, **options: Any) -> subprocess.Popen[bytes]:
            process = stack.enter_context(subprocess.Popen([*command, *mode], env=environment, **options))
            stack.callback(process.terminate)
            return process

        answering, pacing = start("answer"), start("pace", str(rate), str(joints), stdout=subprocess.PIPE)
        assert pacing.stdout is not None  # for mypy
        if not pacing.stdout.readline():
            raise RobodynError("bench: the bare echo did not start")
        time.sleep(SETTLING)
        ends = shares({"hardware": pacing.pid, "controller": answering.pid}, seconds)
        listening = {name: start("listen").pid for name in LISTENED}  # not before: the ends would send to these too
        time.sleep(SETTLING)
        return ends | shares(listening, seconds)


def rows(robots: tuple[str, ...] = ("arm6", "arm7"), rates: tuple[int, ...] = (500, 1000),
         repetitions: int = REPETITIONS, seconds: float = SECONDS) -> Iterator[list[str]]:
    """One row for each robot, rate and node."""
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    rclpy.init()
    try:
        for robot in robots:
            joints = Robot.from_urdf(robot_file(robot)).n
            for rate in rates:
                runs = [(our_shares(robot, rate, seconds), bare_shares(joints, rate, seconds, by_udp=True),
                         bare_shares(joints, rate, seconds, by_udp=False)) for _ in range(repetitions)]
                for name in runs[0][0]:
                    bare = name.partition(",")[0]
                    ours, by_udp, shared = (np.array([run[which][key] for run in runs])
                                            for which, key in enumerate((name, bare, bare)))
                    yield [f"{robot}, {rate} Hz", name, *_judged(name, ours, by_udp, shared)]
    finally:
        rclpy.try_shutdown()


def _judged(name: str, ours: np.ndarray, by_udp: np.ndarray, shared: np.ndarray) -> list[str]:
    """Return the cells of a node: its cost and aim; then of each bare process the cost, the ratio and the verdict."""
    bares = (by_udp, shared)
    ratios = [ratio_cells(Comparison(ours, bare), GREATEST_RATIO) for bare in bares]
    if name in JUDGED_BY_ECHO:
        aim, verdicts = f"{GREATEST_RATIO:g}", [cells[-1] for cells in ratios]
    else:  # by its own cost
        aim = f"{100.0 * GREATEST_SHARE:g} %"
        verdicts = ["met" if np.median(ours) <= GREATEST_SHARE else "**missed**", ""]
    row = [f"{100.0 * np.median(ours):.1f}", aim]
    for bare, cells, verdict in zip(bares, ratios, verdicts, strict=True):
        row += [f"{100.0 * np.median(bare):.1f}", *cells[:2], verdict]
    return row


NODE_COST = Section(
    "Cost of the nodes",
    "Processor time of each node, from /proc/PID/stat, in percent of a core: four processes in real time, the "
    f"controller with {CONTROLLER}, {SECONDS:g} s each; median of {REPETITIONS} runs. A bare echo is a process of "
    "plain rclpy with a wait set of its own and no executor (`bench/bare_echo.py`): one sends a joint state in each "
    "period and takes the answer, the other one answers. Afterwards two more processes receive the states and take "
    "none, beside which state publisher and dynamics stand. One echo sends by UDP, as our nodes do: a process that is "
    "killed cannot hold up another one then. The other echo sends as rmw_fastrtps does by itself, through shared "
    "memory. \"With a subscriber\": this process subscribes to what the node publishes at a rate of its own, /tf or "
    "~/gravity_effort.",
    ("robot", "node", "of a core [%]", "aim", "bare by UDP [%]", "ratio", "quartiles", "",
     "bare by shared memory [%]", "ratio", "quartiles", ""),
    rows,
)
