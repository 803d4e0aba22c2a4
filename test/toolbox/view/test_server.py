# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The page's server: one address, no other web site, no tunnel, no files of the machine, no malformed message."""

import contextlib
import http.server
import itertools
import random
import socket
import threading
import urllib.request
from contextlib import contextmanager

import pytest

pytest.importorskip("viser", reason="viser is not installed: make setup")

import msgspec  # noqa: E402
import numpy as np  # noqa: E402
import viser  # noqa: E402
import viser._messages  # noqa: E402
import websockets.asyncio.server  # noqa: E402
import websockets.sync.client  # noqa: E402
from browser import open_browser  # noqa: E402
from page_client import CAMERA, Asked, open_client, wait_for  # noqa: E402

from robodyn_ros.base.errors import InputError  # noqa: E402
from robodyn_ros.description.resources import robot_file  # noqa: E402
from robodyn_ros.description.urdf import load_urdf  # noqa: E402
from robodyn_ros.toolbox.view.panel import Panel  # noqa: E402
from robodyn_ros.toolbox.view.robot_scene import RobotScene  # noqa: E402
from robodyn_ros.toolbox.view.server import address, same_site, start_server, stop_server  # noqa: E402
from robodyn_ros.toolbox.view.sliders import Gain  # noqa: E402

MODEL = load_urdf(robot_file("arm6"))
ABSURD = (float("nan"), float("inf"), -1e308, 2**63, -1, True, None, "", "nan", "a" * 10_000, b"x" * 100, [], [1.0], {},
          {"a": 1}, [[]], [1.0] * 1000)


def connect(server, **headers):
    return websockets.sync.client.connect(
        address(server).replace("http", "ws"), subprotocols=[f"viser-v{viser.__version__}"], additional_headers=headers)


def test_starting_prints_nothing_and_listens_on_one_address_only(capfd):
    server = start_server("127.0.0.1", 0, "test")
    try:
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.2", server.get_port()), timeout=1.0).close()
        assert urllib.request.urlopen(address(server)).status == 200
    finally:
        stop_server(server)
    assert capfd.readouterr().out == ""


def test_a_page_whose_connections_would_not_be_checked_is_not_served(monkeypatch):
    """As with a release of viser that calls another function of websockets."""
    stopped, serve = [], websockets.asyncio.server.serve

    def served_in_another_way(**options):
        monkeypatch.undo()
        server = made(**options)
        stopped.append(server.stop)
        server.stop = lambda: stopped.append("stopped") or stopped[0]()
        return server

    made = viser.ViserServer
    monkeypatch.setattr(viser, "ViserServer", lambda **options: (
        setattr(websockets.asyncio.server, "serve", serve), served_in_another_way(**options))[1])
    with pytest.raises(InputError, match="in a way that is not known"):
        start_server("127.0.0.1", 0, "test")
    assert stopped[1:] == ["stopped"] and websockets.asyncio.server.serve is serve


def test_a_port_in_use_is_an_error_that_says_what_to_do():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"127.0.0.1:{port}: Address already in use; give another --port"):
            start_server("127.0.0.1", port, "test")


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid"])
def test_an_address_that_is_not_of_this_machine_is_an_error(host):
    with pytest.raises(InputError, match=f"cannot serve the view at {host}:8080"):
        start_server(host, 8080, "test")


@pytest.mark.parametrize("path", ["/../__init__.py", "/..%2f__init__.py", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd",
                                  "/..\\__init__.py"])
def test_no_file_but_the_page_can_be_read(server, path):
    with socket.create_connection(("127.0.0.1", server.get_port())) as raw:
        raw.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        assert b"404" in raw.recv(100).split(b"\r\n")[0]


def handshake(server, *headers):
    """A WebSocket handshake, and at once a message that drags the tip handle, as one packet."""
    drag = msgspec.msgpack.encode({"type": "TransformControlsUpdateMessage", "name": "/tip handle", "owner": "",
                                   "wxyz": [1.0, 0.0, 0.0, 0.0], "position": [0.1, 0.0, 0.0]})
    frame = bytes([0x82, 0xFE]) + len(drag).to_bytes(2, "big") + bytes(4) + drag  # masked with zeros
    lines = ("GET / HTTP/1.1", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
             "Sec-WebSocket-Key: MDAwMDAwMDAwMDAwMDAwMA==", f"Sec-WebSocket-Protocol: viser-v{viser.__version__}",
             *headers, "", "")
    return "\r\n".join(lines).encode() + frame


def answer(server, request):
    """Status line of the answer to bytes."""
    with socket.create_connection(("127.0.0.1", server.get_port()), timeout=10.0) as raw:
        raw.sendall(request)
        return raw.recv(1000).split(b"\r\n")[0].decode()


