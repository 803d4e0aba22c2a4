# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Real-time settings of a control path's thread, with the parameter names of ros2_control's controller_manager.

All are off by default. If the system refuses a setting, the node warns, names the commands that allow it, and runs
without it.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping
from typing import Any

from robodyn_ros.base.errors import error_text
from robodyn_ros.base.fields import Field

PARAMETERS = (
    Field("thread_priority", 0, "Priority of the control thread in the scheduler SCHED_FIFO; 0: the ordinary scheduler",
          structural=True, minimum=0, maximum=99),
    Field("cpu_affinity", [-1], "Processors on which the control thread may run; -1: all", structural=True, minimum=-1,
          maximum=4095),
    Field("lock_memory", False, "Whether the memory of the process stays in RAM, so that no access waits for a disk",
          structural=True),
)

ALLOW = ("sudo groupadd --force realtime; sudo usermod --append --groups realtime $USER; "
         "echo '@realtime - {limit}' | sudo tee --append /etc/security/limits.d/realtime.conf; then log in again")
_ALL_MEMORY = 1 | 2  # MCL_CURRENT | MCL_FUTURE of <sys/mman.h>


def apply_to_thread(values: Mapping[str, Any], warn: Callable[[str], None]) -> None:
    """Apply the settings to the calling thread, the locked memory to the process.

    Args:
        values: Values of the parameters.
        warn: Called with a sentence for each setting that the system refuses.
    """
    processors = [number for number in values["cpu_affinity"] if number >= 0]
    if processors:
        try:
            os.sched_setaffinity(0, processors)
        except (OSError, ValueError) as error:
            warn(f"cpu_affinity: the system refuses processors {', '.join(map(str, processors))} "
                 f"({error_text(error)}): this process may use "
                 f"{', '.join(map(str, sorted(os.sched_getaffinity(0))))}; allow more with: "
                 f"taskset --all-tasks --cpu-list --pid {','.join(map(str, processors))} {os.getpid()}")
    if values["lock_memory"] and (reason := _lock_memory()):
        warn(f"lock_memory: the system refuses it ({reason}); allow it with: {ALLOW.format(limit='memlock unlimited')}")
    if priority := values["thread_priority"]:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
        except OSError as error:
            warn(f"thread_priority: the system refuses {priority} ({error_text(error)}); allow it with: "
                 f"{ALLOW.format(limit='rtprio 99')}")


def _lock_memory() -> str:
    """Lock all memory of the process; return why the system refuses it, or empty."""
    library = ctypes.CDLL(None, use_errno=True)
    return os.strerror(ctypes.get_errno()) if library.mlockall(_ALL_MEMORY) else ""


def prioritize_process(priority: int) -> str:
    """Give the present threads of this process a real-time priority (SCHED_FIFO), but not those that they start later.

    Args:
        priority: 1 to 99.

    Returns:
        Why the system refuses; empty: success.
    """
    try:
        for thread in os.listdir("/proc/self/task"):
            os.sched_setscheduler(int(thread), os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(priority))
    except OSError as error:
        return f"{error_text(error)}; allow it with: {ALLOW.format(limit='rtprio 99')}"
    return ""
