"""How far something is: a bar that is redrawn on a terminal, and a line every two seconds elsewhere."""

from __future__ import annotations

import math
import sys
import time


class Progress:
    """A bar.

    Args:
        total: What is done at the end.
        unit: What is counted.
        decimals: Of the count.
    """

    def __init__(self, total: float, unit: str, decimals: int = 0) -> None:
        self._total, self._unit, self._decimals = total, unit, decimals
        self._terminal = sys.stdout.isatty()
        self._shown = -math.inf
        self._complete = False

    def show(self, done: float, note: str) -> None:
        """Show how far it is.

        Args:
            done: Of the total.
            note: What else there is to say.
        """
        now = time.monotonic()
        completes = done >= self._total and not self._complete
        if now - self._shown < (0.1 if self._terminal else 2.0) and not completes:
            return
        self._shown, self._complete = now, self._complete or completes
        start, end = ("\r", "") if self._terminal else ("", "\n")
        bar = "#" * round(30 * min(max(done / self._total, 0.0), 1.0))
        count = f"{done:{len(f'{self._total:.0f}') + 2}.{self._decimals}f} of {self._total:.0f} {self._unit}"
        print(f"{start}[{bar:<30}] {count}  {note:<16}", end=end, flush=True)

    def end(self) -> None:
        """Finish the line."""
        if self._terminal:
            print()
