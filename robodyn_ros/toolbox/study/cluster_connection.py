# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A connection to a Dask scheduler, and its workers with the versions of this process, which take part."""

from __future__ import annotations

import asyncio
import functools
import logging
import platform
import time
import uuid
import warnings
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, Self

import llvmlite
import numpy as np

from robodyn_ros import __version__
from robodyn_ros.base.code_cache import digest
from robodyn_ros.base.errors import ClusterError, printable
from robodyn_ros.base.optional_packages import missing_message
from robodyn_ros.compile.machine import host

ANSWER_TIME = 10.0
"""Longest wait for the scheduler and for the first worker at the start [s]."""
PATIENCE = 120.0
"""Longest wait for a scheduler or a worker to come back [s]."""
TASKS_PER_THREAD = 2
"""Tasks of a worker for each of its threads, so that it never waits for this process."""

_logger = logging.getLogger(__name__)


class Site(NamedTuple):
    """Versions, processor and machine of a process that computes samples."""

    version: str  # versions of this package, with a digest of its sources, and of the libraries that decide the bits
    processor: str  # LLVM's name of the processor
    machine: str  # name of the computer


@functools.cache
def site() -> Site:
    """Describe this process."""
    folder = Path(__file__).parents[2]
    files = sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*.py"))
    sources = digest(*(part for name in files for part in (name, (folder / name).read_bytes())))
    version = (f"robodyn_ros {__version__} (sources {sources[:8]}), llvmlite {llvmlite.__version__}, "
               f"NumPy {np.__version__}")
    return Site(version, host().cpu, platform.node())


