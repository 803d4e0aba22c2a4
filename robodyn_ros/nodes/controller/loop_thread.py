# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.


"""The control loop on the thread of the control path: requests from any thread, and listeners of what happened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from robodyn_ros.control.runtime.control_loop import ControlLoop
from robodyn_ros.control.runtime.loop_events import Event
from robodyn_ros.control.runtime.measurement import Measurement
from robodyn_ros.control.runtime.requests import Request
from robodyn_ros.control.runtime.tick import Tick
from robodyn_ros.nodes.common.control_path import ControlPath


class LoopThread:
    """Passes measurements and requests to the control loop, and its events to listeners.

    Args:
        loop: The control loop; others only read it.
        path: The control path, on whose thread the loop runs.

    Attributes:
        loop: The control loop.
        path: The control path.
        listeners: Called on the path's thread with each event.
    """

    def __init__(self, loop: ControlLoop, path: ControlPath) -> None:
        self.loop, self.path = loop, path
        self.listeners: list[Callable[[Event], None]] = []

    def call(self, function: Callable[[], Any]) -> Any:
        """Run a function on the path's thread, between two ticks, and return its result; from any other thread."""
        return self.path.call(function)

    def request(self, request: Request) -> Any:
        """Ask the loop for something, and return the result; from any other thread than the path's.

        Raises:
            RobodynError: As the request says, or the path's thread did not answer in time.
        """
        return self.path.call(lambda: self.request_here(request))

    # On the path's thread, or before it starts.

    def request_here(self, request: Request) -> Any:
        """Ask the loop for something, and return the result."""
        result, events = self.loop.request(request)
        self._report(events)
        return result

    def tick(self, measurement: Measurement) -> Tick:
        """Answer a measurement."""
        tick = self.loop.tick(measurement)
        if tick.events:
            self._report(tick.events)
        return tick

    def _report(self, events: tuple[Event, ...]) -> None:
        for event in events:
            for listener in self.listeners:
                listener(event)
