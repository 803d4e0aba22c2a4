# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Seconds and nanoseconds, timing of a control loop, default period and time step, processors, extended timeouts.

A stamp, and a control period that is compared with stamps, is a whole number of nanoseconds and is called ``stamp`` or
``period_ns``. All other times are floats in seconds.
"""

from __future__ import annotations

import math
import os
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
    """Period and delay of a control loop: efforts act ``delay`` periods after the measurement that they answer.

    Efforts are held over a period. With a delay of 0 they act from the instant of the measurement.

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
        InputError: The seconds are negative, or the nanoseconds are not below one second.
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


def whole_steps(duration: float, step: float, expected: str) -> tuple[int, int]:
    """Return a duration [ns], and the number of steps in it.

    Args:
        duration: The duration [s].
        step: Length of a step [s].
        expected: Begin of the message, such as ``"period: expected a multiple of the plant's step"``.

    Raises:
        InputError: The duration is not a whole number of steps, at least one.
    """
    total = to_nanoseconds(duration) if 0.0 < duration < math.inf else 0
    steps, rest = divmod(total, max(1, to_nanoseconds(step)))
    if rest or not steps:
        raise InputError(f"{expected} of {step} s, received {duration} s")
    return total, steps


def usable_processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


MAX_EXTENSION = 4.0
"""Greatest factor by which a timeout is extended while other processes have the processor."""


def waiting_time_of(task: str) -> float:
    """Return the time that a task has waited for a processor so far [s]; 0 if the system does not report it.

    Args:
        task: Number of a process, for its main thread; or the path of another task below /proc.
    """
    try:
        return int(Path("/proc", task, "schedstat").read_bytes().split()[1]) * 1e-9
    except (OSError, IndexError, ValueError):
        return 0.0


class Scheduling(NamedTuple):
    """Processor time of a thread, and the time that it waited for a processor."""

    computed: float  # its processor time [s]
    waited: float  # time during which it was ready but had no processor [s]; 0 if the system does not report it


def scheduling_of(task: int) -> Scheduling:
    """Return the processor time and waiting time of a thread of this process; zeros if the thread has ended.

    Args:
        task: Its number in the system, `threading.Thread.native_id`.
    """
    try:  # CLOCK_THREAD_CPUTIME_ID of the thread; pthread_getcpuclockid may crash if the thread has ended
        computed = time.clock_gettime(~task << 3 | 6)
    except OSError:
        return Scheduling(0.0, 0.0)
    return Scheduling(computed, waiting_time_of(f"self/task/{task}"))


def extended_timeout(seconds: float, waited: float) -> float:
    """Extend a timeout by the time that a task waited for a processor [s]: at most by the factor `MAX_EXTENSION`."""
    return min(seconds + waited, MAX_EXTENSION * seconds)
