# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Hardware and controller in real time at 1 kHz, together with processes that only sleep until each period.

``python -m bench.real_time sleep SECONDS`` is such a process. ``observe SECONDS`` measures the time from the stamp of
each state to the arrival of the command that answers it. Both print delays in seconds, as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np
import rclpy

from bench.bare_echo import End
from bench.hardware_reports import HardwareReports
from bench.report import Section
from bench.sleeping import periods
from robodyn_ros.commands.processes import NodeProcess

RATE = 1000
SECONDS = 60.0
OBSERVED_SECONDS = 20.0
ROBOT, CONTROLLER = "arm7", "computed_torque"


def sleep(seconds: float) -> list[float]:
    """Return the delay of sleep after the deadline of each period [s], without the periods that it missed."""
    delays: list[float] = []
    for elapsed, late in periods(RATE):
        delays.append(1e-9 * late)
        if elapsed >= 1e9 * seconds:
            return delays
    return delays


def observe(seconds: float) -> list[float]:
    """Return the time from the stamp of each state to the arrival of the command that answers it [s]."""
    end = End("bench_observer", "bench_unused", "joint_commands")
    late: list[float] = []
    stop = time.monotonic() + seconds
    while time.monotonic() < stop:
        message = end.receive(0.2)
        if message is not None:
            stamp = message.header.stamp
            late.append((time.time_ns() - stamp.sec * 10**9 - stamp.nanosec) * 1e-9)
    return late


def process(task: str, seconds: float) -> subprocess.Popen[str]:
    """Start a process with ``sleep`` or ``observe``."""
    return subprocess.Popen([sys.executable, "-m", "bench.real_time", task, str(seconds)], stdout=subprocess.PIPE,
                            text=True)


def result(task: subprocess.Popen[str]) -> np.ndarray:
    """Wait for a process and return the numbers that it printed."""
    return np.array(json.loads(task.communicate()[0]))


def rows(seconds: float = SECONDS) -> Iterator[list[str]]:
    """Two rows for sleep, one for the periods of the hardware, one for the delay of commands."""
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    hardware = {"robot": ROBOT, "time_mode": "real_time", "update_rate": RATE}
    controller = {"robot": ROBOT, "controller": CONTROLLER, "state_publish_rate": 10.0}
    rclpy.init()
    try:
        with NodeProcess("hardware", hardware) as one, NodeProcess("controller", controller) as other:
            reports = HardwareReports()
            reports.listen(2.0, [one, other])
            with process("sleep", seconds) as first, process("sleep", seconds) as second:
                received = reports.listen(seconds, [one, other])
                sleepers = [result(first), result(second)]
            with process("observe", OBSERVED_SECONDS) as observing:  # afterwards, since it uses the same cores
                reports.listen(OBSERVED_SECONDS, [one, other])
                way = result(observing)
            reports.close()
    finally:
        rclpy.try_shutdown()
    before, after = received[0][1], received[-1][1]
    periods, missed, unanswered = (int(after[name]) - int(before[name]) for name in (
        "periods", "missed periods", "periods without a new command"))
    due = round(seconds * RATE)
    sleep_missed = [due - len(late) for late in sleepers]

    def figures(late: np.ndarray) -> list[str]:
        return [f"{1e3 * value:.3f}" for value in (*np.percentile(late, [50, 99]), late.max())]

    for name, late, count in zip(("sleep alone", "another that sleeps"), sleepers, sleep_missed, strict=True):
        yield [name, str(due), str(count), "", *figures(late), ""]
    yield ["hardware's periods", str(periods), str(missed), str(unanswered), "", "",
           f"{1e3 * float(after['worst jitter [s]']):.3f}",
           "met" if missed / periods <= max(sleep_missed) / due else "**missed**"]
    yield ["from a state's time to its command", str(len(way)), "", "", *figures(way), ""]


REAL_TIME = Section(
    "Real time",
    f"The nodes `hardware` (real_time, {ROBOT}, {RATE} Hz) and `controller` ({CONTROLLER}), two processes, for "
    f"{SECONDS:g} s. Meanwhile two other processes sleep until each millisecond; they show the delays of the machine "
    "itself. A period is missed if the next one is due before it begins; the times are delays of the other periods, "
    "the worst one of the hardware since its start. The last row is the time from the stamp of a state until a third "
    f"process has the command that answers it, measured afterwards for {OBSERVED_SECONDS:g} s. No process has "
    "real-time priority. The aim: the hardware misses at most as many periods as the worse of the two sleeping "
    "processes.",
    ("", "periods", "missed", "without a new command", "median [ms]", "99 % [ms]", "worst [ms]", ""),
    rows,
)

if __name__ == "__main__":
    if sys.argv[1] == "sleep":
        print(json.dumps(sleep(float(sys.argv[2]))))
    else:
        rclpy.init()
        print(json.dumps(observe(float(sys.argv[2]))))
        rclpy.try_shutdown()
