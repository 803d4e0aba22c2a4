# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
from hypothesis import given, settings
from pin_reference import SEEDS, SHIPPED, PinReference, pin, random_state, relative_error
from planar_2r import GRAVITY, LENGTHS, MASSES, planar_2r
from random_robots import urdf_robots

from robodyn_ros.kinematics.forward import forward_kinematics
from robodyn_ros.kinematics.jacobian import twist_jacobian
from robodyn_ros.kinematics.twists import ad_transpose
from robodyn_ros.textbook.newton_euler import bias, body_wrench, gravity, inverse_dynamics, mass_matrix


def check(reference, seed):
    robot = reference.robot
    q, v, a = random_state(robot, seed)
    size = np.max(np.abs(reference.mass_matrix(q)))  # what gravity and Coriolis efforts may cancel from
    assert relative_error(inverse_dynamics(robot, q, v, a), reference.inverse_dynamics(q, v, a), size) < 1e-9
    assert relative_error(bias(robot, q, v), reference.bias(q, v), size) < 1e-9
    assert relative_error(gravity(robot, q), reference.gravity(q), size) < 1e-9
    assert relative_error(mass_matrix(robot, q), reference.mass_matrix(q)) < 1e-9
    wrenches, expected = {}, reference.inverse_dynamics(q, v, a)
    for link, wrench in zip(robot.frames, np.random.default_rng(seed).normal(size=(len(robot.frames), 6)), strict=True):
        wrenches[link] = wrench  # exerted by the robot, in link axes
        in_base_axes = np.kron(np.eye(2), reference.forward_kinematics(q, link)[:3, :3]) @ wrench
        expected = expected + reference.wrench_effort(q, np.roll(in_base_axes, 3), link)
    assert relative_error(inverse_dynamics(robot, q, v, a, wrenches), expected, size) < 1e-9


@SHIPPED
def test_shipped_robots_against_pinocchio(name):
    check(PinReference(name), 1)


@settings(deadline=None, max_examples=20)
@given(urdf_robots(), SEEDS)
def test_random_trees_against_pinocchio(urdf, seed):
    check(PinReference(urdf), seed)


@settings(deadline=None, max_examples=10)
@given(urdf_robots(), SEEDS)
def test_efforts_are_linear_in_the_acceleration(urdf, seed):
    robot = PinReference(urdf).robot
    q, v, a, b = random_state(robot, seed, 4)
    inertial = [inverse_dynamics(robot, q, v, x) - bias(robot, q, v) for x in (a, b, 2.0 * a - 0.5 * b)]
    np.testing.assert_allclose(inertial[2], 2.0 * inertial[0] - 0.5 * inertial[1], rtol=1e-9, atol=1e-9)


@settings(deadline=None, max_examples=10)
@given(urdf_robots(), SEEDS)
def test_tip_wrench_costs_the_effort_of_the_jacobian(urdf, seed):
    robot = PinReference(urdf).robot
    q, v, a = random_state(robot, seed)
    wrench = np.random.default_rng(seed).normal(size=6)
    rotation = forward_kinematics(robot, q)[:3, :3]
    in_base_axes = np.kron(np.eye(2), rotation) @ wrench
    difference = inverse_dynamics(robot, q, v, a, {robot.tip_link: wrench}) - inverse_dynamics(robot, q, v, a)
    np.testing.assert_allclose(difference, twist_jacobian(robot, q).T @ in_base_axes, rtol=1e-9, atol=1e-9)


@settings(deadline=None, max_examples=10)
@given(SEEDS)
def test_body_wrench_is_the_twist_form(seed):
    inertia = PinReference("arm6").robot.joints[2].inertia
    twist, acceleration = np.random.default_rng(seed).normal(size=(2, 6))
    spatial = inertia.spatial()
    expected = spatial @ acceleration - ad_transpose(twist, spatial @ twist)  # (9.33)
    np.testing.assert_allclose(body_wrench(inertia, twist, acceleration), expected, rtol=1e-12, atol=1e-12)


@settings(deadline=None)
@given(SEEDS)
def test_body_wrench_is_pinocchios(seed):
    rng = np.random.default_rng(seed)
    inertia = PinReference("arm6").robot.joints[2].inertia
    twist, acceleration = rng.normal(size=(2, 6))
    body = pin.Inertia(inertia.mass, inertia.com, inertia.rotational)
    motion = pin.Motion(np.roll(twist, 3))
    expected = body * pin.Motion(np.roll(acceleration, 3)) + motion.cross(body * motion)
    assert relative_error(body_wrench(inertia, twist, acceleration), np.roll(expected.vector, 3)) < 1e-9


def test_planar_2r_of_the_book():
    """The worked example of [LynchPark] 9.1.1, as corrected in docs/errata.md."""
    (m1, m2), (l1, l2) = MASSES, LENGTHS
    q, v, a = np.array([[0.4, -1.1], [0.7, 2.0], [-0.3, 1.9]])
    (c1, c2), s2, c12 = np.cos(q), np.sin(q[1]), np.cos(q[0] + q[1])
    expected = [
        ((m1 + m2) * l1**2 + m2 * (2 * l1 * l2 * c2 + l2**2)) * a[0]
        + m2 * (l1 * l2 * c2 + l2**2) * a[1]
        - m2 * l1 * l2 * s2 * (2 * v[0] * v[1] + v[1] ** 2)
        + (m1 + m2) * l1 * GRAVITY * c1
        + m2 * GRAVITY * l2 * c12,
        m2 * (l1 * l2 * c2 + l2**2) * a[0]
        + m2 * l2**2 * a[1]
        + m2 * l1 * l2 * v[0] ** 2 * s2
        + m2 * GRAVITY * l2 * c12,
    ]
    np.testing.assert_allclose(inverse_dynamics(planar_2r(), q, v, a), expected, rtol=1e-13)
