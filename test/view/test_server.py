# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The page's server: one address, no other web site, no tunnel, no files of the machine."""

import socket
import urllib.error
import urllib.request

import pytest

pytest.importorskip("viser", reason="viser is not installed: make setup")

import viser  # noqa: E402
import websockets.sync.client  # noqa: E402
from viser import _messages  # noqa: E402

from robodyn_ros.errors import InputError  # noqa: E402
from robodyn_ros.view.server import FORBIDDEN_ORIGIN, address, same_site, start_server, stop_server  # noqa: E402


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


def test_no_browser_can_ask_for_a_tunnel(server):
    assert _messages.ShareUrlRequest not in server._websock_server._incoming_handlers
    assert _messages.ShareUrlDisconnect not in server._websock_server._incoming_handlers


def test_pages_of_other_sites_are_cut_off(server):
    with connect(server, Origin="http://evil.example") as socket, pytest.raises(websockets.ConnectionClosed) as closed:
        for _ in range(10):
            socket.recv(timeout=5.0)
    assert closed.value.rcvd.code == FORBIDDEN_ORIGIN


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
    ("", "", False),
])
def test_same_site(origin, host, same):
    assert same_site(origin, host) is same
