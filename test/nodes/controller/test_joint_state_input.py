# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Joint states as joint_state_broadcaster and other drivers publish them."""

import math
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from robodyn_ros.control.runtime.velocity_estimate import VelocityEstimate
from robodyn_ros.nodes.common.joint_wire import JointWire
from robodyn_ros.nodes.common.messages import JointOrder, deserialize, set_stamp
from robodyn_ros.nodes.controller import joint_state_input
from robodyn_ros.nodes.controller.joint_state_input import JointStateInput

NAMES = ["shoulder", "elbow"]


class Rig:
    """An input with its reports, and how many messages had to be converted to Python objects."""

    def __init__(self, new_start=lambda stamp, joints: ""):
        self.problems, self.conditions, self.converted = Counter(), {}, 0
        diagnostics = SimpleNamespace(problem=lambda kind, text: self.problems.update([kind]),
                                      deserialize=self.convert,
                                      raise_condition=lambda key, text: self.conditions.update({key: text}),
                                      clear_condition=lambda key, text: self.conditions.pop(key, None))
        self.input = JointStateInput(JointOrder(NAMES), diagnostics, VelocityEstimate(0.0, 0.5), new_start=new_start)
        self.stamp = 0

    def convert(self, data, message_type, topic):
        self.converted += 1
        return deserialize(data, message_type)

    def read(self, **fields):
        self.stamp += 2_000_000
        message = JointState(**fields)
        set_stamp(message.header.stamp, self.stamp)
        return self.input.read(bytes(serialize_message(message)))


BROADCAST = {"name": ["finger", "elbow", "shoulder"], "effort": [math.nan] * 3}


def test_another_order_and_more_joints_are_read_in_place_after_the_first_message():
    rig = Rig()
    for k in range(5):
        measured = rig.read(position=[math.nan, 2.0 + k, 1.0 + k], velocity=[math.nan, 0.2, 0.1], **BROADCAST)
        assert (measured.q.tolist(), measured.v.tolist()) == ([1.0 + k, 2.0 + k], [0.1, 0.2])
        assert measured.stamp == rig.stamp
    assert rig.converted == 1 and not rig.problems and not rig.input.estimated


@pytest.mark.parametrize("velocity", [[math.nan] * 3, []])
def test_velocities_that_are_not_measured_come_from_positions(velocity):
    rig = Rig()
    found = [rig.read(position=[0.0, 0.002 * k, -0.004 * k], velocity=velocity, **BROADCAST) for k in range(4)]
    np.testing.assert_allclose([measured.v for measured in found], [[0.0, 0.0], *[[-2.0, 1.0]] * 3], atol=1e-9)
    assert rig.converted == 1 and rig.input.estimated


def test_one_velocity_that_is_missing_leaves_the_others_as_measured():
    rig = Rig()
    for k in range(3):
        measured = rig.read(name=NAMES, position=[0.002 * k, 0.0], velocity=[math.nan, 0.7], effort=[0.0, 0.0])
    np.testing.assert_allclose(measured.v, [1.0, 0.7])


def test_joint_states_of_this_package_are_never_converted():
    rig, wire = Rig(), JointWire(NAMES)
    for k in range(3):
        measured = rig.input.read(wire.encode(k + 1, np.full(2, 0.1 * k), np.ones(2), np.zeros(2)))
        assert measured.q.tolist() == [0.1 * k] * 2
    assert rig.converted == 0


@pytest.mark.parametrize(("reason", "fields"), [
    ("not finite", {"name": ["elbow", "wrist"], "position": [math.nan, 0.2], "velocity": [0.0, 0.0]}),
    ("repeated joint", {"name": ["elbow", "elbow"], "position": [0.1, 0.2], "velocity": [0.0, 0.0]}),
    ("not finite", {"name": NAMES, "position": [0.1, math.nan], "velocity": [0.0, 0.0]}),
    ("not finite", {"name": NAMES, "position": [0.1, 0.2], "velocity": [0.0, math.inf]}),
    ("out of range", {"name": NAMES, "position": [0.1, 0.2], "velocity": [0.0, 1e9]}),
    ("wrong length", {"name": NAMES, "position": [0.1, 0.2], "velocity": [0.0]}),
    ("wrong length", {"name": NAMES, "position": [0.1], "velocity": []}),
])
def test_bad_ones_are_reported_by_kind_also_after_good_ones(reason, fields):
    rig = Rig()
    rig.read(position=[0.0, 2.0, 1.0], velocity=[0.0, 0.2, 0.1], **BROADCAST)
    assert rig.read(**fields) is None
    assert rig.problems == {f"rejected joint states: {reason}": 1}
    assert rig.read(position=[0.0, 2.0, 1.0], velocity=[0.0, 0.2, 0.1], **BROADCAST) is not None


def test_states_are_merged_by_joint_with_the_oldest_stamp():
    rig = Rig()
    assert rig.read(name=["shoulder", "finger"], position=[0.1, 9.0], velocity=[0.5, 9.0]) is None
    oldest = rig.stamp
    assert rig.input.missing() == ["elbow"]
    merged = rig.read(name=["elbow"], position=[0.2], velocity=[0.6])
    assert (merged.stamp, merged.q.tolist(), merged.v.tolist()) == (oldest, [0.1, 0.2], [0.5, 0.6])
    assert rig.input.merged and not rig.input.missing() and not rig.problems
    assert rig.read(name=["elbow"], position=[0.3], velocity=[0.6]) is None, "the shoulder's position is that of before"
    assert rig.read(name=["elbow"], position=[0.4], velocity=[0.6]) is None
    assert rig.read(name=["shoulder"], position=[0.5], velocity=[0.5]).q.tolist() == [0.5, 0.4]
    whole = rig.read(name=NAMES, position=[0.6, 0.7], velocity=[0.0, 0.0])
    assert whole.stamp == rig.stamp and not rig.input.merged
    assert merged.q.tolist() == [0.1, 0.2], "a state that was handed out changes no more"


