# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The newest state of each joint, from messages of any number of publishers."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from robodyn_ros.nodes.common import polled_states
from robodyn_ros.nodes.common.messages import JointOrder, deserialize, set_stamp
from robodyn_ros.nodes.common.polled_states import NewestStates, PolledJointStates
from robodyn_ros.nodes.common.topics import NEWEST_DEPTH

NAMES = ["base", "shoulder", "elbow"]


def message(stamp, positions, **fields):
    state = JointState(name=list(positions), position=list(positions.values()), **fields)
    set_stamp(state.header.stamp, stamp)
    return bytes(serialize_message(state))


def newest(start=None):
    problems = Counter()
    diagnostics = SimpleNamespace(problem=lambda kind, text: problems.update([kind]),
                                  deserialize=lambda data, kind, _: deserialize(data, kind))
    return NewestStates(JointOrder(NAMES), diagnostics, start), problems


def test_each_joint_has_its_newest_position_and_its_own_stamp():
    states, problems = newest()
    assert states.read([message(1, {"elbow": 0.1, "base": 0.2}), message(2, {"finger": 9.0}),
                        message(3, {"elbow": 0.3})])
    np.testing.assert_array_equal(states.q, [0.2, np.nan, 0.3])
    assert states.stamps.tolist() == [1, 0, 3] and states.updated.tolist() == [True, False, True]
    states.forget()
    assert states.read([message(4, {"shoulder": 0.4})])
    assert states.q.tolist() == [0.2, 0.4, 0.3] and states.stamps.tolist() == [1, 4, 3]
    assert states.updated.tolist() == [False, True, False] and not problems


def test_messages_without_the_robots_joints_change_nothing():
    states, problems = newest()
    assert not states.read([]) and not states.read([message(1, {"finger": np.nan}), message(2, {"thumb": 0.1})])
    assert not states.updated.any() and np.isnan(states.q).all() and not problems


def test_a_bad_message_leaves_the_one_before():
    states, problems = newest()
    assert states.read([message(1, dict.fromkeys(NAMES, 0.1)), message(2, dict.fromkeys(NAMES, np.nan))])
    assert states.q.tolist() == [0.1] * 3 and sum(problems.values()) == 1 and not states.problem
    assert not states.read([message(3, {"base": np.inf})])
    assert states.q.tolist() == [0.1] * 3 and "inf" in states.problem


def test_time_that_begins_anew_is_followed():
    states, _ = newest()
    for stamp in (10**12, 5):
        assert states.read([message(stamp, dict.fromkeys(NAMES, 0.1))])
        assert states.stamps.tolist() == [stamp] * 3


def test_joints_that_nobody_publishes_are_held_with_the_newest_stamp_until_somebody_does():
    states, _ = newest(np.array([0.7, np.nan, np.nan]))
    assert states.read([message(5, {"shoulder": 0.1, "elbow": 0.2})])
    assert states.q.tolist() == [0.7, 0.1, 0.2] and states.stamps.tolist() == [5, 5, 5]
    assert states.read([message(6, {"base": 0.9}), message(7, {"elbow": 0.3})])
    assert states.q.tolist() == [0.9, 0.1, 0.3] and states.stamps.tolist() == [6, 5, 7]


def test_efforts_are_those_of_the_same_messages():
    states, _ = newest()
    states.read([message(1, {"base": 0.1}, effort=[2.0]), message(1, {"elbow": 0.1})])
    np.testing.assert_array_equal(states.effort, [2.0, np.nan, np.nan])


class CrowdedTopic:
    """Joint states at a rate, and a rare one of another publisher; of those that come between two looks the last stay.

    A clock that only sleeping moves on runs `PolledJointStates`, which uses what it finds 30 times per second.
    """

    def __init__(self, monkeypatch, rate, rare=0.7):
        self.seconds, self.rate, self.rare, self.looked = 0.0, rate, rare, 0.0
        self.looks, self.used = [], []
        clock = SimpleNamespace(monotonic=lambda: self.seconds)
        monkeypatch.setattr(polled_states, "time", clock)
        monkeypatch.setattr(polled_states, "LatestMessage", lambda *_: self)
        diagnostics = SimpleNamespace(deserialize=lambda data, kind, _: deserialize(data, kind))
        node = SimpleNamespace(diagnostics=diagnostics, count_publishers=lambda _: 2, add_thread=lambda _: None)
        self.polled = PolledJointStates(node, JointOrder(NAMES), 30.0,
                                        SimpleNamespace(get_subscription_count=lambda: 1), self.use)
        self.polled._thread = SimpleNamespace(sleep=self.sleep)

    def sleep(self, seconds):
        self.seconds += seconds

    def use(self, newest):
        self.used.append((self.seconds, newest.q.copy()))

    def take_all_serialized(self):
        first, last = (int(time * self.rate) + 1 for time in (self.looked, self.seconds))
        found = [(k / self.rate, {"base": k / self.rate, "shoulder": 0.0}) for k in range(first, last)]
        if self.looked < self.rare <= self.seconds:
            found.append((self.rare, {"elbow": 0.5}))
        self.looked = self.seconds
        self.looks.append(self.seconds)
        return [message(round(1e9 * time), positions) for time, positions in sorted(found, key=lambda each: each[0])][
            -NEWEST_DEPTH:]

    def run(self, seconds):
        while self.seconds < seconds:
            self.polled._cycle()

    def looks_per_second(self, begin):
        return sum(begin <= look < begin + 1.0 for look in self.looks)


def test_on_a_crowded_topic_no_rare_message_is_displaced_and_looks_become_rare_again(monkeypatch):
    crowded = CrowdedTopic(monkeypatch, rate=2000.0)
    crowded.run(3.0)
    assert crowded.used[-1][1][2] == 0.5 and crowded.looks_per_second(2.0) > 2000 / (NEWEST_DEPTH // 2) - 5
    assert 2 * 30 <= len(crowded.used) <= 3 * 30 + 1, "it is not used more often"
    crowded.rate = 20.0
    crowded.run(6.0)
    assert 28 <= crowded.looks_per_second(5.0) <= 32
    crowded.rate = 0.0
    crowded.run(7.0)
    assert crowded.used[-1][0] < 6.1, "without messages nothing is used again"
