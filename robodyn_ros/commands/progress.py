# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A progress bar: redrawn on a terminal, one line every two seconds elsewhere."""

from __future__ import annotations

import math
import sys
import time


class Progress:
    """A progress bar.

    Args:
        total: The count at the end.
        unit: Name of the counted things.
        decimals: Decimals of the count.
    """

    def __init__(self, total: float, unit: str, decimals: int = 0) -> None:
        self._total, self._unit, self._decimals = total, unit, decimals
        self._terminal = sys.stdout.isatty()
        self._shown = -math.inf
        self._complete = False

    def show(self, done: float, note: str) -> None:
        """Show the progress.

        Args:
            done: The count so far.
            note: Text behind the bar.
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
