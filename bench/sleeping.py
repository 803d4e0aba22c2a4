# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A process that only sleeps until each period; it shows the delays of the machine itself.

``python -m bench.sleeping RATE`` prints once a second how many periods there were, how many of them it missed, and its
greatest lateness in seconds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

NANOSECONDS = 10**9


def periods(rate: int) -> Iterator[tuple[int, int]]:
    """Sleep until each period, without those that were missed.

    Args:
        rate: Periods per second [Hz].

    Yields:
        Time from the begin to the end of the last period that is over, and how late this process woke [ns].
    """
    period = NANOSECONDS // rate
    begin = deadline = time.monotonic_ns()
    while True:
        deadline += period
        while (now := time.monotonic_ns()) < deadline:
            time.sleep((deadline - now) / NANOSECONDS)
        late = now - deadline
        deadline += late // period * period
        yield deadline - begin, late


def main(rate: int) -> None:
    """Print the counts until the process is killed."""
    period = NANOSECONDS // rate
    missed = worst = told = 0
    for elapsed, late in periods(rate):
        missed, worst = missed + late // period, max(worst, late)
        if elapsed - told > NANOSECONDS:
            told = elapsed
            print(elapsed // period, missed, worst / NANOSECONDS, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
