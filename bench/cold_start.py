# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A new process from the text of a URDF to the first results: time with and without cached code, and memory.

``python -m bench.cold_start FUNCTION ...`` is that process: it reads the URDF from standard input and prints times and
memory as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.report import Section
from bench.robots import HANDS, HUMANOID, tree
from robodyn_ros.base.code_cache import VARIABLE
from robodyn_ros.description.resources import robot_file

SEVEN = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "gravity", "coriolis_matrix", "forward_kinematics",
         "jacobian")
EVERY = "every_function"

FIRST_ANSWER = {6: 0.5, 44: 3.0}
"""Greatest times to the first result aimed at, by number of joints [s]."""

ALL_COMPILED = 14.0
"""Aim for compiling all functions of 44 joints and their batch forms [s of processor time]."""

LARGEST_MEMORY = 500.0
"""Aim for the process that compiles all functions [MB]."""


def memory() -> float:
    """Largest memory of this process so far [MB]; getrusage would include the process before exec."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024.0 for line in lines if line.startswith("VmHWM"))


def answers(names: Sequence[str]) -> dict[str, float]:
    """Call each function once for the robot on standard input; return seconds and megabytes.

    Args:
        names: The functions; `EVERY` stands for all functions and their batch forms.
    """
    urdf = sys.stdin.read()
    start = time.perf_counter()
    import numpy as np
    from lxml import etree  # noqa: F401

    imported, memory_before, processor = time.perf_counter(), memory(), time.process_time()
    from robodyn_ros import Robot
    from robodyn_ros.dynamics.robot_dynamics import FUNCTIONS

    robot = Robot.from_urdf_text(urdf)
    dynamics, zero = robot.dynamics(), np.zeros(robot.n)
    for name in FUNCTIONS if EVERY in names else names:
        inputs = len(FUNCTIONS[name].arrays)
        getattr(dynamics, name)(*[zero] * inputs)
        if EVERY in names:
            getattr(dynamics.batch, name)(*[zero[None]] * inputs)
    return {"imports": imported - start, "answer": time.perf_counter() - imported, "memory_before": memory_before,
            "memory": memory(), "processor": time.process_time() - processor}


def fresh(urdf: str, names: Sequence[str], cache: str) -> dict[str, float]:
    """Run `answers` in a new process, with a directory for cached code."""
    result = subprocess.run([sys.executable, "-m", "bench.cold_start", *names], input=urdf, text=True, check=True,
                            stdout=subprocess.PIPE, env=os.environ | {VARIABLE: cache})
    found: dict[str, float] = json.loads(result.stdout)
    return found


def median(urdf: str, names: Sequence[str], cache: str, repetitions: int) -> dict[str, float]:
    """Return the run with the median time to the last result."""
    runs = sorted((fresh(urdf, names, cache) for _ in range(repetitions)), key=lambda run: run["answer"])
    return runs[len(runs) // 2]


def rows(repetitions: int = 5) -> Iterator[list[str]]:
    """Rows for one function, the seven functions and all functions, without and with cached code."""
    arm, humanoid = robot_file("arm6").read_text(), tree((*HUMANOID, *HANDS))
    for joints, urdf, what, names in ((6, arm, SEVEN[0], SEVEN[:1]), (6, arm, "all seven", SEVEN),
                                      (44, humanoid, SEVEN[0], SEVEN[:1]), (44, humanoid, "all seven", SEVEN),
                                      (44, humanoid, "every function, batch forms too", [EVERY])):
        with tempfile.TemporaryDirectory() as folder:
            cache = str(Path(folder) / "cache")
            cold = median(urdf, names, "off", 1 if EVERY in names else repetitions)
            fresh(urdf, names, cache)
            warm = median(urdf, names, cache, 1 if EVERY in names else repetitions)
        fits = cold["memory"] <= LARGEST_MEMORY
        aim, met = f"{LARGEST_MEMORY:.0f} MB", fits
        if what == SEVEN[0]:
            aim, met = f"{FIRST_ANSWER[joints]:g} s", cold["answer"] <= FIRST_ANSWER[joints]
        elif EVERY in names:
            aim, met = f"{ALL_COMPILED:g} s of processor time, {aim}", fits and cold["processor"] <= ALL_COMPILED
        yield [str(joints), what, f"{cold['imports']:.2f}", f"{cold['answer']:.3f}", f"{cold['processor']:.3f}",
               f"{warm['answer']:.3f}", f"{cold['memory_before']:.0f}", f"{cold['memory']:.0f}", aim,
               "met" if met else "**missed**"]


COLD_START = Section(
    "A new process",
    "Seconds in a new process from the text of a URDF to the result of one function, or to one result of each "
    "function. The import of robodyn_ros and LLVM counts; NumPy and the XML parser were imported before. "
    "\"compiled\": the process compiles the functions; \"kept\": it loads code that an earlier process kept on disk. "
    "Processor time does not contain the time of other programs. Memory is the greatest memory of the process so far, "
    "before and after. The robot with 44 joints is the humanoid with hands.",
    ("joints", "functions", "imports not counted [s]", "compiled [s]", "of the processor [s]", "kept [s]",
     "memory before [MB]", "memory, compiled [MB]", "aim", ""),
    rows,
)

if __name__ == "__main__":
    print(json.dumps(answers(sys.argv[1:])))
