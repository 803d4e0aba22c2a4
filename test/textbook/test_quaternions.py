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
from robodyn_ros.kinematics.quaternions import quaternion_conjugate, quaternion_product
from robodyn_ros.textbook.quaternions import (
    quaternion_from_axis_angle,
    quaternion_from_rotation,
    quaternion_from_rotation_elements,
    rotate_by_quaternion,
    rotation_from_quaternion,
)
from robodyn_ros.textbook.rotations import rotation_about_axis

seeds = st.integers(0, 2**32 - 1)


def random_rotation(seed):
    return Rotation.random(rng=np.random.default_rng(seed))


def up_to_sign(quaternion):
    return quaternion if quaternion[3] >= 0 else -quaternion


@settings(deadline=None)
@given(seeds)
def test_conversions_are_scipys_both_ways(seed):
    rotation = random_rotation(seed)
    quaternion = rotation.as_quat(canonical=True)
    np.testing.assert_allclose(rotation_from_quaternion(quaternion), rotation.as_matrix(), atol=1e-14)
    np.testing.assert_allclose(rotation_from_quaternion(-quaternion), rotation.as_matrix(), atol=1e-14)
    np.testing.assert_allclose(quaternion_from_rotation(rotation.as_matrix()), quaternion, atol=1e-14)


@settings(deadline=None)
@given(seeds)
def test_elements_formula_is_scipys_away_from_half_turns(seed):
    rotation = random_rotation(seed)
    quaternion = rotation.as_quat(canonical=True)
    if quaternion[3] > 0.01:
        np.testing.assert_allclose(quaternion_from_rotation_elements(rotation.as_matrix()), quaternion, atol=1e-12)


def test_half_turns_have_quaternions_but_not_by_the_elements_formula():
    half_turn = np.diag([-1.0, -1.0, 1.0])
    np.testing.assert_allclose(np.abs(quaternion_from_rotation(half_turn)), [0, 0, 1, 0], atol=1e-15)
    with pytest.raises(InputError, match="half a turn"):
        quaternion_from_rotation_elements(half_turn)


@settings(deadline=None)
@given(seeds, st.floats(-6.0, 6.0))
def test_rotating_a_vector_by_quaternion_and_by_matrix_agree(seed, angle):
    rng = np.random.default_rng(seed)
    axis, vector = rng.normal(size=(2, 3))
    axis /= np.linalg.norm(axis)
    quaternion = quaternion_from_axis_angle(axis, angle)
    expected = rotation_about_axis(axis, angle) @ vector  # (C.12)
    np.testing.assert_allclose(rotate_by_quaternion(quaternion, vector), expected, atol=1e-14)
    np.testing.assert_allclose(rotation_from_quaternion(quaternion) @ vector, expected, atol=1e-14)


def test_printed_order_of_c3_turns_the_other_way():
    """With p x q in (C.3), P = A Q B of (C.16) rotates by minus the angle."""

    def printed_product(q, p):
        return np.append(q[3] * p[:3] + p[3] * q[:3] + np.cross(p[:3], q[:3]), q[3] * p[3] - q[:3] @ p[:3])

    axis, vector, angle = np.array([0.0, 0.6, 0.8]), np.array([1.0, 2.0, 3.0]), 0.7
    a = quaternion_from_axis_angle(axis, angle)
    p = printed_product(printed_product(a, np.append(vector, 0.0)), quaternion_conjugate(a))[:3]
    np.testing.assert_allclose(p, rotation_about_axis(axis, -angle) @ vector, atol=1e-14)


def printed_c6(q0, q1, q2, q3, sign_2_3):
    return np.array(
        [
            [q0**2 - q1**2 - q2**2 + q3**2, 2 * (q0 * q1 + q2 * q3), 2 * (q0 * q2 - q1 * q3)],
            [2 * (q0 * q1 - q2 * q3), -(q0**2) + q1**2 - q2**2 + q3**2, 2 * (q1 * q2 + sign_2_3 * q0 * q3)],
            [2 * (q0 * q2 + q1 * q3), 2 * (q1 * q2 - q0 * q3), -(q0**2) - q1**2 + q2**2 + q3**2],
        ]
    )


def test_printed_c6_is_transposed_scalar_last_and_wrong_in_element_2_3():
    rotation = Rotation.from_quat([0.5, -0.1, 0.3, 0.8])
    x, y, z, w = rotation.as_quat()
    printed = printed_c6(x, y, z, w, -1.0)
    assert np.abs(printed.T @ printed - np.eye(3)).max() > 0.01
    np.testing.assert_allclose(printed_c6(x, y, z, w, +1.0), rotation.as_matrix().T, atol=1e-15)
    scalar_first = printed_c6(w, x, y, z, +1.0)  # with (C.1)'s order it is a rotation, but another one
    assert (
        min(np.abs(scalar_first - rotation.as_matrix()).max(), np.abs(scalar_first - rotation.as_matrix().T).max())
        > 0.01
    )


def test_printed_c7_misses_the_scalar_part():
    """(C.7) prints R_12 where R_22 belongs."""
    rotation = random_rotation(8)
    r, w = rotation.as_matrix(), rotation.as_quat(canonical=True)[3]
    assert 0.5 * np.sqrt(1 + r[0, 0] + r[1, 1] + r[2, 2]) == pytest.approx(w)
    assert abs(0.5 * np.sqrt(1 + r[0, 0] + r[0, 1] + r[2, 2]) - w) > 0.01


def test_bad_arguments_say_what_was_expected():
    with pytest.raises(InputError, match="quaternion: expected unit length"):
        rotation_from_quaternion([1.0, 1.0, 0.0, 0.0])
    with pytest.raises(InputError, match=r"left: expected an array of shape \(4,\), received shape \(3,\)"):
        quaternion_product([0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0])
