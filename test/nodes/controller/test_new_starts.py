# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.
"""Which joint states the topic ``new_starts`` makes a new start."""

from collections import Counter, deque
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from rclpy.serialization import serialize_message
from std_msgs.msg import Header

from robodyn_interfaces.msg import NewStart
from robodyn_ros.nodes.common.messages import JointOrder, deserialize, set_stamp
from robodyn_ros.nodes.controller import new_starts
from robodyn_ros.nodes.controller.new_starts import NewStarts

BOTH, SHOULDER, ELBOW = np.array([0, 1]), np.array([0]), np.array([1])


class Topic(nullcontext):
    """A subscription's handle."""

    def __init__(self):
        super().__init__()
        self.waiting, self.problems = deque(), Counter()

    def publish(self, stamp, *names, reason="reset"):
        message = NewStart(header=Header(), name=list(names), reason=reason)
        set_stamp(message.header.stamp, stamp)
        self.waiting.append(bytes(serialize_message(message)))

    def take_message(self, message_type, raw):
        return (self.waiting.popleft(), {}) if self.waiting else None


@pytest.fixture(autouse=True)
def taken(monkeypatch):
    """Messages come from `Topic` instead of a middleware."""
    monkeypatch.setattr(new_starts, "take_serialized", lambda topic, kind: topic.take_message(kind, True))


@pytest.fixture
def topic(monkeypatch):
    topic = Topic()
    monkeypatch.setattr(new_starts, "unserved_subscription", lambda *_: SimpleNamespace(handle=topic))
    return topic


@pytest.fixture
def starts(topic):
    diagnostics = SimpleNamespace(problem=lambda kind, text: topic.problems.update([kind]),
                                  deserialize=lambda data, message_type, name: deserialize(data, message_type))
    return NewStarts(SimpleNamespace(diagnostics=diagnostics), JointOrder(["shoulder", "elbow"]))


def test_the_joint_state_of_the_stamp_is_a_new_start_and_no_other(topic, starts):
    assert starts.reason(10, BOTH) == "", "a driver that does not know the topic"
    topic.publish(30)
    assert starts.reason(20, BOTH) == "", "published before"
    assert starts.reason(30, BOTH) == "the hardware says: reset"
    assert starts.reason(40, BOTH) == ""


def test_a_message_that_comes_late_or_whose_state_is_lost_makes_the_next_one_a_new_start(topic, starts):
    assert starts.reason(10, BOTH) == ""
    topic.publish(10)
    topic.publish(15, reason="pause")
    assert starts.reason(20, BOTH) == "the hardware says: pause"
    assert starts.reason(30, BOTH) == ""


def test_a_paused_simulation_repeats_a_new_start_without_another_one(topic, starts):
    topic.publish(10)
    assert starts.reason(10, BOTH)
    topic.publish(10)
    assert starts.reason(20, BOTH) == ""


def test_each_driver_asks_for_its_own_joints(topic, starts):
    topic.publish(10, "elbow", "finger")
    topic.publish(10, "finger")
    assert starts.reason(12, SHOULDER) == ""
    assert starts.reason(12, ELBOW)
    topic.publish(20, "finger")
    assert starts.reason(30, BOTH) == ""


@pytest.mark.parametrize(("stamp", "names", "why"), [
    (10, ["elbow", "elbow"], "repeated joint"), (-1_000_000_000, [], "no time")])
def test_a_message_that_cannot_be_used_is_told_and_asks_for_nothing(topic, starts, stamp, names, why):
    topic.publish(abs(stamp), *names)
    if stamp < 0:
        message = NewStart(name=names)
        message.header.stamp.sec = -1
        topic.waiting[-1] = bytes(serialize_message(message))
    assert starts.reason(2_000_000_000, BOTH) == ""
    assert sum(topic.problems.values()) == 1, why
