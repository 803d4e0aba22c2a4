# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Timing of the simulated robot's control periods, their stamps, and step requests during a pause."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from robodyn_ros.base.checks import Range
from robodyn_ros.base.errors import InputError
from robodyn_ros.base.timing import to_nanoseconds
from robodyn_ros.nodes.hardware.parameters import LiveSettings, TimeMode

PERIODS = Range(1, 100_000, "control periods")
"""Limits of the periods in one request: at most 200 s at 500 Hz."""


class Pace:
    """Deadlines of control periods on a steady clock.

    After a delay, the simulation catches up with the due periods, because a real robot would have moved on. It catches
    up with at most ``longest`` periods, and drops further time.

    Args:
        period_ns: Control period in simulated time [ns].
        factor: Simulated time per clock time.
        longest: Greatest number of periods to catch up with at once.

    Attributes:
        next: Clock time at which the next period is due [ns].
        missed: Periods that began after the next one was due.
        dropped: Dropped clock time [ns].
        worst: Longest delay of the beginning of a period [ns].
    """

    def __init__(self, period_ns: int, factor: float = 1.0, longest: int = 50) -> None:
        self.interval = period_ns / factor
        self.longest = longest
        self.next = 0.0
        self.missed = 0
        self.dropped = 0.0
        self.worst = 0.0

    def restart(self, now: int) -> None:
        """Set the next deadline one interval from now [ns], without catching up."""
        self.next = now + self.interval

    def begin(self, now: int) -> None:
        """Begin a single period now [ns], without catching up."""
        self.next = max(self.next + self.interval, now)

    def due(self, now: int) -> int:
        """Return the number of due periods, which count as begun.

        Args:
            now: Time on the steady clock [ns].
        """
        late = now - self.next
        if late < 0:
            return 0
        self.worst = max(self.worst, late)
        periods = 1 + int(late // self.interval)
        self.missed += periods - 1
        if periods > self.longest:
            self.dropped += (periods - self.longest) * self.interval
            self.next += periods * self.interval
            return self.longest
        self.next += periods * self.interval
        return periods


_LONGEST_CATCH_UP_SECONDS = 0.1
_CLOCK_STEP_NANOSECONDS = 100_000_000  # a greater difference from system time means that a clock has jumped


class PlantTiming:
    """Stamps and deadlines in one of the time modes.

    Args:
        mode: The mode.
        period_ns: Control period [ns].

    Attributes:
        tick: Number of finished control periods of simulated time.
        pace: Deadlines on the steady clock.
    """

    def __init__(self, mode: TimeMode, period_ns: int) -> None:
        self._mode, self._period_ns = mode, period_ns
        self.pace = Pace(period_ns, longest=max(1, to_nanoseconds(_LONGEST_CATCH_UP_SECONDS) // period_ns))
        # Simulated time begins at the end of the first period, since a stamp of 0 means "no stamp" in ROS.
        self.tick = 1
        self._offset = 0
        self._skipped = 0.0

    def configure(self, settings: LiveSettings) -> None:
        """Set the speed of simulated time."""
        if self._mode is TimeMode.SCALED:
            self.pace.interval = self._period_ns / settings.real_time_factor
        elif self._mode is TimeMode.LOCKSTEP and settings.lockstep_speed_limit:
            self.pace.interval = self._period_ns / settings.lockstep_speed_limit

    def restart(self) -> None:
        """Set the next deadline one interval from now; in real time, align stamps with system time."""
        self.pace.restart(time.monotonic_ns())
        if self._mode is TimeMode.REAL_TIME:
            self._offset = time.time_ns() - self.tick * self._period_ns

    def skip_what_was_dropped(self) -> bool:
        """In real time, also skip dropped time in the stamps.

        Returns:
            Whether any time was dropped since the last call.
        """
        dropped = self.pace.dropped - self._skipped
        if self._mode is TimeMode.REAL_TIME:
            self._offset += round(dropped)
        self._skipped = self.pace.dropped
        return dropped > 0.0

    def stamp(self, standing_still: bool) -> int:
        """Return the stamp of the state at the end of the last period [ns].

        Args:
            standing_still: Whether the simulation is paused, without due periods.
        """
        stamp = self.tick * self._period_ns + self._offset
        if self._mode is TimeMode.REAL_TIME:
            jump = self._system_time_due(standing_still) - stamp
            if abs(jump) > _CLOCK_STEP_NANOSECONDS:
                self._offset += jump
                return stamp + jump
        return stamp

    def _system_time_due(self, standing_still: bool) -> int:
        """Return the system time at which the last period was due [ns]."""
        late = 0 if standing_still else time.monotonic_ns() - round(self.pace.next - self.pace.interval)
        return time.time_ns() - late


class _Request(NamedTuple):
    """A pending request."""

    periods: int
    end: int
    on_end: Callable[[str], None]


class StepRequests:
    """The pending step requests; only for the control path's thread."""

    def __init__(self) -> None:
        self._requests: list[_Request] = []

    def __bool__(self) -> bool:
        """Return whether a request is pending."""
        return bool(self._requests)

    def add(self, periods: int, end: int, on_end: Callable[[str], None]) -> None:
        """Add a request.

        Args:
            periods: Number of periods.
            end: Count of periods at which the request is done.
            on_end: Called once with the reason of an interruption; empty: done.
        """
        self._requests.append(_Request(periods, end, on_end))

    def advance(self, done: int) -> None:
        """End the requests that are done at this count of periods."""
        finished = [request for request in self._requests if request.end <= done]
        self._requests = [request for request in self._requests if request.end > done]
        for request in finished:
            request.on_end("")

    def interrupt(self, done: int, reason: str) -> None:
        """End all requests at this count of periods, with a reason."""
        requests, self._requests = self._requests, []
        for request in requests:
            request.on_end(f"step: {request.periods - (request.end - done)} of {request.periods} control periods done, "
                           f"then {reason}")


def check_periods(periods: int) -> None:
    """Check the number of periods of a request.

    Raises:
        InputError: It is out of range.
    """
    if not PERIODS.minimum <= periods <= PERIODS.maximum:
        raise InputError(f"step: expected at least 1 control period and at most {PERIODS.maximum}, received {periods}")
