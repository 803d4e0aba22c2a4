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
from functools import partial
from typing import Any

from std_srvs.srv import Trigger

from robodyn_ros.base import topic_names
from robodyn_ros.base.errors import RobodynError
from robodyn_ros.control.runtime import supervisor
from robodyn_ros.control.runtime.loop_events import Event as LoopEvent
from robodyn_ros.control.runtime.loop_events import ModeChanged
from robodyn_ros.control.runtime.modes import STOPS
from robodyn_ros.control.runtime.requests import NewSettings, Release, Request, Stop
from robodyn_ros.control.runtime.supervisor import SupervisorSettings
from robodyn_ros.nodes.controller.events import STOPPED, Event
from robodyn_ros.nodes.controller.part import AnsweredState, Context, Part, PutInForce


class Supervision(Part):
    """Serves ~/stop and ~/release, keeps the supervisor's settings, and reports what it did.

    Args:
        context: What it knows of the node.
    """

    PARAMETERS = supervisor.PARAMETERS

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        node = self._node = context.node
        self._thread, self._loop = context.thread, context.loop
        self._counts: Counter[str] = Counter()
        self._saturated = 0
        self._thread.request_here(self._settings({}))
        node.create_service(Trigger, topic_names.own(topic_names.STOP), self._on_stop)
        node.create_service(Trigger, topic_names.own(topic_names.RELEASE), self._on_release)
        node.diagnostics.checks.append(self._look_at_workspace)

    def after_tick(self, answer: AnsweredState) -> None:
        """Count what the supervisor did at a tick, and the mode."""
        tick = answer.tick
        if not tick.intervention and tick.reason is None:
            return
        self._saturated += tick.saturated
        if tick.intervention:
            self._counts[tick.intervention] += 1
        if tick.reason is not None:
            self._counts[tick.mode.value] += 1

    def values(self) -> Mapping[str, object]:
        """Return the mode, and what the supervisor did."""
        counts = {f"supervised commands: {kind}": count for kind, count in self._counts.copy().items()}
        return {"mode": self._loop.modes.present.value, "stopped": self._loop.modes.stopped() or "no",
                "speed scaling": round(self._loop.speed, 3), "saturated commands": self._saturated, **counts}

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

    def on_change(self, changes: Mapping[str, Any]) -> PutInForce | None:
        """Change the supervisor's settings."""
        if not any(parameter.name in changes for parameter in self.PARAMETERS):
            return None
        return partial(self._thread.request, self._settings(changes))

    def on_event(self, event: LoopEvent) -> None:
        """Report that the robot was stopped or released."""
        if not isinstance(event, ModeChanged) or event.mode not in STOPS:
            return
        if stopped := self._loop.modes.stopped():
            text = f"the robot is stopped: {stopped}; ~/release lets it go on"
            self.context.events.tell(Event("stops", text, STOPPED, error=True))
        else:
            self.context.events.end(STOPPED, "the robot is released")

    def _settings(self, changes: Mapping[str, Any]) -> NewSettings:
        """Return the settings of the loop after a change of parameters."""
        values = {field.name: self._node.parameters[field.name] for field in self.PARAMETERS} | dict(changes)
        box = values["supervisor.workspace"]
        return NewSettings(SupervisorSettings(
            runaway_factor=values["runaway_factor"],
            effort_rate=values["supervisor.effort_rate"],
            position_margin=values["supervisor.position_margin"],
            tip_speed=values["supervisor.tip_speed"],
            workspace=tuple(box) if any(box) else (),
            soft_start=values["supervisor.soft_start"],
        ), speed_scaling=values["speed_scaling"])
