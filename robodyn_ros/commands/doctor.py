# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``robodyn doctor`` prints versions and settings for a bug report, on one screen."""

from __future__ import annotations

import os
import platform
import resource
from argparse import Namespace
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from robodyn_ros import __version__
from robodyn_ros.base import code_cache
from robodyn_ros.base.errors import RobodynError
from robodyn_ros.base.optional_packages import PURPOSES, is_installed
from robodyn_ros.base.timing import usable_processors
from robodyn_ros.commands.options import Subparsers
from robodyn_ros.commands.required import ros_required

_CLOCK_SOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
_LARGEST_BUFFER = Path("/proc/sys/net/core/rmem_max")
_WANTED_BUFFER = 2**20  # bytes; receiveBufferSize of config/fastdds_localhost.xml


def add_commands(commands: Subparsers) -> None:
    """Add ``doctor``."""
    doctor = commands.add_parser("doctor", help="print versions and settings that a report needs")
    doctor.set_defaults(run=run_doctor)


def run_doctor(options: Namespace) -> int:
    """Print a line for each version or setting."""
    del options
    for name, value in (*_computer(), *_ros(), *_packages()):
        print(f"{name:16} {value}")
    return 0


def _computer() -> Iterator[tuple[str, str]]:
    load, processors = os.getloadavg(), usable_processors()
    yield "robodyn_ros", f"{__version__}, Python {platform.python_version()}"
    yield "computer", (f"{platform.system()} {platform.release()}, {platform.machine()}, {processors} processors, "
                       f"load {load[0]:.1f}, {load[1]:.1f}, {load[2]:.1f}")
    yield "clock", _text(_CLOCK_SOURCE)
    priority = resource.getrlimit(resource.RLIMIT_RTPRIO)[0]
    memory = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    locked = "all memory" if memory == resource.RLIM_INFINITY else f"{memory / 2**20:.0f} MiB"
    yield "real time", f"thread_priority up to {priority}, {locked} can be locked"


def _ros() -> Iterator[tuple[str, str]]:
    try:
        with ros_required():
            from robodyn_ros.nodes.common.ros_report import ros_report
        yield from ros_report()
    except RobodynError as error:
        yield "ROS 2", str(error)
        return
    largest = _text(_LARGEST_BUFFER)
    small = largest.isdigit() and int(largest) < _WANTED_BUFFER
    yield "receive buffer", f"net.core.rmem_max {largest}" + f", {_WANTED_BUFFER} wanted: docs/two-machines.md" * small


def _packages() -> Iterator[tuple[str, str]]:
    folder, kept = code_cache.directory(), code_cache.contents()
    yield "compiled code", f"{folder or 'not kept'}: {kept.entries} entries, {kept.size / 2**20:.1f} MiB"
    yield "packages", ", ".join(f"{name} {_version(name)}" for name in ("numpy", "scipy", "llvmlite"))
    there = [module for module in PURPOSES if is_installed(module)]
    yield "extras", ", ".join(f"{module} {_version(module)}" for module in there) or "none"
    yield "missing", ", ".join(module for module in PURPOSES if module not in there) or "none"


def _version(module: str) -> str:
    with suppress(PackageNotFoundError):
        return version({"mcap_ros2": "mcap-ros2-support"}.get(module, module))
    return "of unknown version"


def _text(file: Path) -> str:
    """Return the contents of a system file; "unknown" if it is missing."""
    try:
        return file.read_text(encoding="ascii").strip()
    except OSError:
        return "unknown"
