# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The end of a process that this one has started."""

from __future__ import annotations

import signal
from subprocess import Popen, TimeoutExpired
from typing import Any


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
