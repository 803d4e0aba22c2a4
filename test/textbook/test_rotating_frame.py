# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Against SciPy's rotations and differences along motions in time."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from robodyn_ros.base.errors import InputError
from robodyn_ros.textbook.rotating_frame import FrameMotion, rotation_rate

STEP = 1e-4
RNG = np.random.default_rng(1)
START, RATE, BEND = RNG.normal(size=(3, 3))
ORIGIN, VELOCITY, ACCELERATION, POINT, POINT_RATE, POINT_RATE_DOT = RNG.normal(size=(6, 3))


def rotation(time, rate=RATE, bend=BEND):
    """Turns about axes of frame A: its angular velocity is the rate plus the bend that has turned with the first."""
    return Rotation.from_rotvec(rate * time) * Rotation.from_rotvec(bend * time) * Rotation.from_rotvec(START)


def omega(time, rate=RATE, bend=BEND):
    return rate + Rotation.from_rotvec(rate * time).apply(bend)


def frame(time):
    omega_dot = np.cross(RATE, Rotation.from_rotvec(RATE * time).apply(BEND))
    return FrameMotion(rotation(time).as_matrix(), ORIGIN + VELOCITY * time + 0.5 * ACCELERATION * time**2,
                       VELOCITY + ACCELERATION * time, ACCELERATION, omega(time), omega_dot)


def slope(function, time):
    return (function(time + STEP) - function(time - STEP)) / (2 * STEP)


def moving(time):
    return POINT + POINT_RATE * time + 0.5 * POINT_RATE_DOT * time**2


def position(time):
    return frame(time).point(moving(time))


def velocity(time):
    return frame(time).point_velocity(moving(time), POINT_RATE + POINT_RATE_DOT * time)


def test_columns_of_a_turning_frame_move_across_the_axis():  # (4.3)-(4.6)
    found = rotation_rate(rotation(0.3).as_matrix(), omega(0.3))
    np.testing.assert_allclose(found, slope(lambda time: rotation(time).as_matrix(), 0.3), atol=1e-7)
    for column, axis in zip(found.T, rotation(0.3).as_matrix().T, strict=True):  # (4.4)
        assert abs(column @ omega(0.3)) < 1e-12 and abs(column @ axis) < 1e-12
        sine = np.sqrt(1.0 - (axis @ omega(0.3)) ** 2 / (omega(0.3) @ omega(0.3)))
        assert np.linalg.norm(column) == pytest.approx(np.linalg.norm(omega(0.3)) * sine)


def test_velocity_and_acceleration_of_a_point_that_moves_in_the_frame():  # (4.1), (4.2), (4.7), (4.8)
    np.testing.assert_allclose(position(0.3), frame(0.3).position + rotation(0.3).apply(moving(0.3)))
    np.testing.assert_allclose(velocity(0.3), slope(position, 0.3), atol=1e-6)
    found = frame(0.3).point_acceleration(moving(0.3), POINT_RATE + POINT_RATE_DOT * 0.3, POINT_RATE_DOT)
    np.testing.assert_allclose(found, slope(velocity, 0.3), atol=1e-6)


def test_angular_velocities_add_up():  # (4.9), (4.10)
    inner, inner_bend = RNG.normal(size=(2, 3))

    def both(time):
        return rotation(time) * rotation(time, inner, inner_bend)

    def inner_omega(time):
        return omega(time, inner, inner_bend)

    def total(time):
        return frame(time).angular_velocity(inner_omega(time))

    rate = slope(lambda time: both(time).as_matrix(), 0.3)
    np.testing.assert_allclose(rotation_rate(both(0.3).as_matrix(), total(0.3)), rate, atol=1e-6)
    found = frame(0.3).angular_acceleration(inner_omega(0.3), slope(inner_omega, 0.3))
    np.testing.assert_allclose(found, slope(total, 0.3), atol=1e-6)


def test_wrong_shapes_are_named():
    with pytest.raises(InputError, match=r"point: expected an array of shape \(3,\)"):
        frame(0.0).point(np.zeros(4))
    with pytest.raises(InputError, match=r"rate_dot: expected an array of shape \(3,\)"):
        frame(0.0).point_acceleration(np.zeros(3), np.zeros(3), np.zeros(2))
