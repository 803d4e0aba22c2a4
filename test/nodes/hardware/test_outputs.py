# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Content and times of published messages, with publishers that only record."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from robodyn_interfaces.msg import ActuatorStates
from robodyn_ros import Robot
from robodyn_ros.description.resources import robot_file
from robodyn_ros.nodes.common.messages import read_stamp
from robodyn_ros.nodes.common.topics import DISPLAY_RATE, DISPLAY_STATES_RATE
from robodyn_ros.nodes.hardware import outputs as outputs_module
from robodyn_ros.simulation.engine import SharedPlant
from robodyn_ros.simulation.plant import Plant

PERIOD = 2_000_000


class Publisher(list):
    listeners = 1

    def publish(self, message):
        if isinstance(message, bytes):
            message = deserialize_message(message, JointState)
        stamp = message.clock if hasattr(message, "clock") else message.header.stamp
        self.append(read_stamp(stamp) // PERIOD)

    def get_subscription_count(self):
        return self.listeners

    @property
    def handle(self):
        return SimpleNamespace(publish_raw=self.publish)


class Node(dict):

    def create_publisher(self, message_type, topic, qos):
        return self.setdefault(topic, Publisher())


@pytest.fixture
def plant():
    return Plant(Robot.from_urdf(robot_file("planar_2r")), compiled=False)


def run(plant, clock_rate=0.0, rate=0.0, ticks=range(1, 41)):
    node = Node()
    outputs = outputs_module.StateOutputs(node, SharedPlant(plant), PERIOD, clock_rate)
    outputs.set_actuator_state_rate(rate)
    for tick in ticks:
        outputs.publish(tick, tick * PERIOD, plant.q, plant.v, new_start="")
    return node, outputs


def test_every_state_is_published_and_the_clock_now_and_then(plant):
    node, _ = run(plant, clock_rate=100.0)
    assert node["joint_states"] == list(range(1, 41))
    assert node["/clock"] == list(range(1, 41, 5))
    assert "/clock" not in run(plant)[0]


@pytest.mark.parametrize(("rate", "expected"), [
    (0.0, []), (500.0, range(1, 41)), (1e4, range(1, 41)), (125.0, [1, *range(4, 41, 4)]),
])
def test_actuator_states_come_at_their_rate(plant, rate, expected):
    node, _ = run(plant, rate=rate)
    assert node["~/actuator_states"] == list(expected)


def test_actuator_states_keep_to_a_rate_that_is_no_whole_number_of_periods_and_after_a_gap(plant):
    node, _ = run(plant, rate=200.0, ticks=range(1, 1001))
    assert len(node["~/actuator_states"]) == pytest.approx(400, abs=1)
    gap = [*range(1, 11), *range(1000, 1011)]
    assert len(run(plant, rate=100.0, ticks=gap)[0]["~/actuator_states"]) <= 6


def test_displays_get_states_at_a_rate_of_real_time_however_fast_the_simulation_runs(plant, monkeypatch):
    seconds = itertools.count(1000.0, 0.0005)  # per control period, four times as fast as real time
    clock = SimpleNamespace(monotonic=lambda: next(seconds))
    monkeypatch.setattr(outputs_module, "time", clock)
    node, _ = run(plant, ticks=range(1, 4001))
    assert len(node["~/_display_actuator_states"]) == pytest.approx(DISPLAY_RATE * 2.0, rel=0.1)
    assert len(node["_display_joint_states"]) == pytest.approx(DISPLAY_STATES_RATE * 2.0, rel=0.1)


def test_actuator_states_are_left_out_while_nobody_listens(plant, monkeypatch):
    monkeypatch.setattr(Publisher, "listeners", 0)
    node = run(plant, rate=500.0)[0]
    assert node["~/actuator_states"] == node["~/_display_actuator_states"] == node["_display_joint_states"] == []


def test_a_state_is_repeated_after_a_while_only(plant, monkeypatch):
    now = [10.0]
    monkeypatch.setattr(outputs_module.time, "monotonic", lambda: now[0])
    node, outputs = run(plant, clock_rate=500.0, rate=500.0, ticks=[7])
    assert not outputs.repeat()
    now[0] += 1.01 * outputs_module.REPEAT_SECONDS
    assert outputs.repeat()
    assert not outputs.repeat()
    assert node["joint_states"] == node["/clock"] == node["~/actuator_states"] == [7, 7]
    assert node["_display_joint_states"] == [7, 7]


def test_every_field_of_actuator_states_is_filled(plant):
    message = ActuatorStates()
    fields = set(message.get_fields_and_field_types()) - {"header", "name"}
    assert fields == set(plant.actuator_state._fields)
    assert all(np.shape(values) == (2,) for values in plant.actuator_state)


def test_a_new_start_is_told_with_the_stamp_of_its_state_and_with_each_repeat(plant, monkeypatch):
    now = [10.0]
    monkeypatch.setattr(outputs_module.time, "monotonic", lambda: now[0])
    node, outputs = run(plant, ticks=range(1, 5))
    assert node["new_starts"] == []
    outputs.publish(5, 5 * PERIOD, plant.q, plant.v, new_start="reset")
    now[0] += 1.01 * outputs_module.REPEAT_SECONDS
    assert outputs.repeat()
    outputs.publish(6, 6 * PERIOD, plant.q, plant.v, new_start="")
    assert node["new_starts"] == [5, 5] and node["joint_states"] == [1, 2, 3, 4, 5, 5, 6]
