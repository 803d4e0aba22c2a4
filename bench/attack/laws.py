"""Control laws that fail in one way each."""

from __future__ import annotations

import time

import numpy as np

from robodyn_ros.control import Controller, JointReference, State
from robodyn_ros.description.model import Array


class Slow(Controller):
    """Takes 50 ms for each tick."""

    def update(self, state: State, reference: JointReference | None) -> Array:
        """Return no effort, late."""
        time.sleep(0.05)
        return np.zeros(len(state.q))


class Failing(Controller):
    """Raises at each tick."""

    def update(self, state: State, reference: JointReference | None) -> Array:
        """Raise an error."""
        raise ZeroDivisionError("on purpose")


class NotANumber(Controller):
    """Returns NaN."""

    def update(self, state: State, reference: JointReference | None) -> Array:
        """Return NaN for each joint."""
        return np.full(len(state.q), np.nan)


class Unstable(Controller):
    """Pushes the joints the way that they move."""

    def update(self, state: State, reference: JointReference | None) -> Array:
        """Return an effort in the direction of the velocity."""
        return 1e3 * state.v + 1.0
