# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The graph as the view takes it: from which topic, and what it makes of stamps."""

from types import SimpleNamespace

import numpy as np
import pytest
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectoryPoint

from robodyn_interfaces.msg import ActuatorStates, ControllerState
from robodyn_ros.description.resources import robot_file
from robodyn_ros.description.urdf import load_urdf
from robodyn_ros.nodes.common.messages import set_stamp
from robodyn_ros.nodes.view.graph_state import GraphState

MODEL = load_urdf(robot_file("planar_2r"))
NAMES = list(MODEL.joint_names)
PERIOD = 20_000_000


class Graph:
    """Publishers in the place of hardware and controller, and the state that the view makes of their messages."""

    def __init__(self, ros):
        ros.node.diagnostics = SimpleNamespace(deserialize=lambda data, kind, _: deserialize_message(data, kind))
        self.ros, self.state = ros, GraphState(ros.node, MODEL)
        self.hardware = ros.publisher(JointState, "joint_states")
        self.controller = ros.publisher(ControllerState, "controller/_display_state")
        self.drives = ros.publisher(ActuatorStates, "hardware/_display_actuator_states")
        self.stamp = 0

    def stamped(self, message):
        set_stamp(message.header.stamp, self.stamp)
        return message

    def joint_state(self, q):
        self.stamp += PERIOD
        self.hardware.publish(self.stamped(JointState(name=NAMES, position=q, effort=[7.0, 8.0])))

    def controller_state(self, q):
        self.stamp += PERIOD
        self.controller.publish(self.stamped(ControllerState(
            controller="pd", joint_names=NAMES, feedback=JointTrajectoryPoint(positions=q), output=[1.0, 2.0])))

    def terms(self, names, values):
        self.stamp += PERIOD
        self.controller.publish(self.stamped(ControllerState(
            controller="pd", joint_names=NAMES[::-1], term_names=names, terms=values, output=[1.0, 2.0])))

    def readers(self):
        return self.hardware.get_subscription_count()

    def until(self, condition, what, publish=lambda: None):
        def update():
            publish()
            self.state.update()
            self.ros.spin(0.02)
            return condition()

        self.ros.wait_for(update, what)


@pytest.fixture
def graph(ros):
    graph = Graph(ros)
    yield graph
    graph.state.destroy()


def test_joint_states_are_left_alone_while_the_controller_says_where_the_joints_are(graph):
    graph.until(lambda: graph.state.q[0] == 0.5, "joint states", lambda: graph.joint_state([0.5, 0.0]))
    assert graph.state.effort[0] == 7.0
    graph.until(lambda: not graph.readers(), "the end of the subscription",
                lambda: graph.controller_state([0.7, 0.1]))
    graph.until(lambda: graph.state.effort[0] == 1.0, "commanded efforts", lambda: graph.controller_state([0.7, 0.1]))
    np.testing.assert_allclose(graph.state.q, [0.7, 0.1])
    assert graph.state.alive and not graph.state.is_still
    graph.drives.publish(ActuatorStates(name=NAMES, joint_effort=[3.0, 4.0]))
    graph.until(lambda: graph.state.effort[0] == 3.0, "efforts of the drives")
    graph.until(lambda: graph.readers(), "a new subscription, since the controller is silent")
    graph.until(lambda: graph.state.q[0] == 0.9, "joint states", lambda: graph.joint_state([0.9, 0.0]))


def test_the_controller_is_the_source_also_while_faster_joint_states_come(graph):
    def both():
        graph.controller_state([0.7, 0.1])
        graph.joint_state([0.5, 0.0])

    graph.until(lambda: not graph.readers(), "the end of the subscription", both)
    graph.until(lambda: graph.state.q[0] == 0.7, "the controller's state", both)


def test_a_graph_that_begins_again_from_zero_is_followed(graph):
    graph.stamp = 10**12
    graph.until(lambda: graph.state.stamp > 10**12, "joint states", lambda: graph.joint_state([0.5, 0.0]))
    graph.stamp = 0
    graph.until(lambda: graph.state.stamp < 10**12 and graph.state.q[0] == 0.6, "joint states of the new simulation",
                lambda: graph.joint_state([0.6, 0.0]))
    graph.until(lambda: graph.state.q[0] == 0.2, "states of the new controller",
                lambda: graph.controller_state([0.2, 0.1]))
    graph.until(lambda: graph.state.real_time_factor > 0.0, "a real-time factor",
                lambda: graph.controller_state([0.2, 0.1]))


@pytest.mark.parametrize(("names", "values", "shown"), [
    (["feedback", "gravity"], [1.0, 2.0, 3.0, 4.0], {"feedback": [2.0, 1.0], "gravity": [4.0, 3.0]}),
    (["feedback", "gravity"], [1.0, 2.0, 3.0], {}),
    (["feedback"], [1.0, np.inf], {}),
    ([f"term{i}" for i in range(1000)], [1.0] * 2000, {f"term{i}": [1.0, 1.0] for i in range(20)})])
def test_terms_are_read_in_the_order_of_the_joints(graph, names, values, shown):
    graph.state.follow.terms = None
    graph.until(lambda: graph.state.follow.terms is not None, "terms", lambda: graph.terms(names, values))
    assert {name: term.tolist() for name, term in graph.state.follow.terms.items()} == shown
