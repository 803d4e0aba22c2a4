"""One step against the robot's forward dynamics and the method's own equation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_robots import urdf_robots

from robodyn_ros import Robot
from robodyn_ros.resources import robot_file, shipped_robots
from robodyn_ros.simulation.semi_implicit_euler import state_step

STEP = 1e-3


def random_state(n, seed):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, n), rng.normal(size=n), 10.0 * rng.normal(size=n)


def all_free(n):
    return np.stack([np.ones(n), np.zeros(n), np.zeros(n)])


@settings(deadline=None, max_examples=25)
@given(urdf_robots(max_joints=6), st.integers(0, 2**32 - 1))
def test_free_step_is_the_forward_dynamics(urdf, seed):
    robot = Robot.from_urdf(urdf)
    q, v, tau = random_state(robot.n, seed)
    after = state_step(robot.model, STEP, q, v, tau, np.zeros(robot.n), all_free(robot.n))
    acceleration = robot.dynamics(compiled=False).forward_dynamics(q, v, tau)
    expected = v + STEP * acceleration
    np.testing.assert_allclose(after[1], expected, rtol=1e-8, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_array_equal(after[0], q + STEP * after[1])


@pytest.mark.parametrize("name", shipped_robots())
def test_implicit_damping_and_given_velocities(name):
    robot = Robot.from_urdf(robot_file(name))
    n = robot.n
    q, v, tau = random_state(n, 7)
    damping = np.linspace(1.0, 1e5, n)
    constraints = all_free(n)
    constraints[:, 1] = 0.0, 0.25, 99.0  # joint 1: velocity given
    constraints[2, 0] = 0.01  # joint 0: impulse given
    position, velocity, impulse = state_step(robot.model, STEP, q, v, tau, damping, constraints)
    dynamics = robot.dynamics(compiled=False)
    inertia = dynamics.mass_matrix(q)
    balance = inertia @ (velocity - v) - STEP * (tau - dynamics.bias(q, v) - damping * velocity)
    np.testing.assert_allclose(balance, impulse, atol=1e-11 * np.abs(damping * STEP).max())
    assert velocity[1] == 0.25
    assert impulse[0] == pytest.approx(0.01, abs=1e-12)
    np.testing.assert_allclose(np.delete(impulse, [0, 1]), 0.0, atol=1e-11)
    np.testing.assert_array_equal(position, q + STEP * velocity)
