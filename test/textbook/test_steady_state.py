# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The predicted offsets against the book's matrices, against energy, and against the simulated robots."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.linalg import inv
from pin_reference import SEEDS, SHIPPED, PinReference, random_state, relative_error
from plant_motion import run
from random_robots import urdf_robots
from scipy.linalg import expm
from shipped import few

from robodyn_ros import Robot
from robodyn_ros.actuation import Actuators, DCMotor, GearTrain
from robodyn_ros.base.errors import InputError
from robodyn_ros.control.laws.pd import PD, PDParameters
from robodyn_ros.control.laws.pid import PID
from robodyn_ros.description.resources import robot_file, shipped_robots
from robodyn_ros.textbook.lagrange_jacobians import gravity
from robodyn_ros.textbook.steady_state import (
    closed_loop_poles,
    error_transform,
    gravity_stiffness,
    rest_position,
    steady_state_error,
)


def of_rigid_bodies(name):
    """A shipped robot as the formulas have it: without dry friction, and without the description's rotors."""
    model = Robot.from_urdf(robot_file(name)).model
    return Robot(replace(model, joints=tuple(replace(joint, armature=0.0, friction=0.0) for joint in model.joints)))


ROBOTS = {name: of_rigid_bodies(name) for name in shipped_robots()}


def desired(robot):
    """A position within the limits where gravity pulls at the joints."""
    low, high = np.maximum(robot.model.position_lower, -2.0), np.minimum(robot.model.position_upper, 2.0)
    return low + 0.6 * (high - low)


@pytest.mark.parametrize("name", few(ROBOTS))
def test_c_is_the_slope_of_gravity(name):
    robot, h = ROBOTS[name], 1e-5
    q, gravity = desired(robot), robot.dynamics().gravity
    slopes = [(gravity(q + h * column) - gravity(q - h * column)) / (2 * h) for column in np.eye(robot.n)]
    c = gravity_stiffness(robot.model, q)
    np.testing.assert_allclose(c, np.transpose(slopes), atol=1e-7)
    np.testing.assert_allclose(c, c.T, atol=1e-10)


@settings(deadline=None, max_examples=10)
@given(urdf_robots(), SEEDS)
def test_c_of_random_trees_against_pinocchio(urdf, seed):
    check_slope_against_pinocchio(PinReference(urdf), seed)


@SHIPPED
def test_c_of_shipped_robots_against_pinocchio(name):
    check_slope_against_pinocchio(PinReference(name), 1)


def check_slope_against_pinocchio(reference, seed):
    (q,) = random_state(reference.robot, seed, 1)
    zero = np.zeros(reference.robot.n)
    expected = reference.inverse_dynamics_derivatives(q, zero, zero)[0]
    size = np.max(np.abs(reference.gravity(q))) + 1.0
    found = gravity_stiffness(reference.robot, q)
    assert relative_error(found, expected, at_least=size) < 1e-9


