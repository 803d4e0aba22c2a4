# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import gc
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shipped import few

from robodyn_ros import compile as c
from robodyn_ros.base.errors import CompileError, InputError
from robodyn_ros.compile import (
    Compute,
    Repeat,
    compile_procedure,
    lowering,
    operations,
    schedule,
)
from robodyn_ros.compile.machine import host

COUNTS = [0, 1, 2, 7, 8, 9, 21]


def collatz(number, rounds):
    """One step of the Collatz sequence, and whether 1 is not reached yet: no formula gives the number of rounds."""
    odd = c.less(np.cos(np.pi * number), 0.0)
    following = c.where(odd, 3.0 * number + 1.0, 0.5 * number)
    return following, rounds + 1.0, c.greater(following, 1.0)


COLLATZ = compile_procedure(
    {"number": (), "rounds": (), "more": ()},
    [Repeat("most", [Compute(collatz, ("number", "rounds"), ("number", "rounds", "more"))], flag="more")],
    inputs=("number", "rounds"),
    outputs=("number", "rounds"),
    name="collatz",
)


def oscillate(q, v, stiffness, force):
    v = v + 0.01 * (force - stiffness @ np.sin(q))
    return q + 0.01 * v, v, np.abs(force - v)


def within(error, worst):
    return c.maximum(error, worst)


OSCILLATOR = compile_procedure(
    {"q": (3,), "v": (3,), "stiffness": (3, 3), "force": (3,), "error": (3,), "worst": (3,)},
    [
        Repeat(
            "ticks",
            [
                Repeat(4, [Compute(oscillate, ("q", "v", "stiffness", "force"), ("q", "v", "error"))]),
                Compute(within, ("error", "worst"), "worst"),
            ],
            read={"force": "forces"},
            record={"positions": "q", "velocities": "v"},
        )
    ],
    inputs=("q", "v", "stiffness"),
    outputs=("q", "v", "worst"),
    name="oscillator",
)
SHAPES = {"q": (3,), "v": (3,), "stiffness": (3, 3), "forces": (7, 3)}


def oscillator_arrays(samples=None, seed=3):
    rng = np.random.default_rng(seed)
    leading = () if samples is None else (samples,)
    return {name: rng.normal(size=(*leading, *shape)) for name, shape in SHAPES.items()}


def close(results, expected):
    assert results.keys() == expected.keys()
    for name, array in expected.items():
        assert results[name].shape == array.shape, name
        np.testing.assert_allclose(results[name], array, rtol=1e-12, atol=1e-13, err_msg=name)


def same(results, expected):
    assert results.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(results[name], array, err_msg=name)


def each(procedure, samples, given, per_sample):
    """The interpreted procedure sample by sample, results stacked as a batch has them."""
    single = [
        procedure.interpret(**{name: value[i] if name in per_sample else value for name, value in given.items()})
        for i in range(samples)
    ]
    return {name: np.stack([result[name] for result in single]) for name in single[0]}


def test_nested_loops_sequences_and_records():
    arrays = oscillator_arrays()
    results = OSCILLATOR(**arrays, ticks=7)
    close(results, OSCILLATOR.interpret(**arrays, ticks=7))
    assert results["positions"].shape == (7, 3)
    np.testing.assert_array_equal(results["velocities"][-1], results["v"])


def test_against_the_same_loop_in_python():
    arrays = oscillator_arrays()
    q, v, worst = arrays["q"], arrays["v"], np.zeros(3)
    positions = []
    for force in arrays["forces"]:
        for _ in range(4):
            q, v, error = oscillate(q, v, arrays["stiffness"], force)
        worst = np.maximum(worst, error)
        positions.append(q)
    expected = {"q": q, "v": v, "worst": worst, "positions": np.array(positions)}
    results = OSCILLATOR(**arrays, ticks=7)
    close({name: results[name] for name in expected}, expected)


