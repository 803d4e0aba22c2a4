# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Ages of joint states and commands: how much time lies between a measurement and the command that answers it."""

from __future__ import annotations

from collections import deque

import numpy as np

from robodyn_ros.base.timing import NANOSECONDS_PER_SECOND

_KEPT = 20_000  # ticks of which the ages are kept until the statistics are read

FOREIGN_CLOCK = 60.0
"""Stamps further than this from system time are of another clock, such as a simulated one [s]."""


class AgeMonitor:
    """Measures ages by system time; `note` belongs to the thread of the control loop.

    Args:
        messages: The messages that arrive, as the names of the statistics have them.
    """

    def __init__(self, messages: str = "joint states") -> None:
        self._messages = messages
        self._times: deque[tuple[int, int, int, int]] = deque(maxlen=_KEPT)

    def note(self, stamp: int, sent: int, received: int, answered: int = 0) -> None:
        """Note a message.

        Args:
            stamp: Its stamp: of the joint state, or of the one that a command answers [ns].
            sent: System time at which it was published [ns]; 0: unknown.
            received: System time at which it was taken [ns].
            answered: System time at which the command that answers it was published [ns]; 0: nothing does.
        """
        self._times.append((stamp, sent, received, answered))

    def statistics(self) -> dict[str, float]:
        """Return least, mean and greatest ages [ms] since the last call, by name; from any one thread.

        Ages by the stamps are there only where the stamps are system times.
        """
        times, self._times = self._times, deque(maxlen=_KEPT)
        if not times:
            return {}
        stamp, sent, received, answered = np.array(list(times), dtype=np.int64).T
        ages = {}
        if sent.all():
            ages[f"transport of {self._messages} [ms]"] = received - sent
        if (np.abs(received - stamp) < NANOSECONDS_PER_SECOND * FOREIGN_CLOCK).all():
            ages[f"age of {self._messages} [ms]"] = received - stamp
            if answered.all():
                ages["age of commands [ms]"] = answered - stamp
        return {f"{name}: {label}": round(1e-6 * float(function(values)), 3)
                for name, values in ages.items()
                for label, function in (("least", np.min), ("mean", np.mean), ("greatest", np.max))}
