# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Faults of processes: kills, stops, second nodes and a full disk, each while the arm moves."""

from __future__ import annotations

import random
import resource
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from bench.attack.calls import set_controller
from bench.attack.graph import LONGEST_GAP, NODES, AttackedGraph
from bench.attack.report import Report
from robodyn_ros.commands.processes import NodeProcess

REST = 0.15
"""Time without a fault, relative to that of the fault before."""

LONGEST_END = 20.0
"""Time from a signal to the end of a node [s]; the machine is busy."""

CONTINUED = 0.02
"""Time that a node that was stopped may take to continue [s]."""


def attack_with_faults(seed: int, end: float, path: Path) -> None:
    """Attack a graph of its own until a time (monotonic clock) [s]; the report is written after each fault."""
    report = Report(seed)
    with AttackedGraph(report) as graph:
        graph.measure_alone()
        times = Counter[Callable[..., None]]()
        while not times or time.monotonic() < end:
            fault = _CYCLE[times.total() % len(_CYCLE)]
            before = time.monotonic()
            fault(graph, report, seed, times[fault])
            times[fault] += 1
            report.write(path)
            graph.spin(min(REST * (time.monotonic() - before), max(0.0, end - time.monotonic())))


def kills(graph: AttackedGraph, report: Report, seed: int, number: int) -> None:
    """Each node is killed and started anew; the others have to survive."""
    graph.move()
    for name in ("controller", "dynamics", "state_publisher"):
        _kill(graph, name, number)
    _recovered(graph, report, "kill", number, "controller", "dynamics", "state_publisher")
    graph.move()
    _kill(graph, "hardware", number)
    _recovered(graph, report, "kill", number, "hardware")


def stops(graph: AttackedGraph, report: Report, seed: int, number: int) -> None:
    """One node is stopped for 0.05 to 0.5 s and continued."""
    name, chance = list(NODES)[number % len(NODES)], random.Random(f"{seed} stops {number}")
    seconds = chance.uniform(0.05, 0.5)
    graph.move()
    graph.send(name, signal.SIGSTOP)
    graph.spin(seconds)
    graph.send(name, signal.SIGCONT)
    graph.spin(0.3)
    graph.check(f"stop of {name}", number, gap=seconds + CONTINUED if name == "hardware" else LONGEST_GAP)
    _recovered(graph, report, "stop", number, name)


def conflicts(graph: AttackedGraph, report: Report, seed: int, number: int) -> None:
    """A second node of the same name in the same namespace, and its end."""
    name = ("controller", "hardware")[number % 2]
    with graph.process(name) as second:
        for _ in range(3):
            graph.move()
            graph.spin(1.0)
        second.kill()
    graph.check(f"second {name}", number)
    _recovered(graph, report, "second", number, name)


def full_disk(graph: AttackedGraph, report: Report, seed: int, number: int) -> None:
    """The controller may write no further byte to any file, and has to compile another law."""
    resource.prlimit(graph.nodes["controller"].pid, resource.RLIMIT_FSIZE, (0, 0))
    set_controller(graph, ("computed_torque", "lqr", "pid")[number % 3])
    graph.spin(1.0)
    graph.check("full disk", number)
    graph.nodes["controller"].kill()
    graph.check("full disk", number, fault=True)
    _recovered(graph, report, "full disk", number, "")


def early_ends(graph: AttackedGraph, report: Report, seed: int, number: int) -> None:
    """SIGINT or SIGTERM in the first second of a node, in a namespace of its own: it ends, without a traceback."""
    name, chance = list(NODES)[number % len(NODES)], random.Random(f"{seed} early {number}")
    sent = (signal.SIGINT, signal.SIGTERM)[number // len(NODES) % 2]
    with NodeProcess(name, NODES[name], "early") as process:
        graph.spin(chance.uniform(0.0, 1.0))
        process.send(sent)
        ended = graph.wait(lambda: not process.running(), LONGEST_END)
        output = process.output()
    kind = f"early {sent.name}"
    report.count(kind, "tried", "ended" if ended else "went on")
    if not ended or ("Traceback" in output and not _is_of_python(output)):
        report.fail(kind, number, f"'{name}' {'ended' if ended else 'did not end'}; it printed: {output[-1000:]}")
    graph.check(kind, number)


def _is_of_python(output: str) -> bool:
    """Whether a traceback is of Python's own start, before the first line of a program."""
    return "init_import_site" in output or 'File "/' not in output


def _kill(graph: AttackedGraph, name: str, number: int) -> None:
    graph.nodes[name].kill()
    graph.spin(0.3)
    graph.check(f"kill of {name}", number, fault=True, gap=None if name == "hardware" else LONGEST_GAP)


def _recovered(graph: AttackedGraph, report: Report, kind: str, number: int, *names: str) -> None:
    """Wait until all nodes publish again; what is measured until then belongs to the fault too."""
    survived = graph.recover()
    of = [f"{kind} of {name}" if kind in ("kill", "stop") else f"{kind} {name}".strip() for name in names]
    graph.check(of[0], number, gap=None if of[0] == "kill of hardware" else LONGEST_GAP)
    for fault in of:
        report.count(fault, "tried", "survived" if survived else "fell")
        if not survived:
            report.fail(fault, number, f"not all nodes publish within the time: {graph.silent()}")


_CYCLE: tuple[Callable[[AttackedGraph, Report, int, int], None], ...] = (
    kills, kills, kills, stops, kills, kills, stops, kills, kills, conflicts, kills, kills, kills, stops, early_ends,
    full_disk)
