# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Studies on a Dask cluster: how two workers compare with one, and one with a process without a cluster."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np

from bench.closed_loop import prepared
from bench.cluster_processes import ClusterProcesses, wait_for
from bench.report import RATIO_HEAD, Section, ratio_cells, time_cells
from bench.timing import compare
from robodyn_ros.simulation.score import joined
from robodyn_ros.study.block import LARGEST_OVERHEAD, Block
from robodyn_ros.study.blocks import all_scores, map_blocks
from robodyn_ros.study.cluster import Cluster
from robodyn_ros.study.loop_description import PARAMETERS, LoopDescription

SAMPLES, DURATION, REPETITIONS = 100_000, 1.0, 3
EFFICIENCY = 0.9
"""Least speed of two workers, by twice that of one."""


def connected(stack: ExitStack, workers: int) -> Cluster:
    """Start a scheduler and workers of one thread, and connect to them."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="robodyn_cluster_")))
    processes = stack.enter_context(ClusterProcesses(folder))
    for number in range(workers):
        processes.start_worker(f"worker {number}")
    cluster = stack.enter_context(Cluster(processes.address))
    wait_for(lambda: len(cluster.look()) == workers, "worker")
    return cluster


def rows() -> Iterator[list[str]]:
    """Yield the rows of the table."""
    _, loop, scenario = prepared(DURATION)
    description = LoopDescription.from_loop(loop, scenario)
    arrays = {PARAMETERS: loop.packed() * np.random.default_rng(0).uniform(0.8, 1.2, (SAMPLES, loop.packed().size))}
    here = partial(all_scores, description, arrays)
    blocks: list[Block] = []

    def there(cluster: Cluster) -> None:
        blocks[:] = map_blocks(description, arrays, client=cluster)

    with ExitStack() as stack:
        one, two = connected(stack, 1), connected(stack, 2)
        for cluster in (one, two):
            there(cluster)  # until each worker has compiled
            np.testing.assert_array_equal(joined(block.score for block in blocks), here())
        for name, ours, peer, aim in (
                ("two workers of one thread, and one", partial(there, two), partial(there, one), 0.5 / EFFICIENCY),
                ("one worker, and one thread of a process without a cluster", partial(there, one), here,
                 1.0 / (1.0 - LARGEST_OVERHEAD))):
            result = compare(ours, peer, REPETITIONS)
            yield [name, *time_cells(result, 1.0, 2), *ratio_cells(result, aim)]


CLUSTER = Section(
    "Studies on a cluster",
    f"Seconds for {SAMPLES:,} rollouts of arm7 under computed torque with other gains, {DURATION:g} s at 1 kHz, on "
    "workers that have compiled before; scheduler, workers and client on this machine, which must have two free cores. "
    "Scores are compared to the bit before. docs/cluster.md says how far this scales.",
    ("ours, and the peer", "ours [s]", "peer [s]", *RATIO_HEAD),
    rows,
)
