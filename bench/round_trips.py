"""Lock-stepped round trips between hardware and controller, two processes, against a bare rclpy echo."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from bench.report import RATIO_HEAD, Section, ratio_cells
from bench.timing import Comparison
from robodyn_ros.errors import RobodynError
from robodyn_ros.nodes.processes import NodeProcess
from robodyn_ros.resources import robot_file
from robodyn_ros.robot import Robot

ROBOT, CONTROLLER = "arm7", "computed_torque"
DEADLINE = 60.0


def bare_seconds(seconds: float, joints: int) -> float:
    """Time of one bare round trip [s], averaged over some seconds."""
    command = [sys.executable, "-m", "bench.bare_echo"]
    with subprocess.Popen([*command, "answer"]) as answering:
        try:
            asked = subprocess.run([*command, "ask", str(seconds), str(joints)], stdout=subprocess.PIPE, text=True,
                                   check=True)
        finally:
            answering.send_signal(2)
    return 1.0 / float(asked.stdout)


class Periods:
    """The hardware's own count of control periods, from its diagnostics."""

    def __init__(self) -> None:
        self._node = Node("bench", start_parameter_services=False)
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._node.create_subscription(DiagnosticArray, "/diagnostics", self._keep, 10)
        self.counts: list[tuple[float, int]] = []

    def _keep(self, message: DiagnosticArray) -> None:
        now = time.monotonic()
        for status in message.status:
            values = {item.key: item.value for item in status.values}
            if "periods" in values and int(values["periods"]) > 0:
                self.counts.append((now, int(values["periods"])))

    def rate(self, seconds: float, nodes: list[NodeProcess]) -> float:
        """Periods a second over some seconds, from the second count that shows the loop running.

        Raises:
            RobodynError: A node ended, or the loop did not get going.
        """
        deadline = time.monotonic() + DEADLINE
        while len(self.counts) < 3 or self.counts[-1][0] - self.counts[1][0] < seconds:
            for node in nodes:
                node.check()
            if time.monotonic() > deadline:
                raise RobodynError("bench: hardware and controller made no round trips")
            self._executor.spin_once(timeout_sec=0.1)
        (first, before), (last, after) = self.counts[1], self.counts[-1]
        return (after - before) / (last - first)

    def close(self) -> None:
        """End the node."""
        self._executor.shutdown()
        self._node.destroy_node()


def our_seconds(seconds: float) -> float:
    """Time of one round trip between hardware and controller [s], averaged over some seconds."""
    hardware = {"robot": ROBOT, "time_mode": "lockstep", "update_rate": 1000, "clock_rate": 10}
    controller = {"robot": ROBOT, "controller": CONTROLLER, "state_publish_rate": 10.0}
    with NodeProcess("hardware", hardware) as one, NodeProcess("controller", controller) as other:
        periods = Periods()
        try:
            return 1.0 / periods.rate(seconds, [one, other])
        finally:
            periods.close()


def run(repetitions: int = 3, seconds: float = 4.0) -> Comparison:
    """Compare the times of a round trip, alternately."""
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
    """The one comparison, as rates."""
    times = run()
    rates = Comparison(1.0 / times.ours, 1.0 / times.peer)
    yield [f"{np.median(rates.ours):.0f}", f"{np.median(rates.peer):.0f}", *ratio_cells(rates, 0.8, least=True)]


ROUND_TRIPS = Section(
    "Lock-stepped round trips between two processes",
    f"The nodes `hardware` (time_mode lockstep, {ROBOT}) and `controller` ({CONTROLLER}) against "
    "`bench/bare_echo.py`, which sends messages of the same size back and forth and does nothing else. The "
    "ratio is of rates.",
    ("ours [1/s]", "bare echo [1/s]", *RATIO_HEAD),
    rows,
)
