# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.
"""Measures how long the computer keeps this process from running, by a thread that sleeps beside the others.

If it sleeps too long, the process was held up: it was stopped, or got no processor. If the process computed meanwhile
and the thread did not wait for a processor, the cause is another thread of this process, such as a law that keeps the
GIL. That does not count as a hold-up by the computer.
"""

from __future__ import annotations

import threading
import time
from collections import deque

from robodyn_ros.base.timing import waiting_time_of

SLEEP = 0.01
"""Time between two measurements [s]."""
LATE = 0.01
"""Least excess of a sleep that counts [s]."""
_MAX_HOLD_UPS = 100
_OWN_TASK = "thread-self"  # the reading thread
_SLEEPS_PER_READING = 50
"""Sleeps between two readings of the thread's waiting time, which take ten times as long as the rest."""


class HoldUpProbe:
    """A thread that sleeps and measures its delays; any thread may read them."""

    def __init__(self) -> None:
        self._stopped = False
        self._found: deque[tuple[float, float]] = deque(maxlen=_MAX_HOLD_UPS)  # end and length of each hold-up
        self._look = time.monotonic(), time.process_time()
        self._thread = threading.Thread(target=self._run, name="hold-up probe", daemon=True)

    def start(self) -> None:
        """Begin to measure."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread; further calls do nothing."""
        self._stopped = True
        if self._thread.is_alive():
            self._thread.join()

    def held_up(self, since: float, now: float) -> float:
        """Return the total time for which the computer held this process up within a span of the steady clock [s].

        Args:
            since: Begin of the span [s].
            now: Its end, the present [s]; an ongoing hold-up counts too.
        """
        found = [(end, length) for end, length in tuple(self._found) if end > since]
        begin, computed = self._look
        if self._thread.is_alive() and (late := now - begin - SLEEP) > LATE:
            found.append((now, self._caused_by_computer(late, None, time.process_time() - computed)))
        return sum(min(length, end - since) for end, length in found)

    def _run(self) -> None:
        waited, looks = waiting_time_of(_OWN_TASK), 0
        self._look = time.monotonic(), time.process_time()
        while not self._stopped:
            time.sleep(SLEEP)  # waiting for an event would cost several times as much, mostly with the GIL
            begin, computed = self._look
            now = time.monotonic(), time.process_time()
            late, looks = now[0] - begin - SLEEP, looks + 1
            if late > LATE or looks % _SLEEPS_PER_READING == 0:
                before, waited = waited, waiting_time_of(_OWN_TASK)
                if late > LATE:
                    self._found.append((now[0], self._caused_by_computer(late, waited - before, now[1] - computed)))
            self._look = now

    @staticmethod
    def _caused_by_computer(late: float, waited: float | None, computed: float) -> float:
        """Return the part of a delay that the computer caused [s].

        Args:
            late: The delay [s].
            waited: How much of it the thread waited for a processor [s]; None: not known.
            computed: How much the process computed meanwhile [s].
        """
        return max(min(waited or 0.0, late), late - computed, 0.0)