@pytest.mark.parametrize("headers", [
    ("Host: 127.0.0.1:{port}", "Origin: http://evil.example"),
    ("Host: evil.example:{port}", "Origin: http://evil.example:{port}"),
    ("Host: 127.0.0.1:{port}", "Origin: http://127.0.0.1:{port}", "Origin: http://evil.example"),
    ("Host: 127.0.0.1:{port}", "Host: evil.example", "Origin: http://127.0.0.1:{port}"),
    ("Host: 127.0.0.1:{port}", "Origin: http://["),
    ("Host: 127.0.0.1:{port}", "Origin: null"),
    ("Origin: http://evil.example",),
])
def test_other_sites_are_refused_in_the_handshake_and_nothing_they_sent_is_read(server, headers, capfd):
    dragged = []
    gizmo = server.scene.add_transform_controls("/tip handle")
    gizmo.on_update(dragged.append)
    assert answer(server, handshake(server, *(line.format(port=server.get_port()) for line in headers))).startswith(
        "HTTP/1.1 403")
    with open_client(server) as page:  # answered later, so that the frame would have been handled by now
        page.drag("Update", gizmo, (0.5, 0.0, 0.0))
        wait_for(lambda: dragged, "the drag of the page itself")
    assert gizmo.position[0] == 0.5 and len(dragged) == 1
    gizmo.remove()
    assert "Traceback" not in "".join(capfd.readouterr())


def test_a_browser_can_connect_from_its_own_page_alone(server):
    """A page of another origin, in a real browser, sends as soon as it can."""
    dragged = []
    gizmo = server.scene.add_transform_controls("/tip handle")
    gizmo.on_update(dragged.append)
    script = """([url, subprotocol, frame]) => new Promise(done => {
        const socket = new WebSocket(url, subprotocol)
        socket.onopen = () => { socket.send(new Uint8Array(frame)); done("opened") }
        socket.onerror = () => done("refused")
    })"""
    drag = msgspec.msgpack.encode({"type": "TransformControlsUpdateMessage", "name": "/tip handle", "owner": "",
                                   "wxyz": [1.0, 0.0, 0.0, 0.0], "position": [0.1, 0.0, 0.0]})
    arguments = [address(server).replace("http", "ws"), f"viser-v{viser.__version__}", list(drag)]
    with foreign_site() as site, open_browser() as browser:
        page = browser.new_page()
        page.goto(site)
        assert page.evaluate(script, arguments) == "refused"
        page.goto(address(server))
        assert page.evaluate(script, arguments) == "opened"
        wait_for(lambda: dragged, "the drag of the page itself")
    assert len(dragged) == 1
    gizmo.remove()


@contextlib.contextmanager
def foreign_site():
    """Address of an empty page on another port."""
    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{site.server_port}"
        site.shutdown()


@pytest.mark.parametrize("request_bytes", [
    b"\0" * 100 + b"\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /" + b"a" * 5000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
], ids=["zeros", "no host", "post", "long path"])
def test_no_request_prints_a_traceback(server, request_bytes, capfd):
    assert "200" not in answer(server, request_bytes)
    assert urllib.request.urlopen(address(server)).status == 200
    assert "Traceback" not in "".join(capfd.readouterr())


def test_a_bounded_number_of_pages_is_open_at_once(monkeypatch):
    refused = []
    monkeypatch.setattr("robodyn_ros.toolbox.view.server.MAX_PAGES", 3)
    server = start_server("127.0.0.1", 0, "test", lambda *what: refused.append(what))
    try:
        with contextlib.ExitStack() as pages:
            with pytest.raises(websockets.InvalidStatus, match="503"):
                for _ in range(5):
                    pages.enter_context(connect(server))
        [(kind, text)] = refused
        assert kind == "connections" and "3 pages are open already" in text
        with connect(server):
            pass
    finally:
        stop_server(server)


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_the_page_itself_is_let_in(server, name):
    with connect(server, Origin=f"http://127.0.0.1:{server.get_port()}") as socket:
        socket.send(b"")
        assert socket.recv(timeout=5.0)


@pytest.mark.parametrize(("origin", "host", "same"), [
    (None, "127.0.0.1:8080", True),
    ("http://127.0.0.1:8080", "127.0.0.1:8080", True),
    ("http://localhost:9000", "localhost:9000", True),
    ("http://[::1]:8080", "[::1]:8080", True),
    (f"http://{socket.gethostname().lower()}:8080", f"{socket.gethostname().lower()}:8080", True),
    ("http://127.0.0.1:8081", "127.0.0.1:8080", False),
    ("http://evil.example", "127.0.0.1:8080", False),
    ("http://evil.example:8080", "evil.example:8080", False),  # a name that its owner points here
    ("null", "127.0.0.1:8080", False),
    ("http://[", "127.0.0.1:8080", False),
    ("http://127.0.0.1:8080", "[127.0.0.1:8080", False),
    ("", "", False),
])
def test_same_site(origin, host, same):
    assert same_site(origin, host) is same


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
