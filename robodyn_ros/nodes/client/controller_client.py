# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Swaps the controller of a running graph.

It does not import control laws, which would delay commands.
"""

from __future__ import annotations

import time
from typing import Any

from robodyn_ros.base.common_fields import FILTERS, filtered_name
from robodyn_ros.base.errors import PluginError, RobodynError
from robodyn_ros.base.timing import to_seconds
from robodyn_ros.nodes.client.graph import check_node_name
from robodyn_ros.nodes.client.graph_client import GraphClient

TRIAL_SECONDS, LONGEST_TRIAL_SECONDS = 0.5, 3.0
"""Time for which a controller is watched after a swap, in joint state time, and at most in real time [s]."""
TRANSIT_SECONDS = 0.1
"""Time after the answer to a swap in which states from before it may arrive [s]."""
ANSWER_SECONDS = 20.0
"""Longest wait for the answer to a swap: a node refuses a law that takes longer than its parameter swap_timeout [s]."""


class ControllerClient(GraphClient):
    """A client of the node ``controller``.

    Args:
        name: Name of the program's own node.
        controller: Name of the controller node.
        namespace: Namespace of the graph.

    Raises:
        RobodynError: ROS cannot start in this environment.
        InputError: The namespace, or the name of the node, cannot be one.
    """

    def __init__(self, name: str, controller: str = "controller", namespace: str = "") -> None:
        check_node_name(controller)
        super().__init__(name, namespace)
        self._controller = controller
        self._states: list[Any] = []  # messages ControllerState, imported when needed: meanwhile the nodes are found
        self._trial: Any = None  # subscription of the states
        self._last_reason = ""  # last reported reason

    def swap(self, controller: str, seconds: float = 5.0) -> None:
        """Swap to a controller, as ``ros2 param set /controller controller NAME`` does.

        Args:
            controller: Installed name, or ``package.module:Class``.
            seconds: Longest wait for the node [s].

        Raises:
            PluginError: The controller node refuses; the message has its reason.
            RobodynError: The node does not answer, or is not a controller node.
        """
        result = self.run(self.graph.set_parameters(self._controller, {"controller": controller}, seconds,
                                                    ANSWER_SECONDS))
        if "undeclared" in result.reason or "unknown parameter 'controller'" in result.reason:
            raise RobodynError(f"node '{self._controller}' has no parameter 'controller': it is not a controller node")
        if not result.successful:
            raise PluginError(f"node '{self._controller}' refused '{controller}'; the controller in force stays: "
                              f"{result.reason}")

    def try_out(self, controller: str, seconds: float = 5.0) -> str:
        """Swap to a controller, and wait for its first ticks.

        Args:
            controller: Installed name, or ``package.module:Class``.
            seconds: As for :meth:`swap`.

        Returns:
            A message that it runs, and whether it is compiled, or why not.

        Raises:
            PluginError: The controller node refuses it, or dropped it within `TRIAL_SECONDS`; the message says why.
            RobodynError: As for :meth:`swap`.
        """
        from robodyn_interfaces.msg import ControllerState
        from robodyn_ros.nodes.common.messages import read_stamp

        if self._trial is None:
            self._trial = self.node.create_subscription(
                ControllerState, f"{self._controller}/controller_state", self._states.append, 100)
        self.swap(controller, seconds)
        names = {filtered_name(controller, each) for each in FILTERS}  # names that the node may use
        self.wait_for_drop(TRANSIT_SECONDS)
        self._last_reason = ""
        ticks, uncompiled = list[float](), ""

        def has_run() -> bool:
            nonlocal uncompiled
            uncompiled = next((state.uncompiled_reason for state in self._states if state.controller in names),
                              uncompiled)
            ticks.extend(to_seconds(read_stamp(state.header.stamp)) for state in self._states
                         if state.controller in names)
            why = self._take_fallback()
            if why.startswith(tuple(f"controller '{name}' " for name in names)):  # it may be about another one
                raise PluginError(why)
            return bool(ticks) and ticks[-1] - ticks[0] >= TRIAL_SECONDS

        end = time.monotonic() + LONGEST_TRIAL_SECONDS
        self.wait_for(lambda: has_run() or time.monotonic() > end, "first ticks", 2.0 * LONGEST_TRIAL_SECONDS)
        how = f", as Python code, {uncompiled}" if uncompiled else ", compiled" if ticks else (
            f", but it published no state within {LONGEST_TRIAL_SECONDS:g} s: do joint states come?")
        return f"controller '{controller}' is in force{how}"

    def wait_for_drop(self, seconds: float) -> str:
        """Wait until the controller of `try_out` is dropped.

        Args:
            seconds: Longest wait [s].

        Returns:
            Why it was dropped; empty: it was not dropped.
        """
        end, found = time.monotonic() + seconds, ""

        def is_over() -> bool:
            nonlocal found
            found = self._take_fallback()
            return bool(found) or time.monotonic() > end

        self.wait_for(is_over, "end of the wait", 2.0 * seconds + 1.0)
        return found

    def _take_fallback(self) -> str:
        """Read the arrived states; return why a controller was dropped, once per reason."""
        from robodyn_ros.nodes.controller.events import FALLBACK

        if not self._states:
            return ""
        why = self._states[-1].intervention.partition(f"{FALLBACK}: ")[2]
        self._states.clear()
        reported, self._last_reason = self._last_reason, why
        return why if why != reported else ""
