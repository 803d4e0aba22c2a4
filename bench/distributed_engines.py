# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``python bench/distributed_engines.py dask|ray``: what an engine costs here, with two workers of one thread.

It needs the engine alone, each in an environment of its own; see docs/cluster.md.
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

TASKS, TRIPS = 2000, 200
MARK = "ROBODYN_ENGINE_FIGURES"
"""Environment variable by which the processes of an engine are found."""
BIN = Path(sys.executable).parent


class Dask:
    """Dask distributed: a scheduler, and workers that a nanny each starts again."""

    module = "distributed"

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, folder: str) -> None:
        """Start scheduler and workers, and wait until both workers are there."""
        import distributed

        def run(*arguments: str) -> None:
            process = subprocess.Popen([sys.executable, "-m", "distributed.cli." + arguments[0], *arguments[1:]],
                                       stderr=subprocess.DEVNULL, cwd=folder)
            self.processes.append(process)
            self._stack.callback(process.wait)
            self._stack.callback(process.terminate)

        run("dask_scheduler", "--host", "127.0.0.1", "--port", "28786", "--no-dashboard")
        for _ in range(2):
            run("dask_worker", "tcp://127.0.0.1:28786", "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1")
        self.client = self._stack.enter_context(distributed.Client("tcp://127.0.0.1:28786", timeout="30s"))
        self.client.wait_for_workers(2)

    def results(self, function: Callable[[Any], Any], values: Sequence[Any]) -> list[Any]:
        """Apply a function to values on the workers."""
        return list(self.client.gather(self.client.map(function, values, pure=False)))


class Ray:
    """Ray: a head and a second node, each with one worker."""

    module = "ray"

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack

    def start(self, folder: str) -> None:
        """Start both nodes, and wait until both are there."""
        import ray

        self._stack.callback(_quiet, str(BIN / "ray"), "stop", "--force")
        common = ("--num-cpus=1", "--disable-usage-stats", "--object-store-memory=100000000")
        _quiet(str(BIN / "ray"), "start", "--head", "--port=26379", "--node-ip-address=127.0.0.1",
               "--include-dashboard=false", f"--temp-dir={folder}", *common)
        _quiet(str(BIN / "ray"), "start", "--address=127.0.0.1:26379", "--node-ip-address=127.0.0.1", *common)
        ray.init(address="127.0.0.1:26379", log_to_driver=False, logging_level="ERROR")
        self._stack.callback(ray.shutdown)
        while len([node for node in ray.nodes() if node["Alive"]]) < 2:
            time.sleep(0.01)

    def results(self, function: Callable[[Any], Any], values: Sequence[Any]) -> list[Any]:
        """Apply a function to values on the workers."""
        import ray

        remote = ray.remote(function)
        return list(ray.get([remote.remote(value) for value in values]))


def measure(engine: type[Dask] | type[Ray]) -> Iterator[tuple[str, str]]:
    """Yield the name of each figure, and the figure with its unit."""
    imports = [_elapsed(lambda: _quiet(sys.executable, "-c", f"import {engine.module}")) for _ in range(5)]
    yield "import", f"{statistics.median(imports):.2f} s"
    with tempfile.TemporaryDirectory(prefix="engine_") as folder, ExitStack() as stack:
        cluster = engine(stack)
        yield "start of scheduler, two workers and client", f"{_elapsed(lambda: cluster.start(folder)):.1f} s"
        cluster.results(_same, range(8))
        pids = set(_processes())
        yield "processes", f"{len(pids)}"
        yield "their memory (PSS)", f"{sum(map(_memory, pids)):.0f} MB"
        trips = [_elapsed(lambda: cluster.results(_same, [0])) for _ in range(TRIPS)]
        yield "one task, there and back", f"{1e3 * statistics.median(trips):.1f} ms"
        rates = [_elapsed(lambda: cluster.results(_same, range(TASKS))) / TASKS for _ in range(3)]
        yield f"a task of {TASKS} at once", f"{1e3 * statistics.median(rates):.2f} ms"
        marks = Path(folder, "marks")
        marks.mkdir()
        with _killer(marks) as killed:
            took = _elapsed(lambda: killed.extend(cluster.results(_sleep, [(str(marks), each) for each in range(40)])))
        runs = sum(int(file.read_text().count("\n")) for file in marks.iterdir())
        yield ("40 tasks of 0.1 s, a worker killed after 0.5 s",
               f"{took:.1f} s (at best 2.0), results {'right' if killed == list(range(40)) else 'WRONG'}, "
               f"{runs - 40} tasks run again")


def _same(value: Any) -> Any:
    return value


def _sleep(task: tuple[str, int]) -> int:
    """Leave the process id in a folder, and return the number of the task after 0.1 s."""
    folder, number = task
    with open(f"{folder}/{number}", "a") as file:
        file.write(f"{os.getpid()}\n")
    time.sleep(0.1)
    return number


@contextmanager
def _killer(marks: Path) -> Iterator[list[int]]:
    """Kill the worker that began a task last, half a second from now."""
    script = ("import os, pathlib, sys, time; time.sleep(0.5); "
              "last = max(pathlib.Path(sys.argv[1]).iterdir(), key=lambda file: file.stat().st_mtime); "
              "os.kill(int(last.read_text().split()[-1]), 9)")
    process = subprocess.Popen([sys.executable, "-c", script, str(marks)])
    yield []
    if process.wait():
        raise RuntimeError("no worker was killed")


def _elapsed(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def _quiet(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _processes() -> list[int]:
    """Processes that inherited the mark of this one."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"{MARK}={os.getpid()}\0".encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            pass
    return found


def _memory(pid: int) -> float:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    return int(text.partition("Pss:")[2].split()[0]) / 1024.0


def main() -> int:
    """Print the figures of an engine."""
    engines: dict[str, type[Dask] | type[Ray]] = {"dask": Dask, "ray": Ray}
    if len(sys.argv) != 2 or sys.argv[1] not in engines:
        print(f"expected one of {', '.join(engines)}, received {' '.join(sys.argv[1:]) or 'nothing'}", file=sys.stderr)
        return 2
    os.environ[MARK] = str(os.getpid())  # of the processes started from here, not of this one
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    for name, value in measure(engines[sys.argv[1]]):
        print(f"{name}: {value}", flush=True)
    size = sum(file.stat().st_size for file in BIN.parent.rglob("*") if file.is_file())
    print(f"environment: {size / 2**20:.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
