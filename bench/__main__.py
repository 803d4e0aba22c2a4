# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Run the benchmarks and write docs/benchmarks.md."""

from __future__ import annotations

import argparse
import importlib

from bench.report import DOCS, Section, machine

SECTIONS = {
    "single_call": "bench.single_call:SINGLE_CALL",
    "derivatives": "bench.single_call:DERIVATIVES",
    "batch": "bench.batch:BATCH",
    "batch_limits": "bench.batch_limits:BATCH_LIMITS",
    "generated_code": "bench.generated_code:GENERATED_CODE",
    "export": "bench.exported_law:EXPORTED_LAW",
    "plant": "bench.plant:PLANT",
    "transmissions": "bench.transmissions:TRANSMISSIONS",
    "closed_loop": "bench.closed_loop:CLOSED_LOOP",
    "mpc": "bench.predictive_control:PREDICTIVE_CONTROL",
    "networks": "bench.networks:NETWORKS",
    "qp": "bench.quadratic_programs:QUADRATIC_PROGRAMS",
    "varied_plants": "bench.varied_plants:VARIED_PLANTS",
    "learn": "bench.learn:LEARN",
    "cluster": "bench.cluster:CLUSTER",
    "cluster_limits": "bench.cluster_limits:CLUSTER_LIMITS",
    "referee": "bench.referee:REFEREE",
    "cold_start": "bench.cold_start:COLD_START",
    "start_up": "bench.start_up:START_UP",
    "commands": "bench.commands:COMMANDS_ON_A_GRAPH",
    "compile_parts": "bench.compile_parts:COMPILE_PARTS",
    "growth": "bench.growth:GROWTH",
    "large_robots": "bench.growth:LARGE_ROBOTS",
    "round_trips": "bench.round_trips:ROUND_TRIPS",
    "node_cost": "bench.node_cost:NODE_COST",
    "real_time": "bench.real_time:REAL_TIME",
    "browser_view": "bench.browser_view:BROWSER_VIEW",
    "recorder": "bench.recorder:RECORDER",
    "identification": "bench.identification:IDENTIFICATION",
    "identification_time": "bench.identification_time:IDENTIFICATION_TIME",
}
"""Module and name of each section, in the order of the report; a module is imported when its section runs."""

HEAD = """# Benchmarks

Written by `make bench`, on: {machine}.

Each row times robodyn_ros ("ours") and a peer alternately in one run, so that other load on the machine affects both.
The ratio is our time divided by the peer's: the median over the repetitions, with its quartiles. Before the timing, a
check makes sure that both compute the same numbers. Times depend on the machine and its load; compare the ratios.
`python -m bench --check` compares a quick set of these rows, in two minutes, with recorded ratios
(bench/recorded_ratios.json) and prints what is worse by a quarter.
Peers: {peers}.
"""


def section(name: str) -> Section:
    """Import and return a section by its name."""
    module, _, attribute = SECTIONS[name].partition(":")
    found = getattr(importlib.import_module(module), attribute)
    if not isinstance(found, Section):
        raise TypeError(f"{SECTIONS[name]} is not a Section")
    return found


def peers() -> str:
    """Return the names and versions of the peers."""
    from importlib.metadata import version

    return f"Pinocchio {version('pin')}, MuJoCo {version('mujoco')}, both from PyPI; NumPy {version('numpy')}"


def main() -> None:
    """Run the requested sections; a full run writes the report."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("only", nargs="*", metavar="row",
                        help=f"one of {', '.join(SECTIONS)}; "
                        "without rows, all run and the report is written")
    parser.add_argument("--check", action="store_true", help="compare a quick set of rows with recorded ratios")
    parser.add_argument("--record", action="store_true", help="with --check: record the ratios found")
    given = parser.parse_args()
    only = given.only
    if given.check:
        if only:
            parser.error("--check has rows of its own: leave out the others")
        return importlib.import_module("bench.check").main(given.record)
    if given.record:
        parser.error("--record goes with --check")
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
