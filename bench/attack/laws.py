# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

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
