# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The page's server: one address, no other web site, no tunnel, no files of the machine."""

import contextlib
import http.server
import socket
import threading
import urllib.request

import pytest

pytest.importorskip("viser", reason="viser is not installed: make setup")

import msgspec  # noqa: E402
import viser  # noqa: E402
import websockets.sync.client  # noqa: E402
from browser import open_browser  # noqa: E402
from page_client import open_client, wait_for  # noqa: E402

from robodyn_ros.base.errors import InputError  # noqa: E402
from robodyn_ros.toolbox.view.server import address, same_site, start_server, stop_server  # noqa: E402


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
