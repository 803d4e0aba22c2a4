# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Each function of the dynamics for a batch of states, compared with a loop over Pinocchio and its batches."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from bench.pinocchio_calls import Call, calls, check, derivative_calls
from bench.report import RATIO_HEAD, Section, ratio_cells, time_cells
from bench.robots import Pair
from bench.timing import Comparison, compare, seconds_per_call
from robodyn_ros.compile import compile_function
from robodyn_ros.dynamics.robot_dynamics import FUNCTIONS, InlineDynamics

SAMPLES, LOOPED = 100_000, 1_000
"""States in our batch, and states in the peer's loop, whose time per state does not depend on their number."""

CACHED = 4_000
"""States of a batch that fits into the cache together with its results."""


class Result(NamedTuple):
    """Seconds per state.

    Attributes:
        one: Our batch on one core, and the peer's loop.
        new: As ``one``, with a new array of results for each call.
        cached: As ``one``, with `CACHED` states, which stay in the cache.
        two: Our batch on two cores, and the peer's loop.
        parallel: Our batch on two cores, and Pinocchio's batch on two; None for functions without one.
    """

    one: Comparison
    new: Comparison
    cached: Comparison
    two: Comparison
    parallel: Comparison | None


def loop(call: Call, states: list[np.ndarray]) -> list[np.ndarray]:
    """Call the peer for one state after the other, and keep the results."""
    return [np.array(call.peer(*state)) for state in zip(*states, strict=True)]


def run(pair: Pair, call: Call, samples: int = SAMPLES, looped: int = LOOPED, repetitions: int = 11) -> Result:
    """Check that the numbers of one function agree, then compare times."""
    import pinocchio as pin

    batch = pair.robot.dynamics().batch
    function = getattr(batch, call.name)
    inputs = list(np.random.default_rng(5).uniform(-1.0, 1.0, (3, samples, pair.robot.n)))[: call.inputs]
    head = [array[:looped, pair.to_pin] for array in inputs]
    for sample in (0, looped // 2, looped - 1):
        state = tuple(array[sample] for array in inputs)
        check(call, pair, function(*(array[: looped] for array in inputs))[sample], state)

    out = function(*inputs)

    def ours(threads: int, count: int, into: bool) -> np.ndarray:
        batch.threads = threads
        return getattr(batch.into(out[:count]) if into else batch, call.name)(*(array[:count] for array in inputs))

    def against_loop(threads: int, count: int, into: bool) -> Comparison:
        times = compare(partial(ours, threads, count, into), partial(loop, call, head), repetitions)
        return Comparison(times.ours / count, times.peer / looped)

    one, new, cached, two = (against_loop(*how) for how in (
        (1, samples, True), (1, samples, False), (1, min(CACHED, samples), True), (2, samples, True)))
    own = {"inverse_dynamics": pin.rneaInParallel, "forward_dynamics": pin.abaInParallel}.get(call.name)
    if own is None:
        return Result(one, new, cached, two, None)
    pool = pin.ModelPool(pair.model, 2)
    states = [np.asfortranarray(array[:, pair.to_pin].T) for array in inputs]
    result = np.empty_like(states[0])
    own(2, pool, *states, result)
    np.testing.assert_allclose(out, result[pair.from_pin].T, rtol=0.0, atol=1e-9 * np.abs(result).max())
    parallel = compare(partial(ours, 2, samples, True), partial(own, 2, pool, *states, result), repetitions)
    return Result(one, new, cached, two, Comparison(parallel.ours / samples, parallel.peer / samples))


def rows() -> Iterator[list[str]]:
    """One row for each function, 7 joints."""
    pair = Pair.shipped("arm7")
    for call in [*calls(pair), *derivative_calls(pair)]:
        result = run(pair, call)
        own = "" if result.parallel is None else f"{np.median(result.parallel.peer) * 1e9:.0f}"
        ratio = "" if result.parallel is None else f"{result.parallel.ratio:.3g}"
        yield [call.name, *time_cells(result.one, 1e9, 0), *ratio_cells(result.one, 1 / 30),
               *(f"{np.median(times.ours) * 1e9:.0f}" for times in (result.cached, result.new, result.two)),
               f"{result.two.ratio:.3g}", own, ratio]


def limits() -> str:
    """Return the arithmetic rate of the batches, for a small and a large function."""
    model = Pair.shipped("arm7").robot.model
    rates = []
    for name in ("inverse_dynamics", "forward_dynamics_derivatives"):
        function, inputs = getattr(InlineDynamics(model), name), FUNCTIONS[name].arrays
        kernel = compile_function(function, dict.fromkeys(inputs, (model.n,)))
        states = np.random.default_rng(5).uniform(-1.0, 1.0, (len(inputs), CACHED, model.n))
        call = partial(kernel.batch, *states, out=kernel.batch(*states))
        seconds = float(np.median([seconds_per_call(call, 20) for _ in range(15)])) / CACHED
        rates.append(f"`{name}` has {kernel.tape.operation_count:,} operations on floating-point numbers and does "
                     f"{1e-9 * kernel.tape.operation_count / seconds:.0f} of them per ns in the cache")
    return f"Arithmetic limits the rest of the time: {'; '.join(rates)}. A sine and its cosine count as two operations."


BATCH = Section(
    "Batches",
    f"Time per state of {SAMPLES:,} states of arm7 in one call, compared with a Python loop over Pinocchio, on one "
    "core. Results are written to an existing array (`dyn.batch.into(out)`). Column \"in the cache\" is the time per "
    f"state of {CACHED:,} states, which fit into the cache together with their results; the difference is the time for "
    "writing to memory. Column \"new array\" is the time with a new array for each call, whose memory the system first "
    "fills with zeros. The last columns are times on two cores, compared with the loop, and with Pinocchio's own "
    "batches on two cores where it has them.",
    ("function", "ours [ns]", "loop over Pinocchio [ns]", *RATIO_HEAD, "in the cache [ns]", "new array [ns]",
     "two cores [ns]", "to the loop", "Pinocchio's batch, two cores [ns]", "ours to it"),
    rows,
    limits=limits,
)