def test_no_rounds_at_all():
    arrays = oscillator_arrays() | {"forces": np.empty((0, 3))}
    results = OSCILLATOR(**arrays, ticks=0)
    np.testing.assert_array_equal(results["q"], arrays["q"])
    assert results["positions"].shape == (0, 3)
    batch = OSCILLATOR.batch(**oscillator_arrays(9) | {"forces": np.empty((0, 3))}, ticks=0)
    assert batch["positions"].shape == (9, 0, 3)
    assert not batch["worst"].any()


@pytest.mark.parametrize("samples", [n for n in COUNTS if n])
def test_batch(samples):
    arrays = oscillator_arrays(samples)
    close(OSCILLATOR.batch(**arrays, ticks=7), each(OSCILLATOR, samples, arrays | {"ticks": 7}, arrays))


def test_batch_of_none():
    results = OSCILLATOR.batch(**oscillator_arrays(0), ticks=7)
    assert {name: array.shape for name, array in results.items()} == {
        "q": (0, 3), "v": (0, 3), "worst": (0, 3), "positions": (0, 7, 3), "velocities": (0, 7, 3)
    }


@pytest.mark.parametrize("shared", [["forces"], ["stiffness"], ["q", "forces", "v"]])
def test_what_all_samples_share(shared):
    arrays, alone = oscillator_arrays(11), oscillator_arrays()
    given = arrays | {name: alone[name] for name in shared}
    copied = arrays | {name: np.repeat(alone[name][None], 11, axis=0) for name in shared}
    same(OSCILLATOR.batch(**given, ticks=7), OSCILLATOR.batch(**copied, ticks=7))


@pytest.mark.parametrize("samples", [1, 3, 9])
def test_what_all_samples_share_is_not_copied(samples):
    rows = np.zeros((100_000, 7))
    procedure = compile_procedure({"x": (7,), "row": (7,)}, [Repeat("n", [Compute(lambda x, row: x + row, ("x", "row"),
                                                                                  "x")], read={"row": "rows"})],
                                  ["x"], ["x"])
    procedure.batch(x=np.ones((samples, 7)), rows=rows[:2], n=2)  # compiled
    tracemalloc.start()
    procedure.batch(x=np.ones((samples, 7)), rows=rows, n=len(rows))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < rows.nbytes // 2


def test_any_layout():
    arrays = oscillator_arrays(13)
    backwards = {name: np.flip(np.flip(array).copy()) for name, array in arrays.items()}
    fortran = {name: np.asfortranarray(array) for name, array in arrays.items()}
    expected = OSCILLATOR.batch(**arrays, ticks=7)
    for other in (backwards, fortran):
        same(OSCILLATOR.batch(**other, ticks=7), expected)
    one = oscillator_arrays()
    same(OSCILLATOR(**{name: np.asfortranarray(array) for name, array in one.items()}, ticks=7),
         OSCILLATOR(**one, ticks=7))


@pytest.mark.parametrize("samples", COUNTS)
@pytest.mark.parametrize("threads", [2, 3, 50])
def test_threads_give_the_same_bits(samples, threads):
    arrays = oscillator_arrays(samples)
    same(OSCILLATOR.batch(**arrays, ticks=7, threads=threads), OSCILLATOR.batch(**arrays, ticks=7))


def test_calls_from_several_threads_do_not_meet():
    given = [oscillator_arrays(40, seed) for seed in range(4)]
    expected = [OSCILLATOR.batch(**arrays, ticks=7) for arrays in given]
    results = [None] * len(given)

    def work(number):
        for _ in range(10):
            results[number] = OSCILLATOR.batch(**given[number], ticks=7)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(len(given))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for result, right in zip(results, expected, strict=True):
        same(result, right)


@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_every_vector_width(monkeypatch, lanes):
    monkeypatch.setattr("robodyn_ros.compile.procedure.host", lambda: host()._replace(lanes=lanes))
    procedure = compile_procedure(
        OSCILLATOR.program.variables, OSCILLATOR.program.statements, OSCILLATOR.program.inputs,
        OSCILLATOR.program.outputs,
    )
    arrays = oscillator_arrays(9)
    close(procedure.batch(**arrays, ticks=7), each(procedure, 9, arrays | {"ticks": 7}, arrays))


