# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Round trips in lockstep between hardware and controller, two processes, compared with a bare rclpy echo."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial

import numpy as np
import rclpy

from bench.hardware_reports import HardwareReports
from bench.report import RATIO_HEAD, Section, ratio_cells
from bench.timing import Comparison, seconds_per_call
from robodyn_ros.commands.processes import NodeProcess
from robodyn_ros.control.contract.controller import JointReference, State
from robodyn_ros.control.plugins.registry import make_controller
from robodyn_ros.description.resources import robot_file
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.plant import Plant

ROBOT, CONTROLLER = "arm7", "computed_torque"


def bare_seconds(seconds: float, joints: int) -> float:
    """Return the mean time of one bare round trip over the given time [s]."""
    command = [sys.executable, "-m", "bench.bare_echo"]
    with subprocess.Popen([*command, "answer"]) as answering:
        try:
            asked = subprocess.run([*command, "ask", str(seconds), str(joints)], stdout=subprocess.PIPE, text=True,
                                   check=True)
        finally:
            answering.terminate()
    return 1.0 / float(asked.stdout)


def our_seconds(seconds: float) -> float:
    """Return the mean time of one round trip between hardware and controller over the given time [s]."""
    hardware = {"robot": ROBOT, "time_mode": "lockstep", "update_rate": 1000, "clock_rate": 10}
    controller = {"robot": ROBOT, "controller": CONTROLLER, "state_publish_rate": 10.0}
    with NodeProcess("hardware", hardware) as one, NodeProcess("controller", controller) as other:
        reports = HardwareReports()
        try:
            received = reports.listen(seconds, [one, other])
        finally:
            reports.close()
    (begin, before), (end, after) = received[0], received[-1]
    return (end - begin) / (int(after["periods"]) - int(before["periods"]))


def run(repetitions: int = 5, seconds: float = 4.0) -> Comparison:
    """Measure the times of a round trip alternately."""
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    joints = Robot.from_urdf(robot_file(ROBOT)).n
    rclpy.init()
    try:
        times = [(our_seconds(seconds), bare_seconds(seconds, joints)) for _ in range(repetitions)]
    finally:
        rclpy.try_shutdown()
    ours, bare = np.array(times).T
    return Comparison(ours, bare)


def rows() -> Iterator[list[str]]:
    """One row: both rates and their ratio."""
    times = run()
    rates = Comparison(1.0 / times.ours, 1.0 / times.peer)
    yield [f"{np.median(rates.ours):.0f}", f"{np.median(rates.peer):.0f}", *ratio_cells(rates, 0.95, least=True)]


def limits() -> str:
    """Return the parts of a round trip that the plant and the law take."""
    robot = Robot.from_urdf(robot_file(ROBOT))
    plant, law, rest = Plant(robot), make_controller(CONTROLLER, robot), np.zeros(robot.n)
    state, reference = State(0.0, 0.001, plant.q, rest), JointReference(plant.q, rest, rest)
    drive = Drive(rest, rest, rest)
    step, answer = (1e6 * np.median([seconds_per_call(call, 200) for _ in range(15)]) for call in (
        partial(plant.advance, drive), partial(law.update, state, reference)))
    return (f"In a round trip the plant's step takes {step:.1f} µs and the law {answer:.1f} µs. Unlike the bare echo, "
            "the nodes also check names and values in both directions, compare stamps and count for the diagnostics. "
            "They save time elsewhere: they read and write stamps and numbers in the bytes of the messages "
            "(`robodyn_ros/nodes/common/joint_wire.py`), while rclpy makes an object of every message.")


ROUND_TRIPS = Section(
    "Round trips in lockstep between two processes",
    f"The nodes `hardware` (time_mode lockstep, {ROBOT}) and `controller` ({CONTROLLER}), compared with "
    "`bench/bare_echo.py`, which only sends messages of the same size back and forth. The ratio is our rate divided by "
    "that of the echo.",
    ("ours [1/s]", "bare echo [1/s]", *RATIO_HEAD),
    rows,
    limits=limits,
)
