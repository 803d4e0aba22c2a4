# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Staircase laws of friction, stops and motors: the solution satisfies them from any start of the search."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_constraints import FREE, IMPULSE, VELOCITY, JointConstraints

from robodyn_ros.compile.procedure import compile_procedure
from robodyn_ros.compile.program import Compute, Repeat
from robodyn_ros.simulation.joint_constraints import (
    LOWER,
    NEGATIVE,
    POSITIVE,
    STICKING,
    UPPER,
    ConstraintLimits,
    ConstraintSolution,
    Problem,
    admissible,
    pivot_step,
    within_reach,
    without_constraints,
)
from robodyn_ros.simulation.pivoting import max_pivot_steps

STEP = 1e-3


ALONE = None, np.zeros((0, 1))
"""No coupled motors."""


def starting_mode(contact_mode, problem):
    return admissible(within_reach(contact_mode, problem), problem.friction)


def solve(limits, problem, contact_mode=None, saturation=None):
    """The rounds as the plant does them: velocity, impulse, contact_mode, saturation, impulse and mode of motors."""
    n = len(problem.momentum)
    contact_mode = starting_mode(np.full(n, STICKING) if contact_mode is None else np.array(contact_mode), problem)
    saturation = np.zeros(n) if saturation is None else saturation
    motor_mode = np.zeros(len(limits.sliding))
    for number in range(max_pivot_steps(n + len(motor_mode))):
        *found, moved = pivot_step(limits, problem, contact_mode, saturation, motor_mode, float(number))
        if not moved:
            return found
        _, _, contact_mode, saturation, _, motor_mode = found
    raise AssertionError("no consistent choice found")