@pytest.mark.parametrize("number", [1.0, 2.0, 6.0, 7.0, 27.0])
def test_rounds_depend_on_the_data(number):
    results = COLLATZ(number=number, rounds=0.0, most=1000)
    close(results, COLLATZ.interpret(number=number, rounds=0.0, most=1000))
    assert results["number"] == 1.0
    assert results["rounds"] == {1.0: 3.0, 2.0: 1.0, 6.0: 8.0, 7.0: 16.0, 27.0: 111.0}[number]


def test_lanes_with_different_rounds():
    numbers = np.arange(1.0, 30.0)
    results = COLLATZ.batch(number=numbers, rounds=0.0, most=1000)
    same(results, each(COLLATZ, len(numbers), {"number": numbers, "rounds": 0.0, "most": 1000}, ["number"]))
    assert len(set(results["rounds"])) > 10


def test_at_least_one_round_and_at_most_so_many():
    assert COLLATZ(number=27.0, rounds=0.0, most=0)["rounds"] == 1.0
    assert COLLATZ(number=27.0, rounds=0.0, most=5)["rounds"] == 5.0
    np.testing.assert_array_equal(COLLATZ.batch(number=[27.0, 2.0], rounds=0.0, most=5)["rounds"], [5.0, 1.0])


@pytest.mark.parametrize("within_a_loop", [False, True])
def test_a_loop_that_may_be_done_no_time(within_a_loop):
    """The flag is tested before the first round; samples without a positive flag keep their values."""
    loop = [
        Compute(lambda number: c.greater(number, 1.0), "number", "more"),
        Repeat("most", [Compute(collatz, ("number", "rounds"), ("number", "rounds", "more"))], flag="more", at_least=0),
    ]
    procedure = compile_procedure(
        {"number": (), "rounds": (), "more": ()}, [Repeat("times", loop)] if within_a_loop else loop,
        ("number", "rounds"), ("number", "rounds"),
    )
    counts = {"most": 6} | ({"times": 3} if within_a_loop else {})
    for numbers in ([1.0] * 9, [1.0, 2.0, 27.0, np.nan, 1.0, 7.0, 1.0, 64.0, 1.0], [27.0] * 8):
        results = procedure.batch(number=np.array(numbers), rounds=0.0, **counts)
        assert not results["rounds"][np.equal(numbers, 1.0)].any()
        for i, number in enumerate(numbers):
            alone = procedure(number=number, rounds=0.0, **counts)
            interpreted = procedure.interpret(number=number, rounds=0.0, **counts)
            for name, array in results.items():
                np.testing.assert_array_equal(array[i], alone[name])
                np.testing.assert_array_equal(array[i], interpreted[name])


@settings(max_examples=30)
@given(st.lists(st.integers(1, 60), min_size=1, max_size=20), st.integers(1, 4), st.integers(0, 3))
def test_loops_within_loops_that_depend_on_the_data(numbers, most, outer):
    """Each sample ends as it would alone, whatever its neighbours do, also with nested loops."""
    program = [
        Repeat("outer", [
            Repeat(6, [
                Repeat(most, [Compute(collatz, ("number", "rounds"), ("number", "rounds", "more"))], flag="more"),
                Compute(lambda number, total: (total + number, number - 4.0), ("number", "total"), ("total", "go")),
            ], flag="go"),
        ]),
    ]  # fmt: skip
    procedure = compile_procedure(
        {"number": (), "rounds": (), "more": (), "total": (), "go": ()}, program, ["number"],
        ["number", "rounds", "total"],
    )
    numbers = np.array(numbers, dtype=float)
    results = procedure.batch(number=numbers, outer=outer)
    for i, number in enumerate(numbers):
        alone, interpreted = procedure(number=number, outer=outer), procedure.interpret(number=number, outer=outer)
        for name, array in results.items():
            assert array[i] == alone[name] == interpreted[name]


