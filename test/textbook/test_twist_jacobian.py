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
from robodyn_ros.textbook.twist_jacobian import twist_jacobian, twist_jacobian_derivative


def check(reference, seed):
    """Of every link, its angular rows first."""
    robot = reference.robot
    q, v = random_state(robot, seed, 2)
    for link in robot.frames:
        expected = np.roll(reference.jacobian(q, link), 3, axis=0)
        assert relative_error(twist_jacobian(robot, q, link), expected, at_least=1.0) < 1e-9
        expected = np.roll(reference.jacobian_derivative(q, v, link), 3, axis=0)
        assert relative_error(twist_jacobian_derivative(robot, q, v, link), expected, at_least=1.0) < 1e-9


@SHIPPED
def test_shipped_robots_against_pinocchio(name):
    check(PinReference(name), 1)


@settings(deadline=None, max_examples=10)
@given(urdf_robots(max_joints=8), SEEDS)
def test_random_trees_against_pinocchio(urdf, seed):
    check(PinReference(urdf), seed)


def test_the_tip_link_is_meant_where_none_is_named():
    robot = PinReference("arm6").robot
    q, v = random_state(robot, 1, 2)
    np.testing.assert_array_equal(twist_jacobian(robot, q), twist_jacobian(robot, q, robot.tip_link))
    with pytest.raises(InputError, match="tool1.*tool0"):
        twist_jacobian(robot, q, "tool1")
    with pytest.raises(InputError, match=r"v: expected .*\(6,\).*\(5,\)"):
        twist_jacobian_derivative(robot, q, v[:5])
