# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""For node tests: nodes as processes, a node of the test's own, and waiting on conditions with a deadline.

    with RosProcess("hardware", {"robot": "planar_2r"}) as hardware, RosTest() as ros:
        states = ros.record(JointState, "joint_states")
        ros.wait_for(lambda: states, "joint states")
        hardware.stop()              # SIGINT; checks exit code 0 and that nothing was left on stderr
"""

import itertools
import os
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import rclpy
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile

from bench.fork_server import ForkedNode, fork_server

DEADLINE = 60.0
"""A machine with a load of ten per core starts a node in half of it [s]."""


class RosProcess(ForkedNode):
    """A node in a process of its own that is expected to behave; a test that fails shows what it printed."""

    def __exit__(self, *error):
        print(f"{self.node} printed:\n{self.output()}")
        super().__exit__(*error)

    def wait(self, timeout=DEADLINE):
        """Exit code, once the process has ended by itself."""
        return self._process.wait(timeout)

    def wait_for_output(self, text, timeout=DEADLINE):
        """Wait until the node has printed a text."""
        end = time.monotonic() + timeout
        while text not in self.output():
            assert self.running(), f"{self.node} ended with {self._process.returncode}:\n{self.output()}"
            assert time.monotonic() < end, f"{self.node} did not print '{text}' in {timeout} s:\n{self.output()}"
            time.sleep(0.02)

    def stands_still(self):
        """Whether all threads are stopped, as SIGSTOP brings about after a while."""
        return all("\nState:\tT" in status.read_text()
                   for status in Path(f"/proc/{self.pid}/task").glob("*/status"))

    @contextmanager
    def stopped(self):
        """Hold the process up; all its threads stand still when the block begins."""
        os.kill(self.pid, signal.SIGSTOP)
        try:
            end = time.monotonic() + DEADLINE
            while not self.stands_still():
                assert time.monotonic() < end, f"{self.node} did not stand still in {DEADLINE} s"
            yield
        finally:
            os.kill(self.pid, signal.SIGCONT)

    def stop(self, number=signal.SIGINT):
        """Ask the node to stop and check that it does so cleanly: exit code 0, no traceback."""
        assert self.running(), f"{self.node} ended by itself with {self._process.returncode}:\n{self.output()}"
        self._process.send_signal(number)
        try:
            code = self._process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGABRT)  # it prints where each of its threads stands
            self._process.wait(DEADLINE)
            raise AssertionError(f"{self.node} did not end in {DEADLINE} s:\n{self.output()}") from None
        assert code == 0, f"{self.node} ended with {code}:\n{self.output()}"
        assert "Traceback" not in self.output(), self.output()


def run_robodyn(*arguments, timeout=2 * DEADLINE):
    """A robodyn command that has run to its end, forked as nodes are."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = fork_server().start(("-m", "robodyn_ros", *arguments), os.environ, output, errors)
        try:
            code = process.wait(timeout)
        finally:
            process.kill()
        for file in (output, errors):
            file.seek(0)
        return subprocess.CompletedProcess(arguments, code, output.read().decode(), errors.read().decode())


class Messages(list):
    """Messages of a topic as they arrived; a busy test may get them long after they were published.

    Attributes:
        times: System times at which they were published [ns].
    """

    def __init__(self):
        super().__init__()
        self.times = []

    def take(self, message, info):
        """Subscription callback."""
        self.append(message)
        self.times.append(info["source_timestamp"])

    def clear(self):
        super().clear()
        self.times.clear()

    def first_from_now(self, fits):
        """A condition of `RosTest.wait_for`: the first message published from now on that fits, asked once of each."""
        now, seen = time.time_ns(), len(self)

        def find():
            nonlocal seen
            while seen < len(self):
                seen += 1
                if self.times[seen - 1] > now and fits(self[seen - 1]):
                    return self[seen - 1]
            return None

        return find

    def published_since(self, time_ns, begin=0):
        """Those from an index on that were published after a system time [ns]."""
        times = itertools.islice(self.times, begin, None)
        return [message for message, time in zip(self[begin:], times, strict=True) if time > time_ns]


class RosTest:
    """The test's own node, in a context of its own."""

    def __init__(self, name="tester", namespace=""):
        self.context = Context()
        rclpy.init(context=self.context)
        self.node = Node(name, context=self.context, namespace=namespace, start_parameter_services=False,
                         enable_rosout=False)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self._clients = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.executor.shutdown()
        self.node.destroy_node()
        self.context.try_shutdown()

    def spin(self, seconds):
        """Serve callbacks for a while; only to see that something does NOT happen."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.executor.spin_once(timeout_sec=left)

    def wait_for(self, condition, what, timeout=DEADLINE):
        """Serve callbacks until the condition holds, and return its value."""
        end = time.monotonic() + timeout
        while not (value := condition()):
            left = end - time.monotonic()
            assert left > 0, f"waited {timeout} s for {what}"
            self.executor.spin_once(timeout_sec=min(left, 0.1))
        return value

    def record(self, message_type, topic, qos=10):
        """List that gets every message of a topic."""
        messages = Messages()
        self.node.create_subscription(message_type, topic, messages.take,
                                      qos if isinstance(qos, QoSProfile) else QoSProfile(depth=qos))
        return messages

    def publisher(self, message_type, topic, qos=10, matched=1):
        """Publisher that has found its subscribers."""
        publisher = self.node.create_publisher(message_type, topic, qos)
        self.wait_for(lambda: publisher.get_subscription_count() >= matched, f"a subscriber of {topic}")
        return publisher

    def call(self, service_type, name, request=None, timeout=DEADLINE, **fields):
        """Response of a service."""
        if name not in self._clients:
            self._clients[name] = self.node.create_client(service_type, name)
        client = self._clients[name]
        self.wait_for(client.service_is_ready, f"service {name}", timeout)
        request = request or service_type.Request(**fields)
        future = client.call_async(request)
        try:
            self.wait_for(future.done, f"answer of {name}", timeout / 2)
        except AssertionError:
            # A server that is held up for 0.1 s while it discovers a new client cannot send it the first answer.
            future = client.call_async(request)
            self.wait_for(future.done, f"second answer of {name}", timeout / 2)
        return future.result()

    def set_parameters(self, node, values):
        """Result (successful, reason) of setting a node's parameters at once."""
        request = SetParametersAtomically.Request(
            parameters=[Parameter(name, value=value).to_parameter_msg() for name, value in values.items()])
        return self.call(SetParametersAtomically, f"{node}/set_parameters_atomically", request).result