def test_nan_goes_through_and_ends_loops():
    assert np.isnan(COLLATZ(number=np.nan, rounds=0.0, most=1000)["number"])
    assert COLLATZ(number=np.nan, rounds=0.0, most=1000)["rounds"] == 1.0
    results = COLLATZ.batch(number=[27.0, np.nan, 6.0], rounds=0.0, most=1000)
    np.testing.assert_array_equal(results["number"], [1.0, np.nan, 1.0])
    np.testing.assert_array_equal(results["rounds"], [111.0, 1.0, 8.0])
    arrays = oscillator_arrays(10)
    arrays["q"][4, 1] = np.nan
    results = OSCILLATOR.batch(**arrays, ticks=7)
    assert np.isnan(results["positions"][4, :, 1]).all()
    assert np.isfinite(np.delete(results["velocities"], 4, axis=0)).all()


def many_operations(x, y):
    """More operations than fit into one piece; every result needs inputs that other results replace."""
    for k in range(60):
        x, y = np.sin(y + 0.1 * k) + 0.5 * x[::-1], np.cos(x) * y[::-1]
    return x, y


REPLACEMENTS = {
    "swap": lambda x, y: (y, x),
    "rotate": lambda x, y: (np.concatenate([x[1:], y[:1]]), np.concatenate([y[1:], x[:1]])),
    "some stay": lambda x, y: (np.concatenate([x[:5], y[:8]]), np.concatenate([x[:6] * y[:6], y[6:]])),
    "used later": lambda x, y: (x + 1.0, x * y + np.sin(x[::-1])),
    "constants": lambda x, y: (np.zeros(13), x + y),
    "in pieces": many_operations,
}


@pytest.mark.parametrize(("name", "at_once"), [(name, 250) for name in REPLACEMENTS] + few(
    [(name, 3) for name in REPLACEMENTS], len(REPLACEMENTS) - 1))
def test_all_is_read_before_anything_changes(name, at_once, monkeypatch):
    monkeypatch.setattr(lowering, "MAX_STORES", at_once)
    swap = REPLACEMENTS[name]
    procedure = compile_procedure(
        {"x": (13,), "y": (13,)}, [Repeat("n", [Compute(swap, ("x", "y"), ("x", "y"))])], ["x", "y"], ["x", "y"]
    )
    if swap is many_operations:
        assert next(iter(procedure.traced.tapes.values())).operation_count > schedule.MAX_UNCUT_LENGTH
    x, y = np.random.default_rng(1).normal(size=(2, 5, 13))
    for n in (1, 2):
        given = {"x": x, "y": y, "n": n}
        expected = each(procedure, 5, given, ["x", "y"])
        close(procedure.batch(**given), expected)
        close(procedure(x=x[2], y=y[2], n=n), {name: array[2] for name, array in expected.items()})


@settings(max_examples=25)
@given(st.lists(st.tuples(*[st.integers(0, 5)] * 3), min_size=6, max_size=6), st.integers(0, 3))
def test_any_replacement(sources, late):
    """Each element becomes a sum of two others, or another one, the same variable being read twice."""

    def mix(x, y, again):
        old = [*x, *y]
        sums = [old[a] + again[b % 3] * old[c] if number >= late else old[a]
                for number, (a, b, c) in enumerate(sources)]
        return np.array(sums[:3]), np.array(sums[3:])

    procedure = compile_procedure(
        {"x": (3,), "y": (3,)}, [Repeat(2, [Compute(mix, ("x", "y", "x"), ("x", "y"))])], ["x", "y"], ["x", "y"]
    )
    given = {"x": np.array([0.5, -1.5, 2.0]), "y": np.array([0.25, 3.0, -0.75])}
    close(procedure(**given), procedure.interpret(**given))


