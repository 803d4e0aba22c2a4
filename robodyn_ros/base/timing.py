# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Seconds and nanoseconds; the timing of a control loop, the default control period and time step.

A stamp, and a control period that stamps count, is a whole number of nanoseconds and is called ``stamp`` or
``period_ns``. All other times are floats in seconds.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

from robodyn_ros.base.common_fields import PERIOD, STEP
from robodyn_ros.base.errors import InputError

NANOSECONDS_PER_SECOND = 1_000_000_000

DEFAULT_PERIOD: float = PERIOD.default
"""Control period of nodes and rollouts [s]."""

DEFAULT_STEP: float = STEP.default
"""Time step of the simulated robot [s]."""


class LoopTiming(NamedTuple):
    """When a control loop measures and acts: the efforts that answer a measurement act ``delay`` periods after it.

    Efforts are held over a period. A delay of 0 means that they act from the instant of the measurement on.

    Attributes:
        period: Control period [s].
        delay: Time from the measurement to the beginning of its effect [control periods].
    """

    period: float = DEFAULT_PERIOD
    delay: int = 0

    @property
    def latency(self) -> float:
        """Mean time from a measurement to the effect of its efforts, which are held over a period [s]."""
        return (self.delay + 0.5) * self.period

    def __str__(self) -> str:
        return f"a period of {1e3 * self.period:.3g} ms and a delay of {self.delay} period{'s' * (self.delay != 1)}"


def join_stamp(seconds: int, nanoseconds: int) -> int:
    """Return the stamp [ns] of the two fields of a ROS time.

    Raises:
        InputError: The seconds are negative, which no clock shows, or the nanoseconds are not below one second.
    """
    if seconds < 0 or not 0 <= nanoseconds < NANOSECONDS_PER_SECOND:
        raise InputError(f"expected sec of 0 or more and nanosec below {NANOSECONDS_PER_SECOND}, received sec "
                         f"{seconds}, nanosec {nanoseconds}")
    return seconds * NANOSECONDS_PER_SECOND + nanoseconds


def split_stamp(stamp: int) -> tuple[int, int]:
    """Return the seconds and nanoseconds of a stamp or duration [ns]."""
    return divmod(stamp, NANOSECONDS_PER_SECOND)


def to_seconds(nanoseconds: float) -> float:
    """Convert nanoseconds to seconds, correctly rounded."""
    return nanoseconds / NANOSECONDS_PER_SECOND


def to_nanoseconds(seconds: float) -> int:
    """Convert seconds to the nearest whole number of nanoseconds."""
    return round(seconds * NANOSECONDS_PER_SECOND)


MAX_EXTENSION = 4.0
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


def extended_timeout(seconds: float, waited: float) -> float:
    """Return a longest time [s] for something that has waited for the processor: up to four times as long."""
    return min(seconds + waited, MAX_EXTENSION * seconds)
