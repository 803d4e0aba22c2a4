# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Private parts of viser, and of websockets below it, which the page needs.

| part | why the public interface does not do | in a release without it |
| --- | --- | --- |
| list of widgets | a message names a widget by an id, and viser checks no range | such messages are refused |
| message of a widget | viser sends only changes: a widget keeps a value that was refused | it keeps it |
| `websockets.asyncio.server.serve` | viser has no option to check connections and messages | the page is not served |
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import viser
import websockets.asyncio.server

from robodyn_ros.base.errors import InputError


def widget(server: viser.ViserServer, identifier: str) -> Any:
    """Return the handle of a widget; None: there is none.

    Args:
        server: The server.
        identifier: Name of the widget in a message of a page.

    Raises:
        InputError: This release of viser has no list of them.
    """
    handles = getattr(server.gui, "_gui_input_handle_from_uuid", None)
    if handles is None:
        raise InputError("this release of viser is not known, and has no list of its widgets")
    return handles.get(identifier)


def send_again(handle: Any) -> None:
    """Send the value of a widget to all pages again.

    Args:
        handle: The widget's handle.
    """
    with contextlib.suppress(AttributeError, ImportError):
        from viser._messages import GuiUpdateMessage

        handle._impl.gui_api._websock_interface.queue_message(
            GuiUpdateMessage(handle._impl.uuid, {"value": handle.value}))


@contextlib.contextmanager
def serving_with(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Iterator[list[bool]]:
    """A viser server that starts in this context calls websockets' ``serve`` with changed options.

    Args:
        change: Returns other options in the place of viser's.

    Yields:
        A list; empty after the start: this release of viser serves in another way, without them.
    """
    serve, used = websockets.asyncio.server.serve, list[bool]()

    def changed(*arguments: Any, **options: Any) -> Any:
        used.append(True)
        return serve(*arguments, **change(options))

    websockets.asyncio.server.serve = changed  # type: ignore[assignment,misc]
    try:
        yield used
    finally:
        websockets.asyncio.server.serve = serve  # type: ignore[misc]
