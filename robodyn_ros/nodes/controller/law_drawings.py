# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Asks the controller in force what it wants drawn.

Its code runs on a thread that is left behind if it does not return; a controller whose drawing fails draws no more.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable

from visualization_msgs.msg import MarkerArray

from robodyn_ros.base.errors import RobodynError
from robodyn_ros.control.contract.controller import Controller
from robodyn_ros.control.contract.law_drawings import checked_drawing, drawn_fields
from robodyn_ros.control.plugins.plugin_threads import run_bounded
from robodyn_ros.control.runtime.tick import Tick
from robodyn_ros.nodes.common.drawing_markers import to_markers

SECONDS = 1.0
"""Time that a controller may take to draw [s]."""


class LawDrawings:
    """Drawings of the controller in force as markers.

    Args:
        frame: tf frame of the base link.
        is_stopped: Whether to wait for code of plugins no longer.
        on_failure: Gets why a controller draws no more.
    """

    def __init__(self, frame: str, is_stopped: Callable[[], bool], on_failure: Callable[[str], None]) -> None:
        self._frame, self._is_stopped, self._on_failure = frame, is_stopped, on_failure
        self._failed: weakref.ref[Controller] | None = None  # it may leave force
        self._something = False

    def markers(self, tick: Tick) -> MarkerArray | None:
        """Return what the controller of a tick wants drawn; None: nothing, as before."""
        plugin, record = tick.plugin, type(tick.plugin.controller).Drawing
        if record is None or (self._failed is not None and self._failed() is plugin.controller):
            return self._nothing()
        what = f"controller '{plugin.name}' cannot draw"
        try:
            fields = drawn_fields(record)
            drawing = run_bounded(what, SECONDS, self._is_stopped, plugin.controller.draw, tick.state)
            arrays = checked_drawing(record, drawing)
        except RobodynError as error:
            self._failed = weakref.ref(plugin.controller)
            self._on_failure(f"{error if str(error).startswith(what) else f'{what}: {error}'}; it draws no more")
            return self._nothing()
        self._something = True
        return to_markers(fields, arrays, self._frame)

    def _nothing(self) -> MarkerArray | None:
        """An empty drawing in place of a former one."""
        if not self._something:
            return None
        self._something = False
        return to_markers({}, {}, self._frame)
