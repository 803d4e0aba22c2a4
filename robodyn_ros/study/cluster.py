# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""An existing cluster of Dask distributed: who takes part, and the samples that its workers compute.

Workers, scheduler and network may fail at any time. A block of samples belongs to its place among the samples, and not
to the task that computes it: a lost one is handed out again, and of two equal ones the first counts.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
import time
import uuid
import warnings
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from queue import Empty, SimpleQueue
from typing import Any, Self

from robodyn_ros.description.model import Array
from robodyn_ros.errors import ClusterError, RobodynError, printable
from robodyn_ros.study.block import Block, BlockSize, compute_block, rows
from robodyn_ros.study.loop_description import LoopDescription
from robodyn_ros.study.site import Site, site

ANSWER_TIME = 10.0
"""Longest wait for the scheduler and for the first worker at the start [s]."""
PATIENCE = 120.0
"""Longest wait for a scheduler or a worker that comes back [s]."""
_LOOK = 0.5  # time between two looks at scheduler and workers [s]
_RESULT_TIME = 5.0  # longest wait for a result that a worker has [s]
_QUEUED = 2  # tasks that a worker has for each thread, so that none waits for this process
_DEATHS = 5  # workers that may end while they have a block, before it is given up
_SLOW = 3.0  # a block is handed out once more after so many times its usual time
_COMPILE_TIME = 10.0  # that is never asked for sooner, as the worker may compile meanwhile [s]

_logger = logging.getLogger(__name__)


