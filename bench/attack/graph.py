# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The four nodes under attack, as processes that are restarted when they end, and what is seen of them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from bench.attack.machine import MachineWatch
from bench.attack.observation import JUDGED_LAWS, Observation
from bench.attack.report import Report
from bench.fork_server import ForkedNode
from bench.process_trace import ProcessSample, at_equal_times, growth
from robodyn_ros.base.errors import RobodynError
from robodyn_ros.control.plugins.registry import make_controller
from robodyn_ros.description.model import Array
from robodyn_ros.description.resources import robot_file
from robodyn_ros.robot import Robot

NAMESPACE = "attack"
ROBOT = "planar_2r"
ROBOT_JOINTS = ["joint1", "joint2"]
COMMAND_TIMEOUT = 0.1
NODES: dict[str, dict[str, object]] = {
    "hardware": {"robot": ROBOT, "update_rate": 200, "command_timeout": COMMAND_TIMEOUT},
    "controller": {"robot": ROBOT, "controller": "pd_gravity", "swap_timeout": 2.0},
    "dynamics": {"robot": ROBOT},
    "state_publisher": {"robot": ROBOT},
}
START_SECONDS = 240.0
LONGEST_GAP = COMMAND_TIMEOUT + 0.02
"""Time without joint states that a fault may cause [s]."""

LARGEST_EXCESS = 1e-6
"""Difference between the controller's effort and the law's own, by rounding [N m]."""

POSES = ((0.9, -0.6), (-0.3, 0.4))
"""Ends of the motion under way during a fault [rad]; in between, the arm is stretched out, where gravity acts most."""

MOTION_SECONDS = 1
IN_TIME = 0.02
"""Lateness of the machine without which efforts are comparable with those of another run [s]."""


def run_part(attack: Callable[..., None], *arguments: object) -> None:
    """Run a part of the attack in this process, which ends with the main one, however that ends."""
    main_process = multiprocessing.parent_process()
    assert main_process is not None  # for mypy

    def wait() -> None:
        main_process.join()
        os._exit(1)

    threading.Thread(target=wait, name="end with the main process", daemon=True).start()
    attack(*arguments)


def in_domain(domain: int, attack: Callable[..., None], *arguments: object) -> None:
    """Attack in a ROS domain of its own, so that two graphs do not discover each other."""
    os.environ["ROS_DOMAIN_ID"] = str(domain)
    attack(*arguments)


def default_gains(robot: Robot) -> dict[str, object]:
    """Parameters of the node that give the laws whose efforts are judged the gains that they have without a loop."""
    return {f"{name}.{row.name}": row.value for name in JUDGED_LAWS
            for row in make_controller(name, robot).parameters.flat(robot)}


