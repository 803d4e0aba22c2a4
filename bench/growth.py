# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Growth of the time of one call with the number of joints, ours and Pinocchio's, on robots of random links."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.pinocchio_calls import calls, derivative_calls, other_calls
from bench.report import DOCS, RATIO_HEAD, Section, ratio_cells, time_cells
from bench.robots import HANDS, HUMANOID, Pair, chain, tree
from bench.single_call import run
from bench.timing import Comparison

JOINTS = (2, 3, 5, 7, 10, 15, 22, 32, 47, 68, 100)
FUNCTIONS = ("inverse_dynamics", "forward_dynamics", "mass_matrix")
FIRST_FITTED = 10
"""Least number of joints for the fit of the power; on smaller robots the fixed cost of a call counts."""
IMAGE = "images/growth.svg"
LARGE = (100,)
"""Joints of the chains on which all functions are compared."""
AIM = 0.5
"""Largest ratio aimed at for large robots."""

Times = dict[int, dict[str, Comparison]]


def rows(repetitions: int = 9) -> Iterator[list[str]]:
    """One row for each number of joints, then the fitted powers; draws the plot."""
    times: Times = {}
    for joints in JOINTS:
        pair = Pair(chain(joints))
        wanted = [call for call in calls(pair) if call.name in FUNCTIONS]
        times[joints] = dict(run(pair, wanted, repetitions))
        cells = [f"{value:.3g}" for result in times[joints].values()
                 for value in (np.median(result.ours) * 1e6, np.median(result.peer) * 1e6, result.ratio)]
        yield [str(joints), *cells]
    powers = [(f"{power(times, name, 'ours'):.2f}", f"{power(times, name, 'peer'):.2f}", "") for name in FUNCTIONS]
    yield [f"power, from {FIRST_FITTED} joints", *(cell for cells in powers for cell in cells)]
    draw(times)


def large_rows(repetitions: int = 9) -> Iterator[list[str]]:
    """Every function that Pinocchio has, on a humanoid with hands and on long chains."""
    robots = [("humanoid with hands", tree((*HUMANOID, *HANDS))), *(("chain", chain(joints)) for joints in LARGE)]
    for name, urdf in robots:
        pair = Pair(urdf)
        for function, result in run(pair, [*calls(pair), *other_calls(pair), *derivative_calls(pair)], repetitions):
            yield [function, f"{name}, {pair.robot.n} joints", *time_cells(result, 1e6, 1), *ratio_cells(result, AIM)]


def power(times: Times, name: str, side: str) -> float:
    """Return the p of the best fit time ~ joints^p."""
    joints = [number for number in times if number >= FIRST_FITTED]
    medians = [np.median(getattr(times[number][name], side)) for number in joints]
    return float(np.polyfit(np.log(joints), np.log(medians), 1)[0])


def draw(times: Times) -> None:
    """Draw ``IMAGE``."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    joints = np.array(list(times))
    figure, axes = pyplot.subplots(figsize=(8.0, 5.0), layout="constrained")
    for color, name in enumerate(FUNCTIONS):
        for side, style, label in (("ours", "o-", "robodyn_ros"), ("peer", "s--", "Pinocchio")):
            medians = [1e6 * np.median(getattr(times[number][name], side)) for number in joints]
            axes.loglog(joints, medians, style, color=f"C{color}", label=f"{name}, {label}", markersize=4)
    axes.loglog(joints, 0.02 * joints, ":", color="gray", label="proportional to the joints")
    axes.set(xlabel="joints", ylabel="one call from Python [µs]")
    axes.set_xticks(joints, labels=[str(number) for number in joints])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend()
    (DOCS / IMAGE).parent.mkdir(exist_ok=True)
    figure.savefig(DOCS / IMAGE, metadata={"Date": None})
    pyplot.close(figure)


GROWTH = Section(
    "Growth with the number of joints",
    "One call from Python on chains of random links. Inverse and forward dynamics take a number of operations "
    "proportional to the joints, the mass matrix one that grows with their square; the last row is the "
    "fitted power of the number of joints.",
    ("joints", *(head for name in FUNCTIONS for head in (f"{name}, ours [µs]", "Pinocchio [µs]", "ratio"))),
    rows,
    IMAGE,
)

LARGE_ROBOTS = Section(
    "Large robots",
    "One call from Python of every function that Pinocchio has, on the humanoid with hands and on chains of random "
    "links.",
    ("function", "robot", "ours [µs]", "Pinocchio [µs]", *RATIO_HEAD),
    large_rows,
)
