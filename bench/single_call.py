# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""One call from Python of each function of the dynamics, compared with the same function of Pinocchio."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np

from bench.pinocchio_calls import Call, calls, check, derivative_calls
from bench.report import RATIO_HEAD, Section, ratio_cells, time_cells
from bench.robots import HUMANOID, Pair, tree
from bench.timing import Comparison, compare


def run(pair: Pair, functions: Iterable[Call], repetitions: int = 31) -> Iterator[tuple[str, Comparison]]:
    """Check that both sides compute the same numbers at one random state, then compare times."""
    state = np.random.default_rng(4).uniform(-1.0, 1.0, (3, pair.robot.n))
    for call in functions:
        inputs = tuple(state[: call.inputs])
        ours = getattr(pair.robot.dynamics(), call.name)
        check(call, pair, ours(*inputs), inputs)
        ours = getattr(pair.robot.dynamics(), call.name)  # the compiled function, which the first call has put in place
        peer = partial(call.peer, *(array[pair.to_pin] for array in inputs))
        yield call.name, compare(partial(ours, *inputs), peer, repetitions)


def rows() -> Iterator[list[str]]:
    """Rows for the seven functions of robots with 6, 7 and 32 joints."""
    for name, pair, aim in (("arm6", Pair.shipped("arm6"), 0.4), ("arm7", Pair.shipped("arm7"), 0.4),
                            ("humanoid", Pair(tree(HUMANOID)), 0.5)):
        for function, result in run(pair, calls(pair)):
            yield [function, f"{name}, {pair.robot.n} joints", *time_cells(result, 1e6, 3), *ratio_cells(result, aim)]


def derivative_rows() -> Iterator[list[str]]:
    """Rows for the derivatives, 7 joints."""
    pair = Pair.shipped("arm7")
    for function, result in run(pair, derivative_calls(pair)):
        yield [function, *time_cells(result, 1e6, 3), *ratio_cells(result, 0.5)]


SINGLE_CALL = Section(
    "One call from Python",
    "Each function and the same function of [Pinocchio](https://pypi.org/project/pin/), called from Python at one "
    "random state. `arm6` and `arm7` are shipped robots; `humanoid` is a tree of random links: two legs, waist, neck "
    "and two arms.",
    ("function", "robot", "ours [µs]", "Pinocchio [µs]", *RATIO_HEAD),
    rows,
)

DERIVATIVES = Section(
    "Derivatives of inverse and forward dynamics",
    "All three matrices (by position, velocity, acceleration or effort) of arm7 in one call, compared with "
    "`computeRNEADerivatives` and `computeABADerivatives`.",
    ("function", "ours [µs]", "Pinocchio [µs]", *RATIO_HEAD),
    derivative_rows,
)