class AttackedGraph:
    """A context manager that starts the nodes and ends every one of them.

    Args:
        report: Gets what the nodes do.

    Attributes:
        node: The attacker's own node.
        report: As given.
        nodes: The processes by name.
        clients: Clients of services by name, made when they are first called.
        alone: Greatest effort of each joint in the motion without a fault, shape (n,) [N m]; None: not measured.
    """

    def __init__(self, report: Report) -> None:
        self.report = report
        self._context = Context()
        self._machine = MachineWatch()
        self.nodes: dict[str, ForkedNode] = {}
        self.clients: dict[str, Any] = {}
        self.alone: Array | None = None
        self._goals = 0
        self._samples: dict[str, list[ProcessSample]] = {name: [] for name in NODES}
        self._robot = Robot.from_urdf(robot_file(ROBOT))

    def __enter__(self) -> Self:
        """Start the nodes and wait for joint states that answer commands."""
        rclpy.init(context=self._context)
        self.node = Node("attacker", context=self._context, namespace=NAMESPACE, start_parameter_services=False,
                         enable_rosout=False)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._observed = Observation(self.node, self._robot)
        self._trajectories = self.node.create_publisher(JointTrajectory, "controller/joint_trajectory", 1)
        try:
            for name in NODES:
                self.start(name)
            known = self.recover() and self.wait(lambda: NODES.keys() <= set(self.node.get_node_names()), START_SECONDS)
            if not known:
                output = "\n".join(process.output()[-500:] for process in self.nodes.values())
                raise RobodynError(f"not all nodes publish within {START_SECONDS:g} s; they printed last:\n{output}")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """End every process for certain, also a stopped one."""
        self._machine.close()
        for process in self.nodes.values():
            if process.running():
                process.kill()
            process.__exit__()
        self._executor.shutdown()
        self.node.destroy_node()
        self._context.try_shutdown()

    def start(self, name: str, **parameters: object) -> ForkedNode:
        """Start a node anew."""
        if name in self.nodes:
            self.nodes[name].__exit__()
            self._observed.restarted(name)
        self.nodes[name] = self.process(name, **parameters)
        return self.nodes[name]

    def process(self, name: str, **parameters: object) -> ForkedNode:
        """Return a process that becomes a node; a controller's efforts are its law's: known gains, swaps at once."""
        known = {**default_gains(self._robot), "swap_time": 0.0} if name == "controller" else {}
        return ForkedNode(name, {**NODES[name], **known, **parameters}, NAMESPACE)

    def spin(self, seconds: float) -> None:
        """Serve the attacker's callbacks for a while."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            self._serve(left)

    def wait(self, condition: Callable[[], Any], seconds: float) -> bool:
        """Serve callbacks until a condition holds; return whether it does."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                return False
            self._serve(0.05)
        return True

    def _serve(self, seconds: float) -> None:
        """Serve one callback of those that come within a time, and read the observed topics."""
        self._executor.spin_once(timeout_sec=seconds)
        self._observed.read()

    def measure_alone(self, motions: int = 4) -> None:
        """Measure the greatest efforts of the motion without a fault, while the machine is in time."""
        worst, measured = np.zeros(self._robot.n), 0
        for _ in range(10 * motions):
            self.move()
            self.spin(1.5 * MOTION_SECONDS)
            if self._observed.gap < IN_TIME and self._machine.worst < IN_TIME:
                worst, measured = np.maximum(worst, self._observed.effort), measured + 1
            self.check("no fault", 0)
            if measured == motions:
                self.alone = worst
                return

    def move(self) -> None:
        """Begin a motion to the other pose; return when it is well under way."""
        self._goals += 1
        point = JointTrajectoryPoint(positions=POSES[self._goals % 2])
        point.time_from_start.sec = MOTION_SECONDS
        self._trajectories.publish(JointTrajectory(joint_names=self._robot.joint_names, points=[point]))
        self.wait(lambda: self._observed.reference_speed > 0.5, 2.0 * MOTION_SECONDS)

    def check(self, kind: str, number: int, fault: bool = False, gap: float | None = LONGEST_GAP,
              own_law: bool = True) -> bool:
        """Note what the attack did: measures, ended nodes and tracebacks; restart what ended.

        Args:
            kind: The kind of attack.
            number: Its number under the seed.
            fault: Whether the attack itself ended a node, so that its end is no failure.
            gap: Longest time without joint states, beyond the lateness of the machine [s]; None: the attack may pause
                the hardware, or change its rate or its sensors.
            own_law: Whether the laws have their own parameters, so that their efforts can be foretold.

        Returns:
            Whether all nodes survived.
        """
        survived = True
        if gap is not None:  # a gap that goes on counts whole
            seen = self._observed.heard["hardware"]
            self.wait(lambda: self._observed.heard["hardware"] > seen, 5.0)
        for name, process in list(self.nodes.items()):
            output = process.output()
            if "Traceback" in output:
                place = output.index("Traceback")
                self.report.fail(kind, number, f"'{name}' printed a traceback: {output[place:place + 6000]}")
                survived = False
            if not process.running() and not fault:
                self.report.fail(kind, number, f"'{name}' ended; it printed last: {output[-500:]}")
                survived = False
            if not process.running() or "Traceback" in output:
                process.end()
                self._samples[name].clear()
                self.start(name)
        self._judge(kind, number, gap, own_law)
        self._sample()
        self._machine.worst = 0.0
        self._observed.forget(pause=gap is None)
        return survived

    def recover(self) -> bool:
        """Wait until every node publishes; return whether they do."""
        self._before = dict(self._observed.heard)
        return self.wait(lambda: not self.silent(), START_SECONDS)

    def silent(self) -> str:
        """Return the names of nodes that have not published since :meth:`recover` was called."""
        return ", ".join(name for name, heard in self._observed.heard.items() if heard < self._before[name] + 10)

    def send(self, name: str, number: signal.Signals) -> None:
        """Send a signal to a node."""
        self.nodes[name].send(number)

    def report_memory(self, begin: float, end: float) -> None:
        """Report the memory of each node at equal times, from when they had been started [s] to the end [s]."""
        self.report.memory = {name: at_equal_times(samples, "memory", begin, end)
                               for name, samples in self._samples.items() if samples}

    def judge_memory(self, begin: float, end: float, limit: float | None) -> None:
        """Judge by how much the memory of each node grew from a fifth of the time on, relative; None: no limit."""
        for name, samples in self._samples.items():
            grown = growth(samples, "memory", begin, end)
            self.report.measure(f"memory of {name}", "growth [%]", 100.0 * grown)
            if limit is not None and grown > limit:
                self.report.fail(f"memory of {name}", 0, f"grew by {100.0 * grown:.3g} % in the last four fifths of "
                                  f"the time, the limit is {100.0 * limit:g} %")

    def _judge(self, kind: str, number: int, gap: float | None, own_law: bool) -> None:
        """Measure efforts and gaps since the last check, and compare them with the goals."""
        seen, late, report = self._observed, self._machine.worst, self.report
        report.measure(kind, "machine late [s]", late)
        report.measure(kind, "gap [s]", seen.gap)
        if gap is not None:
            report.measure(kind, "gap - late [s]", seen.gap - late)
            if seen.gap - late > gap:
                report.fail(kind, number, f"no joint state for {seen.gap:.3g} s, the limit is {gap:.3g} s; the machine "
                            f"woke a sleeping process {late:.3g} s late at worst")
        if not own_law:
            return
        report.measure(kind, "effort [N m]", float(seen.effort.max()))
        report.measure(kind, "braking [N m]", float(seen.braking.max()))
        greatest, limit = np.maximum(seen.effort, seen.braking), self._robot.model.effort_limit
        if (greatest > limit * (1.0 + 1e-9)).any():
            report.fail(kind, number, f"efforts of {greatest} N m, the limits are {limit}")
        report.measure(kind, "beyond law [N m]", seen.beyond_law)
        if seen.beyond_law > LARGEST_EXCESS:
            report.fail(kind, number, f"the controller commanded {seen.beyond_law:.3g} N m more or less than its law")
        if self.alone is not None and late < IN_TIME:
            report.measure(kind, "effort / alone", float((seen.effort / self.alone).max()))

    def _sample(self) -> None:
        for name, process in self.nodes.items():
            if process.running():
                self._samples[name].append(ProcessSample.of(process.pid))
