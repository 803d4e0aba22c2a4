# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The supervisor of the control loop, as ROS sees it: its parameters, ~/stop and ~/release, the speed of motions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from std_srvs.srv import Trigger

from robodyn_ros.base import topic_names
from robodyn_ros.base.errors import RobodynError
from robodyn_ros.control.runtime.control_loop import Tick
from robodyn_ros.control.runtime.loop_events import Event as LoopEvent
from robodyn_ros.control.runtime.loop_events import ModeChanged
from robodyn_ros.control.runtime.modes import STOPS
from robodyn_ros.control.runtime.requests import NewSettings, Release, Request, Stop
from robodyn_ros.control.runtime.supervisor import PARAMETERS, SupervisorSettings
from robodyn_ros.nodes.common.runtime import RobodynNode
from robodyn_ros.nodes.controller.events import STOPPED, Event, Events
from robodyn_ros.nodes.controller.loop_thread import LoopThread


class Supervision:
    """Serves ~/stop and ~/release, keeps the supervisor's settings, and reports what it did.

    Args:
        node: The controller node.
        thread: The control loop on its thread.
        events: Reports stops.
    """

    def __init__(self, node: RobodynNode, thread: LoopThread, events: Events) -> None:
        self._node, self._thread, self._loop, self._events = node, thread, thread.loop, events
        self._counts: Counter[str] = Counter()
        thread.request_here(_settings({parameter.name: node.parameters[parameter.name] for parameter in PARAMETERS}))
        thread.listeners.append(self._on_event)
        node.create_service(Trigger, topic_names.own(topic_names.STOP), self._on_stop)
        node.create_service(Trigger, topic_names.own(topic_names.RELEASE), self._on_release)
        node.parameters.on_change(self._on_change)
        node.diagnostics.checks.append(self._look_at_workspace)

    def note(self, tick: Tick) -> None:
        """Count what the supervisor did at a tick, and the mode; on the thread of the control path."""
        if tick.intervention:
            self._counts[tick.intervention] += 1
        if tick.reason is not None:
            self._counts[tick.mode.value] += 1

    def values(self) -> dict[str, object]:
        """Values for the diagnostics."""
        counts = {f"supervised commands: {kind}": count for kind, count in self._counts.copy().items()}
        return {"mode": self._loop.mode.value, "stopped": self._loop.stopped() or "no",
                "speed scaling": round(self._loop.speed, 3), **counts}

    def _look_at_workspace(self) -> None:
        if text := self._loop.misplaced():
            self._node.diagnostics.raise_condition("workspace", text)
        else:
            self._node.diagnostics.clear_condition("workspace", "the tip link is inside the workspace")

    def _on_stop(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return self._answer(response, Stop(), "stopped until ~/release")

    def _on_release(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return self._answer(response, Release(), "released: the controller begins at the current state")

    def _answer(self, response: Trigger.Response, request: Request, done: str) -> Trigger.Response:
        try:
            self._thread.request(request)
            response.success, response.message = True, done
        except RobodynError as error:
            response.success, response.message = False, str(error)
        return response

    def _on_change(self, changes: Mapping[str, Any]) -> None:
        if any(parameter.name in changes for parameter in PARAMETERS):
            present = {parameter.name: self._node.parameters[parameter.name] for parameter in PARAMETERS}
            self._thread.request(_settings({**present, **changes}))

    def _on_event(self, event: LoopEvent) -> None:
        """Report that the robot was stopped or released; on the thread of the control path."""
        if not isinstance(event, ModeChanged) or event.mode not in STOPS:
            return
        if stopped := self._loop.stopped():
            text = f"the robot is stopped: {stopped}; ~/release lets it go on"
            self._events.tell(Event("stops", text, STOPPED, error=True))
        else:
            self._events.end(STOPPED, "the robot is released")


def _settings(values: Mapping[str, Any]) -> NewSettings:
    """The settings of the loop, from values by parameter."""
    box = values["supervisor.workspace"]
    return NewSettings(SupervisorSettings(
        runaway_factor=values["runaway_factor"],
        effort_rate=values["supervisor.effort_rate"],
        position_margin=values["supervisor.position_margin"],
        tip_speed=values["supervisor.tip_speed"],
        workspace=tuple(box) if any(box) else (),
        soft_start=values["supervisor.soft_start"],
    ), speed_scaling=values["speed_scaling"])
