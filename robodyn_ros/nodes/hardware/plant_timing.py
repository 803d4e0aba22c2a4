"""When the control periods of the simulated robot begin, and the stamps of the states at their ends."""

from __future__ import annotations

import time

from robodyn_ros.nodes.hardware.parameters import LiveSettings, TimeMode
from robodyn_ros.timing import to_nanoseconds


class Pace:
    """Deadlines of control periods on a steady clock, and what to do about missed ones.

    A simulation that was held up owes the periods that became due meanwhile, as a real robot would have moved on; it
    catches up at most ``longest`` of them, and time beyond that is dropped: it falls behind instead of racing.

    Args:
        period_ns: Control period in simulated time [ns].
        factor: Simulated time per clock time.
        longest: Most periods to catch up at once.

    Attributes:
        next: Clock time at which the next period is due [ns].
        missed: Periods that were not begun before the one after them was due.
        dropped: Clock time that was given up [ns].
        worst: Longest time after its deadline that a period was begun [ns].
    """

    def __init__(self, period_ns: int, factor: float = 1.0, longest: int = 50) -> None:
        self.interval = period_ns / factor
        self.longest = longest
        self.next = 0.0
        self.missed = 0
        self.dropped = 0.0
        self.worst = 0.0

    def restart(self, now: int) -> None:
        """Let the next period be due one interval from now [ns]; nothing is owed."""
        self.next = now + self.interval

    def begin(self, now: int) -> None:
        """Begin one period now [ns], at or after its deadline; what was missed is not owed."""
        self.next = max(self.next + self.interval, now)

    def due(self, now: int) -> int:
        """Number of periods that are due; they count as begun.

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
_CLOCK_STEP_NANOSECONDS = 100_000_000  # a greater difference to system time means that one of the two jumped


class PlantTiming:
    """Time in one of the time modes: simulated, or such that stamps are system time.

    Args:
        mode: The mode.
        period_ns: Control period [ns].

    Attributes:
        tick: Control periods of simulated time that are over.
        pace: When the next period is due, on the steady clock.
    """

    def __init__(self, mode: TimeMode, period_ns: int) -> None:
        self._mode, self._period_ns = mode, period_ns
        self.pace = Pace(period_ns, longest=max(1, to_nanoseconds(_LONGEST_CATCH_UP_SECONDS) // period_ns))
        # Simulated time begins at the first period's end, since ROS takes a stamp of 0 for no stamp at all.
        self.tick = 1
        self._offset = 0
        self._skipped = 0.0

    def configure(self, settings: LiveSettings) -> None:
        """Take over how fast simulated time may pass."""
        if self._mode is TimeMode.SCALED:
            self.pace.interval = self._period_ns / settings.real_time_factor
        elif self._mode is TimeMode.LOCKSTEP and settings.lockstep_speed_limit:
            self.pace.interval = self._period_ns / settings.lockstep_speed_limit

    def restart(self) -> None:
        """Let the next period be due one interval from now, and stamps be system time where they should."""
        self.pace.restart(time.monotonic_ns())
        if self._mode is TimeMode.REAL_TIME:
            self._offset = time.time_ns() - self.tick * self._period_ns

    def skip_what_was_dropped(self) -> bool:
        """Let time that the pace gave up show as a gap of the stamps where they are system time.

        Returns:
            Whether any was given up since the last call.
        """
        dropped = self.pace.dropped - self._skipped
        if self._mode is TimeMode.REAL_TIME:
            self._offset += round(dropped)
        self._skipped = self.pace.dropped
        return dropped > 0.0

    def stamp(self, standing_still: bool) -> int:
        """Stamp of the state at the end of the last period [ns].

        Args:
            standing_still: Whether the simulation is paused, so that no period is owed.
        """
        stamp = self.tick * self._period_ns + self._offset
        if self._mode is TimeMode.REAL_TIME:
            jump = self._system_time_due(standing_still) - stamp
            if abs(jump) > _CLOCK_STEP_NANOSECONDS:
                self._offset += jump
                return stamp + jump
        return stamp

    def _system_time_due(self, standing_still: bool) -> int:
        """System time at which the last period was due [ns]; it may be later by now, but then more periods are owed."""
        late = 0 if standing_still else time.monotonic_ns() - round(self.pace.next - self.pace.interval)
        return time.time_ns() - late
