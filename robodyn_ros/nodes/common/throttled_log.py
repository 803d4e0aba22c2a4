# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Log lines about outside input: throttled by kind, limited in length, and safe to print.

    self.log = ThrottledLog(node.get_logger().name)
    self.log.warning("parameters refused", f"parameters refused: {error}")     # a kind, then the line

Names and values in messages come from anybody. A line that quotes them may be as long as a message, may come with every
message, and may contain control characters for the terminal. Hence nodes log only through this class.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from rclpy.logging import LoggingSeverity, get_logger

from robodyn_ros.base.errors import MAX_LINE_LENGTH, one_line, shortened
from robodyn_ros.nodes.internals.rclpy_parts import write_log_line

LOG_EVERY = 2.0
"""Time after which a further line of the same kind is logged [s]."""


def short_lines(text: str, longest: int = 4 * MAX_LINE_LENGTH) -> str:
    """Return a text of several lines, such as a traceback, cut and escaped as by `one_line`."""
    lines = text.rstrip("\n").split("\n")
    kept = "\n".join(one_line(line) for line in (lines if len(lines) <= 40 else [*lines[:10], "...", *lines[-29:]]))
    return shortened(kept, longest, end=longest * 3 // 4)


@dataclass
class _Kind:
    """State of one kind of lines: how many may be logged now, and the last one held back."""

    at_once: int
    allowance: float
    since: float
    held_back: int = 0
    last: Callable[[str], None] | None = None

    def claim(self) -> bool:
        """Return whether a line may be logged now, and count it if so."""
        now = time.monotonic()
        self.allowance = min(self.at_once, self.allowance + (now - self.since) / LOG_EVERY)
        self.since = now
        if self.allowance < 1.0:
            return False
        self.allowance -= 1.0
        return True

    def emit(self, line: Callable[[str], None], held_back: int) -> None:
        """Log a line, with the number of lines held back since the last one."""
        self.held_back, self.last = 0, None
        line(f" ({held_back} more like this since the last line)" if held_back else "")


class ThrottledLog:
    """Logs lines by kind; of too frequent lines it keeps the last one for :meth:`flush` and counts the others.

    Args:
        name: Name of the logger.
        write: Logs a line; receives the name, severity, kind and text.
    """

    def __init__(self, name: str, write: Callable[[str, LoggingSeverity, str, str], None] = write_log_line) -> None:
        self._name, self._write = name, write
        self._kinds: dict[str, _Kind] = {}

    def info(self, kind: str, text: str, at_once: int = 1) -> None:
        """Log a line as information.

        Args:
            kind: Kind of the line.
            text: The line.
            at_once: Number of lines of this kind that may follow each other immediately after a pause.
        """
        self._log(LoggingSeverity.INFO, kind, at_once, lambda: one_line(text))

    def warning(self, kind: str, text: str, at_once: int = 1) -> None:
        """Log a line as a warning; arguments as for :meth:`info`."""
        self._log(LoggingSeverity.WARN, kind, at_once, lambda: one_line(text))

    def error(self, kind: str, text: str, at_once: int = 1) -> None:
        """Log a line, or the lines of a traceback, as an error; arguments as for :meth:`info`."""
        self._log(LoggingSeverity.ERROR, kind, at_once, lambda: short_lines(text))

    def debug(self, kind: str, text: Callable[[], str]) -> None:
        """Log lines at level debug; the function is called only for those that are logged."""
        if get_logger(self._name).is_enabled_for(LoggingSeverity.DEBUG):
            self._log(LoggingSeverity.DEBUG, kind, 1, lambda: short_lines(text()))

    def flush(self) -> None:
        """Log the held-back lines that are due; a node calls this once a second."""
        for kind in list(self._kinds.values()):
            if (line := kind.last) is not None and kind.claim():
                kind.emit(line, kind.held_back - 1)

    def _log(self, severity: LoggingSeverity, name: str, at_once: int, text: Callable[[], str]) -> None:
        def line(more: str) -> None:
            self._write(self._name, severity, name, text() + more)

        kind = self._kinds.setdefault(name, _Kind(at_once, at_once, time.monotonic()))
        if kind.claim():
            kind.emit(line, kind.held_back)
        else:
            kind.held_back, kind.last = kind.held_back + 1, line
