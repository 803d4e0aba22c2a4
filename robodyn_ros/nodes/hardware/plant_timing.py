"""When control periods of the hardware node's plant begin, and the stamps that the states at their ends bear."""

from __future__ import annotations

import time

from robodyn_ros.nodes.hardware.plant_settings import LiveSettings, TimeMode
from robodyn_ros.simulation.pacing import Pace
from robodyn_ros.timing import to_nanoseconds

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
