# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Neural gain scheduling: the network, the law, jumps of the goal. Training: test/tools/test_train_neural.py."""

import numpy as np
import pytest
from law_inputs import random_reference, random_state
from plant_motion import error_with_wrong_model, jumps
from shipped import few

from robodyn_ros import InputError, Robot
from robodyn_ros.control import JointReference
from robodyn_ros.control.laws.neural import FEATURES, HIDDEN, RANGE, SHARES, SIZE, Neural, NeuralParameters, gain_shares
from robodyn_ros.control.laws.neural_weights import WEIGHTS
from robodyn_ros.control.laws.pd_gravity import PDGravity
from robodyn_ros.description.resources import robot_file, shipped_robots

ROBOTS = {name: Robot.from_urdf(robot_file(name)) for name in shipped_robots()}


def test_the_network_is_two_layers():
    rng = np.random.default_rng(0)
    w, b = rng.normal(size=(HIDDEN, FEATURES)), rng.normal(size=HIDDEN)
    v, c = rng.normal(size=(SHARES, HIDDEN)), rng.normal(size=SHARES)
    weights = np.concatenate([w.ravel(), b, v.ravel(), c])
    assert len(weights) == SIZE == len(WEIGHTS)
    error, rate, inertia = rng.uniform(0.0, 3.0, (3, 4))
    found = gain_shares(weights, error, rate, inertia)
    for joint in range(4):
        x = np.array([error[joint] / (1 + error[joint]), np.tanh(rate[joint] / 2), inertia[joint]])
        expected = RANGE ** np.tanh(v @ np.tanh(w @ x + b) + c)
        np.testing.assert_allclose([shares[joint] for shares in found], expected)
        assert (1 / RANGE <= expected).all() and (expected <= RANGE).all()


def test_without_weights_the_gains_are_those_of_pd():
    shares = gain_shares(np.zeros(SIZE), *np.random.default_rng(0).uniform(0.0, 5.0, (3, 4)))
    np.testing.assert_array_equal(shares, np.ones((2, 4)))


@pytest.mark.parametrize("name", few(ROBOTS))
def test_the_law_is_pd_gravity_with_the_networks_shares(name):
    robot = ROBOTS[name]
    controller = Neural(robot)
    state = random_state(robot)
    reference = random_reference(robot, JointReference, state)
    p, d, limit = controller.parameters.p, controller.parameters.d, controller.parameters.effort_limit
    e, e_dot = reference.q - state.q, reference.v - state.v
    inertia = np.diag(robot.dynamics().mass_matrix(state.q)) / controller.parameters.largest_inertia
    share_p, share_d = gain_shares(np.array(WEIGHTS), p * np.abs(e) / limit, d * e_dot * np.sign(e) / limit, inertia)
    expected = share_p * p * e + share_d * d * e_dot + robot.dynamics().gravity(state.q)
    np.testing.assert_allclose(controller.update(state, reference), expected, rtol=1e-9)
    at_goal = controller.update(state, JointReference(state.q, state.v, state.v))
    np.testing.assert_allclose(at_goal, robot.dynamics().gravity(state.q), rtol=1e-12)


@pytest.mark.parametrize("name", few(["arm6", "arm7", "scara"], ("scara",)))
def test_it_gets_to_a_goal_that_jumps_sooner_than_fixed_gains(name):
    robot = ROBOTS[name]
    assert jumps(robot, Neural(robot))[0] < jumps(robot, PDGravity(robot))[0]


@pytest.mark.parametrize("name", few(ROBOTS))
def test_it_tracks_with_a_wrong_model(name):
    robot = ROBOTS[name]
    assert error_with_wrong_model(robot, Neural) < error_with_wrong_model(robot, PDGravity)


@pytest.mark.parametrize("wrong", [{"p": -1.0}, {"effort_limit": 0.0}])
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        Neural(ROBOTS["scara"], NeuralParameters(**wrong))
