# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The control path, seen from outside on a node in a process of its own."""

import ctypes
import math
import threading
from unittest.mock import Mock

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from probe_rig import echo
from rclpy.duration import Duration
from rclpy.qos import qos_profile_sensor_data
from ros_process import DEADLINE
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64
from std_srvs.srv import Trigger

from robodyn_ros.nodes.common import node_thread
from robodyn_ros.nodes.common.control_path import ControlPath
from robodyn_ros.nodes.common.node_thread import FAILED_CYCLES
from robodyn_ros.nodes.common.topics import CONTROL_QOS

pytestmark = pytest.mark.usefixtures("probe")


def test_control_path_answers_and_runs_calls_between_messages(ros):
    assert echo(ros, [1.0, 2.5]) == [2.0, 5.0]
    seen = ros.call(Trigger, "/probe/seen")
    assert seen.success
    assert int(seen.message) >= 1


def test_control_path_serves_further_topics_in_its_own_thread(ros):
    replies = ros.record(JointState, "out", CONTROL_QOS)
    gains = ros.publisher(Float64, "further_gain")
    ros.wait_for(lambda: ros.node.count_publishers("out"), "the probe's publisher")

    def answered():
        gains.publish(Float64(data=3.0))
        return replies

    assert list(ros.wait_for(answered, "an answer")[0].name) == ["control path of in"]
    assert echo(ros, [1.0, 2.5]) == [3.0, 7.5]
    assert ros.set_parameters("/probe", {"gain": 2.0}).successful


def test_a_further_message_is_taken_though_its_publisher_left_at_once(ros):
    replies = ros.record(JointState, "out", CONTROL_QOS)
    messages = ros.publisher(JointState, "in", CONTROL_QOS)
    busy = ros.node.create_timer(0.002, lambda: messages.publish(JointState(position=[1.0])))  # no wait is long
    ros.wait_for(lambda: replies, "a reply")
    gains = ros.publisher(Float64, "further_gain")
    gains.publish(Float64(data=5.0))
    assert gains.wait_for_all_acked(Duration(seconds=DEADLINE))
    ros.node.destroy_publisher(gains)
    ros.wait_for(lambda: list(replies[-1].position) == [5.0], "a reply with the new factor")
    ros.node.destroy_timer(busy)
    assert ros.set_parameters("/probe", {"gain": 2.0}).successful


def test_topics_without_a_publisher_are_waited_for_now_and_then_only(ros):
    path = ControlPath(ros.node, Mock(), JointState, "states_of_nobody", Mock())
    path.listen(Float64, "rare", Mock())
    path._waiting = waiting = Mock(wraps=path._waiting)

    def waited_for():
        path.wait(0.0)
        return 1 + len(waiting.wait.call_args.args[1])

    assert waited_for() == 2, "the first wait looks"
    path._next_look = math.inf
    assert waited_for() == 1
    ros.publisher(Float64, "rare", CONTROL_QOS)
    path._next_look = 0.0
    assert waited_for() == 2
    path._next_look = math.inf
    assert waited_for() == 2, "it has a publisher now"


@pytest.mark.parametrize(("message_type", "topic"), [(JointState, "in"), (Float64, "further_gain")])
def test_publisher_that_is_not_heard_is_named(ros, probe, message_type, topic):
    publisher = ros.node.create_publisher(message_type, topic, qos_profile_sensor_data)
    probe.wait_for_output(f"'tester' publishes /{topic}, but is not heard: ERROR: Best effort publisher and reliable")
    ros.node.destroy_publisher(publisher)
    probe.wait_for_output("all publishers are heard")


def test_no_exception_of_a_cycle_ends_the_control_path(ros, probe):
    statuses = ros.record(DiagnosticArray, "/diagnostics")
    publisher = ros.publisher(JointState, "in", CONTROL_QOS)
    publisher.publish(JointState(name=["crash"]))
    probe.wait_for_output("failed control cycles, please report this:")
    probe.wait_for_output("RuntimeError: asked to crash")
    assert echo(ros, [1.0, 2.5]) == [2.0, 5.0]

    def status():
        for message in statuses:
            for each in message.status:
                if any(value.key == FAILED_CYCLES and value.value == "1" for value in each.values):
                    return each
        return None

    assert ros.wait_for(status, "the counter").level == DiagnosticStatus.ERROR


@pytest.mark.parametrize(("message_type", "topic"), [(JointState, "in"), (Float64, "further_gain")])
def test_malformed_messages_are_rejected_and_reported(ros, probe, message_type, topic):
    publisher = ros.publisher(message_type, topic, CONTROL_QOS)
    publisher.publish(b"\0\1\0\0" + b"\xff" * 3)
    probe.wait_for_output(f"malformed message on {topic}: expected a serialized")
    assert echo(ros, [1.0, 2.5]) == [2.0, 5.0]


def test_waits_of_a_thread_end_on_time():
    slack = []

    def run():
        node_thread._wake_on_time()
        slack.append(ctypes.CDLL(None).prctl(30, 0, 0, 0, 0))  # PR_GET_TIMERSLACK

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert slack == [1]
