# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The laws of the control loop: the chosen one, the safe one, one that holds the robot, and which of them runs."""

from __future__ import annotations

from typing import Any

from robodyn_ros.base.errors import PluginError
from robodyn_ros.control.contract.controller import Controller, Law, State
from robodyn_ros.control.contract.law_inputs import state_form
from robodyn_ros.control.contract.parameters import Parameters
from robodyn_ros.control.plugins.plugin import Plugin
from robodyn_ros.control.runtime.modes import Mode
from robodyn_ros.description.model import Array


class _Hung(Controller):
    """Stands for a law that did not return from a call, and is never called again."""

    follows = None

    uncompiled_reason = ""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def update(self, state: State, reference: Any) -> Array:
        raise PluginError(self._reason)


class LoopLaws:
    """The loop's thread changes them; any thread may read them.

    Args:
        chosen: The first law.
        fallback: The safe law.
        n: Number of joints.

    Raises:
        PluginError: The safe law reads more than joints and wrench.

    Attributes:
        chosen: The law that people chose, or the safe one after a failure.
        fallback: The safe law.
        holder: The law that runs while the chosen one waits for an input: the one before it, or the safe one.
        running: The one of them that answers states.
        follows: Whether the running one follows a reference.
    """

    def __init__(self, chosen: Plugin, fallback: Plugin, n: int) -> None:
        if state_form(type(fallback.controller), n).shapes:
            raise PluginError(f"controller '{fallback.name}' reads more than joints and wrench, which may fail: "
                              "expected a safe controller that does not")
        self.chosen, self.fallback, self.holder, self._n = chosen, fallback, fallback, n
        self.run(Mode.RUNNING)

    def choose(self, plugin: Plugin, waits: bool) -> list[Plugin]:
        """Choose a law; `run` is called after it.

        Args:
            plugin: The law.
            waits: Whether it lacks an input. Then the law that runs now holds the robot, if it can lack none itself.

        Returns:
            The laws that are no longer needed.
        """
        before = self.all()
        can_hold = waits and not state_form(type(self.running.controller), self._n).shapes
        self.chosen, self.holder = plugin, self.running if can_hold else self.fallback
        kept = self.all()
        return [law for law in before if not any(law is other for other in kept)]

    def run(self, held: Mode) -> None:
        """Run the law of `ModeReasons.held`; after each change of a law or a mode."""
        self.running = (self.chosen if held is Mode.RUNNING else self.holder if held is Mode.HOLDING else
                        self.fallback)
        self.follows = self.running.follows is not None

    def replace_hung(self, reason: str) -> None:
        """Put in the place of the safe law, which did not return, one that only gives the reason."""
        hung = self.fallback._replace(controller=_Hung(reason))
        if self.chosen is self.fallback:
            self.chosen = hung
        if self.holder is self.fallback:
            self.holder = hung
        self.fallback = hung

    def all(self) -> list[Plugin]:
        """The safe law, the one that holds the robot, and the chosen one, each once."""
        return list({id(law): law for law in (self.fallback, self.holder, self.chosen)}.values())

    def uncompiled(self) -> dict[str, str]:
        """Why laws run as Python code, by name; without those that are compiled."""
        plugins = {plugin.name: plugin.controller.uncompiled_reason for plugin in self.all()}
        return {name: reason for name, reason in plugins.items() if reason}

    def prepare(self, name: str, parameters: Parameters) -> None:
        """Compile a law for new parameters before a `Configure`."""
        for plugin in self.all():
            if plugin.name == name and isinstance(plugin.controller, Law):
                plugin.controller.prepare(parameters)
