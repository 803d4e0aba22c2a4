# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""How late this machine itself wakes a process that sleeps, beside which gaps of the nodes are judged."""

from __future__ import annotations

import subprocess
import sys
import threading

_PROGRAM = """
import time
while True:
    begin = time.monotonic()
    time.sleep(0.001)
    late = time.monotonic() - begin - 0.001
    if late > 0.002:
        print(late, flush=True)
"""


class MachineWatch:
    """Processes that do nothing but sleep; the attack ends them.

    Args:
        processes: How many; the greatest lateness of any of them counts.

    Attributes:
        worst: Greatest lateness since it was last set to 0 [s].
    """

    def __init__(self, processes: int = 1) -> None:
        self.worst = 0.0
        self._processes = [subprocess.Popen([sys.executable, "-c", _PROGRAM], stdout=subprocess.PIPE, text=True)
                           for _ in range(processes)]
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
