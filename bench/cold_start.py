"""A new process from a URDF's text to its first answers: time with and without kept code, and memory.

``python -m bench.cold_start FUNCTION ...`` is that process: it reads the URDF from standard input and prints, as JSON,
what it took.
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
from robodyn_ros.compile.cache import VARIABLE
from robodyn_ros.resources import robot_file

SEVEN = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "gravity", "coriolis_matrix", "forward_kinematics",
         "jacobian")
EVERY = "every_function"

FIRST_ANSWER = {6: 0.5, 44: 3.0}
"""Aims by joints [s]."""

ALL_COMPILED = 14.0
"""Aim for compiling all functions of 44 joints and their batch forms [s of processor time]."""

LARGEST_MEMORY = 500.0
"""Aim for the process that compiles all functions [MB]."""


def memory() -> float:
    """Largest memory of this process so far [MB]; what getrusage says begins with that of the process before exec."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024.0 for line in lines if line.startswith("VmHWM"))


def answers(names: Sequence[str]) -> dict[str, float]:
    """Answer once with each function for the robot on standard input; seconds and megabytes.

    Args:
        names: The functions; `EVERY` for all there are, also in their batch forms.
    """
    urdf = sys.stdin.read()
    start = time.perf_counter()
    import numpy as np
    import yourdfpy  # noqa: F401  # the parser, with all that it imports

    imported, memory_before, processor = time.perf_counter(), memory(), time.process_time()
    from robodyn_ros import Robot
    from robodyn_ros.dynamics.robot_dynamics import FUNCTIONS

    robot = Robot.from_urdf(urdf)
    dynamics, zero = robot.dynamics(), np.zeros(robot.n)
    for name in FUNCTIONS if EVERY in names else names:
        inputs = len(FUNCTIONS[name].arrays)
        getattr(dynamics, name)(*[zero] * inputs)
        if EVERY in names:
            getattr(dynamics.batch, name)(*[zero[None]] * inputs)
    return {"imports": imported - start, "answer": time.perf_counter() - imported, "memory_before": memory_before,
            "memory": memory(), "processor": time.process_time() - processor}


def fresh(urdf: str, names: Sequence[str], cache: str) -> dict[str, float]:
    """`answers` in a process of its own, with a directory for kept code."""
    result = subprocess.run([sys.executable, "-m", "bench.cold_start", *names], input=urdf, text=True, check=True,
                            stdout=subprocess.PIPE, env=os.environ | {VARIABLE: cache})
    found: dict[str, float] = json.loads(result.stdout)
    return found


def median(urdf: str, names: Sequence[str], cache: str, repetitions: int) -> dict[str, float]:
    """The median run, by the time until the last answer."""
    runs = sorted((fresh(urdf, names, cache) for _ in range(repetitions)), key=lambda run: run["answer"])
    return runs[len(runs) // 2]


def rows(repetitions: int = 5) -> Iterator[list[str]]:
    """The first answer, one of each of the seven functions, and all there is, without and with kept code."""
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
    "Seconds in a new process from the text of a URDF to the first answer, or one answer of each function, importing "
    "robodyn_ros and LLVM included; NumPy and the URDF parser were imported before. Compiled there and then, and with "
    "code kept on disk by an earlier process. Time of the processor leaves out what other programs took. Memory is the "
    "most that the process had, before and after. The robot of 44 joints is the humanoid of above with hands.",
    ("joints", "functions", "imports not counted [s]", "compiled [s]", "of the processor [s]", "kept [s]",
     "memory before [MB]", "memory, compiled [MB]", "aim", ""),
    rows,
)

if __name__ == "__main__":
    print(json.dumps(answers(sys.argv[1:])))
