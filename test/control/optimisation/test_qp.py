# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Quadratic programs: the conditions of optimality as certificates, machine code against Python, and ends without x."""

from functools import cache
from typing import NamedTuple

import daqp
import numpy as np
import pytest

from robodyn_ros import CompileError, InputError
from robodyn_ros.compile import Compute, Repeat, compile_function, compile_procedure, derivative, trace
from robodyn_ros.control.optimisation import qp

SIZES = (1, 0), (2, 3), (4, 12), (7, 19), (12, 8)
"""Variables and rows of the programs of `random_program`."""

solver = cache(qp.Solver)


class Program(NamedTuple):
    """Arguments of `qp.solve`, and a point that satisfies its rows."""

    h: np.ndarray
    g: np.ndarray
    a: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    x_lower: np.ndarray
    x_upper: np.ndarray


def random_program(rng, n, m):
    """A program with a feasible point: in half of them rows repeat and many meet in one point, some are equations."""
    root, inside = rng.normal(size=(n, n)), rng.normal(size=n)
    h, g = root @ root.T + 10.0 ** rng.uniform(-3, 0) * np.eye(n), rng.normal(size=n) * 10.0 ** rng.uniform(-1, 2)
    a = rng.normal(size=(m, n))
    if rng.random() < 0.5:
        a = np.round(a)
        if m > 3:
            a[1], a[2], a[3] = a[0], -a[0], a[0] + a[1]
    room = rng.uniform(0.0, 1.0, (2, m)) * (rng.random((2, m)) < 0.7)
    lower, upper = a @ inside - room[0], a @ inside + room[1]
    lower[rng.random(m) < 0.3], upper[rng.random(m) < 0.3] = -np.inf, np.inf
    x_lower = np.where(rng.random() < 0.3, -np.inf, inside - rng.uniform(0.0, 1.0, n) * (rng.random(n) < 0.8))
    x_upper = np.where(rng.random() < 0.3, np.inf, inside + rng.uniform(0.0, 1.0, n))
    return Program(h, g, a, lower, upper, x_lower, x_upper)


def assert_optimal(program, solution, most=1e-8):
    """The conditions of Karush, Kuhn and Tucker, which only the solution of a strictly convex program satisfies."""
    h, g, a, *bounds = program
    rows, low, high = np.vstack([a, np.eye(len(g))]), np.r_[bounds[0], bounds[2]], np.r_[bounds[1], bounds[3]]
    x, z = solution.x, solution.multipliers
    values, scale = rows @ x, 1.0 + np.abs(g).max()
    assert solution.status == qp.OPTIMAL
    assert np.abs(h @ x + g + rows.T @ z).max() <= most * scale
    assert max(0.0, np.maximum(low - values, values - high).max(initial=0.0)) <= most * scale
    at = np.where(z > 0.0, high, low)[z != 0.0]
    assert (np.abs(at - values[z != 0.0]) <= most * scale).all()
    assert solution.violation <= most * scale
    assert solution.iterations <= qp.ROUNDS * len(rows)


def differences(programs):
    """Distance of daqp's solutions from ours, for those programs that it solves."""
    for program, x in programs:
        h, g, a, lower, upper, x_lower, x_upper = program
        sense = np.zeros(len(g) + len(lower), dtype=np.int32)
        found, _, flag, _ = daqp.solve(h, g, a, np.r_[x_upper, upper], np.r_[x_lower, lower], sense, primal_tol=1e-11,
                                       dual_tol=1e-11)
        if flag == 1:
            yield np.abs(found - x).max() / (1.0 + np.abs(x).max())


def solved(count):
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n, m = SIZES[seed % len(SIZES)]
        program = random_program(rng, n, m)
        solution = solver(n, m)(*program)
        assert_optimal(program, solution)
        yield program, solution.x.copy()


def test_random_and_degenerate_programs():
    found = np.array(list(differences(solved(60))))
    assert len(found) > 50
    assert np.quantile(found, 0.9) < 1e-8


@pytest.mark.long
def test_ten_thousand_random_and_degenerate_programs():
    found = np.array(list(differences(solved(10_000))))
    assert len(found) > 9_000
    assert np.quantile(found, 0.9) < 1e-8


def test_the_largest_size():
    rng = np.random.default_rng(0)
    for _ in range(8):
        program = random_program(rng, *qp.LARGEST)
        assert_optimal(program, solver(*qp.LARGEST)(*program))


def test_machine_code_of_one_sample_and_of_a_batch_repeats_python():
    rng = np.random.default_rng(2)
    program = random_program(rng, 4, 12)

    def function(g, warm):
        found = qp.solve(program.h, g, *program[2:], warm=warm)
        return np.concatenate([found.x, found.multipliers, [found.status, found.iterations, found.violation]])

    kernel = compile_function(function, {"g": (4,), "warm": (16,)})
    g, warm = rng.normal(0.0, 5.0, (19, 4)), rng.normal(size=(19, 16)) * (rng.random((19, 16)) < 0.2)
    expected = np.array([function(*each) for each in zip(g, warm, strict=True)])
    assert len(np.unique(expected[:, -2])) > 2                     # different numbers of iterations
    for found in (kernel.batch(g, warm), [kernel(*each) for each in zip(g, warm, strict=True)], kernel.tape(g, warm)):
        np.testing.assert_array_equal(found, expected)


