# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The fastest round trip with rclpy: a JointState out and a JointState back, between two processes.

``python -m bench.bare_echo ask SECONDS JOINTS`` sends a state, waits for the command that answers it, sends the next,
and prints the number of round trips per second. The others run until SIGTERM: ``answer`` echoes; ``pace RATE JOINTS``
sends a state in each period, takes the commands that have come, and prints a line when the first one has come;
``listen`` receives the states and does nothing with them.
"""

from __future__ import annotations

import sys
import time
from array import array

import rclpy
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

from bench.sleeping import periods
from robodyn_ros.nodes.common.topics import CONTROL_QOS, LATEST_QOS

STATES, COMMANDS = "bare_states", "bare_commands"
DISCOVERY_DEADLINE = 20.0


class End:
    """One end of the loop: a publisher, and a subscription with its own wait set.

    Args:
        name: Name of the node.
        publishes: Topic of the publisher.
        subscribes: Topic of the subscription.
    """

    def __init__(self, name: str, publishes: str, subscribes: str) -> None:
        self.node = Node(name, start_parameter_services=False, enable_rosout=False)
        self.publisher = self.node.create_publisher(JointState, publishes, CONTROL_QOS)
        self._handle = self.node.create_subscription(JointState, subscribes, lambda _: None, CONTROL_QOS).handle
        handle = self.node.context.handle
        if handle is None:
            raise RuntimeError("bench.bare_echo: rclpy is not initialized")
        self._wait_set = _rclpy.WaitSet(1, 0, 0, 0, 0, 0, handle)

    def receive(self, timeout: float) -> JointState | None:
        """Wait for the next message, at most ``timeout`` [s]."""
        self._wait_set.clear_entities()
        self._wait_set.add_subscription(self._handle)
        self._wait_set.wait(int(timeout * 1e9))
        taken = self._handle.take_message(JointState, False)
        return None if taken is None else taken[0]


def answer() -> None:
    """Answer every state with a command of the same joints and stamp."""
    end = End("bare_answer", COMMANDS, STATES)
    command = JointState()
    while rclpy.ok():
        state = end.receive(0.5)
        if state is not None:
            command.header.stamp = state.header.stamp
            command.name = state.name
            command.effort = state.effort
            end.publisher.publish(command)


def ask(seconds: float, joints: int) -> float:
    """Return round trips per second over a time [s], counted after the first answer."""
    end = End("bare_ask", STATES, COMMANDS)
    state = JointState(name=[f"joint_{i}" for i in range(joints)])
    deadline = time.monotonic() + DISCOVERY_DEADLINE
    count, start = 0, 0.0
    while True:
        fill(state, count, joints)
        end.publisher.publish(state)
        if end.receive(0.2) is None:
            if time.monotonic() > deadline:
                raise SystemExit("bench.bare_echo: no answer; is the answering process running?")
            continue
        if count == 0:
            start = time.monotonic()
        count += 1
        if time.monotonic() - start >= seconds:
            return (count - 1) / (time.monotonic() - start)


def pace(rate: int, joints: int) -> None:
    """Send a state in each period, at a rate [Hz], and take the command that has come since the last one."""
    end = End("bare_pace", STATES, COMMANDS)
    state, heard = JointState(name=[f"joint_{i}" for i in range(joints)]), False
    for count, _ in enumerate(periods(rate)):
        command = end.receive(0.0)
        if command is not None and not heard:
            heard = True
            print("heard", flush=True)
        fill(state, count % 1000, joints)
        end.publisher.publish(state)
        if not rclpy.ok():
            return


def listen() -> None:
    """Let the middleware receive every state, and take none."""
    node = Node("bare_listen", start_parameter_services=False, enable_rosout=False)
    node.create_subscription(JointState, STATES, lambda _: None, LATEST_QOS)
    while rclpy.ok():
        time.sleep(0.5)


def fill(state: JointState, count: int, joints: int) -> None:
    """Write values of a count into a state, as new arrays."""
    state.header.stamp.nanosec = count
    for field in ("position", "velocity", "effort"):
        setattr(state, field, array("d", [0.1 * count] * joints))


def main() -> None:
    """Run one end."""
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)  # so that SIGTERM ends it at once, also within a take
    try:
        if sys.argv[1] == "answer":
            answer()
        elif sys.argv[1] == "listen":
            listen()
        elif sys.argv[1] == "pace":
            pace(int(sys.argv[2]), int(sys.argv[3]))
        else:
            print(ask(float(sys.argv[2]), int(sys.argv[3])), flush=True)
    except KeyboardInterrupt:
        pass
    finally:
        rclpy.try_shutdown()


if __name__ == "__main__":
    main()