def test_a_computation_may_stand_in_several_places():
    double = Compute(lambda x: 2.0 * x, "x", "x")
    procedure = compile_procedure({"x": (2,)}, [double, Repeat(3, [double, double]), double], ["x"], ["x"])
    np.testing.assert_array_equal(procedure(x=[1.0, 2.0])["x"], [256.0, 512.0])
    np.testing.assert_array_equal(procedure.batch(x=[[1.0, 2.0]])["x"], [[256.0, 512.0]])
    np.testing.assert_array_equal(procedure.interpret(x=[1.0, 2.0])["x"], [256.0, 512.0])


def test_what_is_not_given_is_zero_every_time():
    procedure = compile_procedure(
        {"x": (3,), "sum": (3,), "none": (0, 4)}, [Compute(lambda x, total: x + total, ("x", "sum"), "sum")], ["x"],
        ["sum", "none"],
    )
    x = np.ones((20, 3))
    for _ in range(2):
        np.testing.assert_array_equal(procedure.batch(x=x)["sum"], x)
        np.testing.assert_array_equal(procedure(x=x[0])["sum"], x[0])
    assert procedure.batch(x=x)["none"].shape == (20, 0, 4)


def test_variables_without_elements():
    """They share memory with other variables, also in a loop that restores finished lanes."""
    shrink = Compute(lambda x, none, flag: (x / 2.0, none, x - 4.0), ("x", "none", "flag"), ("x", "nothing", "flag"))
    procedure = compile_procedure(
        {"none": (0,), "nothing": (0,), "flag": (), "x": ()},
        [Repeat(1, [], read={"none": "nones"}, record={"nothings": "nothing"}), Repeat(9, [shrink], flag="flag")],
        ["x"], ["x", "nothing"],
    )
    given = {"x": np.array([1.0, 10.0, 100.0]), "nones": np.empty((1, 0))}
    same(procedure.batch(**given), each(procedure, 3, given, ["x"]))
    same(procedure(**given | {"x": 100.0}), procedure.interpret(**given | {"x": 100.0}))


def test_nothing_to_do():
    procedure = compile_procedure({"x": (2,)}, [Repeat(3, [])], ["x"], ["x"])
    np.testing.assert_array_equal(procedure(x=[1.0, 2.0])["x"], [1.0, 2.0])
    np.testing.assert_array_equal(procedure.batch(x=np.ones((3, 2)))["x"], np.ones((3, 2)))


def test_description():
    assert repr(OSCILLATOR) == "<Procedure oscillator(q, v, stiffness, forces, ticks) -> q, v, worst, positions, " \
        "velocities>"


def without(name, given):
    return {key: value for key, value in given.items() if key != name}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda g: without("q", g), "oscillator: expected the arguments q, v, stiffness, forces, ticks, received v"),
        (lambda g: without("ticks", g), "expected the arguments q, v, stiffness, forces, ticks"),
        (lambda g: g | {"speed": 1.0}, "received q, v, stiffness, forces, ticks, speed"),
        (lambda g: g | {"ticks": 6}, r"oscillator: forces: expected shape \((4, )?6, 3\), received \((4, )?7, 3\)"),
        (lambda g: g | {"ticks": -1}, "oscillator: ticks: expected an integer of 0 or more, received -1"),
        (lambda g: g | {"ticks": 7.0}, "oscillator: ticks: expected an integer of 0 or more, received 7.0"),
        (lambda g: g | {"v": "text"}, "oscillator: v: expected real numbers, received str"),
        (lambda g: g | {"v": g["v"][..., :2]}, r"oscillator: v: expected shape \((4, )?3,?\), received \((4, )?2,?\)"),
    ],
)
def test_bad_arguments_are_explained(change, message):
    for samples, run in ((None, OSCILLATOR), (None, OSCILLATOR.interpret), (4, OSCILLATOR.batch)):
        with pytest.raises(InputError, match=message):
            run(**change(oscillator_arrays(samples) | {"ticks": 7}))


