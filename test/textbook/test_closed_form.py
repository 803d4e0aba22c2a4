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
from random_robots import urdf_robots

from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import compile_function
from robodyn_ros.dynamics.mass_matrix import mass_matrix
from robodyn_ros.kinematics.jacobian import body_jacobians
from robodyn_ros.kinematics.twists import adjoint, homogeneous, inverse_pose
from robodyn_ros.textbook.closed_form import stacked_dynamics
from robodyn_ros.textbook.newton_euler import bias, gravity, inverse_dynamics


def check(reference, seed):
    robot = reference.robot
    q, v, a = random_state(robot, seed)
    exerted_tip = np.random.default_rng(seed).normal(size=6)
    stacked = stacked_dynamics(robot, q)
    size = np.max(np.abs(reference.mass_matrix(q)))
    for found, recursive, expected in (
        (stacked.mass_matrix(), mass_matrix(robot, q), reference.mass_matrix(q)),  # (9.82)
        (stacked.gravity(), gravity(robot, q), reference.gravity(q)),  # (9.84)
        (stacked.coriolis_effort(v) + stacked.gravity(), bias(robot, q, v), reference.bias(q, v)),  # (9.83)
        (stacked.efforts(v, a), inverse_dynamics(robot, q, v, a), reference.inverse_dynamics(q, v, a)),  # (9.80)
    ):
        assert relative_error(found, expected, size) < 1e-9
        assert relative_error(found, recursive, size) < 1e-9
    pushing = inverse_dynamics(robot, q, v, a, {robot.tip_link: exerted_tip})
    assert relative_error(stacked.efforts(v, a, exerted_tip), pushing, size) < 1e-9
    by_jacobian = stacked.efforts(v, a) + stacked.tip_jacobian().T @ exerted_tip  # (9.81)
    assert relative_error(by_jacobian, pushing, size) < 1e-9


@SHIPPED
def test_shipped_robots_against_recursion_and_pinocchio(name):
    check(PinReference(name), 1)


@settings(deadline=None, max_examples=15)
@given(urdf_robots(max_joints=8), SEEDS)
def test_random_trees_against_recursion_and_pinocchio(urdf, seed):
    check(PinReference(urdf), seed)


@settings(deadline=None, max_examples=7)
@given(urdf_robots(max_joints=6), SEEDS)
def test_the_stacked_quantities_solve_their_equations(urdf, seed):
    robot = PinReference(urdf).robot
    q, v, a = random_state(robot, seed)
    exerted_tip = np.random.default_rng(seed).normal(size=6)
    s = stacked_dynamics(robot, q)
    count = len(robot.joints)
    power, total = np.eye(6 * count), np.zeros((6 * count, 6 * count))
    for _ in range(count):
        total, power = total + power, power @ s.Gamma
    np.testing.assert_array_equal(power, 0.0)  # nilpotent
    np.testing.assert_allclose(s.L, total, atol=1e-12)  # (9.76)
    twists, accelerations, wrenches = s.twists(v), s.accelerations(v, a), s.wrenches(v, a, exerted_tip)
    np.testing.assert_allclose(twists, s.Gamma @ twists + s.A @ v, atol=1e-9)  # (9.72)
    drift = s.ad_joints(v) @ (s.Gamma @ twists)
    expected = s.Gamma @ accelerations + s.A @ a - drift + s.V_base_dot  # (9.73), corrected
    np.testing.assert_allclose(accelerations, expected, atol=1e-9)
    own = s.G @ accelerations - s.ad_links(v).T @ s.G @ twists
    np.testing.assert_allclose(wrenches, s.Gamma.T @ wrenches + own + s.tip @ exerted_tip, atol=1e-8)  # (9.74)


@settings(deadline=None, max_examples=7)
@given(urdf_robots(max_joints=6), SEEDS)
def test_frames_at_the_centres_of_mass_see_the_same_motion(urdf, seed):
    robot = PinReference(urdf).robot
    q, v, _ = random_state(robot, seed)
    twists = stacked_dynamics(robot, q).twists(v).reshape(-1, 6)
    for joint, jacobian, twist in zip(robot.joints, body_jacobians(robot, q), twists, strict=True):
        to_center = adjoint(inverse_pose(homogeneous(np.eye(3), joint.inertia.com)))
        np.testing.assert_allclose(twist, to_center @ jacobian @ v, atol=1e-9)


def test_wrong_shapes_are_named():
    robot = PinReference("planar_2r").robot
    stacked = stacked_dynamics(robot, np.zeros(2))
    with pytest.raises(InputError, match=r"q.*\(2,\).*\(3,\)"):
        stacked_dynamics(robot, np.zeros(3))
    with pytest.raises(InputError, match=r"v.*\(2,\).*\(3,\)"):
        stacked.coriolis_effort(np.zeros(3))
    with pytest.raises(InputError, match=r"a.*\(2,\).*\(1,\)"):
        stacked.efforts(np.zeros(2), np.zeros(1))


def test_it_compiles():
    robot = PinReference("planar_2r").robot
    kernel = compile_function(lambda q, v, a: stacked_dynamics(robot, q).efforts(v, a), dict.fromkeys("qva", (2,)))
    q, v, a = random_state(robot, 2)
    np.testing.assert_allclose(kernel(q, v, a), inverse_dynamics(robot, q, v, a), rtol=1e-12)
