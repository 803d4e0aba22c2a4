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
