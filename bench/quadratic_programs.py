# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Quadratic programs of a law's size, called from Python: our machine code, daqp and proxqp."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle

import daqp
import numpy as np

from bench.report import RATIO_HEAD, Section, ratio_cells, time_cells
from bench.timing import compare
from robodyn_ros.control.optimisation import qp

SIZES = (7, 14), (7, 28), (20, 40), (40, 100)
"""Variables and rows; the first two are those of filters of a robot with 7 axes."""

TICKS = 200


def programs(n: int, m: int) -> list[tuple[np.ndarray, ...]]:
    """Programs of the ticks of a law: half of the rows would be violated at first, and all of it changes slowly."""
    rng = np.random.default_rng(n + m)
    root, rows, target = rng.normal(size=(n, n)), rng.normal(size=(m, n)), rng.normal(size=(2, n)) * 2.0
    h, room = root @ root.T + np.eye(n), rng.uniform(0.1, 1.0, m)
    box = np.full(n, 1.0)
    angles = np.linspace(0.0, 2.0 * np.pi, TICKS)
    return [(h, np.ascontiguousarray(h @ (np.cos(angle) * target[0] + np.sin(angle) * target[1])), rows, -room, room,
             -box, box) for angle in angles]


def by_daqp(given: list[tuple[np.ndarray, ...]]) -> Callable[[], np.ndarray]:
    """One tick after the other with daqp."""
    ticks = cycle([(h, g, a, np.concatenate([x_upper, upper]), np.concatenate([x_lower, lower]),
                    np.zeros(len(g) + len(a), dtype=np.int32)) for h, g, a, lower, upper, x_lower, x_upper in given])

    def solve() -> np.ndarray:
        return np.asarray(daqp.solve(*next(ticks))[0])

    return solve


def by_proxqp(given: list[tuple[np.ndarray, ...]]) -> Callable[[], np.ndarray]:
    """One tick after the other with proxqp, which begins where the last one ended."""
    from proxsuite import proxqp  # of bench.txt alone

    ticks, (h, g, a, lower, upper, x_lower, x_upper) = cycle(given), given[0]
    solver = proxqp.dense.QP(len(g), 0, len(a), True)
    solver.settings.eps_abs = 1e-8
    solver.init(h, g, np.zeros((0, len(g))), np.zeros(0), a, lower, upper, x_lower, x_upper)
    solver.solve()
    solver.settings.initial_guess = proxqp.InitialGuess.WARM_START_WITH_PREVIOUS_RESULT

    def solve() -> np.ndarray:
        solver.update(g=next(ticks)[1])
        solver.solve()
        return np.array(solver.results.x)  # a view, which the next solution overwrites

    return solve


def rows() -> Iterator[list[str]]:
    """A row for each size and peer."""
    for n, m in SIZES:
        given = programs(n, m)
        for name, make in (("daqp", by_daqp), ("proxqp", by_proxqp)):
            solver, ticks, peer = qp.Solver(n, m), cycle(given), make(given)
            found = [solver(*each) for each in given]
            distance = np.abs(np.array([each.x for each in found]) - [peer() for _ in given]).max(axis=1)
            assert np.quantile(distance, 0.9) < 1e-5, distance  # warm-started, proxqp leaves some programs unsolved
            result = compare(lambda solver=solver, ticks=ticks: solver(*next(ticks)), peer)  # type: ignore[misc]
            yield [f"{n} x {m}", name, f"{np.mean([each.iterations for each in found]):.1f}",
                   *time_cells(result, 1e6, 1), *ratio_cells(result, 1.0 / 3.0)]


QUADRATIC_PROGRAMS = Section(
    "Quadratic programs",
    "One call from Python of `qp.Solver`, of daqp's `solve` and of proxqp's `dense.QP` (update and solve, warm-started "
    "to 1e-8), through the ticks of a law whose linear cost turns once in 200 ticks. proxqp is told that nothing else "
    "changes; the others receive the whole program. All have bounds on the variables beside the rows.",
    ("variables x rows", "peer", "our iterations", "ours [µs]", "peer [µs]", *RATIO_HEAD),
    rows,
)
