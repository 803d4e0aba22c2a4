# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Times of the ticks of a control loop: statistics, and who is to blame when joint states stay unanswered.

A thread that waits whenever a joint state comes answers every one. If some stay unanswered, either the law took the
time, or the thread was not running: the computer was busy, or the process was stopped. The scheduler's own figures
(``/proc/thread-self/schedstat`` of Linux) tell one from the other.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from robodyn_ros.timing import to_seconds

FORGIVEN_AFTER = 10
"""Number of ticks in time after which one overrun no longer counts."""

_KEPT = 20_000  # ticks of which the times are kept until the statistics are read


class Delay(NamedTuple):
    """Why joint states stayed unanswered.

    Attributes:
        law: Time that the law took [s]; 0 if it is not known.
        held_up: Time for which the thread was held up [s].
        period: Time between two joint states [s].
        unanswered: Number of joint states that stayed unanswered.
    """

    law: float
    held_up: float
    period: float
    unanswered: int

    @property
    def law_in_time(self) -> bool:
        """Whether the law took less than a period."""
        return self.law < self.period

    @property
    def of_law(self) -> bool:
        """Whether the law took a period or more, and most of the delay; otherwise the thread was held up."""
        return not self.law_in_time and self.law >= self.held_up


class TickMonitor:
    """Measures ticks; :meth:`begin` and :meth:`end` belong to the thread of the control loop.

    Attributes:
        overruns: Recent overruns of the law, each forgiven after ``FORGIVEN_AFTER`` ticks in time.
        delay: Why joint states before the present tick stayed unanswered; None: all were answered.
    """

    def __init__(self) -> None:
        self.overruns = 0.0
        self.delay: Delay | None = None
        self._times: deque[tuple[float, float]] = deque(maxlen=_KEPT)  # begin and end of each tick
        self._begin = self._end = 0.0
        self._stamp = self._sequence = 0
        self._overrun_at = 0  # sequence number
        self._watching = False  # whether the waiting time of each tick is read: only after an overrun, since it is slow
        self._waited: float | None = None  # for a processor, during the last tick [s]; None: not measured

    def begin(self, now: float, stamp: int, sequence: int) -> None:
        """Begin a tick.

        Args:
            now: Time on a steady clock [s].
            stamp: Stamp of the joint state [ns].
            sequence: Its number in the sequence of its publisher's messages.
        """
        unanswered = self.unanswered(sequence)
        self.delay = None
        if unanswered and stamp > self._stamp:  # a repeated state needs no other answer
            self._blame(now, stamp, sequence, unanswered)
        elif self._watching and sequence > self._overrun_at + FORGIVEN_AFTER:
            self._watching, self._waited = False, None
        self._begin, self._stamp, self._sequence = now, stamp, sequence
        if self._watching:
            self._waited = waiting_time()

    def unanswered(self, sequence: int) -> int:
        """Return how many joint states between the last tick and one that has come stayed unanswered.

        Args:
            sequence: Number of that joint state in the sequence of its publisher's messages.
        """
        # After a new start of the publisher the numbers tell nothing.
        return max(0, sequence - self._sequence - 1) if self._sequence else 0

    def end(self, now: float) -> None:
        """End a tick, before its command is published.

        Args:
            now: Time on the steady clock [s].
        """
        self._end = now
        self._times.append((self._begin, now))
        if self._waited is not None and (waited := waiting_time()) is not None:
            self._waited = waited - self._waited

    def _blame(self, now: float, stamp: int, sequence: int, unanswered: int) -> None:
        period = to_seconds(stamp - self._stamp) / (unanswered + 1)
        since, took = now - self._begin, self._end - self._begin
        law = took - (self._waited or 0.0)
        delay = Delay(law, since - law, period, unanswered)
        if self._watching:
            self.delay = delay
        elif not delay.of_law:
            # The waiting time of a row's first overrun was not read: it counts, but the law is not blamed for it.
            self.delay = delay._replace(law=0.0)
        if not delay.law_in_time:
            in_time = sequence - unanswered - 1 - self._overrun_at
            self.overruns = max(0.0, self.overruns - max(0, in_time) / FORGIVEN_AFTER) + 1.0
            self._overrun_at, self._watching = sequence, True

    def forget(self) -> None:
        """Forget overruns, because another law is in force."""
        self.overruns, self._watching, self._waited = 0.0, False, None

    @property
    def last_tick(self) -> float:
        """How long the last tick took [s]."""
        return max(0.0, self._end - self._begin)

    def statistics(self) -> dict[str, float]:
        """Return execution times and periodicity of the ticks since the last call, by name; from any one thread."""
        times, self._times = self._times, deque(maxlen=_KEPT)
        if len(times) < 2:
            return {}
        begin, end = np.array(list(times)).T
        execution, rate = 1e6 * (end - begin), 1.0 / np.maximum(np.diff(begin), 1e-9)
        return {f"{name}: {label}": round(float(function(values)), 3)
                for name, values in (("execution time [us]", execution), ("periodicity [Hz]", rate))
                for label, function in (("mean", np.mean), ("standard deviation", np.std), ("least", np.min),
                                        ("greatest", np.max))}


def waiting_time() -> float | None:
    """Return for how long the calling thread has been ready but got no processor, in all [s]; None: unknown."""
    try:
        with open("/proc/thread-self/schedstat", "rb") as file:
            return to_seconds(int(file.read().split()[1]))
    except (OSError, IndexError, ValueError):
        return None
