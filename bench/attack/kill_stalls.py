# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Kills one process of a graph again and again, and measures how long each kill holds up the control thread of another.

``python -m bench.attack.kill_stalls --node controller --kills 300`` kills that node. The survivor is the hardware node,
at 1 kHz in real time: the gaps between the stamps of its joint states are measured. With ``--node hardware`` the
survivor is the controller: the time until its control thread has taken over a parameter is measured. Beside them,
processes sleep for 1 ms again and again; their greatest delay is that of the machine, as is a step of system time. The
program ends with 1 if a kill held up the survivor for more than 20 ms beyond that.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from argparse import ArgumentParser
from contextlib import ExitStack, suppress

import numpy as np
import rclpy
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

from bench.attack.machine import MachineWatch
from bench.followed_states import FollowedStates
from bench.fork_server import ForkedNode
from robodyn_ros.base.errors import RobodynError
from robodyn_ros.nodes.common.messages import read_stamp

ROBOT = "planar_2r"
RATE = 1000
NODES: dict[str, dict[str, object]] = {
    "hardware": {"robot": ROBOT, "update_rate": RATE},
    "controller": {"robot": ROBOT, "controller": "pd_gravity"},
    "state_publisher": {"robot": ROBOT},
    "dynamics": {"robot": ROBOT},
}
LISTENER = "listener"
"""The process of bench/attack/listener.py."""

LIMIT = 0.02
"""Longest time that a kill may hold up the survivor beyond what the machine does to a sleeping process [s]."""

SETTLE, WINDOW = 0.5, 1.3
"""Time that a started node runs before it is killed, and time of a measurement [s]; the known stall takes 1 s."""

_START_SECONDS = 60.0


class JointStateGaps:
    """Joint states as they arrive, on the executor's thread.

    Attributes:
        worst: Longest time between two stamps beyond the period, since it was last set to 0 [s].
        commanded: Whether the hardware followed a command on the way to the last joint state.
    """

    def __init__(self, node: Node) -> None:
        self.worst, self.commanded = 0.0, False
        self._last = 0
        self._followed = FollowedStates(node)
        node.create_subscription(JointState, "joint_states", self._on_state, QoSProfile(depth=5000))

    def longest(self) -> float:
        """Wait until the joint states of this moment have arrived, and return the longest gap [s]."""
        now, end = time.time_ns(), time.monotonic() + _START_SECONDS
        while self._last < now and time.monotonic() < end:
            time.sleep(0.01)
        return self.worst

    def _on_state(self, state: JointState) -> None:
        stamp = read_stamp(state.header.stamp)
        if self._last:
            self.worst = max(self.worst, 1e-9 * (stamp - self._last) - 1.0 / RATE)
        self._last = stamp
        self.commanded = self._followed.includes(state)


