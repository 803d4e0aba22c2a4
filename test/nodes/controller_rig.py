# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Controller and hardware node in lockstep with records of their messages, for tests of the controller node."""

import contextlib
import time

import numpy as np
from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.srv import GetParameters, SetParametersAtomically
from ros_process import DEADLINE, RosProcess
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robodyn_interfaces.msg import ControllerState
from robodyn_interfaces.srv import Step
from robodyn_ros.nodes.common.messages import read_stamp

NAMES = ["joint1", "joint2"]
START_DEADLINE = 120.0
"""Nodes compile before they answer, on a machine that may be busy; one that ends is noticed at once [s]."""
UPDATE_RATE = 100
"""Of the hardware, unless a test sets another one: as a second of motion costs two processes this many cycles [Hz]."""
SPEED_LIMIT = 8.0
"""Likewise: a second of motion takes an eighth, and nodes that only go on fill half of a processor meanwhile."""
SLOW = {"update_rate": 50, "lockstep_speed_limit": 1.0}
"""Parameters of hardware for tests that wait for anything but motions: both nodes fill a sixth of a processor."""
SERVICES = {GetParameters: "get_parameters", SetParametersAtomically: "set_parameters_atomically"}


def trajectory(times, positions, names=NAMES, **fields):
    points = [
        JointTrajectoryPoint(
            positions=[float(x) for x in row], time_from_start=Duration(sec=int(t // 1), nanosec=round(t % 1 * 1e9))
        )
        for t, row in zip(times, positions, strict=True)
    ]
    for name, rows in fields.items():
        for point, row in zip(points, rows, strict=True):
            setattr(point, name, row)
    return JointTrajectory(joint_names=list(names), points=points)


class Rig:
    """Hardware and controller, with records of their messages.

    `rules` are arguments for remapping by the name of a node; `settings` its parameters.
    """

    def __init__(self, ros, robot, namespace, rules=(), **settings):
        self.ros, self.namespace, self._rules = ros, namespace, dict(rules)
        self.settings = {
            "hardware": {"robot": robot, "time_mode": "lockstep", "update_rate": UPDATE_RATE,
                         "lockstep_speed_limit": SPEED_LIMIT,
                         **settings.get("hardware", {})},
            "controller": {"robot": robot, "controller": "computed_torque", "state_publish_rate": 50.0,
                           **settings.get("controller", {})},
        }
        self.settings["controller"].setdefault("update_rate", self.settings["hardware"]["update_rate"])
        self.nodes = {}
        self.states = ros.record(ControllerState, f"{namespace}/controller/controller_state", 100)
        self.diagnostics = ros.record(DiagnosticArray, "/diagnostics", 100)
        self.publisher = ros.publisher(JointTrajectory, f"{namespace}/controller/joint_trajectory", matched=0)

    def __enter__(self):
        try:
            for name in self.settings:
                self.start(name)
            self.ros.wait_for(self._subscribed, "the controller's subscription", START_DEADLINE)
            self.next(timeout=START_DEADLINE)
        except BaseException:  # leave no process behind
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for node in self.nodes.values():
            node.__exit__()

    def restart_controller(self):
        """Kill the controller and start it again; until it answers, the graph may still show the one that is dead."""
        self.nodes["controller"].kill()
        self.start("controller")

        def is_heard():
            self.publisher.publish(JointTrajectory())
            return "empty trajectory" in self.nodes["controller"].output()

        def answers():
            try:
                for kind, name in SERVICES.items():
                    self.ros.call(kind, f"{self.namespace}/controller/{name}", timeout=1.0)
            except AssertionError:
                return False
            return True

        self.ros.wait_for(is_heard, "the restarted controller's subscription")
        self.ros.wait_for(answers, "the restarted controller's services")

    def start(self, name):
        rules = self._rules.get(name)
        self.nodes[name] = RosProcess(name, self.settings[name], self.namespace,
                                      ("-m", "robodyn_ros", name, "--ros-args", *rules) if rules else ())

    def _subscribed(self):
        for name, node in self.nodes.items():
            assert node.running(), f"{name} ended:\n{node.output()}"
        return self.publisher.get_subscription_count()

    def next(self, what="a controller state", condition=lambda state: True, timeout=DEADLINE):
        """The first state that is published from now on and fits; if none comes, tell what the nodes printed last."""
        seen = len(self.states)
        try:
            return self.ros.wait_for(self.states.first_from_now(condition), what, timeout)
        except AssertionError as error:
            printed = "\n".join(f"{name} printed:\n{node.output()[-3000:]}" for name, node in self.nodes.items())
            raise AssertionError(f"{error}; {len(self.states) - seen} other states came, the last one "
                                 f"{self.states[-1:]}\n{printed}") from None

    def hold_at(self, controller, q):
        """Put a controller in force and let it bring the robot to rest somewhere; joints may have turned round."""
        self.set(controller=controller)
        self.publisher.publish(trajectory([0.5], [q]))

        def is_there(state):
            missing = np.exp(1j * np.array(state.reference.positions)) - np.exp(1j * np.array(q))
            at_rest = np.abs(state.feedback.velocities).max() < 0.01
            return state.controller == controller and np.abs(missing).max() < 1e-9 and at_rest

        self.next("the goal", is_there)

    @property
    def period_ns(self):
        return round(1e9 / self.settings["hardware"]["update_rate"])

    @contextlib.contextmanager
    def paused(self):
        """Pause the simulation meanwhile; yields a function that runs some periods and returns their last stamp."""
        def ask(kind, name, **fields):
            answer = self.ros.call(kind, f"{self.namespace}/hardware/{name}", **fields)
            assert answer.success, answer.message
            return answer

        ask(SetBool, "pause", data=True)
        try:
            yield lambda periods: read_stamp(ask(Step, "step", steps=periods).stamp)
        finally:
            ask(SetBool, "pause", data=False)

    def set(self, **values):
        result = self.ros.set_parameters(f"{self.namespace}/controller", values)
        assert result.successful, result.reason

    def refuse(self, **values):
        result = self.ros.set_parameters(f"{self.namespace}/controller", values)
        assert not result.successful
        return result.reason

    def get(self, *names):
        values = self.ros.call(GetParameters, f"{self.namespace}/controller/get_parameters", names=names).values
        return [{2: v.integer_value, 3: v.double_value, 4: v.string_value}[v.type] for v in values]

    def status(self, condition, node="controller"):
        """The first diagnostic status that a node publishes from now on and that fits, with its values as a dict."""
        seen, now = len(self.diagnostics), time.time_ns()

        def find():
            for array in self.diagnostics.published_since(now, seen):
                for status in array.status:
                    values = {pair.key: pair.value for pair in status.values}
                    if status.name == f"{self.namespace}/{node}" and condition(status, values):
                        return status, values
            return None

        return self.ros.wait_for(find, "a diagnostic status that fits")