def test_velocities_of_merged_states_come_from_the_times_of_each_joint():
    rig = Rig()
    measured = None
    for _ in range(6):  # the elbow's messages come half as often
        read = [rig.read(name=["shoulder"], position=[0.001 * rig.stamp * 1e-6]),
                rig.read(name=["shoulder"], position=[0.001 * rig.stamp * 1e-6]),
                rig.read(name=["elbow"], position=[-0.002 * rig.stamp * 1e-6])]
        assert read[:2] == [None, None] and read[2] is not None
        measured = read[2]
    np.testing.assert_allclose(measured.v, [1.0, -2.0])


def test_a_new_start_in_any_of_the_messages_is_one_of_the_state():
    asked = {}
    rig = Rig(lambda stamp, joints: asked.pop(joints[0], ""))
    for joint in (0, 1):
        asked[joint] = "why"
        assert rig.read(name=["shoulder"], position=[0.1]) is None
        assert rig.read(name=["elbow"], position=[0.1]).new_start == "why"
    assert rig.read(name=["shoulder"], position=[0.1]) is None
    assert rig.read(name=["elbow"], position=[0.1]).new_start == ""


def test_messages_of_other_joints_are_converted_once_for_each_publisher():
    rig = Rig()
    for k in range(20):
        assert rig.read(name=["finger"], position=[0.1 * k], effort=[1.0]) is None
        assert rig.read(name=["thumb1", "thumb"], position=[0.1 * k] * 2) is None
        assert rig.read(name=["thumb0", "thumb"], position=[0.1 * k] * 2) is None  # of the same size
        assert rig.read(name=["should_r", "elbow"], position=[0.1, 0.2], velocity=[0.0] * 2, effort=[0.0] * 2) is None
        rig.input._fresh[:] = False
        assert rig.read(name=["shoulder", "elbow", "x"], position=[0.1 * k] * 3) is not None
    assert rig.converted <= 8 and not rig.problems
    assert rig.input.other_names in (["finger"], ["thumb1", "thumb"], ["thumb0", "thumb"])


def test_names_that_change_with_every_message_are_not_learnt():
    rig = Rig()
    for k in range(100):
        assert rig.read(name=[f"joint_of_another_{k}"], position=[0.1]) is None
    assert len(rig.input._reader._forms) <= 8 and not rig.problems
    for _ in range(3):
        assert rig.read(name=["finger"], position=[0.1]) is None
    converted = rig.converted
    assert rig.read(name=["finger"], position=[0.1]) is None and rig.converted == converted


def test_the_values_of_other_joints_are_nobodys_business():
    rig = Rig()
    for position in ([math.nan], [math.inf], [1e308], [], [0.0, 0.0]):
        assert rig.read(name=["finger"], position=position) is None
    assert not rig.problems


def test_states_that_never_become_complete_are_rejected_after_a_while(monkeypatch):
    rig, now = Rig(), [0.0]
    monkeypatch.setattr(joint_state_input, "time", SimpleNamespace(monotonic=lambda: now[0]))
    for now[0] in (1.0, 1.4):
        assert rig.read(name=["shoulder"], position=[0.1]) is None and not rig.problems
    now[0] = 1.6
    assert rig.read(name=["shoulder"], position=[0.1]) is None
    assert rig.problems == {"rejected joint states: missing joint": 1} and rig.input.missing() == ["elbow"]
    assert rig.read(name=["elbow"], position=[0.1]) is not None, "they wait no longer than they have to"


def test_a_constant_stamp_is_replaced_once_positions_have_changed_under_it(monkeypatch):
    """The driver never fills header.stamp in; a repeated state of a paused simulation is another thing."""
    rig, clock = Rig(), iter(10.0 + 0.002 * k for k in range(100))
    monkeypatch.setattr(joint_state_input, "time", SimpleNamespace(monotonic=lambda: next(clock)))

    def read(position):
        rig.stamp = -2_000_000
        return rig.read(name=NAMES, position=[position, 0.0])

    assert [read(0.1).stamp for _ in range(10)] == [0] * 10 and not rig.conditions, "the same state again"
    found = [read(0.1 + 0.002 * k) for k in range(1, 9)]
    stamps = [measured.stamp for measured in found]
    assert stamps[:2] == [0, 0] and 0 < stamps[2] and len(set(stamps[2:])) == 6
    np.testing.assert_allclose(np.diff(stamps[2:]), 2_000_000, atol=10)
    np.testing.assert_allclose([measured.v[0] for measured in found[4:]], 1.0, rtol=1e-3)
    assert "header.stamp stays 0 s while the joints move" in rig.conditions["stamps"]
    rig.stamp = 5_000_000_000
    assert rig.read(name=NAMES, position=[0.0, 0.0]).stamp == 5_002_000_000 and not rig.conditions
