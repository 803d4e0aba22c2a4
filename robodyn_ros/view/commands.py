"""What a page can ask of the graph, and nothing else: the only way from a browser to the robot."""

from __future__ import annotations

from typing import Protocol

from robodyn_ros.description.model import Array


class Commands(Protocol):
    """Requests of a page. Each returns at once, on any thread; of several of one kind the newest counts."""

    def swap(self, controller: str) -> None:
        """Put an installed controller in force."""

    def set_parameter(self, name: str, value: float | bool) -> None:
        """Set a parameter of the controller node."""

    def set_speed(self, factor: float) -> None:
        """Let simulated time pass this often as fast as real time."""

    def move_joints(self, q: Array) -> None:
        """Move the joints to positions, shape (n,) [rad or m]."""

    def move_tip(self, pose: Array) -> None:
        """Move the tip link to a pose in the base frame, shape (4, 4)."""

    def push(self, force: Array) -> None:
        """Push the tip link with a force in base axes, shape (3,) [N], until the next one; zeros: let go."""

    def pause(self, paused: bool) -> None:
        """Let the simulation stand still, or go on."""

    def step(self) -> None:
        """Advance a paused simulation."""

    def reset(self) -> None:
        """Put the simulated robot back to its initial state."""
