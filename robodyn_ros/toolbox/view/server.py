# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The web server of the browser view: viser's, bound to one address and closed to other web sites.

Any program can send any bytes, names and values by the page's protocol. Every message is checked before viser sees it,
so that handlers get values that their widget can have.
"""

from __future__ import annotations

import contextlib
import io
import ipaddress
import logging
import math
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import msgspec
import viser
from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response

from robodyn_ros.base.errors import InputError, shown
from robodyn_ros.toolbox.view.viser_parts import serving_with, widget

MAX_MESSAGE_SIZE = 64 * 2**10
"""Greatest size of a message [bytes]; pages send less than a kilobyte."""
MAX_COORDINATE = 1e4
"""Greatest coordinate of the camera and of the tip handle [m]."""
MAX_PICTURE_SIZE = 1e5
"""Greatest height and width of a picture [pixels]."""

_Vector = tuple[float, float, float]
_Quaternion = tuple[float, float, float, float]

MAX_PAGES = 50
"""Greatest number of connections at once."""


class _Camera(msgspec.Struct, tag="ViewerCameraMessage", forbid_unknown_fields=True):
    wxyz: _Quaternion
    position: _Vector
    fov: float
    near: float
    far: float
    image_height: float
    image_width: float
    look_at: _Vector
    up_direction: _Vector

    def check(self, _: viser.ViserServer) -> None:
        _check_quaternion(self.wxyz)
        for what, values in (("position", self.position), ("look_at", self.look_at), ("up", self.up_direction)):
            _check_numbers(what, values, -100.0 * MAX_COORDINATE, 100.0 * MAX_COORDINATE)
        _check_numbers("fov", [self.fov], 1e-3, math.pi)
        _check_numbers("near and far", [self.near, self.far], 0.0, 1e9)
        _check_numbers("size of the picture", [self.image_height, self.image_width], 1.0, MAX_PICTURE_SIZE)


class _Values(msgspec.Struct, forbid_unknown_fields=True):
    value: bool | float | str


class _Widget(msgspec.Struct, tag="GuiUpdateMessage", forbid_unknown_fields=True):
    uuid: str
    updates: _Values

    def check(self, server: viser.ViserServer) -> None:
        handle = widget(server, self.uuid)
        if handle is not None:  # None: removed; viser ignores the message
            _check_value(handle, self.updates.value)


class _Drag(msgspec.Struct, tag="TransformControlsUpdateMessage", forbid_unknown_fields=True):
    name: str
    wxyz: _Quaternion
    position: _Vector
    owner: str = ""

    def check(self, _: viser.ViserServer) -> None:
        _check_quaternion(self.wxyz)
        _check_numbers("position", self.position, -MAX_COORDINATE, MAX_COORDINATE)


class _DragStart(msgspec.Struct, tag="TransformControlsDragStartMessage", forbid_unknown_fields=True):
    name: str
    owner: str = ""

    def check(self, _: viser.ViserServer) -> None:
        """Nothing to check: viser ignores unknown names."""


class _DragEnd(_DragStart, tag="TransformControlsDragEndMessage"):
    pass


_decode = msgspec.msgpack.Decoder(_Camera | _Widget | _Drag | _DragStart | _DragEnd).decode


class PageMessages:
    """The checks of one server.

    Args:
        on_refused: Called with a kind and a sentence for each refused message.

    Attributes:
        server: The server; while it is None, everything is refused.
    """

    def __init__(self, on_refused: Callable[[str, str], None]) -> None:
        self.server: viser.ViserServer | None = None
        self._on_refused = on_refused

    def accept(self, frame: bytes | str) -> bool:
        """Whether viser may handle a message; refused messages are reported."""
        try:
            if self.server is None:
                raise InputError("it came before the page was ready")
            if isinstance(frame, str):
                raise InputError("expected bytes, received text")
            _decode(frame).check(self.server)
        except (InputError, msgspec.MsgspecError, RecursionError) as error:
            self._on_refused("page messages", f"a message of a page was refused: {error}")
            return False
        return True


def _check_value(handle: Any, value: bool | float | str) -> None:
    """Raise `InputError` for a value that a widget cannot have."""
    name = getattr(handle, "label", "widget")
    if isinstance(handle, viser.GuiButtonGroupHandle | viser.GuiDropdownHandle):
        if value not in handle.options:
            raise InputError(f"{name}: expected one of {shown(handle.options)}, received {shown(value)}")
    elif isinstance(handle, viser.GuiButtonHandle | viser.GuiCheckboxHandle):
        if not isinstance(value, bool):
            raise InputError(f"{name}: expected true or false, received {shown(value)}")
    elif isinstance(handle, viser.GuiSliderHandle):
        if isinstance(value, bool | str):
            raise InputError(f"{name}: expected a number, received {shown(value)}")
        rounding = 0.5 * handle.step  # browsers round to steps from the lower end
        _check_numbers(name, [value], handle.min - rounding, handle.max + rounding)
    else:
        raise InputError(f"{name}: cannot be changed by a page")
    if handle.disabled:
        raise InputError(f"{name} is disabled")


def _check_quaternion(wxyz: Sequence[float]) -> None:
    if not 0.5 < math.hypot(*wxyz) < 2.0:  # false for NaN, too
        raise InputError(f"expected a unit quaternion, received {shown(wxyz)}")


def _check_numbers(what: str, values: Sequence[float], lower: float, upper: float) -> None:
    for value in values:
        if not lower <= value <= upper:  # false for NaN, too
            raise InputError(f"{what}: expected a number from {lower:g} to {upper:g}, received {value:g}")


def start_server(host: str, port: int, label: str, on_refused: Callable[[str, str], None] = lambda kind, text: None
                 ) -> viser.ViserServer:
    """Start to serve an empty page.

    Args:
        host: Address or name of the interface to listen on.
        port: TCP port; 0: any that is free.
        label: Title of the page's panel.
        on_refused: Called on the server's thread with the kind of a refusal, and a sentence.

    Raises:
        InputError: The server cannot listen on the address, for example because another program does.
    """
    _check_address(host, port)
    messages = PageMessages(on_refused)
    with contextlib.redirect_stdout(io.StringIO()), _checked_connections(messages, on_refused) as used:
        server = viser.ViserServer(host=host, port=port, label=label, verbose=False)
    if not used:
        stop_server(server)
        raise InputError(f"viser {viser.__version__} serves pages in a way that is not known, and no check would stand "
                         "before them: install one that the extra view names")
    messages.server = server
    if port and server.get_port() != port:  # taken after the check; viser chose the next port
        stop_server(server)
        raise _cannot_listen(host, port, "Address already in use")
    server.gui.configure_theme(show_share_button=False, show_logo=False)
    return server


def stop_server(server: viser.ViserServer) -> None:
    """Stop serving the page."""
    with contextlib.redirect_stdout(io.StringIO()):  # viser prints a message
        server.stop()


def address(server: viser.ViserServer) -> str:
    """URL of the page; for a server on all interfaces, the URL for a browser on this machine."""
    host = server.get_host()
    local = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}
    return f"http://{local.get(host, f'[{host}]' if ':' in host else host)}:{server.get_port()}"


def same_site(origin: str | None, host: str) -> bool:
    """Whether this server's own page opened a connection.

    Browsers let any page open a WebSocket to any address, including this machine, and name the site of the page in
    ``Origin``. The owner of any host name can make it resolve to this machine, and both headers would then agree.
    Therefore the name must be an address, ``localhost`` or the name of this machine.

    Args:
        origin: The header ``Origin``; None: the request has none, for example from a program that is no browser.
        host: The header ``Host``.
    """
    if origin is None:
        return True
    try:
        name, site = urlsplit(f"//{host}").hostname or "", urlsplit(origin).netloc
    except ValueError:  # such as http://[
        return False
    return site == host and (_is_address(name) or name in ("localhost", *_own_names()))


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _own_names() -> tuple[str, str]:
    return socket.gethostname().lower(), socket.getfqdn().lower()


def _check_address(host: str, port: int) -> None:
    """Check that the port is free; otherwise viser would try a thousand ports and then wait for ever."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        socket.create_server((host, port), family=family).close()
    except socket.gaierror as error:
        raise _cannot_listen(host, port, error.strerror or "unknown name") from None
    except (OSError, OverflowError, UnicodeError) as error:
        number = getattr(error, "errno", None)
        raise _cannot_listen(host, port, os.strerror(number) if number else str(error)) from None


