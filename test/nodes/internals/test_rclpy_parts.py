# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.
"""Private parts of rclpy: the installed release has them all, and what happens in one that lacks some."""

import pytest
from rclpy.executors import Executor
from rclpy.logging import LoggingSeverity
from rclpy.parameter_service import ParameterService
from sensor_msgs.msg import JointState

from robodyn_ros import RobodynError
from robodyn_ros.nodes.common.topics import CONTROL_QOS, unserved_subscription
from robodyn_ros.nodes.internals import rclpy_parts
from robodyn_ros.nodes.internals.rclpy_parts import SubscriptionWait, missing, write_log_line


def test_the_installed_release_has_all_parts():
    assert missing() == []


def test_a_release_without_them_is_reported_and_logs_by_the_public_logger(monkeypatch, capfd):
    monkeypatch.setattr(rclpy_parts, "rclpy_implementation", object())
    monkeypatch.delattr(ParameterService, "_set_parameters_callback")
    monkeypatch.delattr(Executor, "_make_handler")
    assert [text.partition(": ")[2].split()[0] for text in missing()] == ["log", "requests", "a"]
    write_log_line("drawer", LoggingSeverity.WARN, "kind", "by the public logger")
    assert "[WARN]" in (err := capfd.readouterr().err) and "by the public logger" in err


def test_a_release_without_wait_sets_has_no_control_path(ros, monkeypatch):
    monkeypatch.setattr(rclpy_parts, "rclpy_implementation", object())
    with pytest.raises(RobodynError, match="this release of rclpy is not known, and has no wait set"):
        SubscriptionWait(ros.node, 1)


def test_a_wait_ends_with_a_message_of_any_topic_with_a_wake_and_with_its_time(ros):
    first, further = (unserved_subscription(ros.node, JointState, topic, CONTROL_QOS).handle for topic in ("a", "b"))
    publisher = ros.publisher(JointState, "b", CONTROL_QOS)
    waiting = SubscriptionWait(ros.node, 2)
    with first, further, waiting.entities[0], waiting.entities[1]:
        assert waiting.wait(first, [further], 1_000_000) == [False]
        publisher.publish(JointState())
        ros.wait_for(lambda: waiting.wait(first, [further], 1_000_000) == [True], "the message")
        further.take_message(JointState, True)
        waiting.wake()
        assert waiting.wait(first, [further], -1) == [False]
