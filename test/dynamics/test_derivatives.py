# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
import pytest
from hypothesis import given, settings
from pin_reference import SEEDS, SHIPPED, PinReference, random_state, relative_error
from random_robots import random_chain, urdf_robots
from scipy.linalg import expm
from scipy.signal import cont2discrete
from urdf_parts import joint, link
from urdf_parts import robot as urdf_robot

from bench.robots import tree
from robodyn_ros import Robot
from robodyn_ros.compile import derivative, trace
from robodyn_ros.dynamics import derivatives
from robodyn_ros.dynamics.coriolis import coriolis_matrix
from robodyn_ros.dynamics.derivatives import (
    Linearization,
    forward_dynamics_derivatives,
    inverse_dynamics_derivatives,
    wrench_effort_derivative,
)
from robodyn_ros.dynamics.forward_dynamics import mass_matrix_forward_dynamics as forward_dynamics
from robodyn_ros.dynamics.mass_matrix import mass_matrix
from robodyn_ros.dynamics.robot_dynamics import Dynamics, InlineDynamics
from robodyn_ros.kinematics.jacobian import twist_jacobian
from robodyn_ros.textbook.newton_euler import inverse_dynamics


def differentiated(function, robot, arguments):
    """Derivatives with respect to all three arguments by differentiating the tape, shape (3, n, n)."""
    names = ("first", "second", "third")
    tape = derivative(trace(function, dict.fromkeys(names, (robot.n,))), names)
    return np.moveaxis(tape(*arguments).reshape(robot.n, 3, robot.n), 1, 0)


def check(reference, seed):
    robot = reference.robot
    q, v, a = random_state(robot, seed)
    found = inverse_dynamics_derivatives(robot, q, v, a)
    size = np.max(np.abs(reference.mass_matrix(q)))
    assert relative_error(found, reference.inverse_dynamics_derivatives(q, v, a), size) < 1e-9
    by_tape = differentiated(lambda q, v, a: inverse_dynamics(robot, q, v, a), robot, (q, v, a))
    assert relative_error(found, by_tape, size) < 1e-9
    assert relative_error(found[1], 2 * coriolis_matrix(robot, q, v), size) < 1e-12
    assert relative_error(found[2], mass_matrix(robot, q)) < 1e-12


@SHIPPED
def test_shipped_robots_against_pinocchio_and_tape(name):
    check(PinReference(name), 1)


@settings(deadline=None, max_examples=15)
@given(urdf_robots(max_joints=8), SEEDS)
def test_random_trees_against_pinocchio_and_tape(urdf, seed):
    check(PinReference(urdf), seed)


def check_forward(reference, seed):
    robot = reference.robot
    q, v, tau = random_state(robot, seed)
    tolerance = max(1e-9, 1e-13 * np.linalg.cond(reference.mass_matrix(q)))
    found = forward_dynamics_derivatives(robot, q, v, tau)
    by_tape = differentiated(lambda q, v, tau: forward_dynamics(robot, q, v, tau), robot, (q, v, tau))
    assert relative_error(found, by_tape) < tolerance
    np.testing.assert_array_equal(found, InlineDynamics(robot).forward_dynamics_derivatives(q, v, tau))
    if len(robot.joints) == robot.n:  # Pinocchio's are of joints that move on their own
        assert relative_error(found, reference.forward_dynamics_derivatives(q, v, tau)) < tolerance


@SHIPPED
def test_forward_dynamics_of_shipped_robots_against_pinocchio_and_tape(name):
    check_forward(PinReference(name), 2)


@settings(deadline=None, max_examples=10)
@given(urdf_robots(max_joints=6), SEEDS)
def test_forward_dynamics_of_random_trees_against_pinocchio_and_tape(urdf, seed):
    check_forward(PinReference(urdf), seed)