def test_a_program_in_a_loop_with_invariants_and_a_memory():
    """What does not change is computed before the loop, also where only some arguments of the program change."""
    def tick(h, g, x, warm):
        found = qp.solve(h @ h.T + np.eye(3), g + x, np.ones((1, 3)), -0.5, 0.5, -1.0, 1.0, warm=warm)
        return x + 0.1 * found.x, found.multipliers

    shapes = {"h": (3, 3), "g": (3,), "x": (3,), "warm": (4,)}
    rng = np.random.default_rng(3)
    h, g = rng.normal(size=(9, 3, 3)), rng.normal(size=(9, 3)) * 5.0
    procedure = compile_procedure(shapes, [Repeat("steps", [Compute(tick, ["h", "g", "x", "warm"], ["x", "warm"])],
                                                  invariant={"h": np.eye(3), "g": np.ones(3)})],
                                  ["h", "g"], ["x", "warm"])
    found = procedure.batch(h=h, g=g, steps=7)
    for number in range(9):
        x, warm = np.zeros(3), np.zeros(4)
        for _ in range(7):
            x, warm = tick(h[number], g[number], x, warm)
        np.testing.assert_allclose(found["x"][number], x, rtol=0.0, atol=1e-12)
        alone = procedure(h=h[number], g=g[number], steps=7)
        np.testing.assert_allclose(alone["warm"], warm, rtol=0.0, atol=1e-12)


def test_two_programs_share_the_arguments_that_are_alike():
    def function(g):
        first = qp.solve(np.eye(2), g, [[1.0, 1.0]], -1.0, 1.0)
        second = qp.solve(np.eye(2), g, [[1.0, 2.0]], -1.0, 1.0)
        return np.concatenate([first.x, second.x])

    g = np.array([3.0, -8.0])
    np.testing.assert_array_equal(compile_function(function, {"g": (2,)})(g), function(g))
    np.testing.assert_array_equal(trace(trace(function, {"g": (2,)}), {"g": (2,)})(g), function(g))


def test_a_warm_start_takes_fewer_iterations_to_the_same_solution():
    rng = np.random.default_rng(4)
    program = random_program(rng, 7, 19)
    cold = qp.solve(*program)
    warm = qp.solve(*program, warm=cold.multipliers)
    assert cold.iterations > 3
    assert warm.iterations == 1
    np.testing.assert_allclose(warm.x, cold.x, rtol=0.0, atol=1e-10)
    wrong = qp.solve(*program, warm=-cold.multipliers)
    np.testing.assert_allclose(wrong.x, cold.x, rtol=0.0, atol=1e-10)


def test_soft_rows_are_violated_in_proportion_to_their_multipliers():
    found = qp.solve(np.eye(2), [-4.0, 0.0], [[1.0, 0.0]], upper=[1.0], softness=[0.5])
    # min (x - 4)^2 / 2 + (x - 1)^2 / (2 * 0.5): x - 4 + 2 (x - 1) = 0
    np.testing.assert_allclose(found.x, [2.0, 0.0], rtol=0.0, atol=1e-14)
    np.testing.assert_allclose([found.multipliers[0], found.violation, found.status], [2.0, 1.0, qp.OPTIMAL])


def test_contradicting_rows_are_violated_in_least_squares_while_bounds_hold():
    rows = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    found = qp.solve(np.eye(2), np.zeros(2), rows, [3.0, -np.inf, 9.0], [np.inf, 1.0, np.inf], -4.0, 4.0)
    assert found.status == qp.INFEASIBLE
    np.testing.assert_allclose(found.x, [2.0, 4.0], rtol=0.0, atol=1e-6)
    assert found.violation == pytest.approx(5.0)


def test_contradicting_rows_yield_in_proportion():
    """x >= 3 against x <= 0 and a soft wish: slack over yielding is the same, as both prices are in equilibrium."""
    rows, yielding = [[1.0], [1.0]], np.array([1e-4, 5e-4])
    found = qp.solve(np.eye(1), [0.0], rows, [3.0, -np.inf], [np.inf, 0.0], yielding=yielding)
    slack = np.array([3.0 - found.x[0], found.x[0]])
    assert found.status == qp.INFEASIBLE
    np.testing.assert_allclose(slack @ [1.0, -0.2], 0.0, atol=1e-3)
    held = qp.solve(np.eye(1), [0.0], rows, [3.0, -np.inf], [np.inf, 4.0], yielding=yielding)
    assert held.status == qp.OPTIMAL and held.x[0] == pytest.approx(3.0, abs=1e-9)  # hard where all can hold


