# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""For tests of the hardware node: the node in a process, and who listens to it and commands it."""

import math
import signal
from contextlib import contextmanager

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from ros_process import RosProcess, RosTest
from sensor_msgs.msg import JointState

from bench.followed_states import FollowedStates
from robodyn_ros.nodes.common.messages import read_stamp
from robodyn_ros.nodes.common.topics import CONTROL_QOS

PERIOD = 2_000_000
NAMES = ["joint1", "joint2"]


class Peer(RosTest):
    """A test node with joint states, and commands to send."""

    def __init__(self, namespace):
        super().__init__(namespace=namespace)
        self.namespace = namespace
        self.states = self.record(JointState, "joint_states", CONTROL_QOS)
        self.statuses = self.record(DiagnosticArray, "/diagnostics")
        self.followed = FollowedStates(self.node)
        self.commands = self.publisher(JointState, "joint_commands", CONTROL_QOS)
        self.wait_for(lambda: self.states, "joint states")

    def command(self, names, effort, stamp=None):
        self.send(self.commands, JointState(name=names, effort=effort), stamp)

    def send(self, publisher, message, stamp=None):
        if stamp is not None:
            message.header.stamp = stamp
        publisher.publish(message)

    def next_state(self, condition=lambda state: True, what="a joint state"):
        """The first state from now on that fits."""
        return self.next_of(self.states, condition, what)

    def next_of(self, messages, condition, what):
        """The first of recorded messages from now on that fits."""
        messages.clear()
        return self.wait_for(messages.first_from_now(condition), what)

    def next_stamped(self, expected):
        """The state of a stamp; none of a later stamp may come before."""
        def found():
            return next((state for state in self.states if stamp(state) >= expected), None)

        state = self.wait_for(found, f"the state stamped {expected} ns")
        assert stamp(state) == expected
        return state

    def reports(self, latest_first=False):
        """Values of the hardware node's diagnostics by key, each with their time [s]."""
        for message in reversed(self.statuses) if latest_first else self.statuses:
            if message.status[0].name == f"/{self.namespace}/hardware":
                yield ({value.key: value.value for value in message.status[0].values},
                       1e-9 * read_stamp(message.header.stamp))

    def values(self):
        """Those that came last."""
        return next(self.reports(latest_first=True), ({}, 0.0))[0]

    def counter(self, key):
        """One of them, or None."""
        return self.values().get(key)

    def service(self, kind, name, **fields):
        return self.call(kind, f"/{self.namespace}/hardware/{name}", **fields)


def hardware(namespace, **parameters):
    return RosProcess("hardware", {"robot": "planar_2r", **parameters}, namespace)


@contextmanager
def hardware_for_a_file(namespace, number=signal.SIGINT, robot="planar_2r", **parameters):
    """The node for all tests of a file: given out once it has its robot, and stopped by a signal at their end."""
    with hardware(namespace, robot=robot, **parameters) as process:
        process.wait_for_output(robot)
        yield process
        if process.running():
            process.stop(number)


def stamp(state):
    return read_stamp(state.header.stamp)


def sine_effort(state):
    """A law of state and stamp alone."""
    return [3.0 * math.sin(1e-9 * stamp(state)) - state.velocity[0], 1.0 - 2.0 * state.position[1]]


def run_lockstep(namespace, periods, law=sine_effort, **parameters):
    """Joint states of a fresh lockstep run under a law, as one array."""
    with hardware(namespace, time_mode="lockstep", **parameters) as process, Peer(namespace) as peer:
        rows = []
        for period in range(1, periods + 1):
            state = peer.next_stamped(period * PERIOD)
            peer.states.clear()
            rows.append([*state.position, *state.velocity, *state.effort])
            peer.command(NAMES, law(state), state.header.stamp)
        process.stop()
    return np.array(rows)
