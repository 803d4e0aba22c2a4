# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Bumpless transfer: a new law, or a law with new gains, begins with the efforts commanded before.

At the first tick of the new law the difference to its efforts is stored, and added to them while it decays to 0:

    tau(t) = sat(tau_new(t)) + s(t / T) d,    d = tau(0-) - sat(tau_new(0)),    s(x) = (1 - x)^2 (1 + 2 x)

sat cuts efforts to the limits of the joints. The efforts do not jump, and as s'(0) = s'(1) = 0, their slope has no jump
beside that of the laws.

The closed loop of the new law gets a disturbance of its input that is at most |d|, at most twice the limits, and 0
after T. If the new law by itself is stable, the swap cannot make it unstable. An offset that stayed would move a joint
by d / K_p; one that decays moves it by less.
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.base.fields import Field
from robodyn_ros.description.model import Array

SWAP_TIME = Field(
    "swap_time", 0.1, "Time in which the efforts go from those of the law before to those of a law that is swapped in, "
    "released or given other gains; 0: at once", unit="s", minimum=0.0, maximum=10.0)
"""What people set of the transfer."""


class BumplessTransfer:
    """Adds to a law's efforts an offset that decays; it belongs to the thread of the control loop.

    Args:
        effort_limit: Effort limits of the joints, shape (n,) [N m or N].

    Attributes:
        duration: Time in which the next transfers take place [s]; 0: at once.
        under_way: Whether `effort` is to be called with the efforts of the next tick.
    """

    def __init__(self, effort_limit: Array) -> None:
        self.duration = SWAP_TIME.default
        self.under_way = False
        self._upper, self._lower = effort_limit, -effort_limit
        self._offset: Array | None = None
        self._elapsed = self._duration = 0.0

    def begin(self) -> None:
        """Begin a transfer at the next tick, because another law or other gains come in force."""
        self._offset, self._elapsed, self._duration = None, 0.0, self.duration
        self.under_way = self._duration > 0.0

    def end(self) -> None:
        """End the transfer at once: the law in force alone answers the next state."""
        self.under_way = False

    def effort(self, asked: Array, before: Array, period: float) -> Array:
        """Return the efforts of a tick in the transfer.

        Args:
            asked: Those of the law, shape (n,) [N m or N].
            before: Those commanded at the tick before, shape (n,) [N m or N].
            period: Time since the tick before [s].

        Returns:
            Shape (n,) [N m or N]; they may exceed the limits.
        """
        within = np.minimum(np.maximum(asked, self._lower), self._upper)  # costs less than np.clip
        if self._offset is None:
            self._offset = before - within
        else:
            self._elapsed += period
        if self._elapsed > self._duration - 0.5 * period:
            self.under_way = False
            return asked
        share = self._elapsed / self._duration
        return within + (1.0 - share) ** 2 * (1.0 + 2.0 * share) * self._offset
