# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from pin_reference import SEEDS, SHIPPED, PinReference, random_state
from random_robots import urdf_robots
from scipy.integrate import solve_ivp

from robodyn_ros import Robot
from robodyn_ros.base.errors import InputError, SimulationError
from robodyn_ros.compile import compile_function
from robodyn_ros.description.resources import robot_file
from robodyn_ros.dynamics.robot_dynamics import Dynamics
from robodyn_ros.textbook.lagrange_jacobians import coriolis_centrifugal, gravity, mass_matrix
from robodyn_ros.textbook.state_space import euler_integration, runge_kutta, runge_kutta_step, state_derivative


def check(reference, seed):
    robot = reference.robot
    q, v, tau = random_state(robot, seed)
    matrix = mass_matrix(robot, q)
    change = state_derivative(robot, np.concatenate([q, v]), tau)
    np.testing.assert_array_equal(change[: robot.n], v)
    expected = np.linalg.solve(matrix, tau - coriolis_centrifugal(robot, q, v) - gravity(robot, q))  # (5.2)
    tolerance = max(1e-9, 1e-15 * np.linalg.cond(matrix)) * np.max(np.abs(expected))
    np.testing.assert_allclose(change[robot.n :], expected, atol=tolerance)
    np.testing.assert_allclose(change[robot.n :], reference.forward_dynamics(q, v, tau), atol=tolerance)


@SHIPPED
def test_shipped_robots_against_lagranges_terms_and_pinocchio(name):
    check(PinReference(name), 1)


@settings(deadline=None, max_examples=7)
@given(urdf_robots(max_joints=6), SEEDS)
def test_random_trees_against_lagranges_terms_and_pinocchio(urdf, seed):
    check(PinReference(urdf), seed)


@pytest.fixture(scope="module")
def swinging():
    """The shipped 6-axis arm under efforts that vary with time: f(time, x), and where it starts."""
    robot = Robot.from_urdf(robot_file("arm6"))
    function = compile_function(partial(state_derivative, robot.model), {"x": (12,), "tau": (6,)})
    start = np.concatenate([[0.1, -0.6, 0.9, 0.2, -0.4, 0.3], np.zeros(6)])
    hold = robot.dynamics().gravity(start[:6])
    return (lambda time, x: function(x, hold * (1.0 + 0.1 * np.sin(6.0 * time)))), start


def test_runge_kutta_is_scipys_solution_and_of_order_four(swinging):
    derivative, start = swinging
    reference = solve_ivp(derivative, (0.0, 0.4), start, method="DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    errors = [
        np.max(np.abs(runge_kutta(derivative, start, np.linspace(0.0, 0.4, count + 1))[-1] - reference))
        for count in (40, 80, 400)
    ]
    assert np.max(np.abs(reference - start)) > 0.01  # it did move
    assert errors[2] < 1e-9
    assert errors[0] / errors[1] == pytest.approx(16.0, rel=0.3)


def test_backwards_in_time_it_comes_home(swinging):
    derivative, start = swinging
    times = np.linspace(0.0, 0.2, 201)
    end = runge_kutta(derivative, start, times)[-1]
    np.testing.assert_allclose(runge_kutta(derivative, end, times[::-1])[-1], start, atol=1e-9)


def test_free_swing_keeps_its_energy():
    robot = Robot.from_urdf(robot_file("planar_2r"))
    dyn = robot.dynamics()
    derivative = compile_function(partial(state_derivative, robot.model), {"x": (4,), "tau": (2,)})
    states = runge_kutta(lambda _, x: derivative(x, np.zeros(2)), [0.3, 0.8, 0.0, 0.0], np.linspace(0.0, 2.0, 2001))
    q, v = states[:, :2], states[:, 2:]
    energy = dyn.batch.kinetic_energy(q, v) + dyn.batch.potential_energy(q)
    assert np.ptp(dyn.batch.potential_energy(q)) > 1.0
    assert np.ptp(energy) < 1e-6


def test_a_step_of_a_known_solution():
    """x' = x over h: 1 + h + h^2/2 + h^3/6 + h^4/24."""
    h = 0.1
    step = runge_kutta_step(lambda _, x: x, 0.0, np.array([1.0]), h)
    np.testing.assert_allclose(step, [1 + h + h**2 / 2 + h**3 / 6 + h**4 / 24], rtol=1e-15)
    # Without a state in it, Simpson's rule: exact for cubics.
    np.testing.assert_allclose(runge_kutta_step(lambda time, _: np.array([4 * time**3]), 1.0, np.zeros(1), 1.0), [15.0])