class Cluster:
    """A connection to a Dask scheduler; a context manager.

    Workers with other versions than this process are left out, with a warning that names both.

    Args:
        address: Of the scheduler: ``tcp://HOST:PORT``, or ``tls://HOST:PORT`` with the certificates of Dask's settings.
        patience: Longest wait for a scheduler or a worker that comes back [s].

    Attributes:
        address: Of the scheduler.
        sites: The workers that take part, by address.

    Raises:
        ClusterError: Dask distributed is not installed, no scheduler answers, or it has no worker with these versions.
    """

    sites: dict[str, Site]
    _answered: set[str]  # workers that were asked, refused ones among them
    _threads: dict[str, int]  # of all workers
    _refusals: dict[str, str]
    _sizes: dict[str, BlockSize]  # by the digest of the loop
    _client: Any
    _borrowed: Any

    def __init__(self, address: str, patience: float = PATIENCE) -> None:
        if not address:
            raise ClusterError("cluster: expected the address of a Dask scheduler, tcp://HOST:PORT, received none")
        self._begin(address, patience)
        self._client = self._connected(ANSWER_TIME)
        try:
            self._welcome_first()
        except BaseException:
            self.close()
            raise

    @classmethod
    def from_client(cls, client: Any, patience: float = PATIENCE) -> Self:
        """Use a connection that is open: a ``distributed.Client``, which stays open afterwards.

        Args:
            client: The connection.
            patience: As in the class.

        Raises:
            ClusterError: As in the class.
        """
        made = cls.__new__(cls)
        made._begin(client.scheduler.address, patience)
        made._client, made._borrowed = client, client
        made._welcome_first()
        return made

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connection; scheduler and workers stay."""
        if self._client is not self._borrowed:
            self._client.close(timeout=2.0)

    @property
    def threads(self) -> int:
        """Number of threads of the workers that take part."""
        return sum(self._threads[worker] for worker in self.sites)

    def __str__(self) -> str:
        counts = Counter(each.processor for each in self.sites.values())
        return f"{self.address}: {_plural(self.threads, 'thread')} of " + ", ".join(
            f"{_plural(count, 'worker')} on {name}" for name, count in counts.items())

    def blocks(self, description: LoopDescription, arrays: Mapping[str, Array],
               gaps: Iterable[tuple[int, int]]) -> Iterator[Block]:
        """Compute samples on the workers, and yield their blocks in the order of the samples.

        Args:
            description: The closed loop.
            arrays: A row for each sample.
            gaps: Begin and end of the samples to compute, in their order.

        Raises:
            ClusterError: No scheduler or no worker came back in time, or samples end their workers again and again.
            RobodynError: As for `LoopDescription.scores`. Before any error, all blocks that are computed are yielded.
        """
        size = self._sizes.setdefault(description.digest, BlockSize())
        return _Run(self, description, arrays, gaps, size).blocks()

    def look(self) -> Mapping[str, Site]:
        """Learn which workers there are, ask new ones for their versions, and return those that take part."""
        self._threads = {name: int(worker["nthreads"])
                         for name, worker in self._client.scheduler_info()["workers"].items()}
        for gone in self._answered - self._threads.keys():
            self._answered.discard(gone)
            self.sites.pop(gone, None)
        if new := self._threads.keys() - self._answered:
            self._ask(sorted(new))
        return self.sites

    def ask_again(self, worker: str) -> bool:
        """Ask a worker for its versions once more; returns whether it takes part."""
        self._answered.discard(worker)
        self.sites.pop(worker, None)
        self.look()
        return worker in self.sites

    def submit(self, worker: str, function: Any, *arguments: Any) -> Any:
        """Hand a task to a worker; returns Dask's future."""
        with warnings.catch_warnings():  # of tasks of more than 10 MB, which blocks of many samples are
            warnings.simplefilter("ignore", UserWarning)
            return self._client.submit(function, *arguments, key=f"robodyn-{uuid.uuid4()}", pure=False,
                                       workers=[worker])

    def free_worker(self, loads: Mapping[str, int], without: str = "") -> str | None:
        """The worker with the fewest tasks for each thread, but for one; None: each has `_QUEUED` of them."""
        free = {worker: loads.get(worker, 0) / self._threads[worker] for worker in self.sites if worker != without}
        best = min(free, key=lambda worker: free[worker], default=None)
        return best if best is not None and free[best] < _QUEUED else None

    @property
    def running(self) -> bool:
        """Whether there is a connection."""
        return self._client.status == "running"

    def reconnect(self) -> None:
        """Wait until a scheduler is there again.

        Raises:
            ClusterError: It took too long.
        """
        _logger.warning("cluster %s: no connection to the scheduler; waiting for up to %g s", self.address,
                        self._patience)
        deadline = time.monotonic() + self._patience
        while not self.running:  # Dask's client tries by itself for a while, and then closes
            left = deadline - time.monotonic()
            if left <= 0.0:
                raise ClusterError(f"cluster {self.address}: no scheduler came back within {self._patience:g} s")
            if self._client.status == "closed":
                try:
                    self._client = self._connected(min(left, ANSWER_TIME))
                except ClusterError:
                    time.sleep(0.2)
            else:
                time.sleep(0.05)
        self.sites, self._answered = {}, set()

    def wait_for_worker(self) -> None:
        """Wait until there is a worker that can take part.

        Raises:
            ClusterError: It took too long.
        """
        deadline = time.monotonic() + self._patience
        while not self.sites and self.running:
            if time.monotonic() > deadline:
                raise ClusterError(f"cluster {self.address}: no worker came back within {self._patience:g} s")
            time.sleep(0.1)
            self.look()

    def _begin(self, address: str, patience: float) -> None:
        self.address, self._patience = address, patience
        self.sites, self._threads, self._refusals, self._sizes = {}, {}, {}, {}
        self._answered = set()
        self._client = self._borrowed = None

    def _connected(self, seconds: float) -> Any:
        try:
            from distributed import Client
        except ImportError as error:
            raise ClusterError("cluster: Dask distributed is not installed here: pip install "
                               "'robodyn_ros[cluster]'") from error
        try:
            # Dask's client waits for ever for some servers that are not Dask's, and takes a worker for a scheduler.
            with ThreadPoolExecutor(1) as thread:  # this one may have an event loop
                kind = thread.submit(asyncio.run, _kind_of_server(self.address, seconds)).result()
            if kind != "Scheduler":
                raise ConnectionError(f"a {kind} is there")
            return Client(self.address, timeout=seconds, set_as_default=False)
        except Exception as error:  # whatever Dask makes of a wrong address, or of another server at it
            raise ClusterError(f"cluster {self.address}: expected the address of a Dask scheduler, tcp://HOST:PORT; "
                               f"none answers there within {seconds:g} s ({_one_line(error)})") from error

    def _welcome_first(self) -> None:
        deadline = time.monotonic() + ANSWER_TIME
        self.look()
        while not self._answered and time.monotonic() < deadline:
            time.sleep(0.1)
            self.look()
        if not self.sites:
            why = "; ".join(self._refusals.values()) or (f"the scheduler has none within {ANSWER_TIME:g} s: start one "
                                                         f"with 'dask worker {self.address}'")
            raise ClusterError(f"cluster {self.address}: no worker can take part: {why}")

    def _ask(self, new: list[str]) -> None:
        """Ask workers for their versions; those that do not answer in time are asked again at the next look."""
        for worker, answer in self._answers(site, new).items():
            self._answered.add(worker)
            if isinstance(answer, Site) and answer.version == site().version:
                self.sites[worker] = answer
                continue
            if isinstance(answer, Site):
                found = answer.version
            else:  # the package is too old for the question, or not there
                other = self._answers(version, [worker], "robodyn_ros").get(worker)
                found = f"robodyn_ros {other}" if isinstance(other, str) else "no robodyn_ros"
                found += f" ({_one_line(answer)})"
            self._refusals[worker] = f"{worker} has {found}, here is {site().version}"
            _logger.warning("cluster %s: a worker is left out: %s", self.address, self._refusals[worker])

    def _answers(self, function: Any, workers: list[str], *arguments: Any) -> dict[str, Any]:
        try:
            answers: dict[str, Any] = self._client.sync(
                self._client._run, function, *arguments, workers=workers, on_error="return",
                callback_timeout=ANSWER_TIME)
        except (TimeoutError, OSError):
            return {}
        return answers


