# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Requests that a page can send to the graph; a browser has no other way to move the robot."""

from __future__ import annotations

from typing import Protocol

from robodyn_ros.description.model import Array


class Commands(Protocol):
    """Requests of a page. Each method returns at once, on any thread; a newer request replaces one of its kind."""

    def swap(self, controller: str) -> None:
        """Swap to an installed controller."""

    def set_parameter(self, name: str, value: float | bool) -> None:
        """Set a parameter of the controller node."""

    def set_speed(self, factor: float) -> None:
        """Set the real-time factor, in simulated seconds per second."""

    def stop(self) -> None:
        """Stop the robot until it is released."""

    def release(self) -> None:
        """End a stop: the controller begins at the current state."""

    def set_motion_speed(self, share: float) -> None:
        """Set the speed of all motions, relative to the one that is asked for, 0 to 1."""

    def move_joints(self, q: Array) -> None:
        """Move the joints to positions, shape (n,) [rad or m]."""

    def move_tip(self, pose: Array) -> None:
        """Move the tip link to a pose in the base frame, shape (4, 4)."""

    def push(self, force: Array) -> None:
        """Push the tip link with a force in base axes, shape (3,) [N], until the next push; zeros end the push."""

    def pause(self, paused: bool) -> None:
        """Pause or resume the simulation."""

    def step(self) -> None:
        """Advance a paused simulation."""

    def record(self, wanted: bool) -> None:
        """Start or end a recording on the view's machine."""

    def reset(self) -> None:
        """Reset the simulated robot to its initial state."""
