# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``python -m bench.two_machines``: tracking errors over bad links between hardware and controller, and cuts of one."""

from __future__ import annotations

import os
import random
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import ExitStack

import numpy as np

from bench.attack.machine import MachineWatch
from bench.report import line
from bench.two_machines.graph import DISCOVERY, TwoMachines, discovery_server
from bench.two_machines.link import Quality
from bench.two_machines.network import Network
from robodyn_ros.base.errors import RobodynError

SHORTEST_CUT, LONGEST_CUT = 0.2, 1.0
"""Lengths of the cuts [s]."""
COMMAND_TIMEOUT, BACK = 0.1, 2.0
"""Longest time without commands, and until commands are back after a cut [s]."""
QUALITIES = {
    "no delay": Quality(),
    **{f"{delay} ms": Quality(delay=1e-3 * delay) for delay in (1, 2, 5, 10, 20)},
    "2 ms and up to 3 more": Quality(delay=2e-3, jitter=3e-3),
    **{f"2 ms, {percent} % lost": Quality(delay=2e-3, loss=1e-2 * percent) for percent in (1, 5, 20)},
    "2 ms, 10 % overtake": Quality(delay=2e-3, reordering=0.1),
}
"""Links under which the motion is run, by what the table says of them."""


def cuts(graph: TwoMachines, count: int, seed: int) -> Iterator[tuple[float, float, float]]:
    """Cut the link some times, for random times and after random waits.

    Yields:
        Length of the cut, and what :meth:`TwoMachines.cut` returns [s].
    """
    chance = random.Random(seed)
    for _ in range(count):
        length = chance.uniform(SHORTEST_CUT, LONGEST_CUT)
        yield length, *graph.cut(length)
        graph.wait(0.3 * chance.random())


def print_tracking(graph: TwoMachines) -> None:
    """Print a table with a row for each link."""
    print(line(["link, one way", "error RMS [mrad]", "worst [mrad]", "periods without a new command"]))
    print(line(["---"] * 4))
    for name, quality in QUALITIES.items():
        graph.network.set(quality)
        try:
            error, unanswered = graph.move()
        except RobodynError as dropped:
            print(line([name, str(dropped), "", ""]), flush=True)
            continue
        print(line([name, f"{1e3 * np.sqrt(np.mean(error**2)):.2f}", f"{1e3 * np.abs(error).max():.2f}",
                    f"{100.0 * unanswered:.1f} %"]), flush=True)
    graph.network.set(Quality())


def main() -> int:
    """Print the table, and how the cuts were survived; returns 1 if one was not survived as promised."""
    parser = ArgumentParser(prog="python -m bench.two_machines", description=__doc__)
    parser.add_argument("--cuts", type=int, default=50, help="number of cuts (default: 50)")
    parser.add_argument("--seed", type=int, default=0, help="seed of their lengths (default: 0)")
    parser.add_argument("--discovery", choices=DISCOVERY, default="multicast",
                        help="how the machines find each other (default: %(default)s)")
    parser.add_argument("--only-cuts", action="store_true", help="leave out the tracking errors")
    options = parser.parse_args()
    if options.cuts < 1:
        parser.error(f"--cuts: expected 1 or more, received {options.cuts}")
    os.environ.setdefault("ROS_DOMAIN_ID", str(os.getpid() % 100 + 1))
    watch = MachineWatch()
    try:
        with ExitStack() as stack:
            network = stack.enter_context(Network())
            if options.discovery == "discovery server":
                stack.enter_context(discovery_server(network))
            graph = stack.enter_context(TwoMachines(network, DISCOVERY[options.discovery]))
            if not options.only_cuts:
                print_tracking(graph)
            watch.worst = 0.0
            lengths, safe, back = zip(*cuts(graph, options.cuts, options.seed), strict=True)
    except (RobodynError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    finally:
        watch.close()
    late = sum(each > COMMAND_TIMEOUT + 0.02 + 2.0 * watch.worst for each in safe) + sum(each > BACK for each in back)
    print(f"\n{len(lengths)} cuts of {min(lengths):.1f} to {max(lengths):.1f} s: safe after {min(safe):.3f} to "
          f"{max(safe):.3f} s, back after {min(back):.3f} to {max(back):.3f} s; {late} too late. The machine woke a "
          f"sleeping process {watch.worst:.3f} s late at worst.")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
