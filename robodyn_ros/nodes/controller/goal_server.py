# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""An action server whose goals keep their states on a busy machine, where publishing one may fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import RCLError, ServerGoalHandle

from robodyn_ros.nodes.common.runtime import RobodynNode


class GoalServer:
    """Serves an action.

    Args:
        node: The node.
        kind: Type of the action.
        name: Its name.
        execute: Follows a goal to its end, as a coroutine.
        on_goal: Accepts or rejects a goal.
        on_cancel: Cancels a goal.
    """

    def __init__(self, node: RobodynNode, kind: type[Any], name: str, execute: Callable[[Any], Any],
                 on_goal: Callable[[Any], GoalResponse], on_cancel: Callable[[Any], CancelResponse]) -> None:
        self._node = node
        self._server: ActionServer[Any, Any, Any] = ActionServer(
            node, kind, name, execute, goal_callback=on_goal, handle_accepted_callback=self._on_accepted,
            cancel_callback=on_cancel)

    def _on_accepted(self, handle: ServerGoalHandle[Any, Any, Any]) -> None:
        if not self.changed(handle.execute):
            self._server.notify_execute(handle, None)  # which comes after the publishing

    def changed(self, change: Callable[[], None]) -> bool:
        """Change the state of a goal; return whether its new state was published, which may fail on a busy machine."""
        try:
            change()
        except RCLError as error:
            self._node.diagnostics.problem("unpublished goal states", f"cannot publish the state of a goal: {error}")
            return False
        return True

    def destroy(self) -> None:
        """End the service."""
        self._server.destroy()
