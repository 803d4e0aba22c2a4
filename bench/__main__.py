"""Run the benchmarks and write docs/benchmarks.md."""

from __future__ import annotations

import argparse
import os
import platform
from pathlib import Path

import numpy as np

from bench import round_trips, single_call
from bench.timing import Comparison

SINGLE_CALL_AIM, ROUND_TRIP_AIM = 0.4, 0.8
ROBOTS = ("arm6", "arm7")
REPORT = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"


def machine() -> str:
    """Processor, cores and load of this machine, in a line."""
    model = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), platform.processor())
    return (f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}, "
            f"load average at the start {os.getloadavg()[0]:.1f}")


def single_call_table() -> str:
    """Compare single calls, as a table in Markdown."""
    lines = ["| function | robot | ours [µs] | Pinocchio [µs] | ratio | quartiles |", "| --- | --- | --- | --- | --- | --- |"]
    for robot in ROBOTS:
        for name, result in single_call.run(robot):
            lines.append(f"| {name} | {robot} | {_median(1e6 * result.ours):.3f} | {_median(1e6 * result.peer):.3f} | "
                         f"{result.ratio:.2f} | {result.spread[0]:.2f} to {result.spread[1]:.2f} |")
            print(lines[-1], flush=True)
    return "\n".join(lines)


def round_trip_table() -> str:
    """Compare lock-stepped round trips, as a table in Markdown."""
    result: Comparison = round_trips.run()
    rates = 1.0 / result.ours, 1.0 / result.peer
    ratio, low, high = 1.0 / result.ratio, 1.0 / result.spread[1], 1.0 / result.spread[0]
    row = f"| {_median(rates[0]):.0f} | {_median(rates[1]):.0f} | {ratio:.2f} | {low:.2f} to {high:.2f} |"
    print(row, flush=True)
    return "\n".join(["| ours [1/s] | bare echo [1/s] | ratio of rates | quartiles |", "| --- | --- | --- | --- |", row])


def _median(values: np.ndarray) -> float:
    return float(np.median(values))


def main() -> None:
    """Run what was asked for; a full run writes the report."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("only", nargs="?", choices=("single_call", "round_trips"), help="one of them; writes nothing")
    only = parser.parse_args().only
    about = machine()
    print(about)
    sections = {"single_call": single_call_table, "round_trips": round_trip_table}
    tables = {name: make() for name, make in sections.items() if only in (None, name)}
    if only is None:
        REPORT.write_text(TEMPLATE.format(machine=about, **tables,
                                          single_call_aim=SINGLE_CALL_AIM, round_trip_aim=ROUND_TRIP_AIM))
        print(f"wrote {REPORT.relative_to(Path.cwd()) if REPORT.is_relative_to(Path.cwd()) else REPORT}")


TEMPLATE = """# Benchmarks

Written by `make bench`, on: {machine}. Ours and the peer's are timed alternately in one run, so that what else the
machine did falls on both; the ratio is the median over the repetitions. Both are checked to compute the same numbers
before they are timed. Times are of that machine and moment; the ratios are what matters.

## One call from Python

`python -m bench single_call`. The same function of [Pinocchio](https://pypi.org/project/pin/) from Python, at one random
state. The aim is a ratio of {single_call_aim} or less.

{single_call}

## Lock-stepped round trips between two processes

`python -m bench round_trips`. The nodes `hardware` (time_mode lockstep, arm7) and `controller` (computed_torque) against
`bench/bare_echo.py`, which sends messages of the same size back and forth and does nothing else. The aim is a ratio of
rates of {round_trip_aim} or more.

{round_trips}
"""


if __name__ == "__main__":
    main()
