"""The staircase of friction and stops: whatever is found fits it, from wherever the search begins."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robodyn_ros.simulation.joint_constraints import (
    FREE,
    IMPULSE,
    LOWER,
    NEGATIVE,
    POSITIVE,
    STICKING,
    UPPER,
    VELOCITY,
    JointConstraints,
)

STEP = 1e-3


def make_evaluate(inertia, momentum, position):
    """The step of a robot of constant inertia: inertia v' = momentum + impulse."""

    def evaluate(constraints):
        free, given_velocity = constraints[FREE], constraints[VELOCITY]
        matrix = np.where(free[:, None] == 1.0, inertia, np.eye(len(free)))
        velocity = np.linalg.solve(matrix, np.where(free == 1.0, momentum + constraints[IMPULSE], given_velocity))
        velocity[free == 0.0] = given_velocity[free == 0.0]
        return np.stack([position + STEP * velocity, velocity, inertia @ velocity - momentum])

    return evaluate


@st.composite
def problems(draw):
    n = draw(st.integers(1, 8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scale = 10.0 ** rng.uniform(-2, 1, n)
    root = rng.normal(size=(n, n))
    inertia = scale[:, None] * (root @ root.T + 0.05 * np.eye(n)) * scale
    velocity = rng.normal(size=n) * 10.0 ** rng.uniform(-3, 1, n)
    lower = np.where(rng.random(n) < 0.5, -STEP * rng.random(n) * (rng.random(n) < 0.7), -np.inf)
    upper = np.where(rng.random(n) < 0.5, STEP * rng.random(n) * (rng.random(n) < 0.7), np.inf)
    friction = np.where(rng.random(n) < 0.6, np.abs(inertia @ velocity) * rng.uniform(0, 2, n), 0.0)
    friction[rng.random(n) < 0.1] = np.inf
    pieces = [int(piece) for piece in np.clip(rng.integers(LOWER, UPPER + 1, n), np.where(np.isinf(lower), NEGATIVE, 0),
                                              np.where(np.isinf(upper), POSITIVE, UPPER))]  # no stop: nothing at it
    return inertia, inertia @ velocity, lower, upper, friction.tolist(), pieces


@settings(deadline=None, max_examples=300)
@given(problems())
def test_solution_fits_the_staircase(problem):
    inertia, momentum, lower, upper, friction, pieces = problem
    zero = np.zeros(len(momentum))
    constraints = JointConstraints(lower, upper, STEP)
    constraints.pieces[:] = pieces
    position, velocity, impulse = constraints.solve(make_evaluate(inertia, momentum, zero), zero, friction)

    np.testing.assert_allclose(inertia @ velocity, momentum + impulse, atol=1e-9 * np.abs(momentum).max())
    assert ((lower <= position) & (position <= upper)).all()
    for i, f in enumerate(friction):
        small = 1e-9 * (np.abs(momentum).max() + (f if np.isfinite(f) else 0.0))
        if impulse[i] > f + small:
            assert position[i] == lower[i]
        elif impulse[i] < -f - small:
            assert position[i] == upper[i]
        elif abs(impulse[i]) < f - small:
            assert velocity[i] == 0.0
        elif f > 0.0:
            assert impulse[i] * velocity[i] <= small  # friction only takes energy

    elsewhere = JointConstraints(lower, upper, STEP)
    again = elsewhere.solve(make_evaluate(inertia, momentum, zero), zero, friction)
    np.testing.assert_allclose(again[1], velocity, atol=1e-7 * (1.0 + np.abs(velocity).max()))


def solve_one(velocity, friction, lower=-np.inf, upper=np.inf):
    constraints = JointConstraints(np.array([lower]), np.array([upper]), STEP)
    evaluate = make_evaluate(np.array([[2.0]]), np.array([2.0 * velocity]), np.zeros(1))
    return constraints.solve(evaluate, np.zeros(1), [friction])[:, 0], constraints.pieces[0]


@pytest.mark.parametrize(("velocity", "friction", "expected_velocity", "expected_impulse", "expected_piece"), [
    (1.0, 0.5, 0.75, -0.5, POSITIVE),
    (-1.0, 0.5, -0.75, 0.5, NEGATIVE),
    (0.1, 0.5, 0.0, -0.2, STICKING),
    (1e9, np.inf, 0.0, -2e9, STICKING),
    (1.0, 0.0, 1.0, 0.0, NEGATIVE),
])
def test_one_joint_by_hand(velocity, friction, expected_velocity, expected_impulse, expected_piece):
    (_, after, impulse), piece = solve_one(velocity, friction)
    assert after == pytest.approx(expected_velocity)
    assert impulse == pytest.approx(expected_impulse)
    assert piece == expected_piece


@pytest.mark.parametrize("friction", [0.0, 0.1])
def test_stop_ends_the_motion_at_the_stop(friction):
    (position, velocity, impulse), piece = solve_one(5.0, friction, upper=2e-3)
    assert position == 2e-3
    assert velocity == pytest.approx(2.0)
    assert impulse == pytest.approx(-6.0)
    assert piece == UPPER
