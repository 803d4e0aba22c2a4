# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""LQR: the Riccati equation, what it minimises, stability, tracking, and what is refused."""

import numpy as np
import pytest
from law_inputs import frictionless, random_reference, random_state
from plant_motion import follow, heavier, middle, there_and_back
from scipy.linalg import solve_continuous_are, solve_discrete_lyapunov
from scipy.signal import cont2discrete
from shipped import few

from robodyn_ros import InputError, Robot
from robodyn_ros.control import JointReference
from robodyn_ros.control.laws.lqr import LQR, LQRParameters
from robodyn_ros.description.resources import robot_file, shipped_robots

ROBOTS = {name: Robot.from_urdf(robot_file(name)) for name in shipped_robots()}


def linear(robot, parameters):
    """A, B with friction, and their sampled forms by SciPy."""
    n, q = robot.n, parameters.q0
    state, effort = robot.dynamics().linearization(q, np.zeros(n), robot.dynamics().gravity(q))
    state[n:, n:] -= np.linalg.inv(robot.dynamics().mass_matrix(q)) @ np.diag(parameters.friction)
    sampled = cont2discrete((state, effort, np.eye(2 * n), np.zeros((2 * n, n))), parameters.period)
    return state, effort, sampled[0], sampled[1]


def weights(parameters):
    errors = np.concatenate([parameters.q_tolerance, parameters.v_tolerance])
    return np.diag(errors**-2.0), np.diag(parameters.effort_tolerance**-2.0)


@pytest.mark.parametrize("name", few(ROBOTS))
def test_it_is_feedforward_plus_the_gain(name):
    robot = ROBOTS[name]
    state = random_state(robot)
    reference = random_reference(robot, JointReference, state)
    controller = LQR(robot)
    gain, book, (q_d, v_d, a_d) = controller.parameters.gain, robot.dynamics(False, "textbook"), reference
    expected = (book.mass_matrix(q_d) @ a_d + book.coriolis_matrix(q_d, v_d) @ v_d + book.gravity(q_d)
                + robot.model.damping * v_d
                + gain[:, : robot.n] @ (q_d - state.q) + gain[:, robot.n :] @ (v_d - state.v))
    np.testing.assert_allclose(controller.update(state, reference), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", few(ROBOTS))
def test_no_nearby_gain_costs_less(name):
    """Sum of x^T Q x + u^T R u over the linear, sampled motion, by SciPy's Lyapunov equation."""
    robot = ROBOTS[name]
    parameters = LQR(robot).parameters
    _, _, a, b = linear(robot, parameters)
    q, r = weights(parameters)

    def cost(gain):
        closed = a - b @ gain
        assert np.abs(np.linalg.eigvals(closed)).max() < 1.0
        return np.trace(solve_discrete_lyapunov(closed.T, q + gain.T @ r @ gain))

    best, rng = cost(parameters.gain), np.random.default_rng(0)
    for _ in range(5):
        other = parameters.gain * (1.0 + 0.02 * rng.normal(size=parameters.gain.shape))
        assert best < cost(other)


def test_with_a_short_period_it_is_the_continuous_gain():
    robot = ROBOTS["planar_2r"]
    parameters = LQRParameters(period=1e-5).for_robot(robot)
    a, b, _, _ = linear(robot, parameters)
    q, r = weights(parameters)
    continuous = np.linalg.solve(r, b.T @ solve_continuous_are(a, b, q, r))
    np.testing.assert_allclose(parameters.gain, continuous, rtol=2e-3, atol=2e-3 * np.abs(continuous).max())


@pytest.mark.parametrize("name", few(ROBOTS))
def test_it_comes_to_rest_at_its_goal(name):
    robot = ROBOTS[name]
    q_d, reach = middle(robot)
    rest = np.zeros(robot.n)
    controller = LQR(robot, LQRParameters(q0=q_d))
    motion = follow(robot, controller, lambda _: JointReference(q_d, rest, rest), 3.0, q_d - 0.3 * reach, step=2e-3)
    stuck = robot.model.friction / np.diag(controller.parameters.gain)
    assert (np.abs(motion.q[-1] - q_d) < 5e-3 + 2.0 * stuck).all() and np.abs(motion.v[-1]).max() < 0.02


@pytest.mark.parametrize("name", few(frictionless(ROBOTS), ("scara",)))
def test_it_tracks(name):
    robot = ROBOTS[name]
    trajectory = there_and_back(robot)
    for plant, bound in ((robot, 0.015), (heavier(robot), 0.1)):
        motion = follow(plant, LQR(robot), trajectory.sample, 2.5, trajectory.sample(0.0).q, step=2e-3)
        error = np.array([reference.q for reference in motion.references]) - motion.q
        assert np.abs(error).max() < bound


def test_a_changed_weight_changes_the_gain():
    robot = ROBOTS["scara"]
    before = LQRParameters().for_robot(robot)
    after = before.with_flat_values(robot, {f"gains.{robot.joint_names[0]}.q_tolerance": 0.01})
    assert after.gain[0, 0] > 2.0 * before.gain[0, 0]


@pytest.mark.parametrize("wrong", [{"q_tolerance": 0.0}, {"effort_tolerance": -1.0}, {"period": 0.0}, {"q0": np.inf}])
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        LQR(ROBOTS["scara"], LQRParameters(**wrong))
