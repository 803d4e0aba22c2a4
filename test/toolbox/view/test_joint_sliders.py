# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Sliders of the joints under a user's hand, on a link of any speed, while the robot moves."""

import importlib
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("viser", reason="viser is not installed: make setup")

from page_client import open_client, wait_for  # noqa: E402

from robodyn_ros.description.resources import robot_file  # noqa: E402
from robodyn_ros.description.urdf import load_urdf  # noqa: E402
from robodyn_ros.toolbox.view.joint_sliders import JointSliders  # noqa: E402
from robodyn_ros.toolbox.view.server import start_server, stop_server  # noqa: E402

MODEL = load_urdf(robot_file("planar_2r"))


@pytest.fixture(scope="module")
def page():
    server = start_server("127.0.0.1", 0, "test")
    with open_client(server) as client:
        yield server, client
    stop_server(server)


class Rig:
    """Sliders, a page, the positions that were sent, and a clock that the test moves."""

    def __init__(self, page, monkeypatch):
        server, self.client = page
        self.now, self.sent = 1000.0, []
        for name in ("joint_sliders", "shared_value"):
            monkeypatch.setattr(importlib.import_module(f"robodyn_ros.toolbox.view.{name}"), "time",
                                SimpleNamespace(monotonic=lambda: self.now))
        self.sliders = JointSliders(server, MODEL, lambda q: self.sent.append(list(q)))
        self.handles = [slider.handle for slider in self.sliders._sliders]

    def give(self, joint, value):
        """Move a slider as a user does, until the positions are sent."""
        count = len(self.sent)
        self.client.give(self.handles[joint], value)
        wait_for(lambda: len(self.sent) > count, "positions")

    def follow(self, q, seconds=0.0, **options):
        self.now += seconds
        self.sliders.follow(np.array(q), **options)

    def shown(self):
        return [handle.value for handle in self.handles]


@pytest.fixture
def rig(page, monkeypatch):
    return Rig(page, monkeypatch)


def test_sliders_follow_the_desired_positions(rig):
    rig.follow([0.3, -0.2])
    assert rig.shown() == [0.3, -0.2] and rig.sent == []
    wait_for(lambda: rig.client.received(rig.handles[0]) == [0.3], "the value on the page")


def test_a_position_is_kept_while_the_robot_approaches_it_however_slowly(rig):
    rig.give(0, 0.8)
    for q in np.linspace(0.0, 0.8, 40):
        rig.follow([q, 0.0], seconds=1.0)
        assert rig.shown() == [0.8, 0.0]
    rig.follow([0.8, 0.0], seconds=5.0)
    rig.follow([0.5, 0.0])
    assert rig.shown()[0] == 0.5
    wait_for(lambda: rig.client.received(rig.handles[0]) == [0.5], "the one value that the graph sent")


def test_another_joint_does_not_end_a_motion_that_is_under_way(rig):
    rig.give(0, 0.8)
    for q in np.linspace(0.0, 0.4, 10):
        rig.follow([q, 0.0], seconds=1.0)
    rig.give(1, -0.5)
    assert rig.sent[-1] == [0.8, -0.5]


def test_sliders_return_if_the_robot_does_not_come(rig):
    rig.give(0, 0.8)
    rig.follow([0.1, 0.0], seconds=1.0)
    rig.follow([0.1, 0.0], seconds=1.0)
    assert rig.shown() == [0.8, 0.0]
    rig.follow([0.1, 0.0], seconds=1.0)
    assert rig.shown() == [0.1, 0.0]


def test_a_paused_simulation_keeps_them(rig):
    rig.give(0, 0.8)
    for _ in range(10):
        rig.follow([0.0, 0.0], seconds=10.0, standing=True)
    rig.follow([0.1, 0.0], seconds=1.0)
    assert rig.shown() == [0.8, 0.0]


def test_a_value_whose_event_is_still_to_come_is_not_lost(rig):
    rig.handles[0]._impl.value = 0.8  # what the server does before it tells of it
    rig.follow([0.2, 0.3])
    assert rig.shown() == [0.8, 0.3]


def test_the_page_ends_with_the_users_value_if_the_robot_s_crossed_it_on_the_way(rig):
    rig.follow([0.2, 0.0])
    wait_for(lambda: rig.client.received(rig.handles[0]) == [0.2], "the position of the robot")
    rig.give(0, 0.6)
    rig.follow([0.6, 0.0], seconds=1.0)
    rig.follow([0.6, 0.0], seconds=2.0)
    wait_for(lambda: rig.client.received(rig.handles[0]) == [0.2, 0.6], "the value of the user")
