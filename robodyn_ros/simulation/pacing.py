"""When the next control period of a simulation is due, paced by a steady clock."""

from __future__ import annotations


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