@st.composite
def problems(draw, motors=True):
    """Matrix, momentum, friction, stops within reach, motors, and a choice to begin with."""
    n = draw(st.integers(1, 8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    coupled = motors and rng.random() < 0.5
    scale = 10.0 ** (rng.uniform(-0.5, 0.5, n) if coupled else rng.uniform(-2, 1, n))
    root = rng.normal(size=(n, n))
    matrix = scale[:, None] * (root @ root.T + 0.05 * np.eye(n)) * scale
    velocity = rng.normal(size=n) * 10.0 ** rng.uniform(-3, 1, n)
    momentum = matrix @ velocity
    slowest = np.where(rng.random(n) < 0.5, -rng.random(n) * (rng.random(n) < 0.7), -np.inf)
    fastest = np.where(rng.random(n) < 0.5, rng.random(n) * (rng.random(n) < 0.7), np.inf)
    friction = np.where(rng.random(n) < 0.6, np.abs(momentum) * rng.uniform(0, 2, n), 0.0)
    friction[rng.random(n) < 0.1] = np.inf
    motor = (rng.random(n) < 0.5) & motors
    drive = np.where(motor, momentum * rng.normal(size=n), 0.0)
    drive_damping = np.where(motor, matrix.diagonal() * 10.0 ** rng.uniform(-2, 3, n), 0.0)
    limit = np.where(motor & (rng.random(n) < 0.7), np.abs(drive) * rng.uniform(0.2, 1.5, n) + 1e-9, np.inf)
    contact_mode = rng.integers(LOWER, UPPER + 1, n)
    saturation = np.where(np.isinf(limit), 0.0, rng.integers(-1, 2, n))
    coupling = None
    if coupled:
        coupling = np.eye(n) + np.triu(rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.3), 1)
    sliding = np.zeros((0, n)) if coupling is None else coupling[(coupling != np.eye(n)).any(axis=1)]
    k = len(sliding)
    motor_friction = np.abs(momentum[:k]) * rng.uniform(0, 2, k) * (rng.random(k) < 0.8)
    return (ConstraintLimits(STEP * slowest, STEP * fastest, limit, coupling, sliding),
            Problem(matrix, momentum, friction, slowest, fastest, drive, drive_damping, motor_friction), contact_mode,
            saturation)


@settings(deadline=None, max_examples=80)
@given(problems())
def test_solution_fits_the_staircases_and_is_the_only_one(problem):
    limits, posed, contact_mode, saturation = problem
    velocity, impulse, *modes, slid, _ = solve(limits, posed, contact_mode, saturation)
    motor = np.clip(posed.drive - posed.drive_damping * limits.output_velocity(velocity), -limits.drive, limits.drive)
    size = np.abs(posed.momentum).max() + np.abs(limits.on_joints(motor)).max() + np.abs(
        posed.drive_damping * limits.output_velocity(velocity)).max() + np.abs(slid).sum() + np.abs(impulse).max()
    np.testing.assert_allclose(posed.matrix @ velocity, posed.momentum + limits.on_joints(motor) + impulse
                               + limits.sliding.T @ slid, atol=1e-8 * size)
    for speed, part, most in zip(limits.sliding @ velocity, slid, posed.motor_friction, strict=True):
        if abs(speed) > 1e-6:
            assert part == pytest.approx(-np.sign(speed) * most)
        assert abs(part) <= (1.0 + 1e-9) * most
    dry = ConstraintSolution(velocity, impulse, posed.friction, *modes[:2], slid).friction_part
    for i, f in enumerate(posed.friction):
        small = 1e-9 * (size + (f if np.isfinite(f) else 0.0))
        assert posed.slowest[i] - 1e-9 <= velocity[i] <= posed.fastest[i] + 1e-9
        if impulse[i] > f + small:
            assert velocity[i] == posed.slowest[i]
        elif impulse[i] < -f - small:
            assert velocity[i] == posed.fastest[i]
        elif abs(impulse[i]) < f - small:
            assert velocity[i] == 0.0
        assert dry[i] * velocity[i] <= small * abs(velocity[i])  # friction only takes energy
    again = solve(limits, posed)
    np.testing.assert_allclose(again[0], velocity, atol=1e-7 * (1.0 + np.abs(velocity).max()))


@settings(deadline=None, max_examples=80)
@given(problems(), st.booleans())
def test_what_is_unhindered_is_found_at_once_or_told_not_to_be(problem, gently):
    limits, posed, *_ = problem
    posed = posed._replace(friction=np.zeros(len(posed.momentum)))
    if gently:
        posed = posed._replace(momentum=1e-6 * posed.momentum, drive=1e-6 * posed.drive)
    posed = posed._replace(motor_friction=np.zeros(len(limits.sliding)))
    velocity, impulse, contact_mode, saturation, *_ = solve(limits, posed)
    attempt = without_constraints(limits, posed)
    hindered = bool((impulse != 0.0).any() or saturation.any())
    assert (attempt.moved > 0.0) == hindered
    if not hindered:
        np.testing.assert_allclose(attempt.velocity, velocity, rtol=1e-9, atol=1e-9 * np.abs(velocity).max())
        np.testing.assert_array_equal(attempt.impulse, 0.0)
        np.testing.assert_array_equal(attempt.contact_mode, contact_mode)
        np.testing.assert_array_equal(attempt.saturation, saturation)


@settings(deadline=None, max_examples=80)
@given(problems(motors=False))
def test_solution_is_that_of_the_reference_with_branches(problem):
    limits, posed, contact_mode, _ = problem
    zero = np.zeros(len(posed.momentum))

    def evaluate(constraints):
        """The step of a robot of constant inertia."""
        free, held = constraints[FREE], constraints[VELOCITY]
        matrix = np.where(free[:, None] == 1.0, posed.matrix, np.eye(len(free)))
        velocity = np.linalg.solve(matrix, np.where(free == 1.0, posed.momentum + constraints[IMPULSE], held))
        velocity[free == 0.0] = held[free == 0.0]
        return np.stack([STEP * velocity, velocity, posed.matrix @ velocity - posed.momentum])

    reference = JointConstraints(limits.lower, limits.upper, STEP)
    reference.contact_modes[:] = [int(number) for number in starting_mode(contact_mode, posed)]
    position, velocity, impulse = reference.solve(evaluate, zero, posed.friction.tolist())
    found = solve(limits, posed, contact_mode)
    size = np.abs(velocity).max() + np.abs(posed.momentum).max()
    np.testing.assert_allclose(found[0], velocity, atol=1e-8 * size)
    np.testing.assert_allclose(found[1], impulse, atol=1e-8 * size * max(1.0, np.abs(posed.matrix).max()))


def solve_one(velocity, friction, slowest=-np.inf, fastest=np.inf, drive=0.0, damping=0.0, limit=np.inf):
    """One joint of inertia 2."""
    limits = ConstraintLimits(np.array([STEP * slowest]), np.array([STEP * fastest]), np.array([limit]), *ALONE)
    posed = Problem(np.array([[2.0]]), *(np.array([value]) for value in (
        2.0 * velocity, friction, slowest, fastest, drive, damping)), np.zeros(0))
    return [float(values[0]) for values in solve(limits, posed)[:4]]


@pytest.mark.parametrize(("velocity", "friction", "expected_velocity", "expected_impulse", "expected_mode"), [
    (1.0, 0.5, 0.75, -0.5, POSITIVE),
    (-1.0, 0.5, -0.75, 0.5, NEGATIVE),
    (0.1, 0.5, 0.0, -0.2, STICKING),
    (1e9, np.inf, 0.0, -2e9, STICKING),
    (1.0, 0.0, 1.0, 0.0, NEGATIVE),
])
def test_one_joint_by_hand(velocity, friction, expected_velocity, expected_impulse, expected_mode):
    after, impulse, contact_mode, _ = solve_one(velocity, friction)
    assert after == pytest.approx(expected_velocity)
    assert impulse == pytest.approx(expected_impulse)
    assert contact_mode == expected_mode


@pytest.mark.parametrize("friction", [0.0, 0.1])
def test_stop_ends_the_motion_at_the_stop(friction):
    after, impulse, contact_mode, _ = solve_one(5.0, friction, fastest=2.0)
    assert after == 2.0
    assert impulse == pytest.approx(-6.0)
    assert contact_mode == UPPER


@pytest.mark.parametrize(("drive", "limit", "expected_velocity", "expected_saturation"), [
    (3.0, np.inf, 3.0 / 6.0, 0.0),  # (2 + 4) v = 3
    (3.0, 0.9, 0.45, 1.0),  # 2 v = 0.9, and 3 - 4 v > 0.9
    (-3.0, 0.9, -0.45, -1.0),
    (3.0, 1.5, 0.5, 0.0),
])
def test_one_motor_by_hand(drive, limit, expected_velocity, expected_saturation):
    after, impulse, _, saturation = solve_one(0.0, 0.0, drive=drive, damping=4.0, limit=limit)
    assert after == pytest.approx(expected_velocity)
    assert impulse == pytest.approx(0.0, abs=1e-12)
    assert saturation == expected_saturation


def test_rounds_can_be_compiled():
    limits, posed, contact_mode, saturation = _example()
    n = len(posed.momentum)
    shapes = {name: (n,) for name in (*Problem._fields, "contact_mode", "saturation", "velocity", "impulse")}
    shapes |= {"matrix": (n, n), "number": (), "moved": ()}
    shapes |= dict.fromkeys(("motor_friction", "motor_impulse", "motor_mode"), posed.motor_friction.shape)

    def step(*values):
        *problem, contact_mode, saturation, motor_mode, number = values
        return (*pivot_step(limits, Problem(*problem), contact_mode, saturation, motor_mode, number), number + 1.0)

    inputs = (*Problem._fields, "contact_mode", "saturation", "motor_mode")
    outputs = ("velocity", "impulse", "contact_mode", "saturation", "motor_impulse", "motor_mode")
    statements = [Repeat(max_pivot_steps(n + len(limits.sliding)), [
        Compute(step, (*inputs, "number"), (*outputs, "moved", "number"))], flag="moved")]
    procedure = compile_procedure(shapes, statements, inputs, outputs)
    values = posed._asdict() | {"contact_mode": starting_mode(contact_mode, posed), "saturation": saturation,
                                "motor_mode": np.zeros(len(limits.sliding))}
    compiled, textbook = procedure(**values), procedure.interpret(**values)
    expected = solve(limits, posed, contact_mode, saturation)
    for name, value in zip(outputs, expected, strict=True):
        np.testing.assert_allclose(textbook[name], value, rtol=1e-12)
        np.testing.assert_allclose(compiled[name], value, rtol=1e-7, atol=1e-12)


def _example():
    rng = np.random.default_rng(5)
    n = 4
    root = rng.normal(size=(n, n))
    matrix = root @ root.T + np.eye(n)
    posed = Problem(matrix, 5.0 * rng.normal(size=n), np.array([0.5, 0.0, np.inf, 20.0]), np.array([-0.1, 0, -9, -9.0]),
                    np.array([0.1, 0.2, 9.0, 9.0]), np.array([1.0, -4.0, 0.0, 0.0]), np.array([3.0, 3.0, 0.0, 0.0]),
                    np.array([0.8, 5.0]))
    coupling = np.array([[1.0, 0.0, 0.0, 0.7], [-0.5, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    limits = ConstraintLimits(STEP * posed.slowest, STEP * posed.fastest, np.array([0.5, np.inf, np.inf, np.inf]),
                              coupling, coupling[:2])
    return limits, posed, np.array([STICKING, UPPER, LOWER, POSITIVE]), np.zeros(n)
