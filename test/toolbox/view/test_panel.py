# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Requests that the panel and the handle at the tip send for a browser, or for a program with the page's protocol."""

from types import SimpleNamespace

import pytest

pytest.importorskip("viser", reason="viser is not installed: make setup")

import numpy as np  # noqa: E402
from page_client import Asked, open_client, wait_for  # noqa: E402

from robodyn_ros.description.resources import robot_file  # noqa: E402
from robodyn_ros.description.urdf import load_urdf  # noqa: E402
from robodyn_ros.toolbox.view import panel  # noqa: E402
from robodyn_ros.toolbox.view.panel import MOVE, PUSH, Panel, TipHandle  # noqa: E402
from robodyn_ros.toolbox.view.robot_scene import RobotScene  # noqa: E402
from robodyn_ros.toolbox.view.server import start_server, stop_server  # noqa: E402
from robodyn_ros.toolbox.view.sliders import Gain  # noqa: E402

MODEL = load_urdf(robot_file("planar_2r"))

TIP, FORCE_SCALE = np.eye(4), 0.01


@pytest.fixture(scope="module")
def rig():
    """A panel, its requests, and a function that sends a value as a browser does."""
    server, asked = start_server("127.0.0.1", 0, "test"), Asked()
    panel = Panel(server, RobotScene(server, MODEL, None, np.zeros(2)), MODEL, asked)
    panel.offer_controllers(["pd", "computed_torque"])
    panel.show_gains([Gain("pd.gains.joint1.p", 100.0, 0.0, np.inf, "Stiffness [N m/rad].")])
    last = server.gui.add_slider("messages", 0, 1000, 1, 0)
    with open_client(server) as client:
        def send(handle, value):
            """Requests that follow from a value; the server handles messages in their order."""
            asked.clear()
            client.send({"type": "GuiUpdateMessage", "uuid": handle._impl.uuid, "updates": {"value": value}})
            client.give(last, last.value + 1)
            return list(asked)

        yield panel, send, asked
    stop_server(server)


def test_values_that_the_graph_shows_ask_for_nothing(rig):
    panel, send, _ = rig
    panel.show_controller("pd")
    panel.gains.update("pd.gains.joint1.p", 5000.0)
    panel.follow(np.array([0.1, 0.2]), False)
    assert send(panel.joints._sliders[0].handle, 0.1) == []
    assert [slider.handle.value for slider in panel.joints._sliders] == [0.1, 0.2]
    assert panel.gains._sliders["pd.gains.joint1.p"].handle.max >= 5000.0


def test_only_controllers_that_are_offered_can_be_asked_for(rig):
    panel, send, _ = rig
    assert send(panel._controller.handle, "computed_torque") == [("swap", "computed_torque")]
    for foreign in ("os:system", "antigravity:x", "", "../../etc/passwd"):
        assert send(panel._controller.handle, foreign) == []


def test_gains_are_finite_numbers(rig):
    panel, send, _ = rig
    slider = panel.gains._sliders["pd.gains.joint1.p"].handle
    assert send(slider, 120.0) == [("set_parameter", "pd.gains.joint1.p", 120.0)]
    assert send(slider, float("nan")) == [] and send(slider, float("inf")) == []


def test_joints_stay_within_their_limits(rig):
    panel, send, _ = rig
    slider = panel.joints._sliders[0].handle
    [(name, q)] = send(slider, slider.max)
    assert name == "move_joints" and q[0] == slider.max <= panel.joints._upper[0]
    for foreign in (1e6, -1e6, float("nan")):
        assert send(slider, foreign) == []


def test_a_choice_is_kept_until_the_graph_has_followed_or_refused(rig):
    panel, send, asked = rig
    panel.show_controller("pd", refused=True)
    assert send(panel._controller.handle, "computed_torque") == [("swap", "computed_torque")]
    panel.show_controller("pd")  # the node has not swapped yet
    assert panel._controller.handle.value == "computed_torque"
    panel.show_controller("pd", refused=True)
    assert panel._controller.handle.value == "pd"


def test_stop_and_release_are_asked_for_and_release_is_offered_while_the_robot_is_stopped(rig):
    panel, send, asked = rig
    assert panel._release.disabled
    send(panel._stop, True)
    wait_for(lambda: asked == [("stop",)], "the request, which the server makes on another thread")
    panel.show_supervision("on request", None)
    assert not panel._release.disabled
    send(panel._release, True)
    wait_for(lambda: asked == [("release",)], "the request")
    panel.show_supervision("", None)
    assert panel._release.disabled


