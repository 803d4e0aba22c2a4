# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
import pytest

from robodyn_ros.base.errors import InputError
from robodyn_ros.textbook.differential_kinematics import (
    joint_acceleration,
    joint_velocity,
    tip_acceleration,
    tip_velocity,
)


@pytest.fixture
def rng():
    return np.random.default_rng(1)


@pytest.mark.parametrize("shape", [(6, 6), (3, 3), (6, 7)])
def test_velocity_and_acceleration_there_and_back(rng, shape):
    jacobian, derivative = rng.normal(size=(2, *shape))
    v, a = rng.normal(size=(2, shape[1]))
    if shape[1] > shape[0]:  # of all velocities that move the hand alike the least one comes back
        v = np.linalg.pinv(jacobian) @ jacobian @ v
    velocity = tip_velocity(jacobian, v)
    np.testing.assert_allclose(joint_velocity(jacobian, velocity), v, atol=1e-12)
    acceleration = tip_acceleration(jacobian, derivative, v, a)
    a_back = joint_acceleration(jacobian, derivative, velocity, acceleration)
    np.testing.assert_allclose(tip_acceleration(jacobian, derivative, v, a_back), acceleration, atol=1e-12)
    if shape[0] == shape[1]:
        np.testing.assert_allclose(a_back, a, atol=1e-12)


def test_planar_2r_at_a_right_angle():
    # Links of 1 m along x and y: joint 1 moves the hand from (1, 1) by (-1, 1), joint 2 by (-1, 0).
    jacobian = np.array([[-1.0, -1.0], [1.0, 0.0]])
    np.testing.assert_allclose(joint_velocity(jacobian, [0.0, 2.0]), [2.0, -2.0], atol=1e-15)


def test_fewer_joints_than_rows_come_nearest(rng):
    jacobian, target = rng.normal(size=(6, 4)), rng.normal(size=6)
    expected = np.linalg.lstsq(jacobian, target, rcond=None)[0]
    np.testing.assert_allclose(joint_velocity(jacobian, target), expected, atol=1e-12)


def test_singular_jacobian_is_refused():
    stretched = np.array([[0.0, 0.0], [2.0, 1.0]])
    with pytest.raises(
        InputError, match="jacobian: expected a regular one, received singular values from 2.24 down to 0"
    ):
        joint_velocity(stretched, [1.0, 0.0])


def test_bad_arguments_say_what_was_expected():
    with pytest.raises(InputError, match=r"v: expected an array of shape \(7,\), received shape \(6,\)"):
        tip_velocity(np.zeros((6, 7)), np.zeros(6))
    with pytest.raises(
        InputError, match=r"jacobian_derivative: expected an array of shape \(6, 7\), received shape \(6, 6\)"
    ):
        tip_acceleration(np.zeros((6, 7)), np.zeros((6, 6)), np.zeros(7), np.zeros(7))
    with pytest.raises(InputError, match=r"tip_velocity: expected an array of shape \(6,\), received shape \(3,\)"):
        joint_velocity(np.eye(6), np.zeros(3))
