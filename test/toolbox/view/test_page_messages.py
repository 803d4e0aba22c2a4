# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Pages that send anything: nothing of it reaches a widget, and nothing ends or fills the log with tracebacks."""

import itertools
import random
from contextlib import contextmanager

import pytest

pytest.importorskip("viser", reason="viser is not installed: make setup")

import msgspec  # noqa: E402
import numpy as np  # noqa: E402
import viser._messages  # noqa: E402
from page_client import CAMERA, Asked, open_client, wait_for  # noqa: E402

from robodyn_ros.description.resources import robot_file  # noqa: E402
from robodyn_ros.description.urdf import load_urdf  # noqa: E402
from robodyn_ros.toolbox.view.panel import Panel  # noqa: E402
from robodyn_ros.toolbox.view.robot_scene import RobotScene  # noqa: E402
from robodyn_ros.toolbox.view.server import start_server, stop_server  # noqa: E402
from robodyn_ros.toolbox.view.sliders import Gain  # noqa: E402

MODEL = load_urdf(robot_file("arm6"))
ABSURD = (float("nan"), float("inf"), -1e308, 2**63, -1, True, None, "", "nan", "a" * 10_000, b"x" * 100, [], [1.0], {},
          {"a": 1}, [[]], [1.0] * 1000)


class Rig:
    """A page with every kind of widget, the requests that reach the graph, and what was refused."""

    def __init__(self):
        self.asked, self.refused = Asked(), []
        self.server = start_server("127.0.0.1", 0, "test", lambda kind, text: self.refused.append(text))
        self.scene = RobotScene(self.server, MODEL, None, np.zeros(6))
        self.panel = Panel(self.server, self.scene, MODEL, self.asked)
        self.panel.offer_controllers(["pd", "computed_torque"])
        self.panel.show_gains([Gain("pd.gains.joint1.p", 100.0, 0.0, np.inf, "Stiffness [N m/rad]."),
                               Gain("pd.on", True, 0.0, 1.0, "A switch.")])
        self.widgets = dict(self.server.gui._gui_input_handle_from_uuid)
        self.gizmo = self.panel.handle._gizmo

    def state(self):
        """Everything that a page may change."""
        return ({uuid: handle.value for uuid, handle in self.widgets.items()}, tuple(self.gizmo.position),
                tuple(self.gizmo.wxyz))

    @contextmanager
    def unchanged(self, capfd):
        """A page whose messages must all be refused, and then a camera's, which is taken."""
        before, self.refused[:], self.asked[:] = self.state(), [], []
        with open_client(self.server) as page:
            [client] = self.server.get_clients().values()
            yield page
            page.send({**CAMERA, "fov": 0.5})
            wait_for(lambda: client.camera.fov == 0.5, "the last message")
        assert self.state() == before and not self.asked
        assert "Traceback" not in "".join(capfd.readouterr()), "a traceback was printed"


@pytest.fixture(scope="module")
def rig():
    rig = Rig()
    yield rig
    stop_server(rig.server)


def test_no_absurd_value_of_any_widget_is_taken(rig, capfd):
    with rig.unchanged(capfd) as page:
        count = 0
        for handle, value in itertools.product(rig.widgets.values(), ABSURD):
            one_that_it_can_have = value is True and isinstance(handle.value, bool) and not handle.disabled
            if not one_that_it_can_have and not (value == -1 and getattr(handle, "min", 0) <= -1):
                count += 1
                page.send({"type": "GuiUpdateMessage", "uuid": handle._impl.uuid, "updates": {"value": value}})
        wait_for(lambda: len(rig.refused) >= count, "the refusals")
    assert len(rig.refused) == count
    assert all("\n" not in text and len(text) < 1000 for text in rig.refused)


