# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Starts Python processes that end at the latest with this one, and ends them."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from subprocess import PIPE, STDOUT, Popen, TimeoutExpired
from typing import IO, Any, Self

from robodyn_ros.nodes.common.signals import PARENT


def start_python(arguments: Sequence[str], environment: Mapping[str, str] = os.environ, **options: Any) -> Popen[Any]:
    """Start Python in a process that ends with this one, even if this one is killed.

    Its standard input is a pipe that closes when this process ends; it must call `end_with_parent`, as every
    ``robodyn`` command does. It can import this package, but no modules from the working directory.

    Args:
        arguments: Arguments of Python.
        environment: Environment variables; by default those of this process.
        **options: Further arguments of ``subprocess.Popen``.
    """
    package = str(Path(__file__).parents[3])
    path = os.pathsep.join(filter(None, [package, *environment.get("PYTHONPATH", "").split(os.pathsep)]))
    return Popen([sys.executable, "-P", *arguments], stdin=PIPE,
                 env={**environment, "PYTHONPATH": path, PARENT: str(os.getpid())}, **options)


def end(process: Popen[Any], stop_seconds: float) -> int:
    """Interrupt a process as Ctrl-C does, kill it if it does not end in time, and return its exit code.

    Args:
        process: The process.
        stop_seconds: Longest wait for its end after SIGINT [s].
    """
    process.send_signal(signal.SIGINT)  # does nothing if it has ended
    try:
        return process.wait(stop_seconds)
    except TimeoutExpired:
        process.kill()
        return process.wait()
    finally:
        if process.stdin is not None:
            process.stdin.close()


class ChildProcess:
    """Python in a process of its own that writes its output to a file; a context manager that stops it.

    Args:
        arguments: Arguments of Python.
        stop_seconds: Longest wait for its end after SIGINT [s]; then it is killed.
    """

    def __init__(self, arguments: Sequence[str], stop_seconds: float) -> None:
        self._stop_seconds = stop_seconds
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        self._process = self._start([*arguments], dict(os.environ), self._log)

    def _start(self, arguments: list[str], environment: dict[str, str], output: IO[bytes]) -> Popen[bytes]:
        """Start Python with these arguments and environment variables; its output goes to a file."""
        return start_python(arguments, environment, stdout=output, stderr=STDOUT)

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """Exit code; None: the process is running."""
        return self._process.poll()

    def running(self) -> bool:
        """Whether the process is running."""
        return self.exit_code is None

    def output(self) -> str:
        """Return the output so far."""
        # The process shares the file position: a seek would make it overwrite its own text.
        log = self._log.fileno()
        return os.pread(log, os.fstat(log).st_size, 0).decode(errors="replace")

    def end(self) -> int:
        """Interrupt the process and return its exit code; kill it if it does not end in time."""
        return end(self._process, self._stop_seconds)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process; nothing happens if it has ended."""
        self._process.send_signal(number)

    def kill(self) -> None:
        """Kill the process; it does not clean up."""
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> Self:
        """Return the process itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the process."""
        self.end()
        self._log.close()
