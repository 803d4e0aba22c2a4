# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Cost of a program beside the nodes for the control loop: hardware and controller with and without it."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import rclpy

from bench.hardware_reports import HardwareReports
from robodyn_ros.base.errors import RobodynError
from robodyn_ros.commands.processes import NodeProcess

ROBOT, CONTROLLER = "arm7", "computed_torque"
REAL_TIME = {"time_mode": "real_time", "update_rate": 500}
LOCKSTEP = {"time_mode": "lockstep", "update_rate": 1000, "clock_rate": 10}
REPETITIONS, SECONDS = 3, 15.0
START_SECONDS = 60.0

HEAD = ("time", "", "periods [1/s]", "missed", "without a new command", "processor time [µs per period]")
CONDITIONS = (f"The nodes `hardware` ({ROBOT}), `controller` ({CONTROLLER}) and `state_publisher`, each a process, "
              "without and with {program}; three times 15 s each, alternately. Rates are medians of control periods "
              "per second; periods that were missed, and those without a new command, are sums; processor time is the "
              "median of hardware and controller together.")

Companion = Callable[[ExitStack], NodeProcess]
"""Starts the program, to be ended with a stack, and waits until it is at work."""


def measure(mode: dict[str, object], start: Companion | None, seconds: float) -> tuple[float, int, int, float]:
    """Run hardware and controller for some seconds.

    Args:
        mode: Time mode of the hardware, as parameters.
        start: Starts the program; None: it does not run.
        seconds: Duration [s].

    Returns:
        Control periods per second, missed periods, periods without a new command, processor time of hardware and
        controller in a period [µs].
    """
    hardware = {"robot": ROBOT, **mode}
    controller = {"robot": ROBOT, "controller": CONTROLLER}
    with ExitStack() as stack:
        nodes = [stack.enter_context(NodeProcess(name, parameters)) for name, parameters in (
            ("hardware", hardware), ("controller", controller), ("state_publisher", {"robot": ROBOT}))]
        if start is not None:
            nodes.append(start(stack))
        reports = HardwareReports()
        stack.callback(reports.close)
        _, first = reports.listen(5.0, nodes)[-1]  # until all have started and compiled
        used = sum(processor_time(node.pid) for node in nodes[:2])
        received = reports.listen(seconds, nodes)
        used = sum(processor_time(node.pid) for node in nodes[:2]) - used
    (begin, before), (end, after) = received[0], received[-1]
    periods, missed, unanswered = (int(after[name]) - int(before[name]) for name in (
        "periods", "missed periods", "periods without a new command"))
    return periods / (end - begin), missed, unanswered, 1e6 * used / (int(after["periods"]) - int(first["periods"]))


def wait_for_output(process: NodeProcess, pattern: str) -> re.Match[str]:
    """Wait until a program has printed a pattern, and return the match.

    Raises:
        RobodynError: The program ends, or does not print it in time.
    """
    end = time.monotonic() + START_SECONDS
    while (found := re.search(pattern, process.output())) is None:
        process.check()
        if time.monotonic() > end:
            raise RobodynError(f"bench: '{process.node}' did not print '{pattern}' within {START_SECONDS:g} s")
        time.sleep(0.1)
    return found


def processor_time(pid: int) -> float:
    """Processor time that a process has used [s]."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def rows(start: Companion, label: str, repetitions: int = REPETITIONS, seconds: float = SECONDS) -> Iterator[list[str]]:
    """Both modes, without and with a program, alternately.

    Args:
        start: Starts the program.
        label: Words for the rows with it.
        repetitions: Number of pairs.
        seconds: Duration of each run [s].
    """
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    rclpy.init()
    try:
        for name, mode in (("real time, 500 Hz", REAL_TIME), ("lockstep", LOCKSTEP)):
            pairs = [(measure(mode, None, seconds), measure(mode, start, seconds)) for _ in range(repetitions)]
            for what, runs in zip(("without", label), zip(*pairs, strict=True), strict=True):
                rates, missed, unanswered, used = np.array(runs).T
                yield [name, what, f"{np.median(rates):.1f}", f"{missed.sum():.0f}", f"{unanswered.sum():.0f}",
                       f"{np.median(used):.0f}"]
    finally:
        rclpy.try_shutdown()
