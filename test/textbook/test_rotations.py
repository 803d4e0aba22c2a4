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
from robodyn_ros.textbook.rotations import (
    axis_angle_from_rotation,
    rotate_about_axis,
    rotation_about_axis,
    rotation_vector,
    rotation_x,
    rotation_y,
    rotation_z,
)

angles = st.floats(-10.0, 10.0)
seeds = st.integers(0, 2**32 - 1)


def unit_vector(seed):
    vector = np.random.default_rng(seed).normal(size=3)
    return vector / np.linalg.norm(vector)


@settings(deadline=None)
@given(angles)
def test_rotations_about_the_axes_of_the_frame_are_scipys(angle):
    for name, function in (("x", rotation_x), ("y", rotation_y), ("z", rotation_z)):
        np.testing.assert_allclose(function(angle), Rotation.from_euler(name, angle).as_matrix(), atol=1e-14)
        np.testing.assert_allclose(function(angle).T, function(-angle), atol=1e-15)  # (1.3)


def test_columns_are_the_axes_of_the_turned_frame():  # (1.1): a quarter turn about z takes x to y and y to -x
    np.testing.assert_allclose(rotation_z(np.pi / 2), [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-16)


@settings(deadline=None)
@given(seeds, angles)
def test_rotation_about_any_axis_is_scipys(seed, angle):
    axis = unit_vector(seed)
    expected = Rotation.from_rotvec(angle * axis).as_matrix()
    np.testing.assert_allclose(rotation_about_axis(axis, angle), expected, atol=1e-14)
    vector = np.random.default_rng(seed + 1).normal(size=3)
    np.testing.assert_allclose(rotate_about_axis(vector, axis, angle), expected @ vector, atol=1e-14)


def test_printed_element_3_2_of_b12_is_no_rotation():
    """(B.12) and (B.13) print k_x cos in element (3, 2), where k_x sin belongs."""
    k, angle = unit_vector(3), 0.7
    printed = rotation_about_axis(k, angle)
    printed[2, 1] = k[1] * k[2] * (1 - np.cos(angle)) + k[0] * np.cos(angle)
    assert np.abs(printed.T @ printed - np.eye(3)).max() > 0.01
    corrected = rotation_about_axis(k, angle)
    np.testing.assert_allclose(corrected.T @ corrected, np.eye(3), atol=1e-15)


def test_printed_last_term_of_b7_is_no_rotation():
    """(B.7), first line, prints cos (p.j) i, where (B.6) has cos (p.j) j."""
    i, j, k = np.linalg.qr(np.random.default_rng(4).normal(size=(3, 3)))[0].T
    k = np.cross(i, j)
    p, angle = np.array([0.3, -0.4, 0.5]), 0.7
    cos, sin = np.cos(angle), np.sin(angle)
    common = (p @ i) * i * cos + sin * (p @ i) * j - sin * (p @ j) * i + (p @ k) * k
    expected = rotate_about_axis(p, k, angle)
    np.testing.assert_allclose(common + cos * (p @ j) * j, expected, atol=1e-15)
    assert np.abs(common + cos * (p @ j) * i - expected).max() > 0.01


def test_printed_first_element_of_a6_is_no_vector_product():
    """(A.6) prints b_y c_z - b_z c_y in its first element's second term, where b_z c_x - b_x c_z belongs."""
    a, b, c = np.random.default_rng(5).normal(size=(3, 3))
    inner = np.cross(b, c)
    expected = np.cross(a, inner)
    assert a[1] * inner[2] - a[2] * inner[1] == pytest.approx(expected[0])
    assert abs(a[1] * inner[2] - a[2] * inner[0] - expected[0]) > 0.01


@settings(deadline=None)
@given(seeds, st.floats(1e-6, np.pi - 1e-6))
def test_axis_and_angle_come_back(seed, angle):
    axis = unit_vector(seed)
    axis_again, angle_again = axis_angle_from_rotation(rotation_about_axis(axis, angle))
    assert angle_again == pytest.approx(angle, abs=1e-9)
    np.testing.assert_allclose(axis_again, axis, atol=1e-8)
    np.testing.assert_allclose(rotation_vector(rotation_about_axis(axis, angle)), angle * axis, atol=1e-9)


def test_axis_and_angle_where_a_choice_is_left():
    axis, angle = axis_angle_from_rotation(np.eye(3))
    assert angle == 0.0
    np.testing.assert_array_equal(axis, [0.0, 0.0, 1.0])
    half_turn = rotation_about_axis([0.6, 0.0, 0.8], np.pi)
    axis, angle = axis_angle_from_rotation(half_turn)
    assert angle == pytest.approx(np.pi)
    np.testing.assert_allclose(rotation_about_axis(axis, angle), half_turn, atol=1e-12)


def test_bad_arguments_say_what_was_expected():
    with pytest.raises(InputError, match=r"axis: expected a unit vector, received \[1.0, 1.0, 0.0\] of length 1.41421"):
        rotation_about_axis([1.0, 1.0, 0.0], 0.3)
    with pytest.raises(InputError, match=r"axis: expected an array of shape \(3,\), received shape \(2,\)"):
        rotation_about_axis([1.0, 0.0], 0.3)
    with pytest.raises(InputError, match="rotation: expected a rotation matrix"):
        axis_angle_from_rotation(2.0 * np.eye(3))
