# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Quintics: their ends, their derivatives, their greatest speed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robodyn_ros.control.references.quintic import (
    ANGULAR_SPEED,
    LINEAR_SPEED,
    MIN_DURATION,
    PEAK_SPEED,
    SPEED_SHARE,
    basis,
    coefficients,
    rest_to_rest_duration,
)
from robodyn_ros.description.resources import robot_file
from robodyn_ros.description.urdf import load_urdf

NUMBERS = st.floats(-10.0, 10.0)
MODEL = load_urdf(robot_file("scara"))


@given(st.lists(NUMBERS, min_size=6, max_size=6), st.floats(0.1, 10.0))
def test_position_velocity_and_acceleration_are_those_of_both_ends(values, duration):
    q, v, a = np.array(values).reshape(3, 2, 1)
    (found,) = coefficients(np.array([duration]), q, v, a)
    for end, u in enumerate((0.0, 1.0)):
        expected = [q[end, 0], v[end, 0], a[end, 0]]
        np.testing.assert_allclose(basis(u, duration) @ found[:, 0], expected, atol=1e-8 * max(1.0, duration**-2) * 100)


def test_rows_of_the_basis_are_derivatives_by_time():
    duration, u, h = 2.5, 0.37, 1e-5
    before, now, after = (basis(u + k * h / duration, duration) for k in (-1, 0, 1))
    np.testing.assert_allclose((after - before)[:2] / (2 * h), now[1:], atol=1e-8)


def test_the_greatest_speed_from_rest_to_rest_is_fifteen_eighths_of_the_mean():
    rest = np.zeros((2, 1))
    (found,) = coefficients(np.array([4.0]), np.array([[0.0], [8.0]]), rest, rest)
    speeds = [(basis(u, 4.0) @ found)[1, 0] for u in np.linspace(0.0, 1.0, 101)]
    assert max(speeds) == pytest.approx(PEAK_SPEED * 2.0)


def test_the_fastest_joint_reaches_its_allowed_speed_and_no_more():
    start, end = np.zeros(4), np.array([1.0, 0.5, -0.1, 0.2])
    duration = rest_to_rest_duration(MODEL, start, end)
    prismatic = [joint.kind == "prismatic" for joint in MODEL.leaders]
    allowed = np.minimum(SPEED_SHARE * MODEL.velocity_limit, np.where(prismatic, LINEAR_SPEED, ANGULAR_SPEED))
    assert np.max(PEAK_SPEED * np.abs(end - start) / duration / allowed) == pytest.approx(1.0)


def test_no_motion_takes_the_least_duration():
    assert rest_to_rest_duration(MODEL, np.ones(4), np.ones(4)) == MIN_DURATION


def test_a_continuous_joint_goes_the_short_way():
    model = load_urdf(robot_file("planar_2r"))
    assert rest_to_rest_duration(model, np.zeros(2), np.array([6.0, 0.0])) == pytest.approx(
        rest_to_rest_duration(model, np.zeros(2), np.array([6.0 - 2 * np.pi, 0.0])))
