# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""SIGINT and SIGTERM as an orderly request to stop, at any moment of a node's life.

After :func:`hold_stop_signals`, the two signals interrupt nothing: Python writes them into a pipe, and the thread of
:class:`StopSignals` reads them. Hence a node that is still importing or compiling at Ctrl-C stops as cleanly as a
running one, and still sends its last messages. (Blocking the signals would not help: threads already started by a
library such as NumPy would still receive them.) This module imports nothing heavy, so that an entry point can call
:func:`hold_stop_signals` before it imports a node.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
SECOND_SIGNAL_SECONDS = 1.0
"""A second signal later than this after the first one ends the process at once [s]."""
PARENT = "ROBODYN_PARENT"
"""Environment variable: id of the process that started this one and holds the other end of its standard input."""
EXIT_CLOSED = os.EX_IOERR
"""Exit code if a plugin closed the process's file descriptors, including those of ROS."""
ORPHAN_SECONDS = 20.0
"""Longest time for a process to end after its parent was killed [s]."""
EXIT_SECONDS = 0.5
"""Time for threads and exit handlers of plugins to end with the process [s]."""
_CLOSE = b"\0"

_pipe: tuple[int, int] | None = None


def end_with_parent() -> None:
    """If `child_processes.start_python` started this process, send it SIGTERM when its parent has ended.

    Nobody else would kill it then: if it does not end, it prints the stacks of its threads and kills itself.
    """
    if os.environ.pop(PARENT, "") != str(os.getppid()):
        return

    def wait() -> None:
        while os.read(0, 1024):
            pass
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(ORPHAN_SECONDS)
        faulthandler.dump_traceback()
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=wait, name="end with parent", daemon=True).start()


def end_at_stop_signals() -> None:
    """End the process at SIGINT and SIGTERM with one line, for a program that is still importing."""
    for number in STOP_SIGNALS:
        signal.signal(number, _end)


@contextmanager
def interrupt_at_stop_signals() -> Iterator[None]:
    """Raise KeyboardInterrupt at SIGINT and SIGTERM within the context; a second SIGTERM ends the process at once.

    Nothing changes in a process that did not begin with `end_at_stop_signals`.
    """
    begun = signal.getsignal(signal.SIGTERM) is _end
    if begun:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        if begun and signal.getsignal(signal.SIGTERM) is not _hold:
            end_at_stop_signals()


@contextmanager
def delay_stop_signals() -> Iterator[None]:
    """Handle SIGINT and SIGTERM that arrive meanwhile at the end.

    For calls of rclpy that run Python code in C++, such as for a message that it takes: a KeyboardInterrupt from there
    becomes a RuntimeError of pybind11. In threads other than the main one, which handle no signals, it does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []
    handlers = {number: signal.signal(number, lambda number, _: arrived.append(number)) for number in STOP_SIGNALS}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for first in arrived[:1]:
            signal.raise_signal(first)


def _end(number: int, _: object) -> None:
    os.write(2, f"\nrobodyn: stopped by {signal.Signals(number).name}\n".encode())
    os._exit(128 + number)


def _interrupt(number: int, _: object) -> None:
    signal.signal(number, signal.SIG_DFL)
    raise KeyboardInterrupt(number)


def hold_stop_signals() -> None:
    """Hold SIGINT and SIGTERM for a :class:`StopSignals` from now on; main thread only; further calls do nothing."""
    global _pipe
    if _pipe is None:
        _pipe = os.pipe()
        os.set_blocking(_pipe[1], False)
    signal.set_wakeup_fd(_pipe[1], warn_on_full_buffer=False)
    for number in STOP_SIGNALS:
        signal.signal(number, _hold)


def end_soon(code: int, at_once: bool) -> int:
    """End the process within `EXIT_SECONDS` even if Python waits for a thread or an exit handler that never ends.

    Args:
        code: Exit code, which is returned.
        at_once: End it here, without Python's own preparations.
    """
    if at_once:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)

    def end() -> None:
        time.sleep(EXIT_SECONDS)
        os._exit(code)

    threading.Thread(target=end, name="end of the process", daemon=True).start()
    return code


def _hold(*_: object) -> None:
    """Do nothing: the interpreter has written the signal's number into the pipe."""


class StopSignals:
    """A thread that waits for SIGINT or SIGTERM and requests a stop; a later second signal ends the process at once.

    A terminal and a launcher in it may both send the first signal. Hence a second one within `SECOND_SIGNAL_SECONDS` is
    ignored.

    Args:
        on_stop: Called once, on the waiting thread, at the first signal.
    """

    def __init__(self, on_stop: Callable[[], None]) -> None:
        self._on_stop = on_stop
        self._thread = threading.Thread(target=self._wait, name="stop signals", daemon=True)

    def __enter__(self) -> StopSignals:
        """Start to wait."""
        hold_stop_signals()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End the thread; later signals are held and ignored."""
        assert _pipe is not None  # for mypy: __enter__ made it
        os.write(_pipe[1], _CLOSE)
        self._thread.join()

    def _wait(self) -> None:
        if self._next() == _CLOSE:
            return
        self._on_stop()
        patient_until = time.monotonic() + SECOND_SIGNAL_SECONDS
        while (number := self._next()) != _CLOSE:
            if time.monotonic() >= patient_until:
                os._exit(128 + number[0])

    def _next(self) -> bytes:
        """Return the next signal's number, or `_CLOSE`; end the process if a plugin has closed the pipe."""
        assert _pipe is not None  # for mypy: __enter__ made it
        with suppress(OSError):
            if number := os.read(_pipe[0], 1):
                return number
        with suppress(OSError):
            os.write(2, b"\nrobodyn: error: the file descriptors of this process were closed, as by a plugin\n")
        os._exit(EXIT_CLOSED)
