# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The recorder that a page starts and stops: ``robodyn record`` in its own process, on the view's machine."""

from __future__ import annotations

import signal
import time
from pathlib import Path

from robodyn_ros.nodes.common.child_processes import ChildProcess

END_SECONDS = 20.0
"""Longest wait for a recorder to finish writing when the view ends [s]."""


class Recording:
    """Runs at most one recorder at a time; the folder is named by the time, not by the page.

    Args:
        parent: Folder in which recordings are made.
        namespace: Namespace of the graph.

    Attributes:
        folder: Folder of the newest recording; None before the first one.
    """

    def __init__(self, parent: Path, namespace: str) -> None:
        self.folder: Path | None = None
        self._parent, self._namespace = parent, namespace.strip("/")
        self._process: ChildProcess | None = None

    @property
    def running(self) -> bool:
        """Whether a recorder runs, or has ended without a call of :meth:`ended` since."""
        return self._process is not None

    def start(self) -> None:
        """Start a recorder, unless one runs."""
        if self._process is not None:
            return
        self.folder = self._parent.resolve() / time.strftime("run_%Y-%m-%d_%H-%M-%S")
        self._process = ChildProcess(["-m", "robodyn_ros", "record", f"--output={self.folder}",
                                      f"--namespace={self._namespace}"], END_SECONDS)

    def stop(self) -> None:
        """Ask the recorder to end; :meth:`ended` reports its end."""
        if self._process is not None:
            self._process.send(signal.SIGINT)

    def ended(self) -> tuple[str, bool] | None:
        """Return the last line printed by an ended recorder and whether it succeeded; None: it runs."""
        if self._process is None or self._process.running():
            return None
        with self._process as process:
            lines, code = process.output().strip().splitlines(), process.end()
        self._process = None
        return (lines[-1] if lines else f"the recorder ended with exit code {code}"), code == 0

    def close(self) -> None:
        """End the recorder and wait until it has finished writing."""
        if self._process is not None:
            self._process.end()
            self.ended()
