# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Waits until a source file of a plugin is saved."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from robodyn_ros.control.plugins.plugin_source import Source, plugin_sources

POLL_SECONDS = 0.1

Stamp = tuple[int, int, int]


class PluginWatch:
    """Watches the source files of a plugin by polling.

    Files are compared by time, size and inode, to detect editors that write in place and editors that write another
    file and rename it.

    Args:
        source: The plugin's module.
        sleep: Called with the time until the next poll [s].
    """

    def __init__(self, source: Source, sleep: Callable[[float], None] = time.sleep) -> None:
        self._source, self._sleep = source, sleep
        self._seen = self._look()

    @property
    def files(self) -> list[Path]:
        """Return the watched files: the module's file, and files of the same folder that it imports."""
        return list(self._seen)

    def wait_for_save(self) -> None:
        """Return once a file differs from the last call, and no file changes between two polls.

        A temporarily missing file is waited for.
        """
        last = self._seen
        while True:
            self._sleep(POLL_SECONDS)
            now = self._look()
            if now == last and now != self._seen and now.get(self._source.file) is not None:
                self._seen = now
                return
            last = now

    def _look(self) -> dict[Path, Stamp | None]:
        return {part.file: _stamp(part.file) for part in plugin_sources(self._source)}


def _stamp(file: Path) -> Stamp | None:
    """Return time [ns], size and inode of a file; None: it is missing."""
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
