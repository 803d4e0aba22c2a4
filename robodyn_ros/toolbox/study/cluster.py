# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""An existing cluster of Dask distributed, whose workers compute samples, block by block.

Workers, scheduler and network may fail at any time. A block of samples belongs to its place among the samples, not to
the task that computes it: a lost block is handed out again, and of two equal ones the first counts.
"""

from __future__ import annotations

import logging
import pickle
import time
import uuid
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from queue import Empty, SimpleQueue
from typing import Any

from robodyn_ros.base.errors import ClusterError, RobodynError
from robodyn_ros.description.model import Array
from robodyn_ros.simulation.rollout import ClosedLoop
from robodyn_ros.simulation.scenario import Scenario
from robodyn_ros.simulation.score import Score, joined
from robodyn_ros.toolbox.study.block import Block, BlockSize, compute_block, rows, sample_count
from robodyn_ros.toolbox.study.cluster_connection import TASKS_PER_THREAD, ClusterConnection, one_line, site
from robodyn_ros.toolbox.study.loop_description import LoopDescription

_CHECK_INTERVAL = 0.5  # time between two checks of scheduler and workers [s]
_RESULT_TIME = 5.0  # longest wait for the result of a finished task [s]
_MAX_WORKER_DEATHS = 5  # a block is given up after so many workers ended with it
_SLOW_FACTOR = 3.0  # a block is submitted once more after so many times its usual time
_MIN_SLOW_TIME = 10.0  # but not before this time, in which the worker may compile [s]

_logger = logging.getLogger(__name__)


@dataclass
class _Task:
    """A submitted block."""

    begin: int  # number of its first sample
    end: int  # number of its last sample, plus 1
    worker: str  # address of the worker
    since: float  # time of submission by the steady clock [s]


class ClusterRun:
    """The computation of samples on the workers of a cluster.

    Args:
        cluster: The connection.
        description: The closed loop.
        arrays: A row for each sample.
        gaps: Begin and end of the samples to compute, in their order.
        size: Chooses the size of each next block.
    """

    def __init__(self, cluster: ClusterConnection, description: LoopDescription, arrays: Mapping[str, Array],
                 gaps: Iterable[tuple[int, int]], size: BlockSize) -> None:
        self._cluster, self._arrays, self._size = cluster, arrays, size
        self._name = uuid.uuid4().hex
        self._pickled = pickle.dumps(description, 5)
        self._descriptions: dict[str, Any] = {}  # by worker
        self._uncut = deque(gaps)
        self._again: deque[tuple[int, int]] = deque()
        self._order: deque[tuple[int, int]] = deque()  # blocks that are cut and not yet yielded
        self._tasks: dict[Any, _Task] = {}
        self._ready: dict[int, Block] = {}
        self._ended: SimpleQueue[Any] = SimpleQueue()
        self._deaths: Counter[int] = Counter()
        self._next_look = 0.0

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks in the order of the samples.

        Raises:
            ClusterError: No scheduler or no worker came back in time, or samples end their workers again and again.
            RobodynError: As for `LoopDescription.scores`. Before any error, all blocks that are computed are yielded.
        """
        try:
            while self._order or self._uncut:
                self._look()
                self._hand_out()
                self._collect()
                while self._order and self._order[0][0] in self._ready:
                    yield self._ready.pop(self._order.popleft()[0])
        except (Exception, KeyboardInterrupt):
            yield from (self._ready[begin] for begin, _ in self._order if begin in self._ready)
            raise
        finally:
            self._cancel(list(self._tasks))

    def _look(self) -> None:
        """From time to time, check the connection, the workers, and lost or slow tasks."""
        if self._cluster.running and time.monotonic() < self._next_look:
            return
        while True:
            try:
                if self._cluster.running:
                    self._cluster.refresh_workers()
                    self._drop_lost()
                    self._cluster.wait_for_worker()
                    break
            except OSError:  # the connection was lost meanwhile
                time.sleep(0.05)
            if not self._cluster.running:
                self._cluster.reconnect()
                self._drop_lost()
        self._size.workers = self._cluster.threads
        self._hand_out_slow()
        self._next_look = time.monotonic() + _CHECK_INTERVAL

    def _hand_out(self) -> None:
        """Submit blocks to workers with free places."""
        loads = Counter(task.worker for task in self._tasks.values())
        while (self._again or self._uncut) and (worker := self._cluster.free_worker(loads)) is not None:
            begin, end = self._again.popleft() if self._again else self._cut()
            self._submit(worker, begin, end)
            loads[worker] += 1

    def _cut(self) -> tuple[int, int]:
        """Cut the next block."""
        begin, end = self._uncut.popleft()
        until = begin + min(end - begin, self._size.next(end - begin + sum(b - a for a, b in self._uncut)))
        if until < end:
            self._uncut.appendleft((until, end))
        self._order.append((begin, until))
        return begin, until

    def _submit(self, worker: str, begin: int, end: int) -> None:
        if worker not in self._descriptions or self._descriptions[worker].status not in ("pending", "finished"):
            self._descriptions[worker] = self._cluster.submit(worker, pickle.loads, self._pickled)
        future = self._cluster.submit(worker, _compute, self._descriptions[worker], begin,
                                      rows(self._arrays, begin, end), site().version, self._name)
        self._tasks[future] = _Task(begin, end, worker, time.monotonic())
        future.add_done_callback(self._ended.put)

    def _collect(self) -> None:
        """Wait for the next finished task, and take its block."""
        try:
            future = self._ended.get(timeout=_CHECK_INTERVAL)
        except Empty:
            return
        task = self._tasks.pop(future, None)
        if task is None:  # it was given up
            return
        block = self._block(future, task)
        if block is None:
            self._lost(task)
        else:
            self._ready[task.begin] = block
            self._size.measured(block)
            self._cancel([other for other, twin in self._tasks.items() if twin.begin == task.begin])

    def _block(self, future: Any, task: _Task) -> Block | None:
        """The block of a finished task; None: it is lost."""
        if future.status == "error":
            error = future.exception()
            if isinstance(error, RobodynError):
                raise error
            if self._cluster.ask_again(task.worker):
                raise ClusterError(f"cluster {self._cluster.address}: {task.worker} failed to compute samples "
                                   f"{task.begin} to {task.end - 1}: {one_line(error)}")
            return None
        deadline = time.monotonic() + _RESULT_TIME
        while future.status == "finished" and time.monotonic() < deadline:
            try:
                return future.result(timeout=_CHECK_INTERVAL)  # type: ignore[no-any-return]
            except Exception as error:  # of Dask: it takes long, or is lost with its worker or the scheduler
                _logger.info("cluster %s: no result of samples %d to %d yet: %s", self._cluster.address, task.begin,
                             task.end - 1, one_line(error))
            with suppress(OSError):
                self._cluster.refresh_workers()
            if task.worker not in self._cluster.sites:
                break
        return None

    def _lost(self, task: _Task) -> None:
        """Submit a block again, unless another worker has it, too."""
        if all(other.begin != task.begin for other in self._tasks.values()):
            self._again.append((task.begin, task.end))

    def _drop_lost(self) -> None:
        """Drop the tasks of workers that disappeared."""
        gone = [future for future, task in self._tasks.items() if task.worker not in self._cluster.sites]
        for task in self._cancel(gone):
            self._deaths[task.begin] += 1
            if self._deaths[task.begin] >= _MAX_WORKER_DEATHS:
                raise ClusterError(f"cluster {self._cluster.address}: {_MAX_WORKER_DEATHS} workers ended while they "
                                   f"had samples {task.begin} to {task.end - 1}")
            self._lost(task)
        self._descriptions = {worker: future for worker, future in self._descriptions.items()
                              if worker in self._cluster.sites}

    def _hand_out_slow(self) -> None:
        """Near the end, submit blocks that take far longer than usual to a second worker."""
        if self._uncut or self._again or not self._size.usual:
            return
        loads = Counter(task.worker for task in self._tasks.values())
        copies = Counter(task.begin for task in self._tasks.values())
        for task in list(self._tasks.values()):
            longest = max(_SLOW_FACTOR * TASKS_PER_THREAD * self._size.usual * (task.end - task.begin), _MIN_SLOW_TIME)
            if copies[task.begin] == 1 and time.monotonic() - task.since > longest:
                worker = self._cluster.free_worker(loads, without=task.worker)
                if worker is not None:
                    self._submit(worker, task.begin, task.end)
                    loads[worker] += 1

    def _cancel(self, futures: list[Any]) -> list[_Task]:
        """Cancel tasks."""
        tasks = [self._tasks.pop(future) for future in futures]
        with suppress(Exception):  # of Dask: there may be no connection
            for future in futures:
                future.cancel()
        return tasks


