"""Run the benchmarks and write docs/benchmarks.md."""

from __future__ import annotations

import argparse
import importlib

from bench.report import DOCS, Section, machine

SECTIONS = {
    "single_call": "bench.single_call:SINGLE_CALL",
    "derivatives": "bench.single_call:DERIVATIVES",
    "batch": "bench.batch:BATCH",
    "plant": "bench.plant:PLANT",
    "closed_loop": "bench.closed_loop:CLOSED_LOOP",
    "cold_start": "bench.cold_start:COLD_START",
    "growth": "bench.growth:GROWTH",
    "large_robots": "bench.growth:LARGE_ROBOTS",
    "round_trips": "bench.round_trips:ROUND_TRIPS",
    "real_time": "bench.real_time:REAL_TIME",
}
"""Where each section is, in the order of the report; imported when it is run."""

HEAD = """# Benchmarks

Written by `make bench`, on: {machine}.

Ours and the peer's are timed alternately in one run, so that what else the machine did falls on both; the ratio is the
median over the repetitions of our time by theirs, between its quartiles. Both are checked to compute the same numbers
before they are timed. Times are of that machine and moment; the ratios are what matters. Peers:
{peers}.
"""


def section(name: str) -> Section:
    """A section by its name."""
    module, _, attribute = SECTIONS[name].partition(":")
    found = getattr(importlib.import_module(module), attribute)
    if not isinstance(found, Section):
        raise TypeError(f"{SECTIONS[name]} is not a Section")
    return found


def peers() -> str:
    """The versions compared with."""
    from importlib.metadata import version

    return f"Pinocchio {version('pin')}, MuJoCo {version('mujoco')}, both from PyPI; NumPy {version('numpy')}"


def main() -> None:
    """Run what was asked for; a full run writes the report."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("only", nargs="*", metavar="row", help=f"of {', '.join(SECTIONS)}; none runs all and writes")
    only = parser.parse_args().only
    if unknown := set(only) - set(SECTIONS):
        parser.error(f"no row {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    about = machine()
    print(about)
    written = [section(name).run(name) for name in SECTIONS if not only or name in only]
    if not only:
        report = DOCS / "benchmarks.md"
        report.write_text("\n\n".join([HEAD.format(machine=about, peers=peers()).rstrip(), *written]) + "\n")
        print(f"wrote {report}")


if __name__ == "__main__":
    main()
