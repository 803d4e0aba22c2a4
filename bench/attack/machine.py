"""How late this machine itself wakes a process that sleeps, beside which gaps of the nodes are judged."""

from __future__ import annotations

import subprocess
import sys
import threading

_PROGRAM = """
import time
while True:
    begin = time.monotonic()
    time.sleep(0.005)
    late = time.monotonic() - begin - 0.005
    if late > 0.005:
        print(late, flush=True)
"""


class MachineWatch:
    """A process that does nothing but sleep; the attack ends it.

    Attributes:
        worst: Greatest lateness since it was last set to 0 [s].
    """

    def __init__(self) -> None:
        self.worst = 0.0
        self._process = subprocess.Popen([sys.executable, "-c", _PROGRAM], stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._read, daemon=True).start()

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.worst = max(self.worst, float(line))