def test_a_page_changes_values_alone(rig, capfd):
    handle = next(iter(rig.widgets.values()))
    with rig.unchanged(capfd) as page:
        for field, value in itertools.product(("update_cb", "removed", "props", "uuid", "gui_api", "", "__class__"),
                                              ABSURD):
            page.send({"type": "GuiUpdateMessage", "uuid": handle._impl.uuid, "updates": {field: value}})
        page.send({"type": "GuiUpdateMessage", "uuid": handle._impl.uuid, "updates": {}})
        wait_for(lambda: len(rig.refused) == 7 * len(ABSURD) + 1, "the refusals")


def test_no_absurd_pose_of_the_tip_handle_is_taken(rig, capfd):
    good = {"wxyz": [1.0, 0.0, 0.0, 0.0], "position": [0.1, 0.0, 0.0]}
    bad = [{**good, field: value} for field in good for value in (*ABSURD, [float("nan")] * len(good[field]),
                                                                  [1e300] * len(good[field]), [0.0] * 2)]
    bad += [{**good, "wxyz": [0.0] * 4}, {**good, "more": 1}, {"wxyz": good["wxyz"]}]
    with rig.unchanged(capfd) as page:
        for pose in bad:
            page.send({"type": "TransformControlsUpdateMessage", "name": rig.gizmo.name, "owner": "", **pose})
        wait_for(lambda: len(rig.refused) == len(bad), "the refusals")
        page.send({"type": "TransformControlsUpdateMessage", "name": "/tip handle", "owner": "", **good})  # a guess


def test_no_absurd_camera_is_taken(rig, capfd):
    bad = [{**CAMERA, field: value} for field in CAMERA if field != "type" for value in ABSURD
           if not (value is True or (value == 2**63 and field in ("near", "far")))]
    bad += [{**CAMERA, "image_width": 0}, {**CAMERA, "position": [float("nan")] * 3}, {**CAMERA, "wxyz": [0.0] * 4}]
    with rig.unchanged(capfd) as page:
        [client] = rig.server.get_clients().values()
        for camera in bad:
            page.send(camera)
        wait_for(lambda: len(rig.refused) >= len(bad) - 4, "the refusals")
        rig.scene.frame_robot(client)


def test_messages_that_no_page_sends_are_refused(rig, capfd):
    """All kinds that viser has, among them those for tunnels, uploads, forms and scripts; bytes; and text."""
    kinds = sorted({kind.__name__ for kind in viser._messages.Message.get_subclasses()}
                   - {"ViewerCameraMessage", "GuiUpdateMessage", "TransformControlsUpdateMessage",
                      "TransformControlsDragStartMessage", "TransformControlsDragEndMessage"})
    chance = random.Random(0)
    frames = [msgspec.msgpack.encode({"type": kind, "name": rig.gizmo.name, "uuid": "a", "owner": ""})
              for kind in kinds]
    frames += [chance.randbytes(chance.randrange(200)) for _ in range(200)]
    frames += ["text", "", b"", b"\x91" * 10_000, b"\xdd\xff\xff\xff\xff", msgspec.msgpack.encode({"type": 1})]
    with rig.unchanged(capfd) as page:
        for frame in frames:
            page._socket.send(frame)
        wait_for(lambda: len(rig.refused) == len(frames), "the refusals")
    assert len(kinds) > 50


def test_a_message_that_is_too_large_ends_its_page_alone(rig, capfd):
    with rig.unchanged(capfd), open_client(rig.server) as other:
        other._socket.send(bytes(10**6))
        wait_for(lambda: len(rig.server.get_clients()) == 1, "the end of the page")


def test_a_message_of_each_kind_that_pages_send_is_taken(rig):
    rig.asked.clear()
    with open_client(rig.server) as page:
        page.drag("Start", rig.gizmo)
        page.drag("Update", rig.gizmo, (0.3, 0.0, 0.5))
        page.drag("End", rig.gizmo)
        wait_for(lambda: {"move_tip"} == {name for name, *_ in rig.asked}, "a target")
        page.give(rig.panel._motion_speed.handle, 50)
        page.give(rig.panel._controller.handle, "computed_torque")
        wait_for(lambda: {("swap", "computed_torque"), ("set_motion_speed", 0.5)} <= {*rig.asked[-2:]}, "requests")
