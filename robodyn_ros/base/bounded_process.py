# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A process of its own that reads what strangers wrote, with bounded memory and time.

A file of a kilobyte can stand for gigabytes: zipped, by counts, or by repeated parts. Its reader is often code of
others, in C++, of which no argument bounds the memory, and which a crafted file can crash.
"""

from __future__ import annotations

import atexit
import math
import multiprocessing
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

Result = TypeVar("Result")

_ENVIRONMENT = {"MALLOC_ARENA_MAX": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
"""Otherwise address space is reserved that is never used, and counts."""


class BoundsError(Exception):
    """A call took more memory or time than it may, or crashed."""


class BoundedProcess:
    """Calls functions in a process of its own, which starts with the first call; `close` ends it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._connection.close()
            self._process.kill()
            self._process.wait()
            self._process = None

    def call(self, function: Callable[..., Result], *arguments: Any, memory: int, seconds: int,
             deadline: float = math.inf) -> Result:
        """Return what a function returns.

        Args:
            function: Of a module, by its name there.
            *arguments: Its arguments; they and the result can be pickled.
            memory: How much memory it may take [bytes].
            seconds: Processor time that it may take [s].
            deadline: When it has to be done (monotonic clock) [s].

        Raises:
            BoundsError: It took more, or crashed.
            Exception: As the function.
        """
        if self._process is None:
            self._start()
        try:
            self._connection.send((function, arguments, memory, seconds))
            if not self._connection.poll(None if deadline == math.inf else max(0.0, deadline - time.monotonic())):
                raise TimeoutError
            result = self._connection.recv()
        except (OSError, EOFError):  # TimeoutError is an OSError
            self.close()
            raise BoundsError from None
        if isinstance(result, MemoryError):
            raise BoundsError
        if isinstance(result, Exception):
            raise result
        return result  # type: ignore[no-any-return]

    def _start(self) -> None:
        self._connection, other = multiprocessing.Pipe()
        self._process = subprocess.Popen(  # in a session of its own: Ctrl-C is this process's to handle
            [sys.executable, "-P", "-m", __name__, str(other.fileno())], pass_fds=[other.fileno()],
            start_new_session=True, env={**os.environ, **_ENVIRONMENT})
        other.close()


_shared, _lock = BoundedProcess(), threading.Lock()
atexit.register(_shared.close)


def call_bounded(function: Callable[..., Result], *arguments: Any, memory: int, seconds: int) -> Result:
    """Return what a function returns, called in one process for all of this one's files; see `BoundedProcess.call`."""
    with _lock:
        return _shared.call(function, *arguments, memory=memory, seconds=seconds)


def _begin_anew() -> None:
    """After a fork, leave the process to the parent."""
    global _shared, _lock  # noqa: PLW0603 - one for each process
    _shared, _lock = BoundedProcess(), threading.Lock()


os.register_at_fork(after_in_child=_begin_anew)


def _limit(kind: int, value: int) -> None:
    """Limit a resource of this process, within the limit that a shell or a batch system has set."""
    most = resource.getrlimit(kind)[1]
    resource.setrlimit(kind, (value if most == resource.RLIM_INFINITY else min(value, most), most))


def _serve(connection: Connection) -> None:
    """Answer each call with its result or error, until the other process ends."""
    page = os.sysconf("SC_PAGE_SIZE")
    with suppress(EOFError, OSError):  # the other process has ended
        while True:
            function, arguments, memory, seconds = connection.recv()
            present = int(Path("/proc/self/statm").read_text().split()[0]) * page
            _limit(resource.RLIMIT_AS, present + memory)
            _limit(resource.RLIMIT_CPU, math.ceil(time.process_time()) + seconds)  # ends the process
            try:
                connection.send(function(*arguments))
            except Exception as error:
                connection.send(error)


if __name__ == "__main__":
    _serve(Connection(int(sys.argv[1])))
