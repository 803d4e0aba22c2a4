"""Gains that suit any robot, from its own mass matrix, for joints that nobody has tuned."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from robodyn_ros.description.model import Array

if TYPE_CHECKING:
    from robodyn_ros.robot import Robot


def effective_inertia(robot: Robot) -> Array:
    """Inertia that each joint's effort meets while the other joints are free, at q = 0: 1 / (M^-1)_ii.

    Damping d_i = w / (M^-1)_ii gives M^-1 D eigenvalues of at most n w (M^-1 scaled to a unit diagonal is positive
    definite with trace n), so a controller with period T is stable for T n w < 2 whatever the coupling.

    Returns:
        Shape (n,) [kg m^2 or kg].
    """
    mass_matrix = robot.dynamics(compiled=False).mass_matrix(np.zeros(robot.n))
    return 1.0 / np.diag(np.linalg.inv(mass_matrix))


def stiffness(natural_frequency: float) -> Callable[[Robot], Array]:
    """Stiffness that gives every joint on its own this undamped natural frequency [rad/s]."""
    return lambda robot: natural_frequency**2 * effective_inertia(robot)


def damping(decay_rate: float) -> Callable[[Robot], Array]:
    """Damping that lets every joint's velocity on its own fall by this rate [1/s]."""
    return lambda robot: decay_rate * effective_inertia(robot)
