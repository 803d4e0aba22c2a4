# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Time of commands that read or drive a running graph, from their start to their end."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np

from bench.beside_the_nodes import wait_for_output
from bench.report import Section
from robodyn_ros.commands.processes import NodeProcess

REPETITIONS = 10
DOMAIN, EMPTY_DOMAIN = "98", "99"
COMMANDS = {"get controller": 0, "set payload.mass=0.1": 0, "pause": 0, "resume": 0, "swap pd_gravity": 0,
            "get controller, no graph": 1}
"""Commands, and the exit code of each."""
AIM, AIM_WITHOUT_GRAPH, TRIAL = 0.5, 2.0, 0.5
"""Greatest times aimed at [s]; a swap also watches its controller for `TRIAL`."""


def rows() -> Iterator[list[str]]:
    """A row for each command."""
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    os.environ["ROS_DOMAIN_ID"] = DOMAIN
    with NodeProcess("simulate", stop_seconds=20.0, command=("-m", "robodyn_ros", "simulate", "--robot=arm6")) as graph:
        wait_for_output(graph, "ready: robot")
        for command, code in COMMANDS.items():
            words = command.partition(",")[0].split()
            environment = {**os.environ, "ROS_DOMAIN_ID": EMPTY_DOMAIN if code else DOMAIN}
            times = []
            for _ in range(REPETITIONS):
                begin = time.monotonic()
                ended = subprocess.run([sys.executable, "-m", "robodyn_ros", *words], env=environment,
                                       capture_output=True, text=True, timeout=60.0)
                times.append(time.monotonic() - begin)
                if ended.returncode != code:
                    raise RuntimeError(f"robodyn {command}: {ended.stderr}")
            low, median, high = np.percentile(times, [25, 50, 75])
            aim = AIM_WITHOUT_GRAPH if code else AIM + TRIAL * (words[0] == "swap")
            yield [f"`{command}`", f"{median:.2f}", f"{low:.2f} to {high:.2f}", f"{aim:g} s",
                   "met" if median <= aim else "**missed**"]


COMMANDS_ON_A_GRAPH = Section(
    "Commands on a running graph",
    f"Seconds from the start of `robodyn COMMAND` to its end; median and quartiles of {REPETITIONS} runs beside "
    "`robodyn simulate`. Most of it is Python's start and imports; the nodes, which announce themselves every 0.2 s, "
    "are found meanwhile. A swap also watches the first half second of the controller.",
    ("command", "time [s]", "quartiles", "aim", ""),
    rows,
)
