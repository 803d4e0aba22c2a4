# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Times two ways to do the same work alternately, so that other load on the machine affects both."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Comparison:
    """Times of the repetitions, ours and the peer's measured alternately.

    Attributes:
        ours: Seconds per call, shape (repetitions,).
        peer: Seconds per call, shape (repetitions,).
    """

    ours: np.ndarray
    peer: np.ndarray

    @property
    def ratio(self) -> float:
        """Median of ours / peer over the repetitions; below 1 where ours is faster."""
        return float(np.median(self.ours / self.peer))

    @property
    def spread(self) -> tuple[float, float]:
        """The quartiles of ours / peer."""
        low, high = np.percentile(self.ours / self.peer, [25, 75])
        return float(low), float(high)


def seconds_per_call(function: Callable[[], object], calls: int) -> float:
    """Return the mean time of one call in a loop of ``calls`` calls [s]."""
    repeat = range(calls)
    start = time.perf_counter()
    for _ in repeat:
        function()
    return (time.perf_counter() - start) / calls


def enough_calls(function: Callable[[], object], seconds: float) -> int:
    """Return the number of calls that take the given time [s], at least 1. The first calls warm the function up."""
    once = seconds_per_call(function, 1)
    return 1 if once > seconds else max(1, int(seconds / seconds_per_call(function, 20)))


def compare(ours: Callable[[], object], peer: Callable[[], object], repetitions: int = 31,
            seconds: float = 0.02) -> Comparison:
    """Time ``ours`` and ``peer`` alternately.

    Args:
        ours: Our call, with its arguments bound.
        peer: The peer's call doing the same work, bound alike.
        repetitions: Number of timings of each.
        seconds: Approximate duration of one timing [s].
    """
    calls = [enough_calls(function, seconds) for function in (ours, peer)]
    times = np.array([[seconds_per_call(ours, calls[0]), seconds_per_call(peer, calls[1])]
                      for _ in range(repetitions)])
    return Comparison(times[:, 0], times[:, 1])
