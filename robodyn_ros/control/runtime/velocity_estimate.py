# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Velocities from positions, for joint states without velocities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.control.runtime.supervisor import JUMP
from robodyn_ros.description.model import Array
from robodyn_ros.kinematics.turns import shortest


class VelocityEstimate:
    """Differences of positions through a low-pass filter of first order.

    Args:
        time_constant: Of the filter [s]; 0: none.
        longest_gap: A longer time between two positions, or a step back in time, begins anew at rest [s].
        continuous: Whether a joint's position may be wrapped, shape (n,); None: of no joint.
    """

    def __init__(self, time_constant: float, longest_gap: float, continuous: NDArray[np.bool_] | None = None) -> None:
        self._time_constant, self._longest_gap = time_constant, longest_gap
        self._continuous = None if continuous is None or not continuous.any() else continuous
        self._stamp: int | NDArray[np.int64] | None = None
        self._q = self._v = np.zeros(0)

    def update(self, stamp: int | NDArray[np.int64], q: Array) -> Array:
        """Return velocities.

        A position that jumps begins anew at rest: its difference is no velocity, and would hide the jump.

        Args:
            stamp: Time of the positions, or of each, shape (n,) [ns]; a repeated one returns the same velocities.
            q: Joint positions, shape (n,) [rad or m].

        Returns:
            Joint velocities, shape (n,) [rad/s or m/s].
        """
        if self._stamp is not None and np.array_equal(self._stamp, stamp):
            return self._v
        period = np.zeros(1) if self._stamp is None else 1e-9 * np.atleast_1d(stamp - self._stamp)
        if not ((0.0 < period) & (period <= self._longest_gap)).all():
            v = np.zeros(len(q))
        else:
            change = q - self._q
            if self._continuous is not None:
                change = shortest(change, self._continuous)
            if (np.abs(change) > JUMP + 2.0 * period * np.abs(self._v)).any():
                v = np.zeros(len(q))
            else:
                v = self._v + period / (period + self._time_constant) * (change / period - self._v)
        self._stamp, self._q, self._v = stamp, q, v
        return v
