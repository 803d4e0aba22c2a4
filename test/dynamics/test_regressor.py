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
from robodyn_ros.description.model import Inertia
from robodyn_ros.dynamics.regressor import (
    PARAMETERS,
    body_regressor,
    inertial_parameters,
    regressor,
    with_inertial_parameters,
)
from robodyn_ros.textbook.newton_euler import body_wrench, inverse_dynamics


def check(reference, seed):
    robot = reference.robot
    q, v, a = random_state(robot, seed)
    found = regressor(robot, q, v, a)
    assert found.shape == (robot.n, 10 * len(robot.joints))
    assert relative_error(found, reference.regressor(q, v, a)) < 1e-9
    size = np.max(np.abs(reference.mass_matrix(q)))
    assert relative_error(found @ inertial_parameters(robot), inverse_dynamics(robot, q, v, a), size) < 1e-12


@SHIPPED
def test_shipped_robots_against_pinocchio(name):
    check(PinReference(name), 1)


@settings(deadline=None, max_examples=20)
@given(urdf_robots(), SEEDS)
def test_random_trees_against_pinocchio(urdf, seed):
    check(PinReference(urdf), seed)


@settings(deadline=None, max_examples=10)
@given(urdf_robots(max_joints=6), SEEDS)
def test_it_foretells_the_efforts_with_other_parameters(urdf, seed):
    robot = PinReference(urdf).robot
    q, v, a = random_state(robot, seed)
    parameters = np.random.default_rng(seed).normal(size=10 * len(robot.joints))  # also impossible ones
    # A mass near 0 would put its centre far away and lose digits.
    parameters[::10] += np.copysign(0.5, parameters[::10])
    other = with_inertial_parameters(robot, parameters)
    np.testing.assert_allclose(inertial_parameters(other), parameters, rtol=1e-12, atol=1e-12)
    expected = inverse_dynamics(other, q, v, a)
    assert relative_error(regressor(robot, q, v, a) @ parameters, expected, at_least=1.0) < 1e-10


def test_parameters_are_those_that_their_names_say():
    com, rotational = np.array([0.1, -0.2, 0.3]), np.array([[4.0, 0.1, 0.2], [0.1, 5.0, 0.3], [0.2, 0.3, 6.0]])
    robot = PinReference("planar_2r").robot
    link = Inertia(2.0, com, rotational)
    shifted = rotational + 2.0 * (com @ com * np.eye(3) - np.outer(com, com))
    expected = dict(zip(PARAMETERS, [2.0, 0.2, -0.4, 0.6, *shifted[np.triu_indices(3)]], strict=True))
    values = np.concatenate([list(expected.values()), np.zeros(10)])
    changed = with_inertial_parameters(robot, values)
    np.testing.assert_allclose(changed.joints[0].inertia.com, link.com)
    np.testing.assert_allclose(changed.joints[0].inertia.rotational, link.rotational)
    assert changed.joints[1].inertia.mass == 0.0


def test_one_body():
    rng = np.random.default_rng(2)
    twist, acceleration = rng.normal(size=(2, 6))
    inertia = Inertia(1.5, rng.normal(size=3), np.diag([0.3, 0.4, 0.5]))
    about_origin = inertia.rotational_about_origin[np.triu_indices(3)]
    parameters = np.array([1.5, *(1.5 * inertia.com), *about_origin])
    found = body_regressor(twist, acceleration) @ parameters
    np.testing.assert_allclose(found, body_wrench(inertia, twist, acceleration), rtol=1e-12)


def test_bad_parameters_are_named():
    robot = PinReference("planar_2r").robot
    with pytest.raises(InputError, match=r"parameters.*\(20,\).*\(19,\)"):
        with_inertial_parameters(robot, np.zeros(19))
    with pytest.raises(InputError, match="parameters.*finite"):
        with_inertial_parameters(robot, np.full(20, np.nan))
    with pytest.raises(InputError, match=f"{robot.joints[1].link}.*first moment"):
        with_inertial_parameters(robot, [*inertial_parameters(robot)[:10], 0, 1, *[0] * 8])
