# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The laws of the control loop: chosen by parameters, swapped when these change, and dropped when they fail."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

from rclpy.parameter import Parameter as RosParameter

from robodyn_ros.base.common_fields import FILTER, filtered_name
from robodyn_ros.base.errors import PluginError
from robodyn_ros.base.fields import Field
from robodyn_ros.control.plugins.plugin import Plugin
from robodyn_ros.control.plugins.plugin_threads import end
from robodyn_ros.control.plugins.registry import controller_changed, controller_names
from robodyn_ros.control.runtime.bumpless_transfer import SWAP_TIME
from robodyn_ros.control.runtime.loop_events import Event, LawEnded, LawFailed
from robodyn_ros.control.runtime.modes import Mode
from robodyn_ros.control.runtime.requests import BeginWith, Configure, NewSettings, Swap
from robodyn_ros.control.runtime.state_prediction import DELAY_COMPENSATION
from robodyn_ros.nodes.common.parameters import DeclaredParameters
from robodyn_ros.nodes.controller.events import FALLBACK, dropped
from robodyn_ros.nodes.controller.joint_trajectories import JointTrajectories
from robodyn_ros.nodes.controller.part import Context, Part, PutInForce
from robodyn_ros.nodes.controller.plugins import ALLOW_PYTHON_PLUGINS, BROKEN, SWAP_TIMEOUT
from robodyn_ros.nodes.controller.stalls import Stalls
from robodyn_ros.robot import Robot

CONTROLLER = Field("controller", "pd", "Controller plugin in force, by installed name or as package.module:Class; set "
                   "it to swap", suggestions=controller_names())
SAFE_CONTROLLER = Field("safe_controller", "damping", "Controller plugin that takes over from one that fails",
                        structural=True)

DEACTIVATION_SECONDS = 0.5
"""Longest wait of a stopping node for its controllers to close what they opened [s]."""


def chosen_name(parameters: DeclaredParameters, changes: Mapping[str, Any] | None = None) -> str:
    """Return the name of the controller that the parameters choose after a change, with its filter."""
    controller, chosen = ((changes or {}).get(field.name, parameters[field.name]) for field in (CONTROLLER, FILTER))
    return filtered_name(controller, chosen)


