# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Attacks the library and its nodes for a time, prints what became of it, and ends with 1 if a goal failed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from argparse import ArgumentParser
from pathlib import Path

from bench.attack.descriptions import attack_descriptions
from bench.attack.faults import attack_with_faults
from bench.attack.graph import NODES, in_domain, run_part
from bench.attack.inputs import attack_with_input
from bench.attack.pages import attack_pages
from bench.attack.report import Report

ROOT = Path(__file__).parents[2]
URDFS = 100_000
MESSAGES = 100_000
KILLS = 300
"""Least numbers of an hour."""

GROWTH = 0.02
SETTLED_MINUTES = 10.0
"""From this length on, the memory of the nodes is judged; a shorter run sees them fill their caches."""


def main() -> int:
    """Run the attacks; see docs/attack.md."""
    parser = ArgumentParser(prog="make attack", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="how long to attack (default: 60)")
    parser.add_argument("--seed", type=int, default=0, help="the same attacks come with the same seed (default: 0)")
    parser.add_argument("--input-domain", type=int, help="ROS domain of the graph that gets hostile input (default: "
                        "the one after ROS_DOMAIN_ID)")
    parser.add_argument("--report", type=Path, default=Path("attack_output/report.json"), help="file of the report")
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # nodes inherit it where a shell ignores it in background
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(ROOT))))  # has laws
    domain = int(os.environ.get("ROS_DOMAIN_ID", os.getpid() % 100))
    input_domain = domain + 1 if options.input_domain is None else options.input_domain
    seed, end = options.seed, time.monotonic() + 60.0 * options.minutes
    growth = GROWTH if options.minutes >= SETTLED_MINUTES else None
    folder, spawn = options.report.parent, multiprocessing.get_context("spawn")
    parts = {
        "faults": spawn.Process(target=run_part, args=(
            in_domain, domain, attack_with_faults, seed, end, folder / "faults.json")),
        "inputs": spawn.Process(target=run_part, args=(
            in_domain, input_domain, attack_with_input, seed, end, folder / "inputs.json", growth)),
        "descriptions": spawn.Process(target=run_part, args=(
            attack_descriptions, seed, end, folder / "descriptions.json", round(URDFS * options.minutes / 60.0))),
        "pages": spawn.Process(target=run_part, args=(
            in_domain, input_domain, attack_pages, seed, end, folder / "pages.json")),
    }
    for name, part in parts.items():
        (folder / f"{name}.json").unlink(missing_ok=True)
        part.start()
    found = []
    for name, part in parts.items():
        part.join()
        path = folder / f"{name}.json"
        found.append(Report.read(path) if path.exists() else Report(seed))
        if part.exitcode:
            found[-1].fail(name, 0, f"this part of the attack ended early, with exit code {part.exitcode}")
    report = Report.merged(found)
    if options.minutes >= 60.0:
        wanted = {"URDFs": URDFS, "messages": MESSAGES, **{f"kill of {name}": KILLS for name in NODES}}
        for kind, count in wanted.items():
            if report.tried(kind) < count:
                report.fail(kind, 0, f"only {report.tried(kind):,} in the hour, the goal is {count:,}")
    print(report.text())
    report.write(options.report)
    print(f"\nwritten to {options.report}")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
