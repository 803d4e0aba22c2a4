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
from collections.abc import Iterator, Mapping, Sequence

from robodyn_ros.base.errors import RobodynError
from robodyn_ros.nodes.common.child_processes import ChildProcess, end, start_python

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


class NodeProcess(ChildProcess):
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
        self.node = node
        super().__init__([*(command or ("-m", "robodyn_ros", node)), *ros_arguments(parameters or {}, namespace)],
                         stop_seconds)

    def last_lines(self) -> str:
        """Return the node's last lines of output, with an introduction."""
        return "\n  ".join(["it printed last:", *self.output().strip().splitlines()[-8:]])

    def check(self) -> None:
        """Raise if the process has ended.

        Raises:
            RobodynError: With the node's last lines of output.
        """
        if not self.running():
            raise RobodynError(f"node '{self.node}' ended with exit code {self.exit_code}; "
                               f"{self.last_lines()}")
