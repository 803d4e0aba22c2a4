"""The four nodes under attack, as processes that are restarted when they end, and what is seen of them."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Any, Self

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState

from bench.attack.machine import MachineWatch
from bench.attack.report import Report
from robodyn_ros.commands.processes import NodeProcess
from robodyn_ros.errors import RobodynError
from robodyn_ros.nodes.common.messages import read_stamp
from robodyn_ros.nodes.common.topics import CONTROL_QOS
from robodyn_ros.resources import robot_file
from robodyn_ros.robot import Robot

NAMESPACE = "attack"
ROBOT = "planar_2r"
NODES: dict[str, dict[str, object]] = {
    "hardware": {"robot": ROBOT, "update_rate": 200, "command_timeout": 0.1},
    "controller": {"robot": ROBOT, "controller": "pd_gravity"},
    "dynamics": {"robot": ROBOT},
    "state_publisher": {"robot": ROBOT},
}
START_SECONDS = 60.0


class AttackedGraph:
    """A context manager that starts the nodes and ends every one of them.

    Args:
        report: Gets what the nodes do.

    Attributes:
        node: The attacker's own node.
        nodes: The processes by name.
    """

    def __init__(self, report: Report) -> None:
        self._report = report
        self._context = Context()
        self._machine = MachineWatch()
        self.nodes: dict[str, NodeProcess] = {}
        self._last_stamp, self._worst_gap, self._worst_effort, self._states = 0, 0.0, 0.0, 0
        self._first_memory: dict[int, float] = {}
        self._joint_names = Robot.from_urdf(robot_file(ROBOT)).joint_names

    def __enter__(self) -> Self:
        """Start the nodes and wait for joint states that answer commands."""
        rclpy.init(context=self._context)
        self.node = Node("attacker", context=self._context, namespace=NAMESPACE, start_parameter_services=False,
                         enable_rosout=False)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self.node.create_subscription(JointState, "joint_states", self._on_state, CONTROL_QOS)
        try:
            for name in NODES:
                self.start(name)
            if not self.recover():
                output = "\n".join(process.output()[-500:] for process in self.nodes.values())
                raise RobodynError(f"no joint states within {START_SECONDS:g} s; the nodes printed last:\n{output}")
        except BaseException:
            self.__exit__()
            raise
        self.forget()
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

    def start(self, name: str, **parameters: object) -> NodeProcess:
        """Start a node anew."""
        if name in self.nodes:
            self.nodes[name].__exit__()
        self.nodes[name] = NodeProcess(name, {**NODES[name], **parameters}, NAMESPACE)
        return self.nodes[name]

    def all_there(self) -> bool:
        """Whether every node is in the graph."""
        return set(NODES) <= {name for name, space in self.node.get_node_names_and_namespaces()
                              if space == f"/{NAMESPACE}"}

    def spin(self, seconds: float) -> None:
        """Serve the attacker's callbacks for a while."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            self._executor.spin_once(timeout_sec=left)

    def wait(self, condition: Callable[[], Any], seconds: float) -> bool:
        """Serve callbacks until a condition holds; return whether it does."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                return False
            self._executor.spin_once(timeout_sec=0.05)
        return True

    def check(self, kind: str, number: int, fault: bool = False) -> bool:
        """Note what the attack did: measures, ended nodes and tracebacks; restart what ended.

        Args:
            kind: The kind of attack.
            number: Its number under the seed.
            fault: Whether the attack itself ended or stopped a node, so that a gap and an end are no failures.

        Returns:
            Whether all nodes survived.
        """
        survived = True
        for name, process in list(self.nodes.items()):
            output = process.output()
            if "Traceback" in output:
                place = output.index("Traceback")
                self._report.fail(kind, number, f"'{name}' printed a traceback: {output[place:place + 1500]}")
                survived = False
            if not process.running() and not fault:
                self._report.fail(kind, number, f"'{name}' ended; it printed last: {output[-500:]}")
                survived = False
            if not process.running() or "Traceback" in output:
                process.end()
                self._first_memory.pop(process.pid, None)
                self.start(name)
        self._report.measure(kind, "effort [N m]", self._worst_effort)
        self._report.measure(kind, "gap of joint states [s]", self._worst_gap)
        self._report.measure(kind, "lateness of the machine [s]", self._machine.worst)
        self._measure_memory()
        self.forget()
        return survived

    def recover(self) -> bool:
        """Wait until all nodes are there and joint states come; return whether they do."""
        seen = self._states
        recovered = self.wait(lambda: self._states > seen + 200 and self.all_there(), START_SECONDS)
        self._measure_memory(begin=True)
        return recovered

    def forget(self) -> None:
        """Begin to measure anew."""
        self._last_stamp, self._worst_gap, self._worst_effort, self._machine.worst = 0, 0.0, 0.0, 0.0

    def send(self, name: str, number: signal.Signals) -> None:
        """Send a signal to a node."""
        self.nodes[name]._process.send_signal(number)

    def _measure_memory(self, begin: bool = False) -> None:
        """Measure by how much each node has grown since it was settled; ``begin``: note what it has now."""
        for name, process in self.nodes.items():
            if not process.running():
                continue
            with open(f"/proc/{process.pid}/statm") as file:
                megabytes = int(file.read().split()[1]) * 4096 / 2**20
            if begin:
                self._first_memory.setdefault(process.pid, megabytes)
            elif process.pid in self._first_memory:
                self._report.measure(f"memory of {name}", "growth [MB]", megabytes - self._first_memory[process.pid])

    def _on_state(self, state: JointState) -> None:
        if list(state.name) != list(self._joint_names):  # a message of the attacker
            return
        self._states += 1
        stamp = read_stamp(state.header.stamp)
        if self._last_stamp and stamp > self._last_stamp:
            self._worst_gap = max(self._worst_gap, 1e-9 * (stamp - self._last_stamp))
        self._last_stamp = stamp
        self._worst_effort = max([self._worst_effort, *map(abs, state.effort)])
