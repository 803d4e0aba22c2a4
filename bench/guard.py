# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.
"""Time from the last command of a law to the request that switches its controller off, with ``robodyn guard``.

    python -m bench.guard --rounds 100

In each round, guards with several time-outs watch one law, which is a process of its own. Killed (SIGKILL) and stopped
(SIGSTOP) laws take turns. An alarm because the machine held the law up before does not count. controller_manager is not
among the wheels of PyPI: a node with its services stands for it. With --ros2-control the installed one runs, with
effort_controllers/JointGroupEffortController, and the times end at the first effort of 0 N m that it publishes.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import numpy as np

from bench.controller_manager import ControllerManager, executable
from robodyn_ros.nodes.client.command_guard import PRIORITY
from robodyn_ros.nodes.common.real_time import prioritize_process

RATE = 200.0
LAW = """
import signal, sys, time
import rclpy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
rclpy.init()
node = rclpy.create_node("law", namespace=sys.argv[1])
commands = [node.create_publisher(Float64MultiArray, f"{name}/commands", 1) for name in sys.argv[3:]]
states = node.create_publisher(JointState, "joint_states", 1)
frozen = []
signal.signal(signal.SIGUSR1, lambda *_: frozen.append(time.monotonic()))
while True:
    now = time.monotonic()
    for publisher in commands:
        publisher.publish(Float64MultiArray(data=frozen[:1] or [now]))
    states.publish(JointState(name=["turn"], position=[now % 6.0]))
    time.sleep(1.0 / float(sys.argv[2]))
