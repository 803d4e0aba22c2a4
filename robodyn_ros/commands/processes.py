# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Runs nodes as processes: starts, checks and stops them, and leaves no orphans."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Self

from robodyn_ros.base.errors import RobodynError
from robodyn_ros.nodes.common.child_processes import end, start_python

STOP_SECONDS = 5.0
"""Longest wait for an interrupted node to end [s]."""


def ros_arguments(parameters: Mapping[str, object], namespace: str = "") -> list[str]:
    """Return the command-line arguments for a node's parameters and namespace.

    Args:
        parameters: Values by parameter name; written as YAML flow values.
        namespace: Namespace of the node, with or without its first slash; empty for the root.
    """
    import yaml

    arguments = ["--ros-args"]
    for name, value in parameters.items():
        text = yaml.safe_dump(value, default_flow_style=True, width=1_000_000).removesuffix("...\n").strip()
        arguments += ["-p", f"{name}:={text}"]
    if namespace:
        arguments += ["-r", f"__ns:=/{namespace.strip('/')}"]
    return arguments


@contextlib.contextmanager
def command_beside(name: str, options: Mapping[str, object], stop_seconds: float = STOP_SECONDS) -> Iterator[None]:
    """Run another ``robodyn`` command in its own process, so that it takes no time of this interpreter.

    Args:
        name: The command.
        options: Its options by name, without the dashes.
        stop_seconds: Longest wait for its end after SIGINT [s]; then it is killed.
    """
    process = start_python(["-m", "robodyn_ros", name, *(f"--{option}={value}" for option, value in options.items())])
    try:
        yield
    finally:
        end(process, stop_seconds)


class NodeProcess:
    """One node of this package in its own process; a context manager that stops it.

    Args:
        node: Name of the node: ``hardware``, ``controller``, ``dynamics`` or ``state_publisher``.
        parameters: Parameters by name.
        namespace: Namespace of the node.
        command: Arguments of Python that start the node; empty: ``-m robodyn_ros NODE``, the package of this process.
        stop_seconds: Longest wait for its end after SIGINT [s]; then it is killed.
    """

    def __init__(self, node: str, parameters: Mapping[str, object] | None = None, namespace: str = "",
                 command: Sequence[str] = (), stop_seconds: float = STOP_SECONDS) -> None:
        self.node, self._stop_seconds = node, stop_seconds
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        self._process = self._start(
            [*(command or ("-m", "robodyn_ros", node)), *ros_arguments(parameters or {}, namespace)],
            dict(os.environ), self._log)

    def _start(self, arguments: list[str], environment: dict[str, str], output: IO[bytes]) -> subprocess.Popen[bytes]:
        """Start Python with these arguments and environment variables; its output goes to a file."""
        return start_python(arguments, environment, stdout=output, stderr=subprocess.STDOUT)

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def running(self) -> bool:
        """Whether the process is running."""
        return self._process.poll() is None

    def output(self) -> str:
        """Return the node's output so far."""
        # The process shares the file position: a seek would make it overwrite its own text.
        log = self._log.fileno()
        return os.pread(log, os.fstat(log).st_size, 0).decode(errors="replace")

    def last_lines(self) -> str:
        """Return the node's last lines of output, with an introduction."""
        return "\n  ".join(["it printed last:", *self.output().strip().splitlines()[-8:]])

    def check(self) -> None:
        """Raise if the process has ended.

        Raises:
            RobodynError: With the node's last lines of output.
        """
        if not self.running():
            raise RobodynError(f"node '{self.node}' ended with exit code {self._process.returncode}; "
                               f"{self.last_lines()}")

    def end(self) -> int:
        """Interrupt the node and return its exit code; kill it if it does not end in time."""
        return end(self._process, self._stop_seconds)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process."""
        self._process.send_signal(number)

    def kill(self) -> None:
        """Kill the process; it does not clean up."""
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> Self:
        """Return the process itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the node."""
        self.end()
        self._log.close()
