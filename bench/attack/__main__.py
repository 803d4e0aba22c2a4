"""Attacks the library and its nodes for a time, prints what became of it, and ends with 1 if a goal failed."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from bench.attack import attacks
from bench.attack.descriptions import fault_of, mutated_urdfs, mutated_yaml, yaml_fault
from bench.attack.graph import AttackedGraph
from bench.attack.report import Report

DESCRIPTIONS_AT_ONCE = 100
LARGEST_EFFORT = 60.0
"""Effort limit of the robot's strongest joint [N m]."""

LEAST_ATTACKS = 2

LONGEST_GAP = 0.12
"""Time without joint states [s]: the declared time-out of commands, 0.1 s, and 20 ms."""

MAY_PAUSE = ("services", "parameters", "kill of hardware", "stop of hardware", "second hardware")
"""Attacks that pause the hardware, set its rate, or end it."""

GRAPH_ATTACKS: tuple[Callable[[AttackedGraph, Report, int, int], None], ...] = (
    attacks.messages, attacks.kills, attacks.services, attacks.stops, attacks.laws, attacks.kills, attacks.parameters,
    attacks.stops, attacks.conflicts, attacks.full_disk)


def main() -> int:
    """Run the attacks; see docs/attack.md."""
    parser = ArgumentParser(prog="make attack", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="how long to attack (default: 60)")
    parser.add_argument("--seed", type=int, default=0, help="the same attacks come with the same seed (default: 0)")
    parser.add_argument("--report", type=Path, default=Path("attack_output/report.json"), help="file of the report")
    options = parser.parse_args()
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ.setdefault("ROS_DOMAIN_ID", str(os.getpid() % 100 + 1))
    report = Report(options.seed)
    end = time.monotonic() + 60.0 * options.minutes
    attack_descriptions(report, end - 0.8 * 60.0 * options.minutes)
    attack_nodes(report, end)
    for fault, quantities in report.worst.items():
        effort = quantities.get("effort [N m]", 0.0)
        if effort > LARGEST_EFFORT and fault != "parameters":  # which may set noise of the sensed effort
            report.fail(fault, 0, f"an effort of {effort:.4g} N m, the limit is {LARGEST_EFFORT:g}")
        gap, late = (quantities.get(f"{name} [s]", 0.0) for name in ("gap of joint states", "lateness of the machine"))
        if gap > LONGEST_GAP + 2.0 * late and fault not in MAY_PAUSE:  # one of the two processors each
            report.fail(fault, 0, f"no joint state for {gap:.3g} s, the limit is {LONGEST_GAP:g} s; the machine woke a "
                        f"sleeping process {late:.3g} s late at worst")
    print(report.text())
    report.write(options.report)
    print(f"\nwritten to {options.report}")
    return 1 if report.failures else 0


def attack_descriptions(report: Report, end: float) -> None:
    """Load mutated URDFs and YAML files until a time."""
    urdfs = enumerate(mutated_urdfs(report.seed))
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < end:
            for _ in range(DESCRIPTIONS_AT_ONCE):
                number, urdf = next(urdfs)
                _judge(report, "URDFs", number, lambda urdf=urdf: fault_of(urdf))  # type: ignore[misc]
                content = mutated_yaml(report.seed, number)
                path = Path(folder) / "hardware.yaml"
                path.write_bytes(content)
                _judge(report, "YAML files", number, lambda path=path: yaml_fault(path))  # type: ignore[misc]


def attack_nodes(report: Report, end: float) -> None:
    """Attack the running nodes until a time, and with `LEAST_ATTACKS` even if their start took all of it."""
    with AttackedGraph(report) as graph:
        number, times = 0, Counter[Callable[..., None]]()
        while number < LEAST_ATTACKS or time.monotonic() < end:
            attack = GRAPH_ATTACKS[number % len(GRAPH_ATTACKS)]
            times[attack] += 1
            attack(graph, report, report.seed, times[attack] - 1)
            number += 1


def _judge(report: Report, kind: str, number: int, load: Callable[[], str | None]) -> None:
    try:
        fault = load()
    except Exception as error:
        report.count(kind, "tried", "fell")
        report.fail(kind, number, f"{type(error).__name__}: {str(error)[:300]}")
        return
    report.count(kind, "tried", "refused" if fault is None else "accepted")
    if fault:
        report.fail(kind, number, f"accepted, but {fault[:300]}")


if __name__ == "__main__":
    sys.exit(main())