def _cannot_listen(host: str, port: int, reason: str) -> InputError:
    return InputError(f"cannot serve the view at {host}:{port}: {reason}; give another --port (0: any that is free) or "
                      "--host, or end the program that uses it")



@contextlib.contextmanager
def _checked_connections(messages: PageMessages, on_refused: Callable[[str, str], None]) -> Iterator[list[bool]]:
    """Make a viser server that starts in this context check handshakes and messages; see `serving_with`."""
    logger = logging.getLogger(__name__)
    logger.addFilter(lambda record: record.getMessage() != "opening handshake failed")  # it has a traceback

    class Connection(ServerConnection):
        """Passes only checked messages to viser."""

        async def recv(self, decode: bool | None = None) -> Any:
            while True:
                frame = await super().recv(decode)
                if messages.accept(frame):
                    return frame

    def checked(options: dict[str, Any]) -> dict[str, Any]:
        process_request = options["process_request"]

        def process(connection: ServerConnection, request: Request) -> Response | None:
            refusal = _refusal(connection, request)
            if refusal is None:
                answer: Response | None = process_request(connection, request)
                return answer
            status, reason = refusal
            on_refused("connections", f"a connection to the page was refused: {reason}")
            return connection.respond(status, f"{reason}\n")

        return {**options, "process_request": process, "create_connection": Connection,
                "max_size": MAX_MESSAGE_SIZE, "logger": logger}

    with serving_with(checked) as used:
        yield used


def _refusal(connection: ServerConnection, request: Request) -> tuple[HTTPStatus, str] | None:
    """Return why to refuse a request, before reading any message; None: accepted."""
    origins, hosts = request.headers.get_all("Origin"), request.headers.get_all("Host")
    if len(hosts) != 1 or len(origins) > 1 or not same_site(next(iter(origins), None), hosts[0]):
        return HTTPStatus.FORBIDDEN, f"opened by a page of another site, {', '.join(origins)[:200]!r}"
    if len(connection.server.connections) >= MAX_PAGES:
        return HTTPStatus.SERVICE_UNAVAILABLE, f"{MAX_PAGES} pages are open already"
    return None