class KillCampaign:
    """The graph and its measurements; a context manager that ends every process.

    Args:
        killed: Name of the node that is killed, or `LISTENER`.
    """

    def __init__(self, killed: str) -> None:
        self._killed = killed
        self._survivors: dict[str, ForkedNode] = {}
        self._exit = ExitStack()

    def __enter__(self) -> KillCampaign:
        """Start the survivors."""
        with ExitStack() as entered:
            rclpy.init()
            self._machine = MachineWatch(processes=2)
            entered.callback(self._machine.close)
            self._node = Node("campaign", start_parameter_services=False, enable_rosout=False)
            self._executor = SingleThreadedExecutor()
            self._executor.add_node(self._node)
            spinning = threading.Thread(target=self._spin, daemon=True)
            spinning.start()
            entered.callback(spinning.join)
            entered.callback(rclpy.try_shutdown)  # ends the thread
            self._gaps = JointStateGaps(self._node)
            self._client = self._node.create_client(SetParametersAtomically, "controller/set_parameters_atomically")
            for name in {"hardware", "controller"} - {self._killed}:
                self._survivors[name] = entered.enter_context(ForkedNode(name, NODES[name]))
            self._victim = self._start_victim()
            entered.callback(lambda: self._victim.__exit__())
            self._wait_until_commanded()
            self._exit = entered.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """End all processes."""
        self._exit.close()

    def kill(self) -> tuple[float, float]:
        """Kill the process once, and start it again.

        Returns:
            The longest time for which the survivor was held up, and a sleeping process meanwhile [s].
        """
        self._wait_until_commanded()
        time.sleep(SETTLE)
        self._gaps.worst, self._machine.worst = 0.0, 0.0
        clock = _clock_offset()
        if self._killed == "hardware":
            worst = self._answers_during_kill()
        else:
            self._replace()
            time.sleep(WINDOW)
            worst = self._gaps.longest()
        late = max(self._machine.worst, abs(_clock_offset() - clock))  # joint states are stamped with system time
        self._gaps.commanded = False  # until the next joint state tells
        return worst, late

    def printed(self) -> str:
        """Return the last lines of the survivors."""
        return "\n".join(process.output()[-1000:] for process in self._survivors.values())

    def _replace(self) -> None:
        self._victim.kill()
        self._victim.__exit__()
        self._victim = self._start_victim()

    def _start_victim(self) -> ForkedNode:
        if self._killed == LISTENER:
            return ForkedNode(LISTENER, command=("-m", "bench.attack.listener"))
        return ForkedNode(self._killed, NODES[self._killed])

    def _spin(self) -> None:
        with suppress(ExternalShutdownException):
            self._executor.spin()

    def _answers_during_kill(self) -> float:
        """Return the longest time until the controller's control thread has taken over a parameter [s]."""
        if not self._client.wait_for_service(_START_SECONDS):
            raise RobodynError(f"the controller serves no parameters within {_START_SECONDS:g} s")
        request = SetParametersAtomically.Request(
            parameters=[Parameter("state_publish_rate", value=10.0).to_parameter_msg()])
        worst, begin, killed = 0.0, time.monotonic(), False
        while (now := time.monotonic()) < begin + WINDOW:
            if not killed and now > begin + 0.05:
                self._replace()
                killed = True
            future, answered = self._client.call_async(request), threading.Event()
            future.add_done_callback(lambda _, answered=answered: answered.set())  # type: ignore[misc]
            if not answered.wait(_START_SECONDS):
                raise RobodynError(f"the controller did not answer within {_START_SECONDS:g} s")
            worst = max(worst, time.monotonic() - now)
            time.sleep(0.002)
        return worst

    def _wait_until_commanded(self) -> None:
        end = time.monotonic() + _START_SECONDS
        while not self._gaps.commanded:
            for process in self._survivors.values():
                process.check()
            if time.monotonic() > end:
                raise RobodynError(f"no commands within {_START_SECONDS:g} s; the survivors printed {self.printed()}")
            time.sleep(0.02)


def _clock_offset() -> float:
    """Return the time between system time and the steady clock, which changes when system time is set [s]."""
    return time.time() - time.monotonic()


def main() -> int:
    """Run the campaign and print each kill that held up the survivor."""
    parser = ArgumentParser(prog="python -m bench.attack.kill_stalls", description=__doc__.partition("\n")[0])
    parser.add_argument("--node", choices=(*NODES, LISTENER), default="controller", help="what is killed")
    parser.add_argument("--kills", type=int, default=300, help="how often (default: 300)")
    parser.add_argument("--limit", type=float, default=LIMIT,
                        help="longest time beyond the machine's own delay [s] (default: %(default)s)")
    options = parser.parse_args()
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    os.environ.setdefault("ROS_DOMAIN_ID", str(os.getpid() % 100 + 1))
    held_up: list[tuple[float, float]] = []
    with KillCampaign(options.node) as campaign:
        for number in range(1, options.kills + 1):
            held_up.append(campaign.kill())
            worst, machine = held_up[-1]
            if worst - machine > options.limit:
                print(f"kill {number}: held up for {1e3 * worst:.1f} ms, the machine for {1e3 * machine:.1f} ms; the "
                      f"survivor printed last:\n{campaign.printed()}", flush=True)
    worst, machine = np.array(held_up).T
    stalls = int(np.sum(worst - machine > options.limit))
    print(f"{options.kills} kills of {options.node}: {stalls} held up the survivor for more than "
          f"{1e3 * options.limit:g} ms beyond the machine's own delay")
    for what, values in (("survivor", worst), ("machine", machine), ("difference", worst - machine)):
        print(f"  {what:<17} median {1e3 * np.median(values):6.1f} ms, worst {1e3 * values.max():7.1f} ms")
    return 1 if stalls else 0


if __name__ == "__main__":
    sys.exit(main())
