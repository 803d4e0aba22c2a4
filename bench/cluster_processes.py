# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A scheduler and workers of Dask distributed, as processes of a test's or a benchmark's own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Self

ROOT = Path(__file__).parents[1]
DEADLINE = 120.0
"""Longest wait for a process [s]."""


def free_port() -> int:
    """A port that nothing listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(condition: Callable[[], object], what: str) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + DEADLINE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"no {what} within {DEADLINE:g} s")
        time.sleep(0.02)


class ClusterProcesses:
    """A context manager with a scheduler, and workers of one thread.

    Args:
        folder: For what the processes print, and for the compiled code of each worker.
        host: Address of this machine.
        settings: Environment variables of all processes, such as Dask's settings.
    """

    def __init__(self, folder: Path, host: str = "127.0.0.1", settings: Mapping[str, str] | None = None) -> None:
        self._folder, self._host, self._settings = folder, host, settings or {}
        self._stack = ExitStack()
        self.address = f"tcp://{host}:{free_port()}"
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        self.start_scheduler()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def start_scheduler(self) -> None:
        """Start a scheduler at the address."""
        host, port = self.address.removeprefix("tcp://").split(":")
        self.scheduler = self._start("scheduler", ["-m", "distributed.cli.dask_scheduler", "--host", host, "--port",
                                                   port, "--no-dashboard"], {}, ROOT)
        wait_for(lambda: "Scheduler at:" in self.output("scheduler"), "scheduler")

    def start_worker(self, name: str, sources: Path = ROOT, launch: Sequence[str] = (), host: str = "") -> None:
        """Start a worker; does not wait for it.

        Args:
            name: Name of the worker.
            sources: Folder with the package.
            launch: Arguments of Python that run Python with given arguments where the worker shall be.
            host: Address there.
        """
        self.workers[name] = self._start(name, [
            *launch, "-m", "distributed.cli.dask_worker", self.address, "--nthreads", "1", "--no-nanny", "--name", name,
            "--no-dashboard", "--host", host or self._host, "--local-directory", str(self._folder)],
            {"ROBODYN_CACHE_DIR": str(self._folder / f"code of {name}")}, sources)

    def kill(self, name: str) -> None:
        """Kill a worker, or the scheduler."""
        process = self.scheduler if name == "scheduler" else self.workers[name]
        assert process is not None
        process.send_signal(signal.SIGKILL)
        process.wait()

    def output(self, name: str) -> str:
        """What a process has printed."""
        return (self._folder / f"{name}.log").read_text()

    def code(self, name: str) -> int:
        """Number of entries in a worker's cache of compiled code."""
        return len(list((self._folder / f"code of {name}").glob("*.code")))

    def _start(self, name: str, command: list[str], environment: Mapping[str, str],
               folder: Path) -> subprocess.Popen[bytes]:
        with (self._folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen([sys.executable, *command], stdout=log, stderr=log, cwd=folder,
                                       env={**os.environ, **self._settings, **environment})
        self._stack.callback(_end, process)
        return process


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGCONT)
    process.kill()
    process.wait()