def test_programs_whose_rows_nearly_depend_on_each_other():
    """Rounding decides whether a row depends on others; most of these contradict each other, as yielding says."""
    n, m, rng, statuses = 6, 10, np.random.default_rng(0), list[float]()

    def flat(h, g, a, lower, upper, yielding, warm):
        found = qp.solve(h, g, a, lower, upper, -100.0, 100.0, yielding=yielding, warm=warm)
        return np.concatenate([found.x, found.multipliers, found[2:]])

    solve = compile_function(flat, {"h": (n, n), "g": (n,), "a": (m, n), "lower": (m,), "upper": (m,),
                                    "yielding": (m,), "warm": (n + m,)}).call
    for _ in range(2000):
        root, g = rng.normal(size=(n, n)), rng.normal(size=n)
        h, rank, alike = root @ root.T + 0.1 * np.eye(n), rng.integers(3, 7), rng.random(m) < 0.5
        a = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n))
        a[alike] = a[rng.integers(m, size=alike.sum())]
        a = a + 10.0 ** rng.uniform(-6.0, -2.0) * rng.normal(size=a.shape)
        lower = rng.normal(size=m) * 10.0 ** rng.uniform(-3.0, 1.0)
        room, yielding = rng.random(m) * 10.0 ** rng.uniform(-3.0, 1.0), 10.0 ** rng.uniform(-7.0, -2.0, m)
        last = solve(h, g, a, lower, lower + room, yielding, np.zeros(n + m))
        lower = lower + 0.01 * rng.normal(size=m)
        for warm in (np.zeros(n + m), last[n:-3]):
            found = solve(h, g, a, lower, lower + room, yielding, warm)
            x, z, status, value = found[:n], found[n:-3], found[-3], a @ found[:n]
            beyond = np.maximum(value - lower - room, 0.0) - np.maximum(lower - value, 0.0)
            balance = h @ x + g + a.T @ z[:m] + z[m:]
            assert np.abs(balance).max() < 1e-8 * (1.0 + np.abs(z).max() * np.abs(a).max())
            wanted = yielding * z[:m] if status == qp.INFEASIBLE else np.zeros(m)
            np.testing.assert_allclose(beyond, wanted, atol=1e-4 * (1.0 + np.abs(value).max()))
            statuses.append(status)
    assert set(statuses) == {qp.OPTIMAL, qp.INFEASIBLE}


def test_a_row_that_contradicts_itself_is_infeasible():
    found = qp.solve(np.eye(1), [0.0], [[1.0]], [2.0], [1.0])
    assert (found.status, found.x[0]) == (qp.INFEASIBLE, pytest.approx(1.5))
    assert qp.solve(np.eye(1), [0.0], [[0.0]], [2.0]).status == qp.INFEASIBLE


@pytest.mark.parametrize("h, g", [(-np.eye(2), np.ones(2)), (np.zeros((2, 2)), np.ones(2)),
                                  (np.eye(2), [np.nan, 0.0]), (np.full((2, 2), np.nan), np.ones(2)),
                                  (np.eye(2), [np.inf, 0.0])])
def test_no_program_gives_nan(h, g):
    found = solver(2, 3)(np.asarray(h, float), np.asarray(g, float), np.ones((3, 2)), np.full(3, -1.0), np.ones(3),
                         np.array([0.5, -1.0]), np.ones(2))
    solver(2, 3).reset()
    assert found.status == qp.INVALID
    np.testing.assert_array_equal(found.x, [0.5, 0.0])
    assert np.isfinite(found.multipliers).all()


@pytest.mark.parametrize("nan", range(4))
def test_nan_in_rows_and_bounds_is_told(nan):
    given = [np.ones((3, 2)), np.full(3, -1.0), np.ones(3), np.full(2, -1.0)]
    given[nan][0] = np.nan
    found = solver(2, 3)(np.eye(2), np.ones(2), *given, np.ones(2))
    solver(2, 3).reset()
    assert found.status == qp.INVALID
    assert np.isfinite(found.x).all()


def test_what_does_not_fit_is_named():
    for given, text in [((np.eye(3), [1.0, 2.0]), r"qp: H: expected shape \(2, 2\), received \(3, 3\)"),
                        ((np.eye(2), np.eye(2)), r"qp: g: expected shape \(n,\), received \(2, 2\)"),
                        ((np.eye(2), np.ones(2), np.ones(2)), r"qp: A: expected shape"),
                        ((np.eye(2), np.ones(2), np.ones((3, 2)), np.ones(2)), r"qp: lower: expected shape \(3,\)"),
                        ((np.eye(61), np.ones(61)), "at most 180 rows, received 61 and 0"),
                        ((np.eye(1), [0.0], np.ones((181, 1))), "received 1 and 181")]:
        with pytest.raises(InputError, match=text):
            qp.solve(*given)


def test_it_has_no_derivative():
    tape = trace(lambda g, y: qp.solve(np.eye(2), g).x * y, {"g": (2,), "y": (2,)})
    with pytest.raises(CompileError, match="quadratic program"):
        derivative(tape, "g")
    np.testing.assert_array_equal(derivative(tape, "y")([1.0, 2.0], [3.0, 4.0]), -np.diag([1.0, 2.0]))