def test_a_step_can_be_compiled():
    robot = PinReference("planar_2r").robot

    def one_step(x, tau):
        return runge_kutta_step(lambda _, state: state_derivative(robot, state, tau), 0.0, x, 0.01)

    x, tau = np.array([0.3, 0.8, -1.0, 2.0]), np.array([5.0, -1.0])
    kernel = compile_function(one_step, {"x": (4,), "tau": (2,)})
    np.testing.assert_allclose(kernel(x, tau), one_step(x, tau), rtol=1e-12)


def test_divergence_is_told_with_its_time():
    message = r"diverged between .* s and .* s: expected finite numbers.*smaller steps"
    with pytest.raises(SimulationError, match=message):
        with np.errstate(over="ignore", invalid="ignore"):
            runge_kutta(lambda _, x: x**3, [10.0], np.arange(10.0))


@pytest.mark.parametrize("times", [[], [0.0, 1.0, 1.0], [0.0, 1.0, 0.5]])
def test_times_must_go_one_way(times):
    with pytest.raises(InputError, match="times: expected one or more that ascend or descend throughout"):
        runge_kutta(lambda _, x: x, [1.0], times)


def test_wrong_shapes_are_named():
    robot = PinReference("planar_2r").robot
    with pytest.raises(InputError, match=r"x: expected .*\(4,\), received shape \(2,\)"):
        state_derivative(robot, np.zeros(2), np.zeros(2))
    with pytest.raises(InputError, match=r"x_start: expected"):
        runge_kutta(lambda _, x: x, np.zeros((2, 2)), [0.0, 1.0])


def test_it_is_of_order_one_against_scipy():
    dyn = Dynamics(PinReference("planar_2r").robot)
    start, speed, duration = np.array([0.3, -0.5]), np.array([0.2, 0.4]), 0.5

    def effort(time):
        return np.array([2.0 * np.sin(3.0 * time), 1.0])

    def slope(time, x):
        return np.concatenate([x[2:], dyn.forward_dynamics(x[:2], x[2:], effort(time))])

    exact = solve_ivp(slope, (0.0, duration), [*start, *speed], rtol=1e-10, atol=1e-12).y[:, -1]
    errors = []
    for count in (200, 400, 800):
        step = duration / count
        efforts = [effort(index * step) for index in range(count)]
        motion = euler_integration(dyn.forward_dynamics, start, speed, efforts, step)
        assert motion.positions.shape == motion.velocities.shape == (count + 1, 2)
        errors.append(np.max(np.abs([*motion.positions[-1], *motion.velocities[-1]] - exact)))
    ratios = np.array(errors[:-1]) / errors[1:]
    np.testing.assert_allclose(ratios, 2.0, rtol=0.1)


def test_steps_are_the_books():
    """theta[k+1] = theta[k] + h theta'[k], theta'[k+1] = theta'[k] + h theta''[k]: the old velocity moves it."""
    motion = euler_integration(lambda q, v, tau: tau - q, [1.0], [2.0], [[3.0], [4.0]], 0.5)
    np.testing.assert_allclose(motion.positions[:, 0], [1.0, 2.0, 3.5])
    np.testing.assert_allclose(motion.velocities[:, 0], [2.0, 3.0, 4.0])


def test_bad_arguments_are_named():
    def acceleration(q, v, tau):
        return tau

    with pytest.raises(InputError, match=r"v_start.*\(2,\).*\(3,\)"):
        euler_integration(acceleration, np.zeros(2), np.zeros(3), np.zeros((4, 2)), 0.1)
    with pytest.raises(InputError, match=r"efforts.*\(any, 2\).*\(4, 3\)"):
        euler_integration(acceleration, np.zeros(2), np.zeros(2), np.zeros((4, 3)), 0.1)
    for step in (0.0, -0.1, np.nan, np.inf):
        with pytest.raises(InputError, match="step.*positive"):
            euler_integration(acceleration, np.zeros(2), np.zeros(2), np.zeros((4, 2)), step)
