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
from robodyn_ros.dynamics.mass_matrix import mass_matrix
from robodyn_ros.textbook.newton_euler import bias, inverse_dynamics


def check(reference, seed):
    robot = reference.robot
    (q,) = random_state(robot, seed, 1)
    expected = reference.mass_matrix(q)
    matrix = mass_matrix(robot, q)
    assert relative_error(matrix, expected) < 1e-9
    np.testing.assert_array_equal(matrix, matrix.T)
    assert np.linalg.eigvalsh(matrix)[0] > 0.0


@SHIPPED
def test_shipped_robots_against_pinocchio(name):
    check(PinReference(name), 1)


@settings(deadline=None, max_examples=40)
@given(urdf_robots(), SEEDS)
def test_random_trees_against_pinocchio(urdf, seed):
    check(PinReference(urdf), seed)


@settings(deadline=None, max_examples=10)
@given(urdf_robots(), SEEDS)
def test_columns_are_inverse_dynamics_of_unit_accelerations(urdf, seed):
    robot = PinReference(urdf).robot
    q, v = random_state(robot, seed, 2)
    columns = [inverse_dynamics(robot, q, v, unit) - bias(robot, q, v) for unit in np.eye(robot.n)]
    matrix = mass_matrix(robot, q)
    np.testing.assert_allclose(np.transpose(columns), matrix, rtol=1e-9, atol=1e-11 * np.max(matrix) + 1e-10)


def test_the_lower_triangle_costs_nothing():
    """Only one triangle is computed: no entry of the matrix is on the tape twice."""
    robot = PinReference("arm7").robot
    tape = trace(lambda q: mass_matrix(robot, q), {"q": (7,)})
    entries = tape.outputs.reshape(7, 7)
    np.testing.assert_array_equal(entries, entries.T)