def test_large_robots_leave_the_solution_to_loops(monkeypatch):
    robot = PinReference("arm6").robot
    arrays = np.random.default_rng(5).normal(size=(3, 2, 6))
    wrenches = np.random.default_rng(5).normal(size=(2, 6))
    expected = Dynamics(robot, compiled=False).batch.forward_dynamics_derivatives(*arrays, wrenches)
    compiled = Dynamics(robot).batch.forward_dynamics_derivatives(*arrays, wrenches)
    assert relative_error(compiled, expected) < 1e-9
    assert derivatives.solution_is_short(robot)
    monkeypatch.setattr(derivatives, "MAX_SOLUTION_OPERATIONS", 0)
    assert not derivatives.solution_is_short(robot)
    dyn = Dynamics(robot)
    assert relative_error(dyn.batch.forward_dynamics_derivatives(*arrays, wrenches), expected) < 1e-9
    assert relative_error(dyn.forward_dynamics_derivatives(*arrays[:, 0], wrenches[0]), expected[0]) < 1e-9
    made = {variant.function.name for variant in dyn._kernels._made}
    assert made == {"forward_dynamics", "inverse_dynamics_derivatives"}


def test_several_trees_on_the_base_in_loops(monkeypatch):
    monkeypatch.setattr(derivatives, "MAX_SOLUTION_OPERATIONS", 0)
    limbs = (("left_leg", "base", 2), ("waist", "base", 2), ("right_leg", "base", 3), ("arm", "waist", 2))
    reference = PinReference(tree(limbs))
    q, v, tau = random_state(reference.robot, 6)
    found = Dynamics(reference.robot).forward_dynamics_derivatives(q, v, tau)
    assert relative_error(found, reference.forward_dynamics_derivatives(q, v, tau)) < 1e-9


def test_large_robots_with_joints_that_share_a_degree_of_freedom(monkeypatch):
    parts = [joint(f"j{i}", f"l{i}", f"l{i + 1}", axis=axis, extra=extra)
             for i, (axis, extra) in enumerate([("0 0 1", ""), ("0 1 0", ""), ("1 0 0", '<mimic joint="j0"/>')])]
    robot = Robot.from_urdf_text(urdf_robot(link("l0"), *parts, *(link(f"l{i + 1}") for i in range(3)))).model
    assert (len(robot.joints), robot.n) == (3, 2)
    arrays = np.random.default_rng(6).normal(size=(3, 2, robot.n))
    expected = Dynamics(robot, compiled=False).batch.forward_dynamics_derivatives(*arrays)
    monkeypatch.setattr(derivatives, "MAX_SOLUTION_OPERATIONS", 0)
    dyn = Dynamics(robot)
    assert relative_error(dyn.batch.forward_dynamics_derivatives(*arrays), expected) < 1e-9
    assert relative_error(dyn.forward_dynamics_derivatives(*arrays[:, 0]), expected[0]) < 1e-9


@pytest.mark.long
def test_forward_dynamics_of_fifty_joints():
    """Against LAPACK's solution for the derivatives of inverse dynamics."""
    model = Robot.from_urdf_text(random_chain(50)).model
    states = np.stack([random_state(model, seed) for seed in (1, 2)], axis=1)
    dyn = Dynamics(model)
    found = dyn.batch.forward_dynamics_derivatives(*states)
    a = dyn.batch.forward_dynamics(*states)
    efforts = dyn.batch.inverse_dynamics_derivatives(states[0], states[1], a)
    right = np.concatenate([-efforts[:, 0], -efforts[:, 1], [np.eye(50)] * 2], axis=-1)
    expected = np.linalg.solve(efforts[:, 2], right)
    expected = np.stack(np.split(expected, 3, axis=-1), axis=1)
    single = dyn.forward_dynamics_derivatives(*states[:, 0])
    for place in range(3):
        assert relative_error(found[:, place], expected[:, place]) < 1e-9
        assert relative_error(single[place], expected[0, place]) < 1e-9


def differences(function, x, step=1e-6):
    return np.stack([(function(x + h) - function(x - h)) / (2 * step) for h in step * np.eye(len(x))], axis=-1)


