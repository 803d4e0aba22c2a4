"""Requests that the panel sends for a browser, or for a program that speaks the page's protocol."""

import time

import msgspec
import numpy as np
import pytest

pytest.importorskip("viser", reason="viser is not installed: make setup")

import viser  # noqa: E402
import websockets.sync.client  # noqa: E402

from robodyn_ros.description.urdf import load_urdf  # noqa: E402
from robodyn_ros.resources import robot_file  # noqa: E402
from robodyn_ros.view.panel import Panel  # noqa: E402
from robodyn_ros.view.robot_scene import RobotScene  # noqa: E402
from robodyn_ros.view.server import address, start_server, stop_server  # noqa: E402
from robodyn_ros.view.sliders import Gain  # noqa: E402

MODEL = load_urdf(robot_file("planar_2r"))
CAMERA = {"type": "ViewerCameraMessage", "wxyz": [1.0, 0, 0, 0], "position": [1.0, 1, 1], "fov": 1.0, "near": 0.1,
          "far": 10.0, "image_height": 10, "image_width": 10, "look_at": [0.0, 0, 0], "up_direction": [0.0, 0, 1]}


class Asked(list):
    """Takes the place of the graph: records the requests in order."""

    def __getattr__(self, name):
        return lambda *arguments: self.append((name, *arguments))


@pytest.fixture(scope="module")
def rig():
    """A panel, its requests, and a function that sends a value as a browser does."""
    server, asked = start_server("127.0.0.1", 0, "test"), Asked()
    panel = Panel(server, RobotScene(server, MODEL, None, np.zeros(2)), MODEL, asked)
    panel.offer_controllers(["pd", "computed_torque"])
    panel.show_gains([Gain("pd.gains.joint1.p", 100.0, 0.0, np.inf, "Stiffness [N m/rad].")])
    url = address(server).replace("http", "ws")
    with websockets.sync.client.connect(url, subprotocols=[f"viser-v{viser.__version__}"]) as browser:
        browser.send(msgspec.msgpack.encode(CAMERA))

        def send(handle, value, **others):
            browser.send(msgspec.msgpack.encode({"type": "GuiUpdateMessage", "uuid": handle._impl.uuid,
                                                 "updates": {"value": value, **others}}))
            time.sleep(0.3)
            told, asked[:] = list(asked), []
            return told

        end = time.monotonic() + 20.0
        while not server.get_clients() and time.monotonic() < end:
            time.sleep(0.05)
        yield panel, send
    stop_server(server)


def test_only_controllers_that_are_offered_can_be_asked_for(rig):
    panel, send = rig
    assert send(panel._controller, "computed_torque") == [("swap", "computed_torque")]
    for foreign in ("os:system", "antigravity:x", "", "../../etc/passwd"):
        assert send(panel._controller, foreign) == []


def test_gains_are_finite_numbers(rig):
    panel, send = rig
    slider = panel.gains._handles["pd.gains.joint1.p"]
    assert send(slider, 120.0) == [("set_parameter", "pd.gains.joint1.p", 120.0)]
    assert send(slider, float("nan")) == [] and send(slider, float("inf")) == []


def test_joints_stay_within_their_limits(rig):
    panel, send = rig
    [(name, q)] = send(panel.joints._handles[0], 1e6)
    assert name == "move_joints" and q[0] == pytest.approx(min(MODEL.position_upper[0], np.pi * 2), rel=1.0)
    assert (q <= panel.joints._upper).all() and send(panel.joints._handles[1], float("nan")) == []


def test_values_that_the_graph_shows_ask_for_nothing(rig):
    panel, send = rig
    panel.show_controller("pd")
    panel.gains.update("pd.gains.joint1.p", 5000.0)
    panel.joints._touched = -np.inf
    panel.joints.follow(np.array([0.1, 0.2]))
    assert send(panel.joints._handles[0], 0.1) == []
    assert panel.joints._handles[1].value == pytest.approx(0.2)  # no longer NaN
    assert panel.gains._handles["pd.gains.joint1.p"].max >= 5000.0


def test_the_record_button_starts_and_ends_and_shows_the_folder(rig):
    panel, send = rig
    assert send(panel._record, True) == [("record", True)]
    panel.show_recording("/home/<me>/run_1", True)
    assert "recording to /home/&lt;me&gt;/run_1" in panel._recorded.content and panel._record.label == "end recording"
    assert send(panel._record, True) == [("record", False)]
    panel.show_recording("/home/<me>/run_1", False)
    assert panel._record.label == "record" and "recorded:" in panel._recorded.content
