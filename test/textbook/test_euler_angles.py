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
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from robodyn_ros.base.errors import InputError
from robodyn_ros.textbook.euler_angles import (
    ROLL_PITCH_YAW,
    ZYZ,
    roll_pitch_yaw_from_rotation,
    rotation_from_roll_pitch_yaw,
    rotation_from_zyz,
    zyz_from_rotation,
)
from robodyn_ros.textbook.rotations import rotation_x, rotation_y, rotation_z

vectors = st.tuples(*[st.floats(-3.1, 3.1)] * 3).map(np.array)
conventions = pytest.mark.parametrize("convention", [ZYZ, ROLL_PITCH_YAW], ids=["zyz", "rpy"])


def away_from_singular(convention, angles):
    middle = np.sin(angles[1]) if convention is ZYZ else np.cos(angles[1])
    return abs(middle) > 0.01


@settings(deadline=None)
@given(vectors)
def test_matrices_are_scipys_and_the_product_of_the_steps(angles):
    phi, theta, psi = angles
    zyz = rotation_from_zyz(angles)
    np.testing.assert_allclose(zyz, Rotation.from_euler("ZYZ", angles).as_matrix(), atol=1e-14)
    np.testing.assert_allclose(zyz, rotation_z(phi) @ rotation_y(theta) @ rotation_z(psi), atol=1e-14)
    rpy = rotation_from_roll_pitch_yaw(angles)  # roll, pitch, yaw here
    np.testing.assert_allclose(rpy, Rotation.from_euler("ZYX", angles[::-1]).as_matrix(), atol=1e-14)
    np.testing.assert_allclose(rpy, rotation_z(psi) @ rotation_y(theta) @ rotation_x(phi), atol=1e-14)


@conventions
@settings(deadline=None)
@given(angles=vectors)
def test_both_solutions_give_the_rotation_and_one_of_them_is_the_angles(convention, angles):
    rotation = convention.rotation(angles)
    solutions = convention.angles(rotation)
    assert solutions.shape == (2, 3)
    for solution in solutions:
        np.testing.assert_allclose(convention.rotation(solution), rotation, atol=2e-8)
    if away_from_singular(convention, angles):
        differences = (solutions - angles + np.pi) % (2 * np.pi) - np.pi
        assert np.abs(differences).max(axis=1).min() < 1e-10
        assert np.abs(solutions[0] - solutions[1]).max() > 0.01
        if convention is ZYZ:
            assert solutions[0, 1] > 0 > solutions[1, 1]
        else:
            assert abs(solutions[0, 1]) < np.pi / 2 < abs(solutions[1, 1])


@pytest.mark.parametrize("theta", [0.0, np.pi])
@pytest.mark.parametrize("psi", [0.0, 0.4, -2.0])
def test_zyz_singular_case(theta, psi):
    rotation = rotation_from_zyz([0.5, theta, 0.9])
    first, second = zyz_from_rotation(rotation, psi_if_singular=psi)
    np.testing.assert_array_equal(first, second)
    assert first[1] == theta
    assert first[2] == psi
    np.testing.assert_allclose(rotation_from_zyz(first), rotation, atol=1e-15)


@pytest.mark.parametrize("pitch", [np.pi / 2, -np.pi / 2])
@pytest.mark.parametrize("roll", [0.0, 0.4, -2.0])
def test_roll_pitch_yaw_singular_case(pitch, roll):
    rotation = rotation_from_roll_pitch_yaw([0.5, pitch, 0.9])
    first, second = roll_pitch_yaw_from_rotation(rotation, roll_if_singular=roll)
    np.testing.assert_array_equal(first, second)
    assert first[0] == roll
    assert first[1] == pitch
    np.testing.assert_allclose(rotation_from_roll_pitch_yaw(first), rotation, atol=1e-15)


def test_printed_psi_of_1_9_is_another_rotation():
    """(1.9) prints R_23 in psi, where R_32 belongs."""
    r = rotation_from_zyz([0.5, 0.8, 1.1])
    phi, theta, psi = zyz_from_rotation(r)[0]
    printed = np.arctan2(r[1, 2] / np.sin(theta), -r[2, 0] / np.sin(theta))
    assert psi == pytest.approx(1.1)
    assert np.abs(rotation_from_zyz([phi, theta, printed]) - r).max() > 0.1


def test_printed_element_1_3_of_1_10_is_no_rotation():
    """(1.10) prints S_theta S_psi as the second term of element (1, 3), where S_phi S_psi belongs."""
    psi, theta, phi = angles = np.array([0.5, 0.8, 1.1])
    printed = rotation_from_roll_pitch_yaw(angles)
    printed[0, 2] = np.cos(phi) * np.sin(theta) * np.cos(psi) + np.sin(theta) * np.sin(psi)
    assert np.abs(printed.T @ printed - np.eye(3)).max() > 0.01


@conventions
@settings(deadline=None)
@given(angles=vectors, rates=vectors)
def test_rate_matrix_gives_the_angular_velocity_of_the_matrix(convention, angles, rates):
    h = 1e-6
    rotation = convention.rotation(angles)
    derivative = (convention.rotation(angles + h * rates) - convention.rotation(angles - h * rates)) / (2 * h)
    spin = derivative @ rotation.T  # [omega x]
    omega = convention.angular_velocity(angles, rates)
    np.testing.assert_allclose([spin[2, 1], spin[0, 2], spin[1, 0]], omega, atol=1e-7)


@conventions
@settings(deadline=None)
@given(angles=vectors, rates=vectors)
def test_rate_matrix_derivative_is_its_finite_difference(convention, angles, rates):
    h = 1e-6
    difference = (convention.rate_matrix(angles + h * rates) - convention.rate_matrix(angles - h * rates)) / (2 * h)
    np.testing.assert_allclose(convention.rate_matrix_derivative(angles, rates), difference, atol=1e-7)


@conventions
@settings(deadline=None)
@given(angles=vectors, rates=vectors)
def test_rates_come_back_from_the_angular_velocity(convention, angles, rates):
    if away_from_singular(convention, angles):
        omega = convention.angular_velocity(angles, rates)
        np.testing.assert_allclose(convention.rates(angles, omega), rates, atol=1e-10)
        np.testing.assert_allclose(
            convention.inverse_rate_matrix(angles), np.linalg.inv(convention.rate_matrix(angles)), atol=1e-10
        )


@conventions
def test_aligned_axes_have_no_rates(convention):
    angles = [0.3, 0.0, 0.4] if convention is ZYZ else [0.3, np.pi / 2, 0.4]
    with pytest.raises(InputError, match="first and last axis are aligned"):
        convention.rates(angles, [1.0, 0.0, 0.0])


@conventions
def test_bad_arguments_say_what_was_expected(convention):
    with pytest.raises(InputError, match=r"angles: expected an array of shape \(3,\), received shape \(2,\)"):
        convention.rotation([0.1, 0.2])
    with pytest.raises(InputError, match="rotation: expected a rotation matrix"):
        convention.angles(np.ones((3, 3)))
