# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Fuzzy gain scheduling: memberships, the rules' gains, jumps of the goal against fixed gains."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from law_inputs import random_reference, random_state
from plant_motion import error_with_wrong_model, jumps
from shipped import few

from robodyn_ros import InputError, Robot
from robodyn_ros.control import JointReference
from robodyn_ros.control.laws.fuzzy import CENTERS, Fuzzy, FuzzyParameters, memberships
from robodyn_ros.control.laws.pd_gravity import PDGravity
from robodyn_ros.description.resources import robot_file, shipped_robots

ROBOTS = {name: Robot.from_urdf(robot_file(name)) for name in shipped_robots()}


@given(st.floats(0.0, 1e6))
def test_memberships_add_up_to_one(z):
    small, medium, large = memberships(np.array([z]))
    for share in (small, medium, large):
        assert 0.0 <= share <= 1.0
    np.testing.assert_allclose(small + medium + large, 1.0)


def test_each_rule_holds_alone_at_its_center():
    np.testing.assert_allclose(memberships(np.array(CENTERS)), np.eye(3))
    np.testing.assert_allclose(memberships(np.array([1.0, 5.0, 100.0])), [[0.5, 0, 0], [0.5, 0.5, 0], [0, 0.5, 1]])


@pytest.mark.parametrize("name", few(ROBOTS))
def test_gains_are_the_rules_weighted(name):
    robot = ROBOTS[name]
    controller = Fuzzy(robot)
    state = random_state(robot)
    reference = random_reference(robot, JointReference, state)
    parameters, expected = controller.parameters, robot.dynamics().gravity(state.q)
    for joint in range(robot.n):
        e, e_dot = reference.q[joint] - state.q[joint], reference.v[joint] - state.v[joint]
        z = parameters.p[joint] * abs(e) / parameters.effort_limit[joint]
        p = np.interp(z, CENTERS, [parameters.p_small, parameters.p_medium, parameters.p_large])
        d = np.interp(z, CENTERS, [parameters.d_small, parameters.d_medium, parameters.d_large])
        expected[joint] += p * parameters.p[joint] * e + d * parameters.d[joint] * e_dot
    np.testing.assert_allclose(controller.update(state, reference), expected, rtol=1e-10)


@pytest.mark.parametrize(("name", "share"), few([
    ("scara", 1.02), ("planar_2r", 1.02), ("arm6", 0.9), ("arm7", 0.9)], 1))
def test_it_gets_to_a_goal_that_jumps_sooner_than_fixed_gains(name, share):
    """By a tenth on the arms whose gains inertia limits; about as soon where effort alone does."""
    robot = ROBOTS[name]
    assert jumps(robot, Fuzzy(robot))[0] < share * jumps(robot, PDGravity(robot))[0]


@pytest.mark.parametrize("name", few(ROBOTS))
def test_it_tracks_no_worse_than_fixed_gains_with_a_wrong_model(name):
    robot = ROBOTS[name]
    assert error_with_wrong_model(robot, Fuzzy) < error_with_wrong_model(robot, PDGravity)


@pytest.mark.parametrize("wrong", [{"p_small": -1.0}, {"d_large": 3.0}, {"effort_limit": 0.0}])
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        Fuzzy(ROBOTS["scara"], FuzzyParameters(**wrong))
