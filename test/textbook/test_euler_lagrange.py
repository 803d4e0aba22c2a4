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
from planar_2r import GRAVITY, LENGTHS, MASSES, planar_2r
from random_robots import urdf_robots

from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import compile_function, derivative_at
from robodyn_ros.dynamics.energy import kinetic_energy, potential_energy
from robodyn_ros.textbook.euler_lagrange import (
    degrees_of_freedom,
    euler_lagrange_force,
    force_of_accelerations,
    force_of_kinetic_energy,
    point_velocities,
)
from robodyn_ros.textbook.newton_euler import inverse_dynamics


def test_9_4_to_9_6_a_particle_on_a_vertical_line():
    mass, gravity = 2.5, 9.81

    def lagrangian(x, velocity):  # (9.5)
        return mass * velocity[0] ** 2 / 2 - mass * gravity * x[0]

    force = euler_lagrange_force(lagrangian, np.array([0.3]), np.array([-1.2]), np.array([0.7]))
    np.testing.assert_allclose(force, [mass * 0.7 + mass * gravity], rtol=1e-14)


def test_9_7_and_9_8_two_point_masses():
    """The planar 2R from nothing but where its masses are; 9.1.1 prints the result, with misprints (docs/errata.md)."""
    (m1, m2), (l1, l2) = MASSES, LENGTHS

    def lagrangian(q, v):
        first, both = q[0], q[0] + q[1]
        x1_dot, y1_dot = -l1 * np.sin(first) * v[0], l1 * np.cos(first) * v[0]
        x2_dot = x1_dot - l2 * np.sin(both) * (v[0] + v[1])
        y2_dot = y1_dot + l2 * np.cos(both) * (v[0] + v[1])
        kinetic = m1 * (x1_dot**2 + y1_dot**2) / 2 + m2 * (x2_dot**2 + y2_dot**2) / 2
        return kinetic - GRAVITY * (m1 * l1 * np.sin(first) + m2 * (l1 * np.sin(first) + l2 * np.sin(both)))

    q, v, a = np.array([[0.4, -1.1], [0.7, 2.0], [-0.3, 1.9]])
    np.testing.assert_allclose(
        euler_lagrange_force(lagrangian, q, v, a), inverse_dynamics(planar_2r(), q, v, a), rtol=1e-12
    )


def check(reference, seed):
    robot = reference.robot
    q, v, a = random_state(robot, seed)

    def lagrangian(q, v):  # (9.9)
        return kinetic_energy(robot, q, v) - potential_energy(robot, q)

    found = euler_lagrange_force(lagrangian, q, v, a)
    size = np.max(np.abs(reference.mass_matrix(q)))
    assert relative_error(found, inverse_dynamics(robot, q, v, a), size) < 1e-9
    assert relative_error(found, reference.inverse_dynamics(q, v, a), size) < 1e-9


@SHIPPED
def test_shipped_robots_against_newton_euler_and_pinocchio(name):
    check(PinReference(name), 1)


@settings(deadline=None, max_examples=7)
@given(urdf_robots(max_joints=6), SEEDS)
def test_random_trees_against_newton_euler_and_pinocchio(urdf, seed):
    check(PinReference(urdf), seed)


def test_it_compiles():
    robot = PinReference("planar_2r").robot

    def force(q, v, a):
        return euler_lagrange_force(lambda q, v: kinetic_energy(robot, q, v) - potential_energy(robot, q), q, v, a)

    q, v, a = random_state(robot, 2)
    found = compile_function(force, dict.fromkeys("qva", (2,)))(q, v, a)
    np.testing.assert_allclose(found, inverse_dynamics(robot, q, v, a), rtol=1e-12)


SPEED, RADIUS, POINT_MASSES = 1.7, 0.6, np.array([0.8, 1.3])
Q, V, A, TIME = np.array([0.4, -1.1]), np.array([0.7, 2.0]), np.array([-0.3, 1.9]), np.array(0.37)


def bead(q, time):
    """On a hoop that turns about the vertical: polar angle q."""
    turn = SPEED * time
    return np.array([[RADIUS * np.sin(q[0]) * np.cos(turn), RADIUS * np.sin(q[0]) * np.sin(turn),
                      -RADIUS * np.cos(q[0])]])