@pytest.mark.parametrize("name", few(ROBOTS))
def test_offset_is_6_27_with_the_books_matrices(name):
    robot = ROBOTS[name]
    rng, n = np.random.default_rng(0), robot.n
    motor = DCMotor(rng.uniform(0.3, 2.0, n), rng.uniform(0.03, 0.08, n), rng.uniform(1e-5, 5e-5, n))
    actuators, p = Actuators(motor, GearTrain(rng.uniform(50.0, 120.0, n))), rng.uniform(200.0, 400.0, n)
    r, k_m, j = (np.diag(figure) for figure in (motor.resistance, motor.torque_constant, motor.rotor_inertia))
    gamma, q_d = np.diag(actuators.gear.ratio), desired(robot)
    reflected = inv(gamma.T @ j @ gamma)
    stiffness = inv(j @ gamma) @ k_m @ inv(r) @ np.diag(p) + reflected @ gravity_stiffness(robot.model, q_d)
    expected = inv(stiffness) @ reflected @ robot.dynamics().gravity(q_d)
    error = steady_state_error(robot.model, q_d, actuators.effort_gain(p))
    np.testing.assert_allclose(error, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", few(ROBOTS))
def test_rest_is_where_springs_carry_gravity_and_energy_is_least(name):
    robot = ROBOTS[name]
    q_d, p = desired(robot), 0.3 * PD(robot).parameters.p
    rest = rest_position(robot.model, q_d, p)
    np.testing.assert_allclose(p * (q_d - rest.q), robot.dynamics().gravity(rest.q), atol=1e-8)
    np.testing.assert_allclose(rest.effort, p * rest.error, atol=1e-8)

    def energy(q):
        return robot.dynamics().batch.potential_energy(q) + 0.5 * ((q_d - q) ** 2) @ p

    around = rest.q + np.random.default_rng(0).normal(scale=0.02, size=(100, robot.n))
    assert (energy(around) > energy(rest.q[None])).all()


def test_linear_prediction_gets_better_with_stiffness_as_its_neglect_says():
    """What (6.24) leaves out is of second order in e, so that the prediction is wrong by a third order of 1 / K_p."""
    for robot in (ROBOTS["arm6"], ROBOTS["arm7"], ROBOTS["planar_2r"]):
        model, q_d, p = robot.model, desired(robot), PD(robot).parameters.p
        wrong = [np.abs(steady_state_error(model, q_d, k * p) - rest_position(model, q_d, k * p).error).max()
                 for k in (4.0, 8.0)]
        assert 0.0 < 6.0 * wrong[1] < wrong[0]


def test_where_gravity_has_constant_slope_linear_is_exact():
    """The scara's lifting joint feels the same weight everywhere."""
    robot = ROBOTS["scara"]
    q_d, p = desired(robot), PD(robot).parameters.p
    error = steady_state_error(robot.model, q_d, p)
    np.testing.assert_allclose(error, rest_position(robot.model, q_d, p).error, atol=1e-12)
    np.testing.assert_allclose(error[2], robot.dynamics().gravity(q_d)[2] / p[2], rtol=1e-12)


@pytest.mark.parametrize("name", few(ROBOTS))
def test_simulated_pd_comes_to_rest_as_predicted(name):
    robot = ROBOTS[name]
    q_d, controller = desired(robot), PD(robot)
    p = controller.parameters.p
    rest, linear = rest_position(robot.model, q_d, p), steady_state_error(robot.model, q_d, p)
    slowest = closed_loop_poles(robot.model, rest.q, p, controller.parameters.d).real.max()
    distance = np.abs(rest.error).max()
    q, v, effort = run(robot, controller, q_d, duration=12.0 / -slowest)
    assert distance > 0.01 and np.abs(v[-1]).max() < 1e-3 * distance
    np.testing.assert_allclose(q_d - q[-1], rest.error, atol=1e-4 * distance)
    np.testing.assert_allclose(effort[-1], rest.effort, atol=1e-3 * np.abs(rest.effort).max())
    assert np.abs(linear - rest.error).max() < (0.15 if name == "arm7" else 0.02) * distance


def test_gravity_over_stiffness_alone_predicts_worse():
    """What C is good for: near the upright position the arm falls further than K_p^-1 g(q_d)."""
    robot = ROBOTS["arm6"]
    q_d, p = desired(robot), 0.3 * PD(robot).parameters.p
    error = rest_position(robot.model, q_d, p).error
    without = np.abs(robot.dynamics().gravity(q_d) / p - error).max()
    assert np.abs(steady_state_error(robot.model, q_d, p) - error).max() < 0.2 * without


@pytest.mark.parametrize("name", few(ROBOTS))
def test_simulated_pid_leaves_no_offset(name):
    """(6.33), where (6.32) is stable; PD with the same gains does leave one."""
    robot = ROBOTS[name]
    q_d, gains = desired(robot), PID(robot).parameters
    slowest = closed_loop_poles(robot.model, q_d, gains.p, gains.d, gains.i).real.max()
    assert slowest < 0.0
    np.testing.assert_array_equal(steady_state_error(robot.model, q_d, gains.p, gains.i), 0.0)
    np.testing.assert_allclose(rest_position(robot.model, q_d, gains.p, gains.i).effort, gravity(robot.model, q_d))
    q, _, _ = run(robot, PID(robot), q_d, duration=9.0 / -slowest)
    offset = np.abs(steady_state_error(robot.model, q_d, gains.p)).max()
    assert np.abs(q - q_d).max() > 0.2 * offset > 0.001
    assert np.abs(q[-1] - q_d).max() < 0.003 * offset


def test_integrators_on_some_joints_only():
    robot = ROBOTS["planar_2r"]
    q_d, p, i = desired(robot), np.array([200.0, 40.0]), np.array([300.0, 0.0])
    error, rest = steady_state_error(robot.model, q_d, p, i), rest_position(robot.model, q_d, p, i)
    assert error[0] == rest.error[0] == 0.0
    np.testing.assert_allclose(p[1] * rest.error[1], robot.dynamics().gravity(rest.q)[1], rtol=1e-9)
    np.testing.assert_allclose(error[1], rest.error[1], rtol=0.02)
    assert len(closed_loop_poles(robot.model, q_d, p, 10.0, i)) == 5


@pytest.mark.parametrize("integral", [0.0, 400.0])
def test_poles_are_eigenvalues_of_the_robot_under_control(integral):
    """Of the nonlinear closed loop, by differences."""
    robot, n = ROBOTS["planar_2r"], 2
    q_d, p, d = desired(robot), np.array([200.0, 90.0]), np.array([30.0, 10.0])
    rest = rest_position(robot.model, q_d, p, integral)
    forward = robot.dynamics().forward_dynamics

    def derivative(x):
        e, rate, total = np.split(x, 3)
        effort = p * e + d * rate + integral * total
        return np.concatenate([rate, -forward(q_d - e, -rate, effort), e])

    total = (rest.effort - p * rest.error) / integral if integral else np.zeros(n)
    x = np.concatenate([rest.error, np.zeros(n), total])
    np.testing.assert_allclose(derivative(x)[n : 2 * n], 0.0, atol=1e-8)
    h, size = 1e-6, 3 * n if integral else 2 * n
    jacobian = np.transpose([(derivative(x + h * c) - derivative(x - h * c)) / (2 * h) for c in np.eye(3 * n)])
    expected = np.linalg.eigvals(jacobian[:size, :size])
    poles = closed_loop_poles(robot.model, rest.q, p, d, integral)
    np.testing.assert_allclose(np.sort_complex(poles), np.sort_complex(expected), rtol=1e-5)


def test_the_largest_stable_integral_gain():
    """Routh: M s^3 + K_v s^2 + K_p s + K_i is stable for M K_i < K_v K_p, for a joint that moves alone."""
    robot = ROBOTS["scara"]
    q, n, joint = desired(robot), robot.n, 2
    mass = robot.dynamics().mass_matrix(q)[joint, joint]
    p, d = np.full(n, 500.0), np.full(n, 40.0)
    bound = p[joint] * (d[joint] + robot.model.damping[joint]) / mass
    for factor, stable in ((0.99, True), (1.01, False)):
        i = np.zeros(n)
        i[joint] = factor * bound
        assert bool(closed_loop_poles(robot.model, q, p, d, i).real.max() < 0.0) is stable


@pytest.mark.parametrize("integral", [0.0, 900.0])
def test_error_transform_is_the_transform_of_the_linear_motion(integral):
    """(6.26) and (6.32) against the integral of e(t) exp(-s t), e(t) by matrix exponentials"""
    robot, n, s = ROBOTS["planar_2r"], 2, 3.0
    q_d, p, d, rotors = desired(robot), np.array([300.0, 120.0]), np.array([40.0, 12.0]), np.array([0.5, 0.2])
    inverse = inv(robot.dynamics().mass_matrix(q_d) + np.diag(rotors))
    stiffness = np.diag(p) + gravity_stiffness(robot.model, q_d)
    zero, one = np.zeros((n, n)), np.eye(n)
    system = np.block([[zero, one, zero], [-inverse @ stiffness, -inverse * d, -inverse * integral], [one, zero, zero]])
    full = np.zeros((3 * n + 1, 3 * n + 1))  # with gravity, a constant, as one more state
    full[: 3 * n, : 3 * n], full[n : 2 * n, -1] = system, inverse @ robot.dynamics().gravity(q_d)
    h, m = 1e-3, 8000
    step, x = expm(h * full), np.eye(3 * n + 1)[-1]
    weights = np.exp(-s * h * np.arange(m + 1)) * h / 3.0 * np.array([1.0] + [4.0, 2.0] * (m // 2 - 1) + [4.0, 1.0])
    expected = np.zeros(n)
    for weight in weights:
        expected += weight * x[:n]
        x = step @ x
    found = error_transform(robot.model, s, q_d, p, d, integral, rotors)
    np.testing.assert_allclose(found, expected, rtol=1e-7)


@pytest.mark.parametrize("name", few(ROBOTS))
def test_final_value_of_the_transform(name):
    """(6.27), (6.33): the limit of s e(s) for s to 0."""
    robot, s = ROBOTS[name], 1e-7
    q_d, gains = desired(robot), PID(robot).parameters
    for integral in (np.zeros(robot.n), gains.i):
        final = s * error_transform(robot.model, s, q_d, gains.p, gains.d, integral)
        np.testing.assert_allclose(final, steady_state_error(robot.model, q_d, gains.p, integral), atol=1e-6)


def test_without_gravity_there_is_no_offset():
    robot = Robot.from_urdf(robot_file("arm6"), gravity=(0.0, 0.0, 0.0))
    q_d = desired(robot)
    np.testing.assert_array_equal(steady_state_error(robot.model, q_d, 10.0), 0.0)
    np.testing.assert_allclose(rest_position(robot.model, q_d, 10.0).q, q_d, atol=1e-14)


def test_gains_too_weak_for_gravity():
    """An arm held upright by springs that cannot: there is no small offset, but a place where it falls to."""
    robot = ROBOTS["planar_2r"]
    upright = next(q for q in (np.array([sign * np.pi / 2, 0.0]) for sign in (1, -1))
                   if np.linalg.eigvalsh(gravity_stiffness(robot.model, q)).max() < 0.0) + np.array([0.01, 0.0])
    with pytest.raises(InputError, match="stiffer than gravity"):
        steady_state_error(robot.model, upright, 5.0)
    rest = rest_position(robot.model, upright, 5.0)
    assert np.abs(rest.error).max() > 0.5
    q, _, _ = run(robot, PD(robot, PDParameters(p=5.0, d=[6.0, 2.0])), upright, duration=8.0)
    np.testing.assert_allclose(q[-1], rest.q, atol=0.01)


def test_bad_arguments_are_refused():
    robot = ROBOTS["planar_2r"]
    with pytest.raises(InputError, match="q_d of 'planar_2r'"):
        steady_state_error(robot.model, np.zeros(3), 100.0)
    with pytest.raises(InputError, match="p of 'planar_2r'.*not negative.*-1"):
        rest_position(robot.model, np.zeros(2), [100.0, -1.0])
    with pytest.raises(InputError, match="p positive for each joint without i"):
        rest_position(robot.model, np.zeros(2), [100.0, 0.0])
    with pytest.raises(InputError, match="finite"):
        closed_loop_poles(robot.model, np.zeros(2), 100.0, [np.nan, 1.0])
    with pytest.raises(InputError, match="s other than 0"):
        error_transform(robot.model, 0.0, np.zeros(2), 100.0, 10.0)
