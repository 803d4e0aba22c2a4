# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Blocks of samples: their size, the missing ones of a study, and the computation of one."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from time import perf_counter
from typing import NamedTuple

from robodyn_ros.base.errors import InputError
from robodyn_ros.compile.machine import host
from robodyn_ros.description.model import Array
from robodyn_ros.simulation.score import Score
from robodyn_ros.toolbox.study.loop_description import LoopDescription

MAX_OVERHEAD = 0.05
"""Greatest overhead of a block, relative to its computing time."""
BLOCK_TIME = 1.0
"""Computing time of a block with little overhead; a lost worker costs as much [s]."""
FIRST_BLOCK_SIZE = 16
"""Samples of the first blocks, before any time is measured: two of the longest vectors."""
_GROWTH = 8.0
_MAX_COUNTED_OVERHEAD = 1.0  # [s]; longer ones are pauses, for example of a restarting scheduler


class Block(NamedTuple):
    """Samples that were computed together."""

    begin: int  # number of the first sample
    end: int  # number of the last sample, plus 1
    score: Score  # scores of the samples
    seconds: float  # computing time [s]
    overhead: float  # time since the thread finished its previous block, for waiting and unpacking [s]
    fresh: bool  # whether the process computed this loop for the first time, and may have compiled it in this time
    processor: str  # LLVM's name of the processor
    worker: str = ""  # address of the worker; empty: this process


class BlockSize:
    """Chooses block sizes that keep the overhead below `MAX_OVERHEAD`.

    Args:
        workers: Number of blocks computed at the same time.
    """

    def __init__(self, workers: int = 1) -> None:
        self.workers = workers
        self._size, self._per_sample, self._overhead = float(FIRST_BLOCK_SIZE), 0.0, 0.0

    def measured(self, block: Block) -> None:
        """Take account of a computed block; fresh ones are ignored, since their time includes compilation."""
        if block.fresh:
            return
        self._per_sample = max(block.seconds, 1e-9) / (block.end - block.begin)
        if block.overhead > 0.0:  # not the first of a thread
            overhead = min(block.overhead, _MAX_COUNTED_OVERHEAD)
            self._overhead = overhead if self._overhead == 0.0 else 0.8 * self._overhead + 0.2 * overhead
        wanted = max(BLOCK_TIME, self._overhead / MAX_OVERHEAD) / self._per_sample
        self._size = min(wanted, _GROWTH * max(self._size, FIRST_BLOCK_SIZE))

    @property
    def usual(self) -> float:
        """Time of a sample in the last block [s]; 0: not yet measured."""
        return self._per_sample

    def next(self, left: int) -> int:
        """Return the size of the next block, given the number of samples left.

        Towards the end, blocks become smaller, so that all workers finish together, as far as the overhead allows.
        """
        least = self._overhead / MAX_OVERHEAD / self._per_sample if self._per_sample else 0.0
        fair = left / (2.0 * self.workers) if self.workers > 1 else left
        # Avoid a last block of one sample: single calls would need a program of their own.
        size = max(2, round(max(least, min(self._size, fair))))
        return size if left - size > max(least, 1.0) else left


def compute_block(description: LoopDescription, begin: int, arrays: Mapping[str, Array], threads: int = 1,
                  run: str = "") -> Block:
    """Compute a block of samples in this process.

    Args:
        description: The closed loop.
        begin: Number of the first sample.
        arrays: A row for each sample of the block, see `LoopDescription.scores`.
        threads: Threads that share the samples.
        run: Name of the block's run; waiting between two runs does not count as overhead.

    Raises:
        RobodynError: As for `LoopDescription.scores`.
    """
    fresh, start = not description.used, perf_counter()
    score = description.scores(arrays, threads)
    end = perf_counter()
    before, _last.block = getattr(_last, "block", None), (run, end)
    overhead = start - before[1] if before is not None and before[0] == run else 0.0
    return Block(begin, begin + len(score.q), score, end - start, overhead, fresh, host().cpu)


_last = threading.local()
"""Run and end of the last block of each thread."""


def rows(arrays: Mapping[str, Array], begin: int, end: int) -> dict[str, Array]:
    """The samples of a block."""
    return {name: array[begin:end] for name, array in arrays.items()}


def sample_count(arrays: Mapping[str, Array]) -> int:
    """Return the number of samples, the rows of each array.

    Raises:
        InputError: There are no samples, or the numbers of rows differ.
    """
    counts = {name: len(array) for name, array in arrays.items()}
    if len(set(counts.values())) != 1 or 0 in counts.values():
        received = ", ".join(f"{count} of {name}" for name, count in counts.items()) or "no array"
        raise InputError(f"study: expected arrays of as many samples each, 1 or more, received {received}")
    return next(iter(counts.values()))


def gaps(count: int, done: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield begin and end of the samples that are still missing, in order.

    Args:
        count: Number of all samples.
        done: Begin and end of the computed blocks; they may overlap.
    """
    at = 0
    for begin, end in sorted(done):
        if begin > at:
            yield at, min(begin, count)
        at = max(at, end)
    if at < count:
        yield at, count
