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
from planar_2r import GRAVITY, LENGTHS, MASSES, planar_2r
from random_robots import urdf_robots

from robodyn_ros.compile import compile_function
from robodyn_ros.dynamics.energy import kinetic_energy, potential_energy
from robodyn_ros.textbook.euler_lagrange import euler_lagrange_force
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


@settings(deadline=None, max_examples=15)
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