def test_bad_batches_are_explained():
    arrays = oscillator_arrays(4)
    with pytest.raises(InputError, match=r"oscillator: v: expected shape \(4, 3\), received \(3, 3\)"):
        OSCILLATOR.batch(**arrays | {"v": arrays["v"][:3]}, ticks=7)
    with pytest.raises(InputError, match="expected an axis of samples in at least one of q, v, stiffness, forces"):
        OSCILLATOR.batch(**oscillator_arrays(), ticks=7)
    for threads in (0, 1.5, "2"):
        with pytest.raises(InputError, match="oscillator: threads: expected an integer of 1 or more"):
            OSCILLATOR.batch(**arrays, ticks=7, threads=threads)


def test_functions_that_do_not_fit():
    for function, outputs, message in (
        (lambda x: x[:2], "x", r"expected x of shape \(3,\), received \(2,\)"),
        (lambda x: x, ("x",), "expected the function to return a tuple of 1 arrays"),
        (lambda x: (x, x), ("x",), "received 2 of them"),
        (lambda x: x if x[0] > 0 else -x, "x", "a traced value was used as a condition"),
    ):
        with pytest.raises(CompileError, match=message):
            compile_procedure({"x": (3,)}, [Compute(function, "x", outputs)], ["x"], ["x"])


def test_counts_outlive_a_call_while_other_threads_make_arrays():
    add = Compute(lambda total: total + 1.0, "total", "total")
    count = compile_procedure({"total": ()}, [Repeat("rounds", [Repeat("inner", [add])])], outputs=["total"])
    count(rounds=1, inner=1)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(count, rounds=2_000_000, inner=3)
        while not running.done():
            kept = [np.full(2, 7) for _ in range(1000)]
    assert len(kept) == 1000
    assert running.result()["total"] == 6_000_000.0


def driven(x, gain, offset):
    """Products and sums with fixed values, in every order, and results that are fixed."""
    product = gain * offset + 0.1
    a = x * gain * 0.3 * offset - x / gain + 2.0 / gain
    b = (x + product) + gain - (offset - x) * (gain - x) / offset
    return product - np.sqrt(abs(offset)) * x + 0.5 * np.tanh(a * b), x - product, product


def driven_loop(gain=None, offset=None):
    """With gain and offset as invariants, or built in."""
    names = ("x", "gain", "offset") if gain is None else ("x",)
    step = Compute(driven if gain is None else lambda x: driven(x, gain, offset), names, ("x", "more", "product"))
    loop = Repeat("ticks", [step, Repeat(3, [step], flag="more"), Repeat(2, [step]), step],
                  {"gain": 1.0, "offset": -1.0} if gain is None else {})
    return compile_procedure(dict.fromkeys(("x", "gain", "offset", "more", "product"), ()), [loop], names,
                             ("x", "product"), name="driven")


def test_invariants_are_simplified_and_rounded_like_constants():
    random = np.random.default_rng(4)
    values = {"x": random.normal(size=21), "gain": random.uniform(0.5, 2.0, 21),
              "offset": -random.uniform(0.5, 2.0, 21)}
    hoisted = driven_loop()
    for ticks in (0, 1, 5):
        found = hoisted.batch(**values, ticks=ticks)
        for number in range(0, 21, 5):
            sample = {name: array[number] for name, array in values.items()}
            alone = hoisted(**sample, ticks=ticks)
            constant = driven_loop(float(sample["gain"]), float(sample["offset"]))(x=sample["x"], ticks=ticks)
            for name, result in constant.items():
                np.testing.assert_array_equal(found[name][number], result)
                np.testing.assert_array_equal(alone[name], result)


def test_what_depends_on_invariants_alone_is_computed_before_the_loop():
    hoisted = driven_loop()
    assert hoisted.interpret(x=0.1, gain=2.0, offset=0.3, ticks=2)["product"] == pytest.approx(0.7)
    within = [tape for tape in hoisted.traced.tapes.values() if "tanh" in names_of(tape)]
    before = [tape for tape in hoisted.traced.tapes.values() if "tanh" not in names_of(tape)]
    assert within and before
    assert all({"sqrt", "divide"} <= names_of(tape) for tape in before)
    assert not any({"sqrt", "divide"} & names_of(tape) for tape in within)


