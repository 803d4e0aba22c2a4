# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Reads files from unknown sources in a separate process, with bounded memory and time.

A file of a kilobyte can expand to gigabytes: by compression, by counts, or by repeated parts. Many readers are C++
libraries: no argument bounds their memory, and a crafted file can crash them.
"""

from __future__ import annotations

import atexit
import math
import multiprocessing
import os
import pickle
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

Result = TypeVar("Result")

_ENVIRONMENT = {"MALLOC_ARENA_MAX": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
"""Without these settings libraries reserve address space that they never use, and that counts as memory."""


class BoundsError(Exception):
    """A call exceeded its memory or time, or crashed."""


class BoundedProcess:
    """Calls functions in a separate process, which starts with the first call; `close` ends it."""

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
        """Run a function in the process and return its result.

        Args:
            function: A function at the top level of a module.
            *arguments: Its arguments; they and the result must be picklable.
            memory: Greatest memory that it may take in addition [bytes].
            seconds: Greatest processor time [s].
            deadline: Time at which it must be done (monotonic clock) [s].

        Raises:
            BoundsError: It exceeded a bound, or crashed.
            Exception: The function raised it.
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
        self._process = subprocess.Popen(  # in its own session: only this process handles Ctrl-C
            [sys.executable, "-P", "-m", __name__, str(other.fileno())], pass_fds=[other.fileno()],
            start_new_session=True, env={**os.environ, **_ENVIRONMENT})
        other.close()


_shared, _lock = BoundedProcess(), threading.Lock()
atexit.register(_shared.close)


def call_bounded(function: Callable[..., Result], *arguments: Any, memory: int, seconds: int) -> Result:
    """Run a function in the process that all calls of this program share; see `BoundedProcess.call`."""
    with _lock:
        return _shared.call(function, *arguments, memory=memory, seconds=seconds)


def _begin_anew() -> None:
    """Forget the parent's process after a fork."""
    global _shared, _lock  # noqa: PLW0603 - one for each process
    _shared, _lock = BoundedProcess(), threading.Lock()


os.register_at_fork(after_in_child=_begin_anew)


@contextmanager
def _limited(kind: int, value: int) -> Iterator[None]:
    """Limit a resource of this process for a while, within the limit set by a shell or a batch system."""
    before, most = resource.getrlimit(kind)
    resource.setrlimit(kind, (value if most == resource.RLIM_INFINITY else min(value, most), most))
    yield
    most = resource.getrlimit(kind)[1]  # somebody may have lowered it
    resource.setrlimit(kind, (before if most == resource.RLIM_INFINITY or 0 <= before <= most else most, most))


def _serve(connection: Connection) -> None:
    """Answer each call with its result or error until the other process ends."""
    page = os.sysconf("SC_PAGE_SIZE")
    with suppress(EOFError, OSError):  # the other process has ended
        while True:
            function, arguments, memory, seconds = connection.recv()
            present = int(Path("/proc/self/statm").read_text().split()[0]) * page
            with (_limited(resource.RLIMIT_AS, present + memory),  # not while the next function is imported
                  _limited(resource.RLIMIT_CPU, math.ceil(time.process_time()) + seconds)):  # ends the process
                try:
                    answer = pickle.dumps(function(*arguments))
                except Exception as error:
                    answer = pickle.dumps(error)
            connection.send_bytes(answer)


if __name__ == "__main__":
    _serve(Connection(int(sys.argv[1])))