class _OtherVersionError(Exception):
    """This worker has other versions than the process that submitted the task."""


def _compute(description: LoopDescription, begin: int, arrays: Mapping[str, Array], expected: str,
             run: str) -> Block:
    """Compute a block on a worker."""
    from distributed import get_worker

    if site().version != expected:
        raise _OtherVersionError
    return compute_block(description, begin, arrays, run=run)._replace(worker=get_worker().address)


class Cluster(ClusterConnection):
    """A connection to a Dask scheduler that computes samples on its workers; arguments as in `ClusterConnection`."""

    @cached_property
    def _sizes(self) -> dict[str, BlockSize]:
        """Block sizes of each loop, by its digest."""
        return {}

    def blocks(self, description: LoopDescription, arrays: Mapping[str, Array],
               gaps: Iterable[tuple[int, int]]) -> Iterator[Block]:
        """Compute samples on the workers, and yield the blocks in the order of the samples.

        Args:
            description: The closed loop.
            arrays: A row for each sample.
            gaps: Begin and end of the samples to compute, in their order.

        Raises:
            ClusterError: No scheduler or no worker came back in time, or samples end their workers again and again.
            RobodynError: As for `LoopDescription.scores`. Before any error, all blocks that are computed are yielded.
        """
        size = self._sizes.setdefault(description.digest, BlockSize())
        return ClusterRun(self, description, arrays, gaps, size).blocks()

    def scores(self, loop: ClosedLoop, scenario: Scenario, arrays: Mapping[str, Array]) -> Score:
        """Compute samples of a closed loop on the workers, for ``client=`` of `ClosedLoop.scores`.

        Args:
            loop: The loop.
            scenario: The task of all samples.
            arrays: A row for each sample, see `LoopDescription.scores`.

        Raises:
            InputError: Workers cannot recreate the loop, see `LoopDescription.from_loop`; or the arrays do not fit.
            PluginError: The controller fails.
            ClusterError: As for `blocks`.
        """
        blocks = self.blocks(LoopDescription.from_loop(loop, scenario), arrays, [(0, sample_count(arrays))])
        return joined(block.score for block in blocks)
