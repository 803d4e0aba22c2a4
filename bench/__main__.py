"""Run the benchmarks and write docs/benchmarks.md."""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from bench import batch, round_trips, single_call
from bench.timing import Comparison

ROBOTS = ("arm6", "arm7")
REPORT = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"


def machine() -> str:
    """Processor, cores and load of this machine, in a line."""
    model = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), platform.processor())
    return (f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}, "
            f"load average at the start {os.getloadavg()[0]:.1f}")


def table(head: str, rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown; its rows are printed as they come."""
    lines = [head, "|".join(" --- " if cell else "" for cell in head.split("|"))]
    for row in rows:
        lines.append(f"| {' | '.join(row)} |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


def compared(result: Comparison, unit: float, digits: int) -> list[str]:
    """Cells of a table: ours, the peer's, ratio, quartiles."""
    low, high = result.spread
    return [f"{np.median(result.ours) * unit:.{digits}f}", f"{np.median(result.peer) * unit:.{digits}f}",
            f"{result.ratio:.3g}", f"{low:.3g} to {high:.3g}"]


def single_call_table() -> str:
    """Compare single calls."""
    return table("| function | robot | ours [µs] | Pinocchio [µs] | ratio | quartiles |",
                 ([name, robot, *compared(result, 1e6, 3)] for robot in ROBOTS
                  for name, result in single_call.run(robot)))


def batch_table() -> str:
    """Compare batches."""
    return table("| function | ours, one core [ns] | loop over Pinocchio [ns] | ratio | quartiles |",
                 ([name, *compared(result, 1e9, 0)] for name, result in batch.run()))


def round_trip_table() -> str:
    """Compare lock-stepped round trips, as rates."""
    times = round_trips.run()
    rates = Comparison(1.0 / times.ours, 1.0 / times.peer)
    return table("| ours [1/s] | bare echo [1/s] | ratio of rates | quartiles |", [compared(rates, 1.0, 0)])


SECTIONS = {"single_call": single_call_table, "batch": batch_table, "round_trips": round_trip_table}

TEMPLATE = """# Benchmarks

Written by `make bench`, on: {machine}. Ours and the peer's are timed alternately in one run, so that what else the
machine did falls on both; the ratio is the median over the repetitions. Both are checked to compute the same numbers
before they are timed. Times are of that machine and moment; the ratios are what matters.

## One call from Python

`python -m bench single_call`. The same function of [Pinocchio](https://pypi.org/project/pin/) from Python, at one
random state. The aim is a ratio of 0.4 or less.

{single_call}

## Batches

`python -m bench batch`. Time per state of 100,000 states of arm7 in one call, on one core, against a Python loop over
Pinocchio. The aim is a ratio of 1/30 or less.

{batch}

## Lock-stepped round trips between two processes

`python -m bench round_trips`. The nodes `hardware` (time_mode lockstep, arm7) and `controller` (computed_torque)
against `bench/bare_echo.py`, which sends messages of the same size back and forth and does nothing else. The aim is a
ratio of rates of 0.8 or more.

{round_trips}
"""


def main() -> None:
    """Run what was asked for; a full run writes the report."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("only", nargs="?", choices=SECTIONS, help="one of them; writes nothing")
    only = parser.parse_args().only
    about = machine()
    print(about)
    tables = {name: make() for name, make in SECTIONS.items() if only in (None, name)}
    if only is None:
        REPORT.write_text(TEMPLATE.format(machine=about, **tables))
        print(f"wrote {REPORT}")


if __name__ == "__main__":
    main()
