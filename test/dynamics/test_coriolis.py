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

from robodyn_ros.dynamics.coriolis import common_frame, coriolis_matrix
from robodyn_ros.dynamics.mass_matrix import mass_matrix
from robodyn_ros.kinematics.forward import link_poses
from robodyn_ros.textbook.newton_euler import bias, gravity


def mass_matrix_derivatives(robot, q, step=1e-6):
    """dM_ij/dq_k by central differences, shape (n, n, n)."""
    slopes = [(mass_matrix(robot, q + h) - mass_matrix(robot, q - h)) / (2 * step) for h in step * np.eye(robot.n)]
    return np.stack(slopes, axis=-1)


def christoffel(robot, q, v):
    """C by its definition, [LynchPark] (9.87)."""
    slope = mass_matrix_derivatives(robot, q)
    symbols = 0.5 * (slope + slope.transpose(0, 2, 1) - slope.transpose(2, 0, 1))  # (9.86)
    return symbols @ v


def check(reference, seed):
    robot = reference.robot
    q, v = random_state(robot, seed, 2)
    size = np.max(np.abs(reference.mass_matrix(q)))
    matrix = coriolis_matrix(robot, q, v)
    assert relative_error(matrix, reference.coriolis_matrix(q, v), size) < 1e-9
    assert relative_error(matrix @ v, bias(robot, q, v) - gravity(robot, q), size) < 1e-9


@SHIPPED
def test_shipped_robots_against_pinocchio(name):
    check(PinReference(name), 1)


@settings(deadline=None, max_examples=20)
@given(urdf_robots(), SEEDS)
def test_random_trees_against_pinocchio(urdf, seed):
    check(PinReference(urdf), seed)


@settings(deadline=None, max_examples=7)
@given(urdf_robots(max_joints=6), SEEDS)
def test_it_is_the_matrix_of_christoffel_symbols(urdf, seed):
    robot = PinReference(urdf).robot
    q, v = random_state(robot, seed, 2)
    size = np.max(mass_matrix(robot, q))
    np.testing.assert_allclose(coriolis_matrix(robot, q, v), christoffel(robot, q, v), rtol=1e-7, atol=1e-7 * size)


@settings(deadline=None, max_examples=7)
@given(urdf_robots(max_joints=6), SEEDS)
def test_passivity(urdf, seed):
    """dM/dt - 2 C is skew-symmetric: [LynchPark] proposition 9.1, [Properties] property 3."""
    robot = PinReference(urdf).robot
    q, v = random_state(robot, seed, 2)
    difference = mass_matrix_derivatives(robot, q) @ v - 2 * coriolis_matrix(robot, q, v)
    np.testing.assert_allclose(difference, -difference.T, atol=1e-6 * np.max(mass_matrix(robot, q)))


@settings(deadline=None, max_examples=15)
@given(urdf_robots(), SEEDS)
def test_the_common_frame_is_the_first_links_or_the_bases(urdf, seed):
    robot = PinReference(urdf).robot
    (q,) = random_state(robot, seed, 1)
    poses, gravity = common_frame(robot, q)
    in_base = link_poses(robot, q)
    carries_all = sum(joint.parent < 0 for joint in robot.joints) == 1
    frame = in_base[0] if carries_all else np.eye(4)
    np.testing.assert_allclose([frame @ pose for pose in poses], in_base, atol=1e-12)
    np.testing.assert_allclose(frame[:3, :3] @ gravity, robot.gravity, atol=1e-12)
    if carries_all:
        np.testing.assert_array_equal(poses[0], np.eye(4))