class ClusterConnection:
    """A connection to a Dask scheduler; a context manager.

    Workers with other versions than this process are left out, with a warning that names both.

    Args:
        address: Address of the scheduler: ``tcp://HOST:PORT``, or ``tls://HOST:PORT`` with the certificates of Dask's
            settings.
        patience: Longest wait for a scheduler or a worker to come back [s].

    Attributes:
        address: Address of the scheduler.
        sites: The workers that take part, by address.

    Raises:
        ClusterError: Dask distributed is not installed, no scheduler answers, or no worker has these versions.
    """

    sites: dict[str, Site]
    _answered: set[str]  # workers that answered, including refused ones
    _threads: dict[str, int]  # of all workers
    _refusals: dict[str, str]
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
        """Use an open connection, a ``distributed.Client``, and leave it open afterwards.

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
        """Close the connection; scheduler and workers keep running."""
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

    def refresh_workers(self) -> Mapping[str, Site]:
        """List the workers, ask new ones for their versions, and return those that take part."""
        self._threads = {name: int(worker["nthreads"])
                         for name, worker in self._client.scheduler_info()["workers"].items()}
        for gone in self._answered - self._threads.keys():
            self._answered.discard(gone)
            self.sites.pop(gone, None)
        if new := self._threads.keys() - self._answered:
            self._ask(sorted(new))
        return self.sites

    def ask_again(self, worker: str) -> bool:
        """Ask a worker for its versions once more; return whether it takes part."""
        self._answered.discard(worker)
        self.sites.pop(worker, None)
        self.refresh_workers()
        return worker in self.sites

    def submit(self, worker: str, function: Any, *arguments: Any) -> Any:
        """Submit a task to a worker; return Dask's future."""
        with warnings.catch_warnings():  # about tasks above 10 MB, as blocks of many samples are
            warnings.simplefilter("ignore", UserWarning)
            return self._client.submit(function, *arguments, key=f"robodyn-{uuid.uuid4()}", pure=False,
                                       workers=[worker])

    def free_worker(self, loads: Mapping[str, int], without: str = "") -> str | None:
        """The worker with the fewest tasks per thread, except ``without``; None: all have `TASKS_PER_THREAD` tasks."""
        free = {worker: loads.get(worker, 0) / self._threads[worker] for worker in self.sites if worker != without}
        best = min(free, key=lambda worker: free[worker], default=None)
        return best if best is not None and free[best] < TASKS_PER_THREAD else None

    @property
    def running(self) -> bool:
        """Whether there is a connection."""
        return self._client.status == "running"

    def reconnect(self) -> None:
        """Wait for the scheduler to come back.

        Raises:
            ClusterError: It took too long.
        """
        _logger.warning("cluster %s: no connection to the scheduler; waiting for up to %g s", self.address,
                        self._patience)
        deadline = time.monotonic() + self._patience
        while not self.running:  # Dask's client retries for a while, and then closes
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
        """Wait for a worker that can take part.

        Raises:
            ClusterError: It took too long.
        """
        deadline = time.monotonic() + self._patience
        while not self.sites and self.running:
            if time.monotonic() > deadline:
                raise ClusterError(f"cluster {self.address}: no worker came back within {self._patience:g} s")
            time.sleep(0.1)
            self.refresh_workers()

    def _begin(self, address: str, patience: float) -> None:
        self.address, self._patience = address, patience
        self.sites, self._threads, self._refusals = {}, {}, {}
        self._answered = set()
        self._client = self._borrowed = None

    def _connected(self, seconds: float) -> Any:
        try:
            from distributed import Client
        except ImportError as error:
            raise ClusterError(missing_message("distributed", error)) from error
        try:
            # Dask's client waits for ever for some foreign servers, and mistakes a worker for a scheduler.
            with ThreadPoolExecutor(1) as thread:  # this thread may have an event loop
                kind = thread.submit(asyncio.run, _kind_of_server(self.address, seconds)).result()
            if kind != "Scheduler":
                raise ConnectionError(f"a {kind} is there")
            return Client(self.address, timeout=seconds, set_as_default=False)
        except Exception as error:  # Dask raises many kinds for wrong addresses and foreign servers
            raise ClusterError(f"cluster {self.address}: expected the address of a Dask scheduler, tcp://HOST:PORT; "
                               f"none answers there within {seconds:g} s ({one_line(error)})") from error

    def _welcome_first(self) -> None:
        deadline = time.monotonic() + ANSWER_TIME
        self.refresh_workers()
        while not self._answered and time.monotonic() < deadline:
            time.sleep(0.1)
            self.refresh_workers()
        if not self.sites:
            why = "; ".join(self._refusals.values()) or (f"the scheduler has none within {ANSWER_TIME:g} s: start one "
                                                         f"with 'dask worker {self.address}'")
            raise ClusterError(f"cluster {self.address}: no worker can take part: {why}")

    def _ask(self, new: list[str]) -> None:
        """Ask workers for their versions; those that do not answer in time are asked again next time."""
        for worker, answer in self._answers(site, new).items():
            self._answered.add(worker)
            if isinstance(answer, Site) and answer.version == site().version:
                self.sites[worker] = answer
                continue
            if isinstance(answer, Site):
                found = answer.version
            else:  # the package is too old for the question, or missing
                other = self._answers(version, [worker], "robodyn_ros").get(worker)
                found = f"robodyn_ros {other}" if isinstance(other, str) else "no robodyn_ros"
                found += f" ({one_line(answer)})"
            self._refusals[worker] = f"{worker} has {found}, here is {site().version}"
            _logger.warning("cluster %s: a worker is left out: %s", self.address, self._refusals[worker])

    def _answers(self, function: Any, workers: list[str], *arguments: Any) -> dict[str, Any]:
        try:
            answers: dict[str, Any] = self._client.run(function, *arguments, workers=workers, on_error="return",
                                                       callback_timeout=ANSWER_TIME)  # an option of Client.sync
        except (TimeoutError, OSError):
            return {}
        return answers


async def _kind_of_server(address: str, seconds: float) -> str:
    from distributed import Security, rpc

    async def ask() -> str:
        async with rpc(address, connection_args=Security().get_connection_args("client")) as server:
            return str((await server.identity())["type"])

    return await asyncio.wait_for(ask(), seconds)


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def one_line(error: object) -> str:
    """Type and text of an error, for a message."""
    return printable(": ".join([type(error).__name__, *filter(None, [" ".join(str(error).split())])]), 300)