@settings(deadline=None, max_examples=10)
@given(urdf_robots(max_joints=6), SEEDS)
def test_a_wrench_that_keeps_its_base_axes(urdf, seed):
    robot = PinReference(urdf).robot
    (q,) = random_state(robot, seed, 1)
    wrench = np.random.default_rng(seed).normal(size=6)
    link = sorted(robot.frames)[seed % len(robot.frames)]
    expected = differences(lambda x: twist_jacobian(robot, x, link).T @ wrench, q)
    np.testing.assert_allclose(wrench_effort_derivative(robot, q, wrench, link), expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", ["arm6", "arm7"])
def test_derivatives_hold_the_wrenches(name):
    robot = PinReference(name).robot
    q, v, third = random_state(robot, 4)
    wrench_tip, other = np.random.default_rng(4).normal(size=(2, 6))
    wrenches = {robot.joints[2].link: other}
    dyn = InlineDynamics(robot)
    for function, slopes in (
        (dyn.inverse_dynamics, dyn.inverse_dynamics_derivatives),
        (dyn.forward_dynamics, dyn.forward_dynamics_derivatives),
    ):
        found = slopes(q, v, third, wrench_tip, wrenches)
        for place in range(3):

            def along(x, place=place, function=function):
                state = [q, v, third]
                state[place] = x
                return function(*state, wrench_tip, wrenches)

            assert relative_error(found[place], differences(along, (q, v, third)[place])) < 1e-6


def test_it_is_the_slope_of_the_state_derivative():
    robot = PinReference("arm6").robot
    n = robot.n
    q, v, tau = random_state(robot, 1)

    def state_derivative(x, tau):
        return np.concatenate([x[n:], forward_dynamics(robot, x[:n], x[n:], tau)])

    def differences(function, x, step=1e-6):
        return np.stack([(function(x + h) - function(x - h)) / (2 * step) for h in step * np.eye(len(x))], axis=-1)

    x = np.concatenate([q, v])
    state_matrix, effort_matrix = Dynamics(robot).linearization(q, v, tau)
    assert relative_error(state_matrix, differences(lambda x: state_derivative(x, tau), x)) < 1e-7
    assert relative_error(effort_matrix, differences(lambda tau: state_derivative(x, tau), tau)) < 1e-7


@SHIPPED
def test_shipped_robots_against_pinocchio(name):
    reference = PinReference(name)
    robot = reference.robot
    q, v, tau = random_state(robot, 3)
    linear = Dynamics(robot).linearization(q, v, tau)
    by_q, by_v, by_tau = reference.forward_dynamics_derivatives(q, v, tau)
    zero, one = np.zeros((robot.n, robot.n)), np.eye(robot.n)
    assert relative_error(linear.A, np.block([[zero, one], [by_q, by_v]])) < 1e-7
    assert relative_error(linear.B, np.vstack([zero, by_tau])) < 1e-7


def test_a_small_swing_about_the_hanging_position():
    """A planar 2R that hangs: A has the frequencies of M^-1 dg/dq, and the linear motion is the robot's."""
    reference = PinReference("planar_2r")
    robot, dyn = reference.robot, Dynamics(reference.robot)
    hanging = np.array([-np.pi / 2, 0.0])
    zero = np.zeros(2)
    np.testing.assert_allclose(dyn.gravity(hanging), zero, atol=1e-12)
    linear = dyn.linearization(hanging, zero, zero)
    frequencies = np.linalg.eigvals(linear.A)
    np.testing.assert_allclose(frequencies.real, 0.0, atol=1e-9)

    start, step, count = np.array([1e-4, -2e-4, 0.0, 0.0]), 1e-3, 200
    x = np.concatenate([hanging, zero]) + start
    for _ in range(count):  # midpoint rule, order 2
        slope = np.concatenate([x[2:], dyn.forward_dynamics(x[:2], x[2:], zero)])
        middle = x + 0.5 * step * slope
        x = x + step * np.concatenate([middle[2:], dyn.forward_dynamics(middle[:2], middle[2:], zero)])
    expected = expm(linear.A * step * count) @ start
    assert relative_error(x - np.concatenate([hanging, zero]), expected) < 1e-4

    sampled, *_ = cont2discrete((linear.A, linear.B, np.eye(4), np.zeros((4, 2))), step)
    np.testing.assert_allclose(sampled, expm(linear.A * step), atol=1e-12)
    assert robot.n == 2


def test_batches_keep_their_leading_axis():
    linear = Linearization.from_derivatives(np.arange(2 * 3 * 9.0).reshape(2, 3, 3, 3))
    assert linear.A.shape == (2, 6, 6)
    assert linear.B.shape == (2, 6, 3)
    np.testing.assert_array_equal(linear.A[1, :3], np.eye(6)[3:])
    np.testing.assert_array_equal(linear.B[1, 3:], 45.0 + np.arange(9.0).reshape(3, 3))
