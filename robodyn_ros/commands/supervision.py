# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Restarts a process after failures: a bounded number of times, after growing delays, with messages."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from robodyn_ros.base.timing import extended_timeout, waiting_time_of
from robodyn_ros.nodes.common.child_processes import start_python
from robodyn_ros.nodes.common.signals import STOP_SIGNALS, StopSignals

RESTARTS = 5
FIRST_DELAY, LONGEST_DELAY = 1.0, 30.0
"""Delay before the first restart, which doubles for each further one, and longest delay [s]."""

STOP_SECONDS = 2.0
"""Time for a process to end after SIGTERM [s], extended while it waits for a processor."""

_POLL_SECONDS, _ABORT_SECONDS = 0.02, 0.5
_USAGE_ERROR = 2
STOPPED = (0, *(-number for number in STOP_SIGNALS), *(128 + number for number in STOP_SIGNALS))
"""Exit codes after a requested stop."""
_NO_FAILURE = (*STOPPED, _USAGE_ERROR)


@dataclass
class Restarts:
    """Decides on the restarts of one process.

    Attributes:
        limit: Greatest number of restarts.
        made: Number of restarts so far.
    """

    limit: int = RESTARTS
    made: int = 0

    def after(self, code: int) -> float | None:
        """Count a restart and return the delay before it [s]; None: no restart.

        Args:
            code: Exit code; minus the number of a signal that killed the process. There is no restart after a requested
                stop or refused arguments.
        """
        if code in _NO_FAILURE or self.made >= self.limit:
            return None
        self.made += 1
        return min(FIRST_DELAY * 2.0 ** (self.made - 1), LONGEST_DELAY)

    def outcome(self, code: int, delay: float | None) -> str:
        """Return the cause of the end and the next action, for the log."""
        end = f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        if delay is not None:
            return f"{end}; restart {self.made} of {self.limit} in {delay:g} s"
        return end if code in _NO_FAILURE else f"{end}; given up after {self.made} restarts"


def supervise(command: Sequence[str], what: str, limit: int) -> int:
    """Run a command until SIGINT or SIGTERM, and again after each failure.

    The two signals are forwarded to the command, which is killed if it does not end within `STOP_SECONDS`. It also ends
    if this process is killed; see `start_python`.

    Args:
        command: Arguments of Python.
        what: Subject of the messages on stderr, such as ``the nodes``.
        limit: Greatest number of restarts.

    Returns:
        Exit code of the last run, or 128 plus the number of the signal that killed it; 0 for a stop between runs.
    """
    restarts, stop = Restarts(limit), threading.Event()
    running: list[subprocess.Popen[bytes]] = []

    def stop_all() -> None:
        stop.set()
        for process in running:
            process.send_signal(signal.SIGTERM)  # does nothing if it has ended
            _kill_if_stuck(process, what)

    with StopSignals(stop_all):
        while True:
            process = start_python(command)
            running[:] = [process]
            if stop.is_set():  # the stop came before stop_all knew the process
                process.send_signal(signal.SIGTERM)
            code = process.wait()
            if stop.is_set():
                if code == -signal.SIGTERM:  # before it could handle the signal
                    print("robodyn: stopped while starting", file=sys.stderr, flush=True)
                return 0 if code in _NO_FAILURE else _exit_code(code)  # a signal may kill it during its imports
            delay = restarts.after(code)
            if code not in _NO_FAILURE:
                print(f"robodyn: error: {what} {restarts.outcome(code, delay)}", file=sys.stderr, flush=True)
            if delay is None:
                return _exit_code(code)
            if stop.wait(delay):
                return 0


def _kill_if_stuck(process: subprocess.Popen[bytes], what: str) -> None:
    """Kill a process that does not end in time, since C code may block its interpreter and signal handling."""
    begin, waited = time.monotonic(), waiting_time_of(str(process.pid))
    while process.poll() is None:
        if time.monotonic() - begin > extended_timeout(STOP_SECONDS, waiting_time_of(str(process.pid)) - waited):
            process.send_signal(signal.SIGABRT)  # Python prints where its threads are
            time.sleep(_ABORT_SECONDS)
            process.kill()
            print(f"robodyn: {what} did not end within {STOP_SECONDS:g} s and were killed", file=sys.stderr, flush=True)
            return
        time.sleep(_POLL_SECONDS)


def _exit_code(code: int) -> int:
    return code if code >= 0 else 128 - code