def two_points(q, time):
    first = np.array([np.sin(q[0]) * time, q[0] * q[1], np.cos(q[1] + time)])
    return np.array([first, first + np.array([q[1] ** 2, time * time, np.sin(q[0] * time)])])


def motion(points, time):
    """Positions along a motion with constant acceleration that is at Q, V, A at TIME."""
    passed = time - TIME
    return points(Q + V * passed + 0.5 * A * passed**2, time)


def test_velocities_are_those_along_a_motion():  # (G.4)
    step = 1e-5
    slope = (motion(two_points, TIME + step) - motion(two_points, TIME - step)) / (2 * step)
    np.testing.assert_allclose(point_velocities(two_points, Q, V, TIME), slope, atol=1e-8)


def test_a_bead_on_a_turning_hoop():
    """m R^2 (q'' - w^2 sin q cos q), by hand: what the hoop's constraint leaves of Newton's equation."""
    q, v, a = np.array([0.4]), np.array([0.7]), np.array([-0.3])
    mass = POINT_MASSES[:1]
    expected = mass * RADIUS**2 * (a - SPEED**2 * np.sin(q) * np.cos(q))
    np.testing.assert_allclose(force_of_accelerations(bead, mass, q, v, a, TIME), expected, rtol=1e-12)
    np.testing.assert_allclose(force_of_kinetic_energy(bead, mass, q, v, a, TIME), expected, rtol=1e-12)
    assert degrees_of_freedom(1, 2) == 1  # on a sphere, and in the plane of the hoop


def test_newton_and_lagrange_give_the_same_force():  # (G.9)-(G.11)
    step = 1e-4
    before, here, after = (motion(two_points, TIME + shift) for shift in (-step, 0.0, step))
    forces = POINT_MASSES[:, None] * (after - 2.0 * here + before) / step**2
    expected = np.tensordot(forces, derivative_at(two_points, (Q, TIME)), axes=2)
    found = force_of_accelerations(two_points, POINT_MASSES, Q, V, A, TIME)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_allclose(force_of_kinetic_energy(two_points, POINT_MASSES, Q, V, A, TIME), found, rtol=1e-12)


def test_lemmas_of_the_derivation():  # (G.5)-(G.8)
    def velocities(q, v, t):
        return point_velocities(two_points, q, v, t)

    by_position = derivative_at(two_points, (Q, TIME))
    np.testing.assert_allclose(derivative_at(velocities, (Q, V, TIME), 1), by_position, rtol=1e-12)
    step = 1e-6
    slope = (derivative_at(two_points, (Q + step * V, TIME + step))
             - derivative_at(two_points, (Q - step * V, TIME - step))) / (2 * step)
    np.testing.assert_allclose(derivative_at(velocities, (Q, V, TIME), 0), slope, atol=1e-8)
    square = derivative_at(lambda v: np.sum(point_velocities(two_points, Q, v, TIME) ** 2), (V,))
    np.testing.assert_allclose(square, 2.0 * np.tensordot(velocities(Q, V, TIME), by_position, axes=2), rtol=1e-12)


def test_printed_g_12_leaves_the_potential_in_the_force():
    """With L = K - U in its first term and K in its second, it says what (G.11) says: Q_i still contains -dU/dq_i.

    A pendulum that swings freely has Q = -dU/dq in (G.11). With L in both terms nothing else is left.
    """
    gravity, q, v, mass = 9.81, np.array([0.4]), np.array([0.7]), POINT_MASSES[:1]

    def pendulum(q, time):
        return np.array([[RADIUS * np.sin(q[0]), 0.0 * time, -RADIUS * np.cos(q[0])]])

    slope = mass * gravity * RADIUS * np.sin(q)  # dU/dq
    a = -gravity / RADIUS * np.sin(q)
    force = force_of_kinetic_energy(pendulum, mass, q, v, a, TIME)  # (G.11), and (G.12) as printed: dU/dq' = 0
    np.testing.assert_allclose(force, -slope, rtol=1e-12)
    np.testing.assert_allclose(force + slope, 0.0, atol=1e-12)  # (G.12) with dL/dq_i
    assert np.abs(force).max() > 1.0


def test_masses_of_another_number_are_refused():
    with pytest.raises(InputError, match="masses"):
        force_of_accelerations(two_points, np.ones(3), Q, V, A, TIME)
