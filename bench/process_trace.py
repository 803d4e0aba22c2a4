# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Memory, file descriptors and threads of a process over time."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np


class ProcessSample(NamedTuple):
    """What a process uses at one time.

    Attributes:
        time: Monotonic clock [s].
        memory: Memory of its own, without that of files [MB].
        descriptors: Number of open file descriptors.
        threads: Number of threads.
    """

    time: float
    memory: float
    descriptors: int
    threads: int

    @classmethod
    def of(cls, pid: int) -> ProcessSample:
        """Look at a running process of this user (Linux)."""
        status = Path(f"/proc/{pid}/status").read_text()
        kilobytes, threads = (int(re.findall(rf"^{name}:\s+(\d+)", status, re.MULTILINE)[0])
                              for name in ("RssAnon", "Threads"))
        return cls(time.monotonic(), kilobytes / 1024.0, len(os.listdir(f"/proc/{pid}/fd")), threads)


SETTLED = 0.2
"""Part of the time in which a process may fill its caches; its use is judged from then on."""


def at_equal_times(samples: Sequence[ProcessSample], field: str, begin: float, end: float, count: int = 11
                   ) -> list[float]:
    """Return a field of the samples at equal times between begin and end [s], interpolated."""
    times = [sample.time for sample in samples]
    values = np.interp(np.linspace(begin, end, count), times, [getattr(sample, field) for sample in samples])
    return [round(float(value), 1) for value in values]


def growth(samples: Sequence[ProcessSample], field: str, begin: float, end: float) -> float:
    """Return by how much a field grew at most since the process was settled, relative; 0 without later samples.

    What counts is the smaller value of two samples in a row: a file that is open for a moment is no growth. Its
    greatest is compared with the greatest in the first tenth, because buffers that are filled and written fluctuate.
    """
    settled = [getattr(sample, field) for sample in samples if sample.time >= begin + SETTLED * (end - begin)]
    lasting = [min(pair) for pair in pairwise(settled)]
    return max(lasting) / max(lasting[: 1 + len(lasting) // 10]) - 1.0 if lasting else 0.0
