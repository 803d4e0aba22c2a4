# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Value of a widget that both users and the graph change; the graph does not override a user."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import viser
from viser._messages import GuiUpdateMessage

HANDS_OFF = 1.5
"""Time after a user's last change during which the graph does not change a widget [s]."""


class SharedValue:
    """Value of a widget.

    While a user drags a slider, the graph reports positions that the slider has already left, and the slower the link,
    the older they are. Hence the graph's value is shown only after the user has left the widget alone.

    Args:
        handle: The widget.
        on_change: Called with each value from a user, on the server's thread.
    """

    def __init__(self, handle: Any, on_change: Callable[[Any], None]) -> None:
        self.handle = handle
        self.value = handle.value
        """The last value that the graph reported or a user selected."""
        self._on_change = on_change
        self._reported: Any = None
        self._touched = -math.inf
        handle.on_update(self._changed)

    async def _changed(self, event: viser.GuiEvent[Any]) -> None:  # async: in the order of the events
        value = self.handle.value
        if event.client is not None:
            self._touched, self.value = time.monotonic(), value
            self._on_change(value)

    @property
    def held(self) -> bool:
        """Whether a user has just changed the value."""
        arriving = self.handle.value != self.value  # its event is still to be handled
        return arriving or time.monotonic() - self._touched < HANDS_OFF

    def show(self, value: Any) -> None:
        """Show a value of the graph: now, or by :meth:`follow` once no user holds the widget."""
        self._reported = value
        self.follow()

    def show_now(self, value: Any) -> None:
        """Show a value of the graph, even if a user has just selected another one."""
        self.value, self._touched = self.handle.value, -math.inf
        self.show(value)

    def follow(self) -> None:
        """Show the last value of the graph unless a user holds the widget."""
        if self._reported is None or self.held:
            return
        self.value = type(self.handle.value)(self._reported)
        self._reported = None
        self.handle.value = self.value

    def send_again(self) -> None:
        """Send the value to all pages, also to those that should have it; viser itself sends changes only."""
        self.handle._impl.gui_api._websock_interface.queue_message(
            GuiUpdateMessage(self.handle._impl.uuid, {"value": self.handle.value}))
