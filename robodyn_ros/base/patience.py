# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""How long to wait for something on a machine whose processors others may have."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

MOST_PATIENCE = 4.0
"""How many times as long something may take if others have the processor."""


def waiting_time_of(task: str) -> float:
    """Return how long a task has waited for the processor so far [s]; 0 where the system does not tell.

    Args:
        task: Number of a process, whose main thread is meant; or the path of another task below /proc.
    """
    try:
        return int(Path("/proc", task, "schedstat").read_bytes().split()[1]) * 1e-9
    except (OSError, IndexError, ValueError):
        return 0.0


class Scheduling(NamedTuple):
    """What the scheduler knows of a thread.

    Attributes:
        computed: Its processor time [s].
        waited: For how long it was ready but got no processor [s]; 0 where the system does not tell.
    """

    computed: float
    waited: float


def scheduling_of(task: int) -> Scheduling:
    """Return what the scheduler knows of a thread of this process; of one that has ended, nothing but zeros.

    Args:
        task: Its number in the system, `threading.Thread.native_id`.
    """
    try:  # its CLOCK_THREAD_CPUTIME_ID; pthread_getcpuclockid may crash with a thread that has ended
        computed = time.clock_gettime(~task << 3 | 6)
    except OSError:
        return Scheduling(0.0, 0.0)
    return Scheduling(computed, waiting_time_of(f"self/task/{task}"))


def with_patience(seconds: float, waited: float) -> float:
    """Return a longest time [s] for something that has waited for the processor: up to four times as long."""
    return min(seconds + waited, MOST_PATIENCE * seconds)
