# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
import pytest

from robodyn_ros.compile import compile_function, schedule, trace, where


def long_function(x):
    """Hundreds of operations with values used nearby, far away, and as intermediate results."""
    values = list(x)
    for step in range(60):
        a, b, c = values[-1], values[-2], values[step // 2]
        values.append(np.sin(a) * b - 0.25 * np.cos(c) if step % 7 == 0 else 0.5 * a * b + c)
        values.append(where(c < a, np.tanh(values[-1]), a / (1.0 + b * b)))
    return np.array([*values[::9], x[0], 1.5, values[5], values[5]])


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(schedule, "MAX_UNCUT_LENGTH", 40)
    monkeypatch.setattr(schedule, "PIECE_LENGTH", 25)


def test_pieces_compute_the_same(small_pieces):
    kernel = compile_function(long_function, {"x": (5,)})
    samples = np.random.default_rng(4).uniform(-1, 1, (21, 5))
    reference = kernel.tape(samples)
    np.testing.assert_allclose(reference, [long_function(sample) for sample in samples], rtol=1e-12)
    np.testing.assert_allclose(kernel.batch(samples), reference, rtol=1e-12)
    np.testing.assert_allclose([kernel(sample) for sample in samples], reference, rtol=1e-12)


def breadth_first_function(x):
    """Row by row: in this order every value would be passed on."""
    rows = [[np.sin(x[column % 5] * (1 + column)) for column in range(60)]]
    for row in range(4):
        rows.append([rows[-1][column] * x[row] + rows[-1][column] for column in range(60)])
    return np.array(rows[-1])


@pytest.mark.parametrize("function", [long_function, breadth_first_function])
def test_values_keep_their_place_until_their_last_use(small_pieces, function):
    tape = trace(function, {"x": (5,)})
    plan = schedule.schedule(tape, 4)
    assert len(plan.pieces) > 5
    # Simulated run: the content of each place, and whether every operand is available when a step needs it.
    memory = {}
    for piece in plan.pieces:
        at_hand = set(np.flatnonzero(tape.codes <= 1).tolist())
        for step in piece:
            angles = step if isinstance(step, tuple) else ()
            used = angles or [entry for entry in tape.operands[step].tolist() if entry >= 0]
            for entry in used:
                assert entry in at_hand or memory.get(plan.slots.get(entry)) == entry
            made = [of[angle] for angle in angles for of in (plan.sines, plan.cosines) if angle in of] or [step]
            at_hand.update(made)
            memory.update({plan.slots[entry]: entry for entry in made if entry in plan.slots})
    assert plan.slot_count < len(plan.slots)


def test_values_are_computed_shortly_before_their_use(small_pieces):
    tape = trace(breadth_first_function, {"x": (5,)})
    # In the order of the loops it would be half of them.
    assert len(schedule.schedule(tape, 4).slots) < 0.3 * tape.operation_count
    kernel = compile_function(breadth_first_function, {"x": (5,)})
    x = np.random.default_rng(8).normal(size=5)
    np.testing.assert_allclose(kernel(x), breadth_first_function(x), rtol=1e-12)


def test_short_tapes_stay_whole():
    plan = schedule.schedule(trace(long_function, {"x": (5,)}), 4)
    assert len(plan.pieces) == 1
    assert plan.slots == {}


def test_independent_angles_are_computed_together():
    tape = trace(lambda q: np.cos(np.sin(q) + q.sum()), {"q": (6,)})
    groups = [step for piece in schedule.schedule(tape, 4).pieces for step in piece if isinstance(step, tuple)]
    assert max(map(len, groups)) == 4
    assert len(groups) < 12


def sums_of_sums(x):
    """Each sum is needed again after all others: most operations read a value and keep one."""
    outwards = np.cumsum(x)
    return np.cumsum(outwards[::-1])


def test_pieces_end_where_they_read_and_keep_many_values():
    tape = trace(sums_of_sums, {"x": (1600,)})
    plan = schedule.schedule(tape, 4)
    made_in = {step: number for number, piece in enumerate(plan.pieces) for step in piece}
    for number, piece in enumerate(plan.pieces):
        used = {entry for step in piece for entry in tape.operands[step].tolist()}
        read = sum(made_in.get(entry) != number for entry in used)
        kept = sum(step in plan.slots for step in piece)
        assert read + kept < 410, (number, read, kept)  # LLVM's time grows with their square
    x = np.random.default_rng(8).normal(size=1600)
    np.testing.assert_allclose(compile_function(sums_of_sums, {"x": (1600,)})(x), sums_of_sums(x), rtol=1e-9)
