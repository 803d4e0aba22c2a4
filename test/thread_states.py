# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The threads of the processes that a test has started, for the report of a failure: which one hangs, and where."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def thread_states() -> str:
    """A line for each thread of each process below this one: name, state, processor time and place in the kernel."""
    lines = []
    for pid in _descendants(os.getpid()):
        with suppress(OSError):
            command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            lines.append(f"{pid}: {command[:110]}")
            for task in sorted(Path(f"/proc/{pid}/task").iterdir()):
                # After the name, which may have spaces: state, parent, … (proc(5)).
                fields = (task / "stat").read_text().rpartition(")")[2].split()
                seconds = (int(fields[11]) + int(fields[12])) / TICKS
                lines.append(f"  {(task / 'comm').read_text().strip():16} {fields[0]} {seconds:8.2f} s  "
                             f"{(task / 'wchan').read_text()}")
    return "\n".join(lines)


def _descendants(pid: int) -> Iterator[int]:
    with suppress(OSError):
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in map(int, children.read_text().split()):
                yield child
                yield from _descendants(child)
