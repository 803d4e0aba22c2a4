# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Handle at the tip; dragging it moves or pushes the tip."""

from __future__ import annotations

import math
import secrets
import time
from typing import Any

import numpy as np
import viser

from robodyn_ros.description.model import Array
from robodyn_ros.toolbox.view.commands import Commands
from robodyn_ros.toolbox.view.robot_figure import position_and_quaternion, to_pose
from robodyn_ros.toolbox.view.shared_value import HANDS_OFF

MOVE, PUSH, OFF = "move it", "push it", "off"
MODES = MOVE, PUSH, OFF


class TipHandle:
    """Arrows, planes and rings at the tip that a user drags.

    Args:
        scene: Scene to draw in.
        commands: Receives the target or the force.
        size: Size of the robot [m].
        force_scale: Distance of the handle from the tip divided by the force of the push [m/N].
        turns: Whether the handle also rotates the tip.
    """

    def __init__(self, scene: viser.SceneApi, commands: Commands, size: float, force_scale: float, turns: bool) -> None:
        self._commands, self._force_scale, self._reach = commands, force_scale, 1.5 * size
        self._mode, self._dragging, self._touched = MOVE, False, -math.inf
        self._tip: Array = np.eye(4)
        self._turns = turns
        # A name that only pages know that were let in.
        self._gizmo = scene.add_transform_controls(f"/tip handle {secrets.token_hex(16)}", scale=0.22 * size,
                                                   disable_rotations=not turns, depth_test=False, opacity=0.8)
        self._gizmo.on_update(self._on_drag)

    def set_mode(self, mode: str) -> None:
        """Select whether dragging moves or pushes the tip, or hide the handle; one of ``MODES``."""
        if self._mode == PUSH:
            self._commands.push(np.zeros(3))
        self._mode, self._dragging = mode, False
        self._gizmo.visible = mode != OFF
        self._gizmo.disable_rotations = mode == PUSH or not self._turns

    def follow(self, tip: Array, desired: Array) -> None:
        """Keep the handle at the tip while nobody drags it; during a push, update the force as the tip moves.

        Args:
            tip: Pose of the tip link in the base frame, shape (4, 4).
            desired: Desired pose of the tip link, shape (4, 4).
        """
        self._tip = tip
        if self._mode == PUSH and self._dragging:
            self._push()
        elif self._mode == PUSH or (not self._dragging and time.monotonic() - self._touched > HANDS_OFF):
            # A push begins with the base's axes; a target with the tip's.
            position, wxyz = position_and_quaternion(tip if self._mode == PUSH else desired)
            self._gizmo.position, self._gizmo.wxyz = position, (1.0, 0.0, 0.0, 0.0) if self._mode == PUSH else wxyz

    async def _on_drag(self, event: viser.TransformControlsEvent) -> None:  # async: in the order of the events
        self._dragging, self._touched = event.phase != "end", time.monotonic()
        if self._mode == MOVE and event.phase != "start":
            self._commands.move_tip(to_pose(np.asarray(self._gizmo.position), np.asarray(self._gizmo.wxyz)))
        elif self._mode == PUSH and event.phase == "end":
            self._commands.push(np.zeros(3))
        elif self._mode == PUSH:
            self._push()

    def _push(self) -> None:
        offset: Any = np.asarray(self._gizmo.position) - self._tip[:3, 3]
        distance = float(np.linalg.norm(offset))
        self._commands.push(offset * min(1.0, self._reach / max(distance, 1e-9)) / self._force_scale)
