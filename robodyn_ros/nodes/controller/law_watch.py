# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Goes on without the control path's thread if it does not return from a law."""

from __future__ import annotations

from robodyn_ros.base.errors import PluginError
from robodyn_ros.base.fields import Field
from robodyn_ros.control.plugins.plugin_threads import LOOK_PERIOD, ThreadWatch, plugin_location
from robodyn_ros.nodes.common.node_thread import NodeThread
from robodyn_ros.nodes.controller.part import Context, Part

LAW_TIMEOUT = Field("law_timeout", 0.25, "Time of computing, or of being blocked, after which a controller that does "
                    "not return is left behind, and dropped for the safe one", unit="s", minimum=0.1, maximum=60.0)


class LawWatch(Part):
    """A thread that watches the one of the control path.

    Args:
        context: What it knows of the node.
    """

    PARAMETERS = (LAW_TIMEOUT,)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._watched: tuple[object, ThreadWatch] | None = None  # a call, and its thread since a look
        self._thread = NodeThread("watch of the law", context.node.diagnostics, self._look)
        context.node.add_thread(self._thread)

    def _look(self) -> None:
        self._thread.sleep(LOOK_PERIOD)
        loop, path = self.context.loop, self.context.thread.path
        call, thread = loop.call, path.thread
        if call is None or self._watched is None or call is not self._watched[0]:
            self._watched = None if call is None else (call, ThreadWatch(thread))
            return
        timeout: float = self.context.node.parameters[LAW_TIMEOUT.name]
        if self._watched[1].look() < timeout:
            return
        place = plugin_location(thread)
        if (request := loop.take_over(call)) is not None:
            reason = f"it did not return within {timeout:g} s{place}"
            path.replace(lambda: self.context.thread.request_here(request._replace(text=reason)),
                         PluginError(f"controller '{call[0].name}': {reason}"))
