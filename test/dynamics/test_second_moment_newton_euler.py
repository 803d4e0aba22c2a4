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

from robodyn_ros.compile import trace
from robodyn_ros.dynamics import second_moment_newton_euler
from robodyn_ros.dynamics.second_moment_newton_euler import PointAccelerations
from robodyn_ros.dynamics.spatial_inertia import SpatialInertia
from robodyn_ros.kinematics.twists import cross
from robodyn_ros.textbook import newton_euler
from robodyn_ros.textbook.link_frame_newton_euler import PointMotion


def check(reference, seed):
    robot = reference.robot
    q, v, a = random_state(robot, seed)
    size = np.max(np.abs(reference.mass_matrix(q)))  # what gravity and Coriolis efforts may cancel from
    found = second_moment_newton_euler.inverse_dynamics(robot, q, v, a)
    assert relative_error(found, reference.inverse_dynamics(q, v, a), size) < 1e-9
    assert relative_error(second_moment_newton_euler.bias(robot, q, v), reference.bias(q, v), size) < 1e-9
    assert relative_error(second_moment_newton_euler.gravity(robot, q), reference.gravity(q), size) < 1e-9
    drawn = np.random.default_rng(seed).normal(size=(len(robot.frames), 6))
    exerted = dict(zip(robot.frames, drawn, strict=True))
    found = second_moment_newton_euler.inverse_dynamics(robot, q, v, a, exerted)
    assert relative_error(found, newton_euler.inverse_dynamics(robot, q, v, a, exerted), size) < 1e-11


@SHIPPED
def test_shipped_robots_against_pinocchio_and_the_twist_form(name):
    check(PinReference(name), 1)


@settings(deadline=None, max_examples=20)
@given(urdf_robots(), SEEDS)
def test_random_trees_against_pinocchio_and_the_twist_form(urdf, seed):
    check(PinReference(urdf), seed)


@settings(deadline=None, max_examples=10)
@given(SEEDS)
def test_points_accelerate_as_in_the_books_form(seed):
    omega, omega_dot, origin, point = np.random.default_rng(seed).normal(size=(4, 3))
    expected = PointMotion(omega, omega_dot, origin).acceleration_of(point)
    np.testing.assert_allclose(PointAccelerations.from_motion(omega, omega_dot, origin).at(point), expected, atol=1e-14)


@settings(deadline=None, max_examples=10)
@given(SEEDS)
def test_wrench_of_a_body_is_newtons_and_eulers(seed):
    inertia = PinReference("arm6").robot.joints[2].inertia
    omega, velocity, omega_dot, velocity_dot = np.random.default_rng(seed).normal(size=(4, 3))
    expected = newton_euler.body_wrench(inertia, np.concatenate([omega, velocity]),
                                        np.concatenate([omega_dot, velocity_dot]))
    origin = velocity_dot + cross(omega, velocity)
    found = PointAccelerations.from_motion(omega, omega_dot, origin).wrench(SpatialInertia.from_inertia(inertia))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_nan_reaches_what_depends_on_it():
    robot = PinReference("planar_2r").robot
    q, v, a = np.zeros((3, 2))
    v[1] = np.nan
    assert np.isnan(second_moment_newton_euler.inverse_dynamics(robot, q, v, a)).all()


@SHIPPED
def test_it_takes_fewer_operations_than_the_twist_form(name):
    robot = PinReference(name).robot
    inputs = dict.fromkeys(("q", "v", "a"), (robot.n,))
    counts = [trace(lambda q, v, a, form=form: form.inverse_dynamics(robot, q, v, a), inputs).operation_count
              for form in (second_moment_newton_euler, newton_euler)]
    assert counts[0] < counts[1]
