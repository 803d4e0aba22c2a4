# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from pin_reference import SEEDS, SHIPPED, PinReference, random_state, relative_error
from planar_2r import planar_2r
from random_robots import urdf_robots

from robodyn_ros.base.errors import DescriptionError, InputError
from robodyn_ros.description.model import Inertia
from robodyn_ros.dynamics.forward_dynamics import mass_matrix_forward_dynamics as forward_dynamics
from robodyn_ros.dynamics.mass_matrix import mass_matrix
from robodyn_ros.dynamics.robot_dynamics import Dynamics
from robodyn_ros.textbook.newton_euler import inverse_dynamics


def check(reference, seed):
    robot = reference.robot
    q, v, tau = random_state(robot, seed)
    expected = reference.forward_dynamics(q, v, tau)
    # Both sides solve with M and lose as many digits as its condition number has.
    tolerance = max(1e-9, 1e-13 * np.linalg.cond(mass_matrix(robot, q)))
    assert relative_error(forward_dynamics(robot, q, v, tau), expected) < tolerance


@SHIPPED
def test_shipped_robots_against_pinocchio(name):
    check(PinReference(name), 1)


@settings(deadline=None, max_examples=20)
@given(urdf_robots(), SEEDS)
def test_random_trees_against_pinocchio(urdf, seed):
    check(PinReference(urdf), seed)


def test_a_joint_without_inertia_is_an_error_traced_or_not():
    robot = planar_2r()
    still = Inertia.zero()
    bare = dataclasses.replace(robot, joints=tuple(dataclasses.replace(joint, inertia=still) for joint in robot.joints))
    collinear = dataclasses.replace(robot.joints[1], pose_parent_link=np.eye(4))
    twice = dataclasses.replace(robot, joints=(dataclasses.replace(robot.joints[0], inertia=still), collinear))
    for singular, message in ((bare, "need inertias, which no moving link has"),
                              (twice, "'joint1'.*do not determine its acceleration")):
        for compiled in (True, False):
            with pytest.raises((InputError, DescriptionError), match=message):
                Dynamics(singular, compiled=compiled).forward_dynamics(np.zeros(2), np.zeros(2), np.ones(2))


@settings(deadline=None, max_examples=10)
@given(urdf_robots(), SEEDS)
def test_it_undoes_inverse_dynamics(urdf, seed):
    robot = PinReference(urdf).robot
    q, v, a = random_state(robot, seed)
    exerted = {robot.tip_link: np.random.default_rng(seed).normal(size=6)}
    tolerance = max(1e-9, 1e-13 * np.linalg.cond(mass_matrix(robot, q)))
    for wrench in (None, exerted):
        tau = inverse_dynamics(robot, q, v, a, wrench)
        assert relative_error(forward_dynamics(robot, q, v, tau, wrench), a) < tolerance
