# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
from hypothesis import given, settings
from pin_reference import SEEDS, SHIPPED, PinReference, random_state, relative_error
from random_robots import urdf_robots

from robodyn_ros.dynamics.regressor import inertial_parameters
from robodyn_ros.textbook.newton_euler import inverse_dynamics
from robodyn_ros.textbook.regressor import regressor, unit_inertias


def check(reference, seed):
    robot = reference.robot
    state = random_state(robot, seed)
    found = regressor(robot, *state)
    assert relative_error(found, reference.regressor(*state)) < 1e-9
    size = np.max(np.abs(reference.mass_matrix(state[0])))
    assert relative_error(found @ inertial_parameters(robot), inverse_dynamics(robot, *state), size) < 1e-9


@SHIPPED
def test_shipped_robots_against_pinocchio(name):
    check(PinReference(name), 1)


@settings(deadline=None, max_examples=10)
@given(urdf_robots(max_joints=8), SEEDS)
def test_random_trees_against_pinocchio(urdf, seed):
    check(PinReference(urdf), seed)


def test_spatial_inertia_is_the_sum_over_the_parameters():
    robot = PinReference("arm6").robot
    parameters = inertial_parameters(robot).reshape(-1, 10)
    for joint, values in zip(robot.joints, parameters, strict=True):
        np.testing.assert_allclose(np.tensordot(values, unit_inertias(), 1), joint.inertia.spatial(), atol=1e-12)
