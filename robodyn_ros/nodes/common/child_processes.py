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
from collections.abc import Mapping, Sequence
from pathlib import Path
from subprocess import PIPE, Popen, TimeoutExpired
from typing import Any

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


def interrupt(process: Popen[Any]) -> None:
    """Ask a process to end, as Ctrl-C does; nothing happens if it has ended."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)


def end(process: Popen[Any], stop_seconds: float) -> int:
    """Interrupt a process, kill it if it does not end in time, and return its exit code.

    Args:
        process: The process.
        stop_seconds: Longest wait for its end after SIGINT [s].
    """
    interrupt(process)
    try:
        return process.wait(stop_seconds)
    except TimeoutExpired:
        process.kill()
        return process.wait()
    finally:
        if process.stdin is not None:
            process.stdin.close()