def test_the_speed_of_motions_is_a_share_and_follows_the_graph(rig):
    panel, send, _ = rig
    speed = panel._motion_speed
    panel.show_supervision("", 0.3)
    assert speed.handle.value == 30
    assert send(speed.handle, 40) == [("set_motion_speed", 0.4)]
    panel.show_supervision("", 0.3)  # the node has not followed yet
    assert speed.handle.value == 40
    for foreign in (101, -1, float("nan"), "fast", None):
        assert send(speed.handle, foreign) == []
    speed.show_now(30)


def test_the_record_button_starts_and_ends_and_shows_the_folder(rig):
    panel, send, asked = rig
    send(panel._record, True)
    wait_for(lambda: asked == [("record", True)], "the request, which the server makes on another thread")
    panel.show_recording("/home/<me>/run_1", True)
    assert "recording to /home/&lt;me&gt;/run_1" in panel._recorded.content and panel._record.label == "end recording"
    send(panel._record, True)
    wait_for(lambda: asked == [("record", False)], "the request")
    panel.show_recording("/home/<me>/run_1", False)
    assert panel._record.label == "record" and "recorded:" in panel._recorded.content


@pytest.fixture
def tip_rig(server, monkeypatch):
    monkeypatch.setattr(panel, "time", SimpleNamespace(monotonic=lambda: 1000.0))  # hands stay where they are
    asked = Asked()
    handle = TipHandle(server.scene, asked, 1.0, FORCE_SCALE, turns=True)
    handle.follow(TIP, TIP)
    return server, handle, asked


def forces(asked):
    return [request[1] for request in asked if request[0] == "push"]


def test_a_drag_moves_the_tip(tip_rig):
    server, handle, asked = tip_rig
    with open_client(server) as page:
        page.drag("Start", handle._gizmo)
        for position in ((0.1, 0.0, 0.0), (float("nan"), 0.0, 0.0), (0.2, 0.0, 0.3)):
            page.drag("Update", handle._gizmo, position)
        page.drag("End", handle._gizmo)
        wait_for(lambda: len(asked) >= 3, "targets")
        assert {name for name, _ in asked} == {"move_tip"}
        np.testing.assert_allclose([pose[:3, 3] for _, pose in asked][-1], [0.2, 0.0, 0.3])
    handle.follow(TIP, TIP)
    assert handle._gizmo.position[0] == 0.2, "the handle leaves a hand that has just let it go"


def test_a_push_grows_with_the_distance_also_while_the_tip_gives_way(tip_rig):
    server, handle, asked = tip_rig
    handle.set_mode(PUSH)
    with open_client(server) as page:
        page.drag("Start", handle._gizmo)
        page.drag("Update", handle._gizmo, (0.0, 0.0, 0.2))
        wait_for(lambda: np.any(forces(asked)[-1:]), "a force before the next picture")
        np.testing.assert_allclose(forces(asked)[-1], [0.0, 0.0, 20.0])
        tip = np.eye(4)
        tip[2, 3] = 0.05
        handle.follow(tip, tip)
        np.testing.assert_allclose(forces(asked)[-1], [0.0, 0.0, 15.0])
        page.drag("Update", handle._gizmo, (0.0, 0.0, float("inf")))
        page.drag("End", handle._gizmo)
        wait_for(lambda: not np.any(forces(asked)[-1]), "the end of the push")
    assert np.isfinite(forces(asked)).all()


@pytest.mark.parametrize("end", ["the tab is closed", "another mode is chosen"])
def test_a_push_ends_when(tip_rig, end):
    server, handle, asked = tip_rig
    handle.set_mode(PUSH)
    with open_client(server) as page:
        page.drag("Start", handle._gizmo)
        page.drag("Update", handle._gizmo, (0.0, 0.0, 0.2))
        wait_for(lambda: np.any(forces(asked)[-1:]), "a force")
        if end == "the tab is closed":
            page.close()
        else:
            handle.set_mode(MOVE)
        wait_for(lambda: not np.any(forces(asked)[-1]), "the end of the push")
        pushed = len(forces(asked))
        handle.follow(TIP, TIP)
        assert len(forces(asked)) == pushed
