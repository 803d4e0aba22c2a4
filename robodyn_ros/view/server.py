# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The web server of the browser view: viser's, bound to one address and closed to other web sites."""

from __future__ import annotations

import contextlib
import io
import ipaddress
import os
import socket
from urllib.parse import urlsplit

import viser
from viser import _messages, infra

from robodyn_ros.errors import InputError

FORBIDDEN_ORIGIN = 1008
"""Close code for a WebSocket that a page of another site opened: policy violation (RFC 6455)."""


def start_server(host: str, port: int, label: str) -> viser.ViserServer:
    """Start to serve an empty page.

    Args:
        host: Address or name of the interface to listen on.
        port: TCP port; 0: any that is free.
        label: Title of the page's panel.

    Raises:
        InputError: The server cannot listen on the address, for example because another program does.
    """
    _check_address(host, port)
    with contextlib.redirect_stdout(io.StringIO()):  # viser prints a banner
        server = viser.ViserServer(host=host, port=port, label=label, verbose=False)
    if port and server.get_port() != port:  # taken since the check; viser chose the next port
        stop_server(server)
        raise _cannot_listen(host, port, "Address already in use")
    server.gui.configure_theme(show_share_button=False, show_logo=False)
    _forbid_tunnels(server)
    _refuse_other_sites(server)
    return server


def stop_server(server: viser.ViserServer) -> None:
    """Stop to serve the page."""
    with contextlib.redirect_stdout(io.StringIO()):  # viser prints a message
        server.stop()


def address(server: viser.ViserServer) -> str:
    """URL of the page, for a browser on this machine where the server listens on all interfaces."""
    host = server.get_host()
    local = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}
    return f"http://{local.get(host, f'[{host}]' if ':' in host else host)}:{server.get_port()}"


def same_site(origin: str | None, host: str) -> bool:
    """Whether a WebSocket was opened by this server's own page.

    Browsers let any page open a WebSocket to any address, also to this machine, and put the site of the page into
    ``Origin``. The owner of any host name can make it resolve to this machine, and both headers would then agree.
    Hence the name must be an address, ``localhost`` or the name of this machine.

    Args:
        origin: The header ``Origin``; None if the request has none, as from other programs than browsers.
        host: The header ``Host``.
    """
    if origin is None:
        return True
    name = urlsplit(f"//{host}").hostname or ""
    return urlsplit(origin).netloc == host and (_is_address(name) or name in ("localhost", *_own_names()))


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _own_names() -> tuple[str, str]:
    return socket.gethostname().lower(), socket.getfqdn().lower()


def _check_address(host: str, port: int) -> None:
    """Check that the port is free; viser would otherwise try a thousand ports and then wait for ever."""
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


def _forbid_tunnels(server: viser.ViserServer) -> None:
    """Refuse requests for viser's tunnel, which would open the page to the internet."""
    server._websock_server.unregister_handler(_messages.ShareUrlRequest)
    server._websock_server.unregister_handler(_messages.ShareUrlDisconnect)


def _refuse_other_sites(server: viser.ViserServer) -> None:
    sockets = server._websock_server

    @sockets.on_client_connect
    async def close_foreign(client: infra.WebsockClientConnection) -> None:
        connection = sockets._live_connections[client.client_id]
        headers = {} if connection.request is None else connection.request.headers
        if not same_site(headers.get("Origin"), headers.get("Host", "")):
            await connection.close(FORBIDDEN_ORIGIN, "opened by a page of another site")
