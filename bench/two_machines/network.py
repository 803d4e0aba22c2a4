# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Two machines made of one: network namespaces with a folder of shared memory each, and a link between them.

The link is that of :mod:`bench.two_machines.link`, between a TAP device in each namespace.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO, Self

from bench.two_machines.link import Quality
from robodyn_ros.base.errors import RobodynError

MACHINES = ("robot", "desk")
"""The machine with the hardware, in which this process takes part, and the other one."""
ADDRESSES = {"robot": "10.77.0.1", "desk": "10.77.0.2"}

_TUNSETIFF, _IFF_TAP, _IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
_CLONE_NEWNET, _CLONE_NEWNS = 0x40000000, 0x00020000
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x40000
_LIBC = ctypes.CDLL(None, use_errno=True)


class Network:
    """A context manager that makes two machines and joins them; needs root and iproute2.

    Raises:
        RobodynError: ``ip`` refuses.
        OSError: There is no ``ip`` or no ``/dev/net/tun``.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._link: subprocess.Popen[str] | None = None
        self._folder = Path()

    def __enter__(self) -> Self:
        """Make the machines; the link loses nothing."""
        with ExitStack() as stack:
            self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="robodyn_machines_")))
            ends = [stack.enter_context(self._machine(machine)) for machine in MACHINES]
            numbers = [end.fileno() for end in ends]
            self._link = stack.enter_context(subprocess.Popen(
                [sys.executable, "-m", "bench.two_machines.link", *map(str, numbers)], pass_fds=numbers, text=True,
                cwd=Path(__file__).parents[2], stdin=subprocess.PIPE, stdout=subprocess.PIPE))
            for end in ends:
                end.close()
            self.set(Quality())
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the machines; processes on them keep running, without a link."""
        assert self._link is not None and self._link.stdin is not None
        self._link.stdin.close()
        self._stack.close()

    def set(self, quality: Quality) -> None:
        """Give the link other properties; returns when it has them."""
        assert self._link is not None and self._link.stdin is not None and self._link.stdout is not None
        self._link.stdin.write(json.dumps(asdict(quality)) + "\n")
        self._link.stdin.flush()
        if not self._link.stdout.readline():
            raise RobodynError(f"the link between the machines ended with {self._link.wait()}")

    @contextmanager
    def here(self, machine: str) -> Iterator[None]:
        """Let this thread, and the threads and processes that it starts, use the network of a machine."""
        with open("/proc/thread-self/ns/net") as before:
            _enter_network(_name(machine, os.getpid()))
            try:
                yield
            finally:
                _check(_LIBC.setns(before.fileno(), _CLONE_NEWNET))

    def command(self, machine: str, *arguments: str) -> list[str]:
        """Arguments of Python that run Python with these arguments on a machine."""
        name, shared_memory = _name(machine, os.getpid()), str(self._folder / machine)
        return ["-m", "bench.two_machines.network", name, shared_memory, *arguments]

    @contextmanager
    def _machine(self, machine: str) -> Iterator[IO[bytes]]:
        """Make a machine, and give its end of the link."""
        name, device = _name(machine, os.getpid()), f"rd{os.getpid()}{machine[0]}"
        (self._folder / machine).mkdir()
        _ip("netns", "add", name)
        try:
            with open("/dev/net/tun", "r+b", buffering=0) as end:
                fcntl.ioctl(end, _TUNSETIFF, struct.pack("16sH22x", device.encode(), _IFF_TAP | _IFF_NO_PI))
                _ip("link", "set", device, "netns", name)
                inside = ("-n", name)
                _ip(*inside, "link", "set", "lo", "up")
                _ip(*inside, "address", "add", f"{ADDRESSES[machine]}/24", "dev", device)
                _ip(*inside, "link", "set", device, "up")
                _ip(*inside, "route", "add", "224.0.0.0/4", "dev", device)
                yield end
        finally:
            _ip("netns", "delete", name)


def _name(machine: str, owner: int) -> str:
    return f"robodyn-{owner}-{machine}"


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise RobodynError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")


def _check(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _enter_network(name: str) -> None:
    with open(f"/run/netns/{name}") as namespace:
        _check(_LIBC.setns(namespace.fileno(), _CLONE_NEWNET))


def main(name: str, shared_memory: str, arguments: list[str]) -> None:
    """Run Python on a machine, in place of this process.

    Args:
        name: Name of its network namespace.
        shared_memory: Folder that stands for its /dev/shm: Fast DDS must not find the other machine's segments.
        arguments: Arguments of Python.
    """
    _enter_network(name)
    _check(_LIBC.unshare(_CLONE_NEWNS))
    _check(_LIBC.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None))
    _check(_LIBC.mount(os.fsencode(shared_memory), b"/dev/shm", None, _MS_BIND, None))
    os.execv(sys.executable, [sys.executable, *arguments])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