def test_invariants_of_another_sign_than_typical_give_the_same_up_to_rounding():
    values = {"x": 0.3, "gain": -1.3, "offset": 0.7}
    for name, result in driven_loop()(**values, ticks=2).items():
        expected = driven_loop(values["gain"], values["offset"])(x=values["x"], ticks=2)[name]
        np.testing.assert_allclose(result, expected, rtol=1e-12)


def names_of(tape):
    return {operations.OPERATIONS[code].name for code in tape.codes}


class Pair(NamedTuple):
    q: np.ndarray
    v: np.ndarray


def swing(pair, gain, push):
    return Pair(pair.q + 0.1 * pair.v, pair.v - gain * np.sin(pair.q) + push), pair.q @ pair.v


@pytest.fixture(scope="module")
def procedure():
    return compile_procedure(
        {"pair": Pair((3,), (3,)), "gain": (), "push": (3,), "power": ()},
        [Repeat("ticks", [Compute(swing, ("pair", "gain", "push"), ("pair", "power"))], read={"push": "pushes"})],
        ["pair", "gain"], ["pair", "power"], name="swing")


@pytest.mark.parametrize("samples", [1, 7, 8, 21])
@pytest.mark.parametrize("threads", [1, 3])
def test_runs_go_on_and_equal_calls_to_the_bit(procedure, samples, threads):
    rng = np.random.default_rng(samples)
    pair, gain, pushes = Pair(*rng.normal(size=(2, samples, 3))), rng.uniform(size=samples), rng.normal(
        size=(samples, 4, 3))
    bound = procedure.bind_batch(samples, threads=threads, ticks=4)
    bound["pair"], bound["gain"], bound["pushes"] = pair, gain, pushes
    kept = bound["pair"].q
    for _ in range(3):
        bound.run()
        after = procedure.batch(pair=pair, gain=gain, pushes=pushes, ticks=4)
        for mine, other in zip((*bound["pair"], bound["power"]), (*after["pair"], after["power"]), strict=True):
            np.testing.assert_array_equal(mine, other)
        pair = after["pair"]
    assert bound["pair"].q is kept
    bound["pair"].q[0] = 5.0  # one sample begins anew, in place
    bound.run()
    fresh = procedure.batch(pair=Pair(np.where(np.arange(samples)[:, None] == 0, 5.0, pair.q), pair.v), gain=gain,
                            pushes=pushes, ticks=4)
    np.testing.assert_array_equal(bound["pair"].q, fresh["pair"].q)


def test_a_sample_with_nan_leaves_its_neighbours_alone(procedure):
    bound = procedure.bind_batch(9, ticks=2)
    bound["gain"][:] = 1.0
    bound["pair"].q[4] = np.nan
    bound["pair"].v[:] = 0.3
    bound.run()
    assert np.isnan(bound["pair"].q[4]).all()
    assert np.isfinite(np.delete(bound["pair"].q, 4, axis=0)).all()


def test_it_outlives_its_procedure():
    def bound():
        return compile_procedure({"q": (2,)}, [Compute(lambda q: q + 1.0, "q", "q")], ["q"], ["q"]).bind_batch(5)

    alone = bound()
    gc.collect()
    alone.run()
    np.testing.assert_array_equal(alone["q"], np.ones((5, 2)))


@pytest.mark.parametrize(("call", "message"), [
    (lambda procedure: procedure.bind_batch(0, ticks=1), "samples: expected an integer of 1 or more, received 0"),
    (lambda procedure: procedure.bind_batch(3, threads=0, ticks=1), "threads: expected an integer of 1 or more"),
    (lambda procedure: procedure.bind_batch(3), "expected the counts ticks, received none"),
    (lambda procedure: procedure.bind_batch(3, ticks=1)["pears"], "expected one of pair, gain, pushes, power"),
    (lambda procedure: procedure.bind_batch(3, ticks=1).__setitem__("pears", 1), "received 'pears'"),
])
def test_wrong_uses_are_told(procedure, call, message):
    with pytest.raises(InputError, match=message):
        call(procedure)
