# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The clock of trajectories: that of the joint states, or a slower one by which a person sets the speed of motions."""

from __future__ import annotations

from typing import Any

from robodyn_ros.control.contract.state import JointReference

FULL_CHANGE = 0.5
"""Time of a change from standstill to full speed [s]; it keeps the reference's velocity from jumping."""


class TrajectoryClock:
    """Time of trajectories; it passes at a rate of 0 to 1 during a trajectory.

    Attributes:
        rate: The present rate.
        full_speed: Whether time passes at the rate of the joint states and is to do so, and the rate is not changing.
        lag: Time behind the joint states [s].
    """

    def __init__(self) -> None:
        self.rate, self.lag, self.full_speed = 1.0, 0.0, True
        self._scaling, self._rate_change = 1.0, 0.0  # the rate that is wanted; [1/s]

    @property
    def scaling(self) -> float:
        """The rate that is wanted."""
        return self._scaling

    @scaling.setter
    def scaling(self, scaling: float) -> None:
        self._scaling = scaling
        self._compare()

    def restart(self) -> None:
        """Return to the time of the joint states, at a new start."""
        self.lag = self._rate_change = 0.0
        self._compare()

    def _compare(self) -> None:
        self.full_speed = self.rate == 1.0 == self._scaling and self._rate_change == 0.0

    def time(self, time: float) -> float:
        """Return the trajectory time at a time of the joint states [s]."""
        return time - self.lag

    def advance(self, period: float, under_way: bool) -> None:
        """Advance to the next state.

        Args:
            period: Time since the last state [s].
            under_way: Whether a trajectory is being followed; otherwise time is not slowed, so that a trajectory starts
                at its stamp.
        """
        self._rate_change = 0.0
        if not under_way:
            self.rate = self.scaling
        elif self.rate != self.scaling or self.rate != 1.0:
            before, most = self.rate, period / FULL_CHANGE
            self.rate = min(max(self.scaling, before - most), before + most)
            self.lag += period * (1.0 - 0.5 * (before + self.rate))
            if period > 0.0:
                self._rate_change = (self.rate - before) / period
        self._compare()

    def slowed(self, reference: Any) -> Any:
        """Return a reference with velocities and accelerations scaled to the present rate.

        Args:
            reference: A `JointReference`, `TipReference` or `ForceReference`.
        """
        rate, change = self.rate, self._rate_change
        v, a = rate * reference.v, rate**2 * reference.a + change * reference.v
        if isinstance(reference, JointReference):
            return JointReference(reference.q, v, a)
        return reference._replace(v=v, a=a, twist=rate * reference.twist,
                                  acceleration=rate**2 * reference.acceleration + change * reference.twist)
