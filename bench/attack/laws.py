# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Control laws that fail in one way each, once they are in force or before."""

from __future__ import annotations

import sys
import time
from abc import abstractmethod
from typing import Any

import numpy as np

from robodyn_ros.control import Controller, JointReference, Law, Parameters, State
from robodyn_ros.description.model import Array
from robodyn_ros.robot import Robot

BLOCKED_SECONDS = 5.0
"""For how long a law blocks that nothing can end [s]; for ever, an hour of attacks would leave a hundred threads."""


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


class Later(Controller):
    """Commands no effort at first, and fails once it is in force."""

    def __init__(self, robot: Robot, parameters: Parameters | None = None) -> None:
        """As in `Controller`."""
        super().__init__(robot, parameters)
        self._left = 50

    def update(self, state: State, reference: JointReference) -> Array:
        """Return no effort, or fail."""
        self._left -= 1
        if self._left < 0:
            self.fail(state, reference)
        return np.zeros(len(state.q))

    @abstractmethod
    def fail(self, state: State, reference: JointReference) -> None:
        """Fail."""


class Interrupts(Later):
    """Raises what Ctrl-C raises."""

    def fail(self, state: State, reference: JointReference) -> None:
        """As in `Later`."""
        raise KeyboardInterrupt


class Exits(Later):
    """Asks Python to end."""

    def fail(self, state: State, reference: JointReference) -> None:
        """As in `Later`."""
        sys.exit(3)


class Loops(Later):
    """Loops until an exception ends it."""

    def fail(self, state: State, reference: JointReference) -> None:
        """As in `Later`."""
        while True:
            pass


class Sleeps(Later):
    """Does not return for a long time."""

    def fail(self, state: State, reference: JointReference) -> None:
        """As in `Later`."""
        time.sleep(BLOCKED_SECONDS)


class Reaches(Later):
    """Writes NaN into its inputs."""

    def fail(self, state: State, reference: JointReference) -> None:
        """As in `Later`."""
        for array in (state.q, reference.q):
            array.setflags(write=True)
            array[:] = np.nan


class Recurses(Later):
    """Calls itself until Python has no more frames."""

    def fail(self, state: State, reference: JointReference) -> None:
        """As in `Later`."""
        self.fail(state, reference)


class Keeps(Later):
    """Writes NaN into the efforts that it returned before."""

    def update(self, state: State, reference: JointReference) -> Array:
        """Return the same array each time."""
        self._kept = getattr(self, "_kept", np.zeros(len(state.q)))
        super().update(state, reference)
        return self._kept

    def fail(self, state: State, reference: JointReference) -> None:
        """As in `Later`."""
        kept, self._kept = self._kept, np.zeros_like(self._kept)
        kept[:] = np.nan


class RaisesAtOnce(Slow):
    """Raises while it is constructed what Ctrl-C raises."""

    def __init__(self, robot: Robot, parameters: Parameters | None = None) -> None:
        """Raise."""
        raise KeyboardInterrupt


class Activates(Slow):
    """Asks Python to end when it is activated."""

    def activate(self, state: State) -> None:
        """Raise."""
        raise SystemExit(3)


class ActivatesLate(Slow):
    """Does not return for a long time when it is activated."""

    def activate(self, state: State) -> None:
        """Block."""
        time.sleep(BLOCKED_SECONDS)


class TracesLate(Law):
    """Does not return for a long time when it is traced."""

    @staticmethod
    def law(dynamics: Any, parameters: Any, state: Any, reference: Any) -> Any:
        """Block."""
        time.sleep(BLOCKED_SECONDS)
        return -state.v


class LoopsAtOnce(Controller):
    """Loops while it is constructed."""

    def __init__(self, robot: Robot, parameters: Parameters | None = None) -> None:
        """Never return."""
        while True:
            pass

    def update(self, state: State, reference: JointReference | None) -> Array:
        """Return no effort."""
        return np.zeros(len(state.q))
