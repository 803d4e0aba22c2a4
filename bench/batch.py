"""Batches of states through each function of the dynamics, against a loop over Pinocchio, and its own batches."""

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
"""States in our batch, and of them in the peer's loop, whose time grows with their number alone."""

CACHED = 4_000
"""States that with their results stay in the cache, and yet many to a call."""


class Result(NamedTuple):
    """Seconds per state.

    Attributes:
        one: On one core, and of the loop.
        new: The same with a new array of results.
        cached: The same of so few states at once that these and their results stay in the cache.
        two: On two, and of the loop.
        parallel: Two cores of ours, and of Pinocchio's own batch on as many, where it has one.
    """

    one: Comparison
    new: Comparison
    cached: Comparison
    two: Comparison
    parallel: Comparison | None


def loop(call: Call, states: list[np.ndarray]) -> list[np.ndarray]:
    """One state after the other, each result kept."""
    return [np.array(call.peer(*state)) for state in zip(*states, strict=True)]


def run(pair: Pair, call: Call, samples: int = SAMPLES, looped: int = LOOPED, repetitions: int = 11) -> Result:
    """Compare one function, after checking that the numbers agree."""
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
    """Every function, 7 joints."""
    pair = Pair.shipped("arm7")
    for call in [*calls(pair), *derivative_calls(pair)]:
        result = run(pair, call)
        own = "" if result.parallel is None else f"{np.median(result.parallel.peer) * 1e9:.0f}"
        ratio = "" if result.parallel is None else f"{result.parallel.ratio:.3g}"
        yield [call.name, *time_cells(result.one, 1e9, 0), *ratio_cells(result.one, 1 / 30),
               *(f"{np.median(times.ours) * 1e9:.0f}" for times in (result.cached, result.new, result.two)),
               f"{result.two.ratio:.3g}", own, ratio]


def limits() -> str:
    """How fast the batches' arithmetic is, small and large."""
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
    return f"What is not memory is arithmetic: {'; '.join(rates)}. A sine and its cosine count as two."


BATCH = Section(
    "Batches",
    f"Time per state of {SAMPLES:,} states of arm7 in one call, against a Python loop over Pinocchio, on one core. "
    "Results go into an array made before (`dyn.batch.into(out)`). Next to it what limits that: the time per state of "
    f"{CACHED:,} states, which with their results stay in the cache; the rest is writing to memory. Then the time with "
    "a new array for each call, whose memory the system has to empty first; and on two cores, also against Pinocchio's "
    "own batches on two, where it has them.",
    ("function", "ours [ns]", "loop over Pinocchio [ns]", *RATIO_HEAD, "in the cache [ns]", "new array [ns]",
     "two cores [ns]", "to the loop", "Pinocchio's batch, two cores [ns]", "ours to it"),
    rows,
    limits=limits,
)