@dataclass
class _Task:
    """A block that is handed out.

    Attributes:
        begin: Number of its first sample.
        end: Number of the last one, plus 1.
        worker: Address of the worker.
        since: When it was handed out, by the steady clock [s].
    """

    begin: int
    end: int
    worker: str
    since: float


class _Run:
    """The samples of one call of `Cluster.blocks`."""

    def __init__(self, cluster: Cluster, description: LoopDescription, arrays: Mapping[str, Array],
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
        """Yield the blocks in the order of the samples."""
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
        """From time to time: find the connection, the workers, and what is lost or slow."""
        if self._cluster.running and time.monotonic() < self._next_look:
            return
        while True:
            try:
                if self._cluster.running:
                    self._cluster.look()
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
        self._next_look = time.monotonic() + _LOOK

    def _hand_out(self) -> None:
        """Give work to the workers that have room for it."""
        loads = Counter(task.worker for task in self._tasks.values())
        while (self._again or self._uncut) and (worker := self._cluster.free_worker(loads)) is not None:
            begin, end = self._again.popleft() if self._again else self._cut()
            self._submit(worker, begin, end)
            loads[worker] += 1

    def _cut(self) -> tuple[int, int]:
        """The next block."""
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
        """Wait for the next task that ends, and take its block."""
        try:
            future = self._ended.get(timeout=_LOOK)
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
        """The block of a task that ended; None: it is lost."""
        if future.status == "error":
            error = future.exception()
            if isinstance(error, RobodynError):
                raise error
            if self._cluster.ask_again(task.worker):
                raise ClusterError(f"cluster {self._cluster.address}: {task.worker} failed to compute samples "
                                   f"{task.begin} to {task.end - 1}: {_one_line(error)}")
            return None
        deadline = time.monotonic() + _RESULT_TIME
        while future.status == "finished" and time.monotonic() < deadline:
            try:
                return future.result(timeout=_LOOK)  # type: ignore[no-any-return]
            except Exception as error:  # of Dask: it takes long, or is lost with its worker or the scheduler
                _logger.info("cluster %s: no result of samples %d to %d yet: %s", self._cluster.address, task.begin,
                             task.end - 1, _one_line(error))
            with suppress(OSError):
                self._cluster.look()
            if task.worker not in self._cluster.sites:
                break
        return None

    def _lost(self, task: _Task) -> None:
        """Hand out a block again, unless another worker has it, too."""
        if all(other.begin != task.begin for other in self._tasks.values()):
            self._again.append((task.begin, task.end))

    def _drop_lost(self) -> None:
        """Give up the tasks of workers that are gone."""
        gone = [future for future, task in self._tasks.items() if task.worker not in self._cluster.sites]
        for task in self._cancel(gone):
            self._deaths[task.begin] += 1
            if self._deaths[task.begin] >= _DEATHS:
                raise ClusterError(f"cluster {self._cluster.address}: {_DEATHS} workers ended while they had samples "
                                   f"{task.begin} to {task.end - 1}")
            self._lost(task)
        self._descriptions = {worker: future for worker, future in self._descriptions.items()
                              if worker in self._cluster.sites}

    def _hand_out_slow(self) -> None:
        """Near the end, give blocks that take far longer than usual to another worker, too."""
        if self._uncut or self._again or not self._size.usual:
            return
        loads = Counter(task.worker for task in self._tasks.values())
        copies = Counter(task.begin for task in self._tasks.values())
        for task in list(self._tasks.values()):
            longest = max(_SLOW * _QUEUED * self._size.usual * (task.end - task.begin), _COMPILE_TIME)
            if copies[task.begin] == 1 and time.monotonic() - task.since > longest:
                worker = self._cluster.free_worker(loads, without=task.worker)
                if worker is not None:
                    self._submit(worker, task.begin, task.end)
                    loads[worker] += 1

    def _cancel(self, futures: list[Any]) -> list[_Task]:
        """Take tasks back."""
        tasks = [self._tasks.pop(future) for future in futures]
        with suppress(Exception):  # of Dask: there may be no connection
            for future in futures:
                future.cancel()
        return tasks


async def _kind_of_server(address: str, seconds: float) -> str:
    from distributed import Security, rpc

    async def ask() -> str:
        async with rpc(address, connection_args=Security().get_connection_args("client")) as server:
            return str((await server.identity())["type"])

    return await asyncio.wait_for(ask(), seconds)


class _OtherVersionError(Exception):
    """This worker has other versions than the process that handed out the task."""


def _compute(description: LoopDescription, begin: int, arrays: Mapping[str, Array], expected: str,
             run: str) -> Block:
    """Compute a block on a worker."""
    from distributed import get_worker

    if site().version != expected:
        raise _OtherVersionError
    return compute_block(description, begin, arrays, run=run)._replace(worker=get_worker().address)


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _one_line(error: object) -> str:
    return printable(": ".join([type(error).__name__, *filter(None, [" ".join(str(error).split())])]), 300)
