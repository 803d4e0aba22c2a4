# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""What a process computes with: versions that decide the bits of results, processor and host."""

from __future__ import annotations

import functools
import platform
from pathlib import Path
from typing import NamedTuple

import llvmlite
import numpy as np

from robodyn_ros import __version__
from robodyn_ros.base.code_cache import digest
from robodyn_ros.compile.machine import host


class Site(NamedTuple):
    """A process that computes samples.

    Attributes:
        version: Versions of this package, with a digest of its sources, and of the libraries that decide the bits.
        processor: LLVM's name of the processor.
        machine: Name of the computer.
    """

    version: str
    processor: str
    machine: str


@functools.cache
def site() -> Site:
    """Describe this process."""
    folder = Path(__file__).parents[2]
    files = sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*.py"))
    sources = digest(*(part for name in files for part in (name, (folder / name).read_bytes())))
    version = (f"robodyn_ros {__version__} (sources {sources[:8]}), llvmlite {llvmlite.__version__}, "
               f"NumPy {np.__version__}")
    return Site(version, host().cpu, platform.node())
