# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""How far studies on a cluster scale: costs of a sample, a block and a worker, and how many threads each one feeds."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import ExitStack
from time import perf_counter

import numpy as np

from bench.closed_loop import prepared
from bench.cluster import connected
from bench.report import Section
from robodyn_ros.toolbox.study.block import BLOCK_TIME, BlockSize
from robodyn_ros.toolbox.study.blocks import map_blocks
from robodyn_ros.toolbox.study.cluster import ClusterRun
from robodyn_ros.toolbox.study.loop_description import PARAMETERS, LoopDescription

SAMPLES, SMALL_BLOCKS, DURATION = 40_000, 200, 1.0
THREADS, NETWORKS = 1000, (1, 10)  # of a large cluster, and speeds of its network [Gb/s]
LARGE, LONG = 1e9, 10.0
"""Samples of a large study, and the duration of its rollouts [s]."""


class _SmallBlocks(BlockSize):
    """Blocks so small that handing them out is all of the work."""

    def next(self, left: int) -> int:
        """As in `BlockSize`."""
        return min(left, 16)


def rows() -> Iterator[list[str]]:
    """Yield the rows of the table."""
    _, loop, scenario = prepared(DURATION)
    description = LoopDescription.from_loop(loop, scenario)
    arrays = {PARAMETERS: loop.packed() * np.random.default_rng(0).uniform(0.8, 1.2, (SAMPLES, loop.packed().size))}
    with ExitStack() as stack:
        _, cluster = connected(stack)
        first = list(map_blocks(description, arrays, client=cluster, done=[(256, SAMPLES)]))
        compilation = max(block.seconds for block in first if block.fresh)
        begin = perf_counter()
        blocks = list(map_blocks(description, arrays, client=cluster))
        elapsed = perf_counter() - begin
        begin = perf_counter()
        count = len(list(ClusterRun(cluster, description, arrays, [(0, 16 * SMALL_BLOCKS)], _SmallBlocks()).blocks()))
        rate = count / (perf_counter() - begin)
    work, later = sum(block.seconds for block in blocks), [block for block in blocks if block.overhead > 0.0]
    sample = work / SAMPLES
    gaps, between = sum(block.overhead for block in later), sum(block.seconds for block in later)
    there, size = arrays[PARAMETERS][0].nbytes, len(pickle.dumps(description, 5))
    back = len(pickle.dumps(blocks[-1].score, 5)) / (blocks[-1].end - blocks[-1].begin)
    speed = (there + back) / sample
    yield ["a sample", f"{1e6 * sample:.0f} µs of a thread", f"{1.0 / sample:,.0f} samples a second and thread"]
    yield [f"{len(blocks)} blocks", f"{1e3 * gaps / len(later):.1f} ms between two of a thread",
           f"{100.0 * gaps / between:.1f} % of the work; workers computed in {50.0 * work / elapsed:.0f} % of the time"]
    yield [f"{count} blocks without work", f"{rate:.0f} a second through client and scheduler",
           f"{rate * BLOCK_TIME:.0f} threads with blocks of {BLOCK_TIME:g} s; {THREADS} threads get blocks of "
           f"{THREADS / rate:.0f} s"]
    yield ["data of a sample", f"{there} bytes there, {back:.0f} back: {1e-6 * speed:.1f} MB/s and thread",
           " and ".join(f"{125e6 * network / speed:.0f} threads on {network} Gb/s" for network in NETWORKS)]
    yield ["the description of the loop", f"{size / 1e6:.2f} MB for each worker and law",
           f"{size * THREADS / 1e9:.2f} GB for {THREADS} workers, once"]
    yield ["compilation", f"{compilation:.1f} s for each worker and law, once", "none with the kept code"]
    large, traffic = LARGE * sample * LONG / DURATION, THREADS * speed * DURATION / LONG
    yield [f"{LARGE:.0e} samples of {LONG:g} s", f"{large / 3600.0:.0f} hours of a thread",
           f"{large / 60.0 / THREADS:.0f} minutes of {THREADS} threads at {1e-6 * traffic:.0f} MB/s; "
           f"{1e-9 * LARGE * there:.0f} GB of samples in the client, {1e-9 * LARGE * back:.0f} GB of results"]


CLUSTER_LIMITS = Section(
    "How far studies on a cluster scale",
    f"Rollouts of arm7 under computed torque with other gains, {DURATION:g} s at 1 kHz, on two workers of one thread, "
    "beside scheduler and client on this machine. The last column is arithmetic with the figure before it.",
    ("", "measured", "hence"),
    rows,
)
