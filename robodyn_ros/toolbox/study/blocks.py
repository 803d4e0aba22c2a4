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

from robodyn_ros.description.model import Array
from robodyn_ros.simulation.score import Score, joined
from robodyn_ros.toolbox.study.block import Block, BlockSize, compute_block, gaps, rows, sample_count
from robodyn_ros.toolbox.study.cluster import Cluster
from robodyn_ros.toolbox.study.loop_description import LoopDescription


def map_blocks(description: LoopDescription, arrays: Mapping[str, Array], *, threads: int = 1,
               done: Iterable[tuple[int, int]] = (), client: Cluster | None = None) -> Iterator[Block]:
    """Compute all samples, and yield their blocks in the order of the samples.

    On equal processors, a sample has the same score to the bit in any block and with any number of threads.

    Args:
        description: The closed loop.
        arrays: A row for each sample, see `LoopDescription.scores`.
        threads: Threads of this machine that share the samples, if there is no cluster.
        done: Begin and end of computed blocks, which are left out; see `Block`.
        client: Cluster that computes the blocks; None: this machine.

    Raises:
        InputError: There are no samples, or the arrays do not fit each other or the loop.
        PluginError: The controller cannot be made, or fails.
        ClusterError: As for `Cluster.blocks`; computed blocks are yielded before.
    """
    count = sample_count(arrays)
    if client is not None:
        yield from client.blocks(description, arrays, gaps(count, done))
        return
    size = BlockSize()
    for begin, end in gaps(count, done):
        while begin < end:
            until = begin + size.next(end - begin)
            # The time of the caller does not count as overhead.
            block = compute_block(description, begin, rows(arrays, begin, until), threads)._replace(overhead=0.0)
            size.measured(block)
            yield block
            begin = until


def all_scores(description: LoopDescription, arrays: Mapping[str, Array], *, threads: int = 1,
               client: Cluster | None = None) -> Score:
    """Compute the scores of all samples; arguments and errors as for `map_blocks`."""
    if client is None:
        sample_count(arrays)
        return description.scores(arrays, threads)
    return joined(block.score for block in map_blocks(description, arrays, client=client))
