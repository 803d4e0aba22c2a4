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

from robodyn_ros.control.velocity_estimate import VelocityEstimate
from robodyn_ros.nodes.common.joint_wire import JointWire
from robodyn_ros.nodes.common.messages import JointOrder, deserialize, set_stamp
from robodyn_ros.nodes.controller.joint_state_input import JointStateInput

NAMES = ["shoulder", "elbow"]


class Rig:
    """An input with its reports, and how many messages had to be converted to Python objects."""

    def __init__(self):
        self.problems, self.converted = Counter(), 0
        diagnostics = SimpleNamespace(problem=lambda kind, text: self.problems.update([kind]),
                                      deserialize=self.convert)
        self.input = JointStateInput(JointOrder(NAMES), diagnostics, VelocityEstimate(0.0, 0.5))
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
    ("missing joint", {"name": ["shoulder", "wrist"], "position": [0.1, 0.2], "velocity": [0.0, 0.0]}),
    ("missing joint", {"name": ["finger"], "position": [0.1], "velocity": [0.0]}),
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
