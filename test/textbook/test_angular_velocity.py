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
from robodyn_ros.textbook.angular_velocity import (
    angular_velocity_about_axis,
    angular_velocity_from_point,
    point_velocity,
)
from robodyn_ros.textbook.rotations import rotation_about_axis

AXIS = np.array([2.0, -1.0, 2.0]) / 3.0
POINT = np.array([0.3, 0.5, -0.2])


def test_point_velocity_is_the_time_derivative_of_the_turning_point():
    speed, h = 1.7, 1e-6
    omega = angular_velocity_about_axis(AXIS, speed)
    difference = (rotation_about_axis(AXIS, speed * h) - rotation_about_axis(AXIS, -speed * h)) @ POINT / (2 * h)
    np.testing.assert_allclose(point_velocity(omega, POINT), difference, atol=1e-9)


def test_printed_middle_of_1_25_lacks_its_magnitude():
    """(1.25) equates omega with omega / |omega|; the unit vector is to be multiplied by the speed."""
    omega = angular_velocity_about_axis(AXIS, 1.7)
    np.testing.assert_allclose(omega / np.linalg.norm(omega) * 1.7, omega)
    assert np.linalg.norm(omega / np.linalg.norm(omega)) == pytest.approx(1.0) != np.linalg.norm(omega)


def test_one_point_tells_the_angular_velocity_perpendicular_to_it():
    """(1.26) gives omega only where omega is perpendicular to p, which it does not say."""
    omega = angular_velocity_about_axis(AXIS, 1.7)
    found = angular_velocity_from_point(POINT, point_velocity(omega, POINT))
    along = POINT * (POINT @ omega) / (POINT @ POINT)
    np.testing.assert_allclose(found, omega - along, atol=1e-15)
    assert np.linalg.norm(along) > 0.1
    perpendicular = np.cross(AXIS, POINT)
    np.testing.assert_allclose(
        angular_velocity_from_point(perpendicular, point_velocity(omega, perpendicular)), omega, atol=1e-15
    )


def test_the_origin_tells_nothing():
    with pytest.raises(InputError, match="away from the origin"):
        angular_velocity_from_point(np.zeros(3), np.zeros(3))
