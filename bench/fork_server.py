# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Processes for tests of nodes and attacks on them, forked from one process that has imported what nodes import.

A node that starts as a user starts it needs one to two seconds of processor time for its imports. Here one process
pays for most of them (this file, run as a program) and forks for each node. The fork gets the node's environment,
folder, search path, arguments and files, and it ends as any Python process does, with the code or by the signal of its
own. The one process has a single thread, since a fork has none of the others: so the fork imports rclpy itself, whose
libraries start threads and wait for them when a process ends, and OpenBLAS starts none.
"""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import gc
import importlib
import itertools
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from robodyn_ros.commands.processes import NodeProcess

IMPORTED = ("yaml", "robodyn_ros.commands.command_line", "robodyn_ros.commands.node_commands",
            "robodyn_ros.commands.simulation_setup")
"""Modules that forks find imported."""
ROOMS = ("actuation", "control", "description", "dynamics", "kinematics", "simulation")
"""Packages of robodyn_ros that forks find imported as a whole."""
INTERFACES = ("builtin_interfaces", "control_msgs", "diagnostic_msgs", "geometry_msgs", "nav_msgs", "rcl_interfaces",
              "robodyn_interfaces", "rosgraph_msgs", "sensor_msgs", "std_msgs", "std_srvs", "tf2_msgs",
              "trajectory_msgs", "type_description_interfaces", "unique_identifier_msgs", "visualization_msgs")
"""Packages whose messages, services and actions forks find imported: a third of what a node imports."""


class ForkedProcess:
    """A fork, with those methods of ``subprocess.Popen`` that tests use.

    Args:
        server: Forked it.
        pid: Its process id, not given to another process before `poll` has told the end of this one.
    """

    stdin = None

    def __init__(self, server: ForkServer, pid: int) -> None:
        self._server, self.pid = server, pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Exit code, minus the number of the signal that ended it, or None if it runs."""
        if self.returncode is None:
            self.returncode = self._server.ask({"poll": self.pid})
        return self.returncode

    def wait(self, timeout: float | None = None) -> int | None:
        """Exit code, once it has ended."""
        begin = time.monotonic()
        while self.poll() is None:
            if timeout is not None and time.monotonic() > begin + timeout:
                raise subprocess.TimeoutExpired(f"fork {self.pid}", timeout)
            time.sleep(0.005)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)


class ForkServer:
    """The process that forks; it ends with this one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._channel, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())], pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})

    def start(self, arguments: Sequence[str], environment: Mapping[str, str], output: IO[bytes],
              errors: IO[bytes] | None = None) -> ForkedProcess:
        """Fork a process that does what Python does with some arguments.

        Args:
            arguments: ``-m MODULE ...``, ``-c CODE ...`` or ``FILE ...``.
            environment: Its environment variables.
            output: Open file for what it prints.
            errors: Open file for its errors; None: the same one.
        """
        request = {"arguments": list(arguments), "environment": dict(environment), "folder": os.getcwd()}
        return ForkedProcess(self, self.ask(request, [(file or output).fileno() for file in (output, errors)]))

    def ask(self, request: Mapping[str, Any], files: Sequence[int] = ()) -> Any:
        """Answer of the server."""
        with self._lock:
            message = json.dumps(request).encode() + b"\n"
            sent = socket.send_fds(self._channel, [message], files)
            self._channel.sendall(message[sent:])
            return json.loads(receive_line(self._channel)[0])


@functools.cache
def fork_server() -> ForkServer:
    """The one of this process."""
    return ForkServer()


class ForkedNode(NodeProcess):
    """A node in a process of its own, forked, which saves its imports."""

    def _start(self, arguments: list[str], environment: dict[str, str], output: IO[bytes]) -> Any:
        return fork_server().start(arguments, environment, output)


def receive_line(channel: socket.socket) -> tuple[bytes, list[int]]:
    """The next line, and the files that came with it.

    Raises:
        EOFError: The other end is closed.
    """
    line, files = b"", list[int]()
    while not line.endswith(b"\n"):
        part, received, *_ = socket.recv_fds(channel, 1 << 16, 2)
        if not part:
            raise EOFError("the other process has ended")
        line += part
        files += received
    return line, files


def serve(channel: socket.socket) -> dict[str, Any]:
    """Fork as requested; returns the request in each fork.

    Raises:
        EOFError: In this process, once the tests have ended.
    """
    forks = set[int]()
    while True:
        try:
            line, files = receive_line(channel)
        except EOFError:
            for pid in forks:  # the tests were killed
                os.kill(pid, signal.SIGKILL)
            raise
        request: dict[str, Any] = json.loads(line)
        if "poll" in request:
            pid, status = os.waitpid(request["poll"], os.WNOHANG)
            answer = os.waitstatus_to_exitcode(status) if pid else None
            forks.discard(pid)
        elif (answer := os.fork()) == 0:
            channel.close()
            for standard, file in enumerate(files, 1):
                os.dup2(file, standard)
                os.close(file)
            return request
        else:
            forks.add(answer)
        for file in files:
            os.close(file)
        channel.sendall(json.dumps(answer).encode() + b"\n")


def become(request: Mapping[str, Any], installed: Sequence[str]) -> None:
    """Do what Python does with the arguments of a request.

    Args:
        request: As `ForkServer.start` sends it.
        installed: End of the search path, after the folders of ``PYTHONPATH``.
    """
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    kind, *rest = request["arguments"]
    is_file = kind not in ("-m", "-c")
    first = str(Path(kind).parent.resolve()) if is_file else os.getcwd()
    sys.path[:] = [first, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)), *installed]
    importlib.invalidate_caches()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    if is_file:
        sys.argv = [kind, *rest]
        runpy.run_path(kind, run_name="__main__")
    elif kind == "-m":
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = [kind, *rest[1:]]
        exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__"})


def main() -> None:
    """Import, then serve; each fork returns from here."""
    # SIGINT is for the forks, which take one that came too early once they are ready for it.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    installed = [folder for folder in sys.path[1:] if folder not in given]
    for name in IMPORTED:
        importlib.import_module(name)
    for room in ROOMS:
        package = importlib.import_module(f"robodyn_ros.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    for interfaces, kind in itertools.product(INTERFACES, ("msg", "srv", "action")):
        with contextlib.suppress(ImportError):  # no ROS 2, or none of this kind
            importlib.import_module(f"{interfaces}.{kind}")
    threads = Path("/proc/self/task")
    assert not threads.exists() or len(list(threads.iterdir())) == 1, "a fork would not have the other threads"
    faulthandler.enable()  # so that a fork that is aborted tells where it stood
    gc.collect()
    gc.freeze()  # collections of the forks would copy what is shared
    try:
        request = serve(socket.socket(fileno=int(sys.argv[1])))
    except EOFError:
        return
    become(request, installed)


if __name__ == "__main__":
    main()
