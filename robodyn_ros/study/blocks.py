# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Scores of many samples of a closed loop, computed block by block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from robodyn_ros.description.model import Array
from robodyn_ros.simulation.score import Score
from robodyn_ros.study.block import Block, BlockSize, compute_block, gaps, sample_count
from robodyn_ros.study.loop_description import LoopDescription


def map_blocks(description: LoopDescription, arrays: Mapping[str, Array], *, threads: int = 1,
               done: Iterable[tuple[int, int]] = ()) -> Iterator[Block]:
    """Compute all samples, and yield their blocks in the order of the samples.

    A sample has the same score to the bit in a block of any size, with any number of threads, on equal processors.

    Args:
        description: The closed loop.
        arrays: A row for each sample, see `LoopDescription.scores`.
        threads: Threads of this machine that share the samples.
        done: Begin and end of blocks that are computed already, and left out; see `Block`.

    Raises:
        InputError: There are no samples, or the arrays do not fit each other or the loop.
        PluginError: The controller cannot be made, or fails.
    """
    count, size = sample_count(arrays), BlockSize()
    for begin, end in gaps(count, done):
        while begin < end:
            until = begin + size.next(end - begin)
            block = compute_block(description, begin, _rows(arrays, begin, until), threads)
            size.measured(block, 0.0)
            yield block
            begin = until


def all_scores(description: LoopDescription, arrays: Mapping[str, Array], *, threads: int = 1) -> Score:
    """Compute the scores of all samples; arguments and errors as for `map_blocks`."""
    return joined(block.score for block in map_blocks(description, arrays, threads=threads))


def joined(scores: Iterable[Score]) -> Score:
    """One score of the samples of several, one after the other."""
    return Score(*(np.concatenate(parts) for parts in zip(*scores, strict=True)))


def _rows(arrays: Mapping[str, Array], begin: int, end: int) -> dict[str, Array]:
    return {name: array[begin:end] for name, array in arrays.items()}
