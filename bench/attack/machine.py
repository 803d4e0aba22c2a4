# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""How late this machine itself wakes a process that sleeps, or computes a little, beside which nodes are judged."""

from __future__ import annotations

import subprocess
import sys
import threading

_PROGRAM = """
import sys, time
work = float(sys.argv[1])
while True:
    begin = time.monotonic()
    time.sleep(0.001)
    while time.monotonic() - begin < 0.001 + work:
        pass
    late = time.monotonic() - begin - 0.001 - work
    if late > 0.002:
        print(late, flush=True)
"""


class MachineWatch:
    """Processes that sleep for 1 ms again and again; `close` ends them.

    Args:
        processes: How many; the greatest lateness of any of them counts.
        work: Time that each computes after each sleep [s]; the scheduler prefers processes that only sleep.

    Attributes:
        worst: Greatest lateness since it was last set to 0 [s].
    """

    def __init__(self, processes: int = 1, work: float = 0.0) -> None:
        self.worst = 0.0
        command = [sys.executable, "-c", _PROGRAM, str(work)]
        self._processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(processes)]
        for process in self._processes:
            threading.Thread(target=self._read, args=(process,), daemon=True).start()

    def close(self) -> None:
        """End the processes."""
        for process in self._processes:
            process.kill()
            process.wait()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self.worst = max(self.worst, float(line))