"""
"""Publishes commands that hold their time, and a joint that moves; after SIGUSR1 the same command again and again."""
PATIENCE = 120.0


class Manager:
    """A controller manager's services, and the commands, heard on a thread; times are those of the steady clock.

    Args:
        namespace: Its namespace.
        controllers: State of each controller by name.

    Attributes:
        last_command: Time at which the last command was published [s].
        requests: Time, request and last command of each request to switch.
        refusals: Messages of the next answers that refuse.
    """

    def __init__(self, namespace: str, controllers: dict[str, str]) -> None:
        import rclpy
        from controller_manager_msgs.msg import ControllerState
        from controller_manager_msgs.srv import ListControllers, SwitchController
        from rclpy.executors import SingleThreadedExecutor
        from std_msgs.msg import Float64MultiArray

        self.last_command, self.requests, self.refusals = 0.0, list[tuple[float, Any, float]](), list[str]()
        self._context = rclpy.Context()
        rclpy.init(context=self._context)
        self._node = rclpy.create_node("controller_manager", namespace=namespace, context=self._context)

        def switch(request: Any, response: Any) -> Any:
            self.requests.append((time.monotonic(), request, self.last_command))
            response.ok = not self.refusals
            response.message = self.refusals.pop(0) if self.refusals else ""
            return response

        def list_controllers(_: Any, response: Any) -> Any:
            response.controller = [ControllerState(name=name, state=state) for name, state in controllers.items()]
            return response

        def hear(message: Float64MultiArray) -> None:
            self.last_command = message.data[0]

        self._node.create_service(SwitchController, "~/switch_controller", switch)
        self._node.create_service(ListControllers, "~/list_controllers", list_controllers)
        for name in controllers:
            self._node.create_subscription(Float64MultiArray, f"{name}/commands", hear, 1)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._thread = threading.Thread(target=self._executor.spin)

    def __enter__(self) -> Self:
        """Begin to serve."""
        self._thread.start()
        return self

    def begin(self) -> None:
        """Nothing: its controllers are active."""

    def forget(self) -> None:
        """Forget the alarms up to now: the machine held the law up."""
        self.requests.clear()

    def ended(self) -> dict[str, tuple[float, float]]:
        """Times of the request and of the last command before it, by controller [s]."""
        return {name: (at, last) for at, request, last in self.requests for name in request.deactivate_controllers}

    def __exit__(self, *_: object) -> None:
        """Leave the graph."""
        self._executor.shutdown()
        self._thread.join()
        self._node.destroy_node()
        self._context.try_shutdown()


class InstalledManager(ControllerManager):
    """The installed controller manager, with an effort controller for each of some joints behind topics.

    Commands hold their time, and so do the efforts that the hardware component publishes; switched off, an effort
    controller leaves 0 N m there.

    Args:
        namespace: Its namespace.
        controllers: Names of the controllers.
        folder: For its parameter file and its log.
    """

    def __init__(self, namespace: str, controllers: Sequence[str], folder: Path) -> None:
        from sensor_msgs.msg import JointState

        links = "".join(f'<link name="{name}_link"/><joint name="{name}_joint" type="continuous"><parent link="base"/>'
                        f'<child link="{name}_link"/></joint>' for name in controllers)
        rows = "".join(f'<joint name="{name}_joint"><command_interface name="effort"/>'
                       '<state_interface name="position"/><state_interface name="effort"/></joint>'
                       for name in controllers)
        super().__init__(
            f'<robot name="arm"><link name="base"/>{links}<ros2_control name="arm" type="system"><hardware>'
            '<plugin>joint_state_topic_hardware_interface/JointStateTopicSystem</plugin>'
            f'<param name="joint_commands_topic">/{namespace}/joint_commands</param>'
            f'<param name="joint_states_topic">/{namespace}/joint_states</param>'
            f'<param name="trigger_joint_command_threshold">-1</param></hardware>{rows}</ros2_control></robot>',
            {"controller_manager": {"update_rate": 500, **{
                name: {"type": "effort_controllers/JointGroupEffortController"} for name in controllers}},
             **{name: {"joints": [f"{name}_joint"]} for name in controllers}}, folder, namespace)
        self._names, self._last = list(controllers), dict.fromkeys(controllers, 0.0)
        self._ended, self._early = dict[str, tuple[float, float]](), set[str]()
        self.node.create_subscription(JointState, "joint_commands", self._hear, 100)
        for name in controllers:
            if not self.load(name):
                raise TimeoutError(f"not loaded: {name}:\n{self.log()}")

    def _hear(self, message: Any) -> None:
        now = time.monotonic()
        for joint, effort in zip(message.name, message.effort, strict=True):
            name = joint.removesuffix("_joint")
            if effort > 0.0:
                self._last[name] = effort
            elif effort == 0.0 and self._last[name] > 0.0:
                self._ended.setdefault(name, (now, self._last[name]))

    def begin(self) -> None:
        """Activate the controllers that the guards of the round before have switched off."""
        self._last = dict.fromkeys(self._names, 0.0)
        self._ended.clear()
        self.wait(lambda: self.switch(activate=self._names), "active")

    def forget(self) -> None:
        """Leave alarms up to now out, because the machine held the law up."""
        self._early = set(self._ended)

    def ended(self) -> dict[str, tuple[float, float]]:
        """Times of the first effort of 0 N m and of the last command before it, by controller [s]."""
        self.wait(lambda: len(self._ended) == len(self._names), "switched off")
        return {name: times for name, times in self._ended.items() if name not in self._early}


class Law:
    """A process that publishes commands for controllers, and joint states."""

    def __init__(self, namespace: str, *controllers: str, rate: float = RATE) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", LAW, namespace, str(rate), *controllers])

    def __enter__(self) -> Self:
        """Return it; it runs."""
        return self

    def __exit__(self, *_: object) -> None:
        """Kill it."""
        self.process.kill()
        self.process.wait()

    def end(self, number: int) -> None:
        """Send it a signal."""
        os.kill(self.process.pid, number)


class Guard:
    """``robodyn guard`` in a process of its own, which prints to a file."""

    def __init__(self, namespace: str, file: Path, *words: str) -> None:
        self.file = file
        with file.open("w") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "robodyn_ros", "guard", *words, "--namespace", namespace],
                stdout=output, stderr=subprocess.STDOUT)

    def __enter__(self) -> Self:
        """Return it; it runs."""
        return self

    def __exit__(self, *_: object) -> None:
        """Kill it."""
        self.process.kill()
        self.process.wait()

    def output(self) -> str:
        """Return all that it has printed."""
        return self.file.read_text()

    def wait_until(self, text: str) -> None:
        """Wait until it has printed a text.

        Raises:
            TimeoutError: It did not, or ended.
        """
        end = time.monotonic() + PATIENCE
        while text not in self.output():
            if time.monotonic() > end or self.process.poll() is not None:
                raise TimeoutError(f"the guard did not print '{text}':\n{self.output()}")
            time.sleep(0.02)


def measure(rounds: int, timeouts: list[float], folder: Path, namespace: str = "guarded", *,
            with_ros2_control: bool = False) -> dict[float, list[float]]:
    """Return the times from the last command to the request, or to the zero effort, beyond the time-out [s], by it."""
    found: dict[float, list[float]] = {timeout: [] for timeout in timeouts}
    names = {f"controller_{round(1e6 * timeout)}us": timeout for timeout in timeouts}
    made = (InstalledManager(namespace, list(names), folder) if with_ros2_control
            else Manager(namespace, dict.fromkeys(names, "active")))
    with made as manager:
        prioritize_process(PRIORITY)  # the manager's thread, as ros2_control has it
        for turn in range(rounds):
            manager.begin()
            with ExitStack() as stack:
                guards = [stack.enter_context(Guard(namespace, folder / name, name, "--timeout", f"{timeout:g}"))
                          for name, timeout in names.items()]
                law = stack.enter_context(Law(namespace, *names))
                for guard in guards:
                    guard.wait_until("armed")
                time.sleep(0.3 + 0.1 * np.random.default_rng(turn).random())
                manager.forget()
                law.end(signal.SIGSTOP if turn % 2 else signal.SIGKILL)
                for guard in guards:
                    guard.process.wait(PATIENCE)
                for name, (at, last) in manager.ended().items():
                    found[names[name]].append(at - last - names[name])
    return found


def main() -> None:
    """Measure, and print a table."""
    import tempfile

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=100, help="kills and stops (default: %(default)s)")
    parser.add_argument("--timeouts", nargs="+", type=float, default=[0.05, 0.1, 1.0], help="[s]")
    parser.add_argument("--ros2-control", action="store_true", help="the installed controller manager, to 0 N m")
    options = parser.parse_args()
    if options.ros2_control and executable() is None:
        parser.error("--ros2-control: ros2_control is not installed, or not sourced")
    with tempfile.TemporaryDirectory() as folder:
        found = measure(options.rounds, options.timeouts, Path(folder), with_ros2_control=options.ros2_control)
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    print("| time-out [s] | alarms | within 20 ms of it | beyond it: least, median, greatest [ms] |\n"
          "| --- | --- | --- | --- |")
    for timeout, values in found.items():
        late = 1e3 * np.array(values)
        print(f"| {timeout:g} | {len(late)} | {(late <= 20.0).sum()} | {late.min():.1f}, {np.median(late):.1f}, "
              f"{late.max():.1f} |")


if __name__ == "__main__":
    main()
