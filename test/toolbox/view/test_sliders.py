# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Sliders of gains and joints: ranges and units, and that the graph does not override a user."""

import math
from types import SimpleNamespace

import pytest

pytest.importorskip("viser", reason="viser is not installed: make setup")

import numpy as np  # noqa: E402
from page_client import open_client, wait_for  # noqa: E402

from robodyn_ros.description.resources import robot_file  # noqa: E402
from robodyn_ros.description.urdf import load_urdf  # noqa: E402
from robodyn_ros.toolbox.view import sliders  # noqa: E402
from robodyn_ros.toolbox.view.server import start_server, stop_server  # noqa: E402
from robodyn_ros.toolbox.view.sliders import USER_HOLD_TIME, Gain, GainSliders, JointSliders, SharedValue  # noqa: E402

MODEL = load_urdf(robot_file("planar_2r"))


def gain(name="pd.gains.elbow.p", value=100.0, minimum=0.0, maximum=math.inf):
    return Gain(name, value, minimum, maximum, "Effort per position error [N m/rad].")


def test_a_gain_of_a_joint_stands_under_its_field_with_its_unit():
    assert (gain().group, gain().label, gain().unit) == ("p", "elbow", "N m/rad")


def test_joints_may_have_dots_and_laws_parameters_of_their_own():
    assert (gain("lqr.horizon").group, gain("lqr.horizon").label) == ("", "horizon")
    assert gain("force.stiffness.x").label == "stiffness.x"


@pytest.mark.parametrize(("value", "minimum", "maximum", "ends"), [
    (100.0, 0.0, math.inf, (0.0, 500.0)),
    (100.0, 0.0, 150.0, (0.0, 150.0)),
    (100.0, 0.0, 1e9, (0.0, 500.0)),
    (2.0, -1e9, 1e9, (-10.0, 10.0)),
    (0.0, 0.0, math.inf, (0.0, 1.0)),
    (-2.0, -math.inf, math.inf, (-10.0, 10.0)),
    (5.0, -math.inf, 8.0, (-32.0, 8.0)),
    (12.0, 10.0, math.inf, (10.0, 60.0)),
])
def test_a_slider_ends_at_the_limits_or_well_beyond_the_value(value, minimum, maximum, ends):
    shown = gain(value=value, minimum=minimum, maximum=maximum)
    assert shown.range == pytest.approx(ends)
    assert shown.range[0] <= value <= shown.range[1]


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e308, "text", None, [1.0], 2**70, True])
def test_values_that_a_slider_cannot_show_leave_it_as_it_is(server, value):
    sliders = GainSliders(server, server.gui.add_folder("Gains"), lambda *_: None)
    sliders.show([gain()])
    sliders.update(gain().name, value)
    handle = sliders._sliders[gain().name].handle
    assert (handle.value, handle.min, handle.max) == (100.0, 0.0, 500.0)
    sliders.update(gain().name, 600.0)
    assert (handle.value, handle.max) == (600.0, 600.0)


@pytest.fixture(scope="module")
def page():
    server = start_server("127.0.0.1", 0, "test")
    with open_client(server) as client:
        yield server, client
    stop_server(server)


class JointRig:
    """Sliders, a page, the positions that were sent, and a clock that the test moves."""

    def __init__(self, page, monkeypatch):
        server, self.client = page
        self.now, self.sent = 1000.0, []
        monkeypatch.setattr(sliders, "time", SimpleNamespace(monotonic=lambda: self.now))
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
def joint_rig(page, monkeypatch):
    return JointRig(page, monkeypatch)


def test_sliders_follow_the_desired_positions(joint_rig):
    joint_rig.follow([0.3, -0.2])
    assert joint_rig.shown() == [0.3, -0.2] and joint_rig.sent == []
    wait_for(lambda: joint_rig.client.received(joint_rig.handles[0]) == [0.3], "the value on the page")


def test_a_position_is_kept_while_the_robot_approaches_it_however_slowly(joint_rig):
    joint_rig.give(0, 0.8)
    for q in np.linspace(0.0, 0.8, 40):
        joint_rig.follow([q, 0.0], seconds=1.0)
        assert joint_rig.shown() == [0.8, 0.0]
    joint_rig.follow([0.8, 0.0], seconds=5.0)
    joint_rig.follow([0.5, 0.0])
    assert joint_rig.shown()[0] == 0.5
    wait_for(lambda: joint_rig.client.received(joint_rig.handles[0]) == [0.5], "the one value that the graph sent")


def test_another_joint_does_not_end_a_motion_that_is_under_way(joint_rig):
    joint_rig.give(0, 0.8)
    for q in np.linspace(0.0, 0.4, 10):
        joint_rig.follow([q, 0.0], seconds=1.0)
    joint_rig.give(1, -0.5)
    assert joint_rig.sent[-1] == [0.8, -0.5]


