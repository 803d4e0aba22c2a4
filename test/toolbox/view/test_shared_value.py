# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A widget between users and the graph: nobody who uses it is overridden, and at last it shows what the graph has."""

import math
from types import SimpleNamespace

import pytest

pytest.importorskip("viser", reason="viser is not installed: make setup")

from page_client import open_client, wait_for  # noqa: E402

from robodyn_ros.toolbox.view import shared_value  # noqa: E402
from robodyn_ros.toolbox.view.server import start_server, stop_server  # noqa: E402
from robodyn_ros.toolbox.view.shared_value import HANDS_OFF, SharedValue  # noqa: E402
from robodyn_ros.toolbox.view.sliders import Gain, GainSliders  # noqa: E402


class Rig:
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
def rig():
    rig = Rig()
    with open_client(rig.server) as rig.client, pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared_value, "time", SimpleNamespace(monotonic=lambda: rig.now))
        yield rig
    stop_server(rig.server)


def test_answers_to_earlier_positions_do_not_move_a_slider_that_is_dragged(rig):
    shared = SharedValue(rig.gui.add_slider("gain", 0.0, 10.0, 0.1, 1.0), rig.asked.append)
    for value, answer in ((3.0, 2.0), (4.0, 3.0), (5.0, 4.0)):
        rig.give(shared, value)
        rig.now += 0.5 * HANDS_OFF
        shared.show(answer)
        assert shared.handle.value == value
    rig.now += HANDS_OFF
    shared.follow()
    assert shared.handle.value == 4.0 and rig.asked[-3:] == [3.0, 4.0, 5.0]
    wait_for(lambda: rig.client.received(shared.handle) == [4.0], "the last answer alone on the page")


def test_a_choice_is_kept_until_the_graph_has_had_time_to_follow_or_has_refused(rig):
    box = rig.gui.add_dropdown("controller", ("pd", "slow", "broken"))
    shared = SharedValue(box, rig.asked.append)
    rig.give(shared, "slow")
    shared.show("pd")
    assert box.value == "slow" and rig.asked[-1] == "slow"
    rig.now += HANDS_OFF
    shared.show("slow")
    rig.give(shared, "broken")
    shared.show_now("slow")
    assert box.value == "slow"


def test_gains_of_the_same_controller_keep_the_sliders(rig):
    names = [f"pd.gains.{joint}.p" for joint in ("shoulder", "elbow")]

    def gains(*values):
        return [Gain(name, value, 0.0, math.inf, "Stiffness [N m/rad].") for name, value in zip(names, values,
                                                                                               strict=True)]

    rig.gains.show(gains(100.0, 50.0))
    shoulder, elbow = (rig.gains._sliders[name] for name in names)
    rig.give(shoulder, 120.0)
    rig.gains.show(gains(100.0, 70.0))  # after the node has refused something
    assert [rig.gains._sliders[name] for name in names] == [shoulder, elbow], "the slider vanished under the mouse"
    assert (shoulder.handle.value, elbow.handle.value) == (120.0, 70.0)
    rig.now += HANDS_OFF
    rig.gains.follow()
    assert shoulder.handle.value == 100.0 and rig.asked[-1] == (names[0], 120.0)
    rig.gains.show(gains(100.0, 70.0)[:1])
    assert list(rig.gains._sliders) == names[:1]