class LawSwaps(Part):
    """Puts laws and their parameters in force.

    Args:
        context: What it knows of the node.
    """

    PARAMETERS = (CONTROLLER, FILTER, SAFE_CONTROLLER, ALLOW_PYTHON_PLUGINS, SWAP_TIMEOUT, SWAP_TIME,
                  DELAY_COMPENSATION)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._node, self._loop, self._thread = context.node, context.loop, context.thread
        self._plugins, self._events = context.plugins, context.events
        self._reflecting = False
        self._uncompiled: dict[str, str] = {}  # logged reasons by plugin
        self._log_uncompiled()
        settings = self._settings({field.name: self._node.parameters[field.name]
                                   for field in (SWAP_TIME, DELAY_COMPENSATION)})
        self._thread.request_here(settings)

    def begin_with(self, robot: Robot) -> None:
        """Make all defaults and both controllers anew, for a robot of another timing, before the first tick."""
        self._plugins.derive_defaults(robot)
        chosen, fallback = map(self._plugins.begin, (self._loop.laws.chosen.name, self._loop.laws.fallback.name))
        self._thread.request(BeginWith(robot, chosen, fallback))

    def on_event(self, event: Event) -> None:
        """Tell of a law that failed, and let a controller that is no longer needed close what it opened."""
        if isinstance(event, LawFailed):
            reason = self.context.parts[Stalls].with_cause(str(event.error))
            self._events.tell(dropped(event.name, event.successor, reason, event.stamp))
            self._plugins.log_traceback(event.error)
            if event.name != event.successor and self._node.executor is not None:
                self._node.executor.create_task(self._reflect_chosen)
        elif isinstance(event, LawEnded):
            self._end(event.plugin)

    def on_change(self, changes: Mapping[str, Any]) -> PutInForce:
        """Make the law that the parameters choose, and try it."""
        in_force = (self._loop.laws.chosen.name, self._node.parameters[SAFE_CONTROLLER.name])
        gains = self._plugins.changed(changes, in_force)
        is_chosen = not self._reflecting and changes.keys() & {CONTROLLER.name, FILTER.name}
        name = chosen_name(self._node.parameters, changes) if is_chosen else self._loop.laws.chosen.name
        successor = None
        if name != self._loop.laws.chosen.name or self._was_edited(changes):
            try:
                successor = self._plugins.swap_in(name, gains, self._loop.last)
            except PluginError as error:
                self._plugins.log_traceback(error)
                raise
        for changed, parameters in gains.items():
            self._plugins.run(f"controller '{changed}' cannot be compiled", self._loop.laws.prepare, changed,
                              parameters)
        settings = self._settings(changes)

        def between_two_ticks() -> None:
            self._thread.request_here(settings)
            for changed, parameters in gains.items():
                self._thread.request_here(Configure(changed, parameters))
            if successor is not None:
                self._events.end(FALLBACK, f"'{name}' replaces the controller that was dropped")
                self._thread.request_here(Swap(successor))
                self.context.parts[Stalls].forget()
                if not self._loop.moving():
                    self.context.parts[JointTrajectories].interrupt(
                        f"controller '{name}' was put in force and holds the current state")

        def put_in_force() -> None:
            self._thread.call(between_two_ticks)
            self._plugins.store(gains)
            if self._loop.laws.chosen is successor and self._loop.modes.reason(Mode.HOLDING) is None:
                self._node.log.info("swaps", f"controller '{name}' is in force")
            self._log_uncompiled()

        return put_in_force

    def values(self) -> Mapping[str, object]:
        """Return the controller in force, and why it runs as Python code if it does."""
        uncompiled = "; ".join(f"{name}: {reason}" for name, reason in self._loop.laws.uncompiled().items())
        return {"controller": self._loop.laws.chosen.name, "uncompiled": uncompiled or "no"}

    def close(self) -> None:
        """Let the controllers close what they opened."""
        deadline = time.monotonic() + DEACTIVATION_SECONDS
        for closed in [self._end(plugin) for plugin in self._loop.laws.all()]:
            closed.wait(max(0.0, deadline - time.monotonic()))

    def _settings(self, changes: Mapping[str, Any]) -> NewSettings:
        """Return the settings of the loop in a change; what a delay needs is compiled here, not on the control path."""
        if changes.get(DELAY_COMPENSATION.name):
            self._loop.prepare_prediction()
        return NewSettings(delay=changes.get(DELAY_COMPENSATION.name), swap_time=changes.get(SWAP_TIME.name))

    def _reflect_chosen(self) -> None:
        """Set the parameter ``controller`` to the name of the controller that took over."""
        self._reflecting = True
        self._node.set_parameters([RosParameter(CONTROLLER.name, value=self._loop.laws.chosen.name)])
        self._reflecting = False

    def _was_edited(self, changes: Mapping[str, Any]) -> bool:
        """Whether ``controller`` is set to a plugin whose file has changed."""
        return CONTROLLER.name in changes and not self._reflecting and controller_changed(changes[CONTROLLER.name])

    def _log_uncompiled(self) -> None:
        """Warn once of an active or safe controller that runs as Python code, and again only for another reason."""
        for name, reason in self._loop.laws.uncompiled().items():
            if self._uncompiled.get(name) != reason:
                self._node.log.warning(f"uncompiled {name}", f"controller '{name}' runs uncompiled: {reason}")
                self._uncompiled[name] = reason

    def _end(self, plugin: Plugin) -> threading.Event:
        """Let a controller that is no longer needed close what it opened; return what is set when it has."""
        return end(plugin.name, plugin.controller.deactivate,
                   lambda text: self._node.diagnostics.problem(BROKEN, text))