def test_sliders_return_if_the_robot_does_not_come(joint_rig):
    joint_rig.give(0, 0.8)
    joint_rig.follow([0.1, 0.0], seconds=1.0)
    joint_rig.follow([0.1, 0.0], seconds=1.0)
    assert joint_rig.shown() == [0.8, 0.0]
    joint_rig.follow([0.1, 0.0], seconds=1.0)
    assert joint_rig.shown() == [0.1, 0.0]


def test_a_paused_simulation_keeps_them(joint_rig):
    joint_rig.give(0, 0.8)
    for _ in range(10):
        joint_rig.follow([0.0, 0.0], seconds=10.0, standing=True)
    joint_rig.follow([0.1, 0.0], seconds=1.0)
    assert joint_rig.shown() == [0.8, 0.0]


def test_a_value_whose_event_is_still_to_come_is_not_lost(joint_rig):
    joint_rig.handles[0]._impl.value = 0.8  # what the server does before it tells of it
    joint_rig.follow([0.2, 0.3])
    assert joint_rig.shown() == [0.8, 0.3]


def test_the_page_ends_with_the_users_value_if_the_robot_s_crossed_it_on_the_way(joint_rig):
    joint_rig.follow([0.2, 0.0])
    wait_for(lambda: joint_rig.client.received(joint_rig.handles[0]) == [0.2], "the position of the robot")
    joint_rig.give(0, 0.6)
    joint_rig.follow([0.6, 0.0], seconds=1.0)
    joint_rig.follow([0.6, 0.0], seconds=2.0)
    wait_for(lambda: joint_rig.client.received(joint_rig.handles[0]) == [0.2, 0.6], "the value of the user")


class ValueRig:
    """Widgets of a server, a page, requests of users, and a clock that the test moves."""

    def __init__(self):
        self.now, self.asked = 1000.0, []
        self.server = start_server("127.0.0.1", 0, "test")
        self.gui = self.server.gui
        self.gains = GainSliders(self.server, self.gui.add_folder("Gains"), lambda *request: self.asked.append(request))

    def give(self, shared, value):
        """Change a widget as a user does, until the request is there."""
        count = len(self.asked)
        self.client.give(shared.handle, value)
        wait_for(lambda: len(self.asked) > count, "the request")


@pytest.fixture(scope="module")
def value_rig():
    value_rig = ValueRig()
    with open_client(value_rig.server) as value_rig.client, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sliders, "time", SimpleNamespace(monotonic=lambda: value_rig.now))
        yield value_rig
    stop_server(value_rig.server)


def test_answers_to_earlier_positions_do_not_move_a_slider_that_is_dragged(value_rig):
    shared = SharedValue(value_rig.gui.add_slider("gain", 0.0, 10.0, 0.1, 1.0), value_rig.asked.append)
    for value, answer in ((3.0, 2.0), (4.0, 3.0), (5.0, 4.0)):
        value_rig.give(shared, value)
        value_rig.now += 0.5 * USER_HOLD_TIME
        shared.show(answer)
        assert shared.handle.value == value
    value_rig.now += USER_HOLD_TIME
    shared.follow()
    assert shared.handle.value == 4.0 and value_rig.asked[-3:] == [3.0, 4.0, 5.0]
    wait_for(lambda: value_rig.client.received(shared.handle) == [4.0], "the last answer alone on the page")


def test_a_choice_is_kept_until_the_graph_has_had_time_to_follow_or_has_refused(value_rig):
    box = value_rig.gui.add_dropdown("controller", ("pd", "slow", "broken"))
    shared = SharedValue(box, value_rig.asked.append)
    value_rig.give(shared, "slow")
    shared.show("pd")
    assert box.value == "slow" and value_rig.asked[-1] == "slow"
    value_rig.now += USER_HOLD_TIME
    shared.show("slow")
    value_rig.give(shared, "broken")
    shared.show_now("slow")
    assert box.value == "slow"


def test_gains_of_the_same_controller_keep_the_sliders(value_rig):
    names = [f"pd.gains.{joint}.p" for joint in ("shoulder", "elbow")]

    def gains(*values):
        return [Gain(name, value, 0.0, math.inf, "Stiffness [N m/rad].") for name, value in zip(names, values,
                                                                                               strict=True)]

    value_rig.gains.show(gains(100.0, 50.0))
    shoulder, elbow = (value_rig.gains._sliders[name] for name in names)
    value_rig.give(shoulder, 120.0)
    value_rig.gains.show(gains(100.0, 70.0))  # after the node has refused something
    assert [value_rig.gains._sliders[name] for name in names] == [shoulder, elbow], "a dragged slider vanished"
    assert (shoulder.handle.value, elbow.handle.value) == (120.0, 70.0)
    value_rig.now += USER_HOLD_TIME
    value_rig.gains.follow()
    assert shoulder.handle.value == 100.0 and value_rig.asked[-1] == (names[0], 120.0)
    value_rig.gains.show(gains(100.0, 70.0)[:1])
    assert list(value_rig.gains._sliders) == names[:1]
