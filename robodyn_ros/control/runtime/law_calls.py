# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.


"""Calls of a law's code, which may raise, answer nonsense, or never return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from robodyn_ros.base.errors import PluginError
from robodyn_ros.control.contract.controller import Law, State
from robodyn_ros.control.plugins.dry_run import activate, answer, checked_effort
from robodyn_ros.control.plugins.plugin import Plugin
from robodyn_ros.control.plugins.plugin_errors import FAULTS, detached, plugin_error
from robodyn_ros.control.plugins.plugin_threads import Abandoned
from robodyn_ros.description.model import Array


class LawCalls:
    """Calls laws. A call that does not return is left behind with its thread, and another thread goes on.

    Args:
        n: Number of joints.
    """

    def __init__(self, n: int) -> None:
        self._n = n
        self._calls: list[tuple[Plugin, State]] = []  # the call that is under way, if any

    @property
    def call(self) -> tuple[Plugin, State] | None:
        """The call that is under way, another object for each call; None: there is none. From any thread."""
        return next(iter(self._calls[-1:]), None)

    def take(self, call: object) -> tuple[Plugin, State] | None:
        """Take a call from the thread that does not return from it; None: it has returned.

        That thread may return at any time: it then does nothing but raise `Abandoned`.
        """
        calls = self._calls
        if self.call is not call:
            return None
        try:
            taken = calls.pop()
        except IndexError:
            return None
        self._calls = []
        return taken

    def activate(self, plugin: Plugin, state: State) -> PluginError | None:
        """Activate a law at a state; return why it failed, if it did."""
        failure, calls = None, self._calls
        calls.append((plugin, state))
        try:
            activate(plugin.controller, state)
        except FAULTS as error:
            failure = detached(plugin_error("", error))
        try:
            calls.pop()
        except IndexError:
            raise Abandoned from None
        return failure

    def effort(self, plugin: Plugin, state: State, reference: Any, damped: Callable[[], ArrayLike] | None
               ) -> tuple[Array, list[float]] | PluginError:
        """Ask a law for efforts.

        Args:
            plugin: The law.
            state: The state that it sees.
            reference: Its reference; None if it follows none.
            damped: Computes the efforts in its place; None: nothing does.

        Returns:
            The efforts, finite, shape (n,) [N m or N], also as a list; or why it failed.
        """
        controller, calls, failure = plugin.controller, self._calls, None
        calls.append((plugin, state))
        try:
            effort: ArrayLike
            if damped is not None:
                effort = damped()
            elif type(controller).update is Law.update:  # as `answer`, without a call
                effort = controller.update(state, reference)
            else:
                effort = answer(controller, state, reference)
            result = checked_effort(effort, self._n)
        except FAULTS as error:
            failure = detached(plugin_error("", error))
        try:
            calls.pop()
        except IndexError:
            raise Abandoned from None
        return result if failure is None else failure
