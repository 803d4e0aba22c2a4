# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Processes that this one starts, and their end, at the latest with this one."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from subprocess import PIPE, Popen, TimeoutExpired
from typing import Any

_PARENT = "ROBODYN_PARENT"
"""Environment variable: id of the process that started this one and holds the other end of its standard input."""


def start_python(arguments: Sequence[str], environment: Mapping[str, str] | None = None, **options: Any) -> Popen[Any]:
    """Start Python in a process that ends with this one, even if this one is killed.

    Its standard input is a pipe that closes then; it has to call `end_with_parent`, as every ``robodyn`` command does.

    Args:
        arguments: Arguments of Python.
        environment: Environment variables; None: those of this process.
        **options: Further arguments of ``subprocess.Popen``.
    """
    given = os.environ if environment is None else environment
    return Popen([sys.executable, *arguments], stdin=PIPE, env={**given, _PARENT: str(os.getpid())}, **options)


def end_with_parent() -> None:
    """If `start_python` started this process, send it SIGTERM when its parent has ended."""
    if os.environ.pop(_PARENT, "") != str(os.getppid()):
        return

    def wait() -> None:
        while os.read(0, 1024):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="end with parent", daemon=True).start()


def interrupt(process: Popen[Any]) -> None:
    """Ask a process to end, as Ctrl-C does; nothing happens if it has ended."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)


def end(process: Popen[Any], patience: float) -> int:
    """Interrupt a process, kill it if it does not end in time, and return its exit code.

    Args:
        process: The process.
        patience: Longest wait for its end after SIGINT [s].
    """
    interrupt(process)
    try:
        return process.wait(patience)
    except TimeoutExpired:
        process.kill()
        return process.wait()
    finally:
        if process.stdin is not None:
            process.stdin.close()
