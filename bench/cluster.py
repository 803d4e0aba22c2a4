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
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np

from bench.closed_loop import prepared
from bench.cluster_processes import ClusterProcesses, wait_for
from bench.report import RATIO_HEAD, Section, ratio_cells, time_cells
from bench.timing import compare
from robodyn_ros.description.model import Array
from robodyn_ros.simulation.score import joined
from robodyn_ros.toolbox.study.block import MAX_OVERHEAD, Block
from robodyn_ros.toolbox.study.blocks import all_scores, map_blocks
from robodyn_ros.toolbox.study.cluster import Cluster
from robodyn_ros.toolbox.study.cluster_connection import Site
from robodyn_ros.toolbox.study.loop_description import PARAMETERS, LoopDescription

WORK = ((100_000, 1.0), (40_000, 5.0))
"""Numbers of rollouts, and what each simulates [s]."""

REPETITIONS = 3
EFFICIENCY = 0.9
"""Least speed of two workers, by twice that of one."""
QUIET_DASK = {"DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False", "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s"}
"""Settings of docs/cluster.md that leave the processors to the work."""


class _OneWorker(Cluster):
    """A connection that uses one of the workers."""

    def refresh_workers(self) -> Mapping[str, Site]:
        """Leave the others out."""
        for other in sorted(super().refresh_workers())[1:]:
            del self.sites[other]
        return self.sites


def connected(stack: ExitStack, settings: Mapping[str, str] | None = None) -> tuple[Cluster, Cluster]:
    """Start a scheduler and two workers of one thread, and connect to one of them and to both.

    A second cluster beside them would wait for work fifty times a second in each of its processes.
    """
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="robodyn_cluster_")))
    processes = stack.enter_context(ClusterProcesses(folder, settings=settings))
    for number in range(2):
        processes.start_worker(f"worker {number}")
    two = stack.enter_context(Cluster(processes.address))
    wait_for(lambda: len(two.refresh_workers()) == 2, "worker")
    return _OneWorker.from_client(two._client), two


def rows(work: tuple[tuple[int, float], ...] = WORK) -> Iterator[list[str]]:
    """Yield the rows of the table."""
    for samples, duration in work:
        yield _of_threads(samples, duration)
    for settings, label in (None, ""), (QUIET_DASK, ", with the settings"):
        with ExitStack() as stack:
            clusters = connected(stack, settings)
            for samples, duration in work:
                yield from _of_workers(*clusters, samples, duration, label)


def _work(samples: int, duration: float) -> tuple[LoopDescription, dict[str, Array]]:
    _, loop, scenario = prepared(duration)
    gains = loop.packed() * np.random.default_rng(0).uniform(0.8, 1.2, (samples, loop.packed().size))
    return LoopDescription.from_loop(loop, scenario), {PARAMETERS: gains}


def _row(samples: int, duration: float, name: str, ours: Callable[[], object], peer: Callable[[], object],
         aim: float) -> list[str]:
    result = compare(ours, peer, REPETITIONS)
    return [f"{samples:,} of {duration:g} s: {name}", *time_cells(result, 1.0, 2), *ratio_cells(result, aim)]


def _of_threads(samples: int, duration: float) -> list[str]:
    """The row of one amount of work on this machine alone."""
    here = partial(all_scores, *_work(samples, duration))
    return _row(samples, duration, "two threads without a cluster, and one", partial(here, threads=2), here,
                0.5 / EFFICIENCY)


def _of_workers(one: Cluster, two: Cluster, samples: int, duration: float, label: str) -> Iterator[list[str]]:
    """Yield the rows of one amount of work, on one worker and on two."""
    description, arrays = _work(samples, duration)
    here = partial(all_scores, description, arrays)
    blocks: list[Block] = []

    def there(cluster: Cluster) -> None:
        blocks[:] = map_blocks(description, arrays, client=cluster)

    expected = here()
    for cluster in (one, two):
        there(cluster)  # until each worker has compiled
        np.testing.assert_array_equal(joined(block.score for block in blocks), expected)
    yield _row(samples, duration, f"two workers of one thread, and one{label}", partial(there, two),
               partial(there, one), 0.5 / EFFICIENCY)
    yield _row(samples, duration, f"one worker, and one thread without a cluster{label}", partial(there, one), here,
               1.0 / (1.0 - MAX_OVERHEAD))


CLUSTER = Section(
    "Studies on a cluster",
    "Seconds for rollouts of arm7 under computed torque at 1 kHz, each with other gains, on workers that have compiled "
    "before; scheduler, both workers and client on this machine, which must have two free cores. \"Without a "
    "cluster\": in this process. \"With the settings\": those of docs/cluster.md that leave the processors to the "
    "work. Scores are compared to the bit before. docs/cluster.md says how far this scales.",
    ("rollouts: ours, and the peer", "ours [s]", "peer [s]", *RATIO_HEAD),
    rows,
)
