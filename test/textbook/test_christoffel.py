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
from robodyn_ros.compile import derivative_at
from robodyn_ros.dynamics import coriolis
from robodyn_ros.dynamics import mass_matrix as composite
from robodyn_ros.textbook.christoffel import (
    centrifugal_matrix,
    christoffel_symbols,
    coriolis_matrix,
    coriolis_product_matrix,
    lagrange_coefficients,
    velocity_products,
)
from robodyn_ros.textbook.lagrange_jacobians import mass_matrix_derivatives
from robodyn_ros.textbook.newton_euler import bias, gravity


def check(reference, seed):
    robot = reference.robot
    q, v = random_state(robot, seed, 2)
    size = np.max(np.abs(reference.mass_matrix(q)))
    slopes = mass_matrix_derivatives(robot, q)
    symbols, coefficients = christoffel_symbols(slopes), lagrange_coefficients(slopes)
    np.testing.assert_allclose(symbols, symbols.swapaxes(1, 2), atol=1e-13 * size)
    matrix = coriolis_matrix(symbols, v)
    assert relative_error(matrix, reference.coriolis_matrix(q, v), size) < 1e-9
    assert relative_error(matrix, coriolis.coriolis_matrix(robot, q, v), size) < 1e-9
    effort = bias(robot, q, v) - gravity(robot, q)
    assert relative_error(matrix @ v, effort, size) < 1e-9
    assert relative_error(coriolis_matrix(coefficients, v) @ v, effort, size) < 1e-9  # [LagrangeNotes] (43)
    for made_of in (symbols, coefficients):  # [ManipulatorNotes] 4.3.7
        split = centrifugal_matrix(made_of) @ v**2 + coriolis_product_matrix(made_of) @ velocity_products(v)
        assert relative_error(split, effort, size) < 1e-9


@SHIPPED
def test_shipped_robots_against_pinocchio(name):
    check(PinReference(name), 1)


@SHIPPED
def test_from_any_mass_matrix(name):
    """dM/dq of composite bodies, by differentiating what is traced, gives the same C."""
    reference = PinReference(name)
    q, v = random_state(reference.robot, 2, 2)
    slopes = derivative_at(lambda position: composite.mass_matrix(reference.robot, position), (q,))
    size = np.max(np.abs(reference.mass_matrix(q)))
    assert relative_error(slopes, mass_matrix_derivatives(reference.robot, q), size) < 1e-9
    assert relative_error(coriolis_matrix(christoffel_symbols(slopes), v), reference.coriolis_matrix(q, v), size) < 1e-9


@settings(deadline=None, max_examples=10)
@given(urdf_robots(max_joints=8), SEEDS)
def test_random_trees_against_pinocchio(urdf, seed):
    check(PinReference(urdf), seed)


def test_two_joints_as_manipulator_notes_write_them():
    """V of 4.3.7 element by element, for any dM/dq of a symmetric M."""
    half = np.random.default_rng(1).normal(size=(2, 2, 2))
    m = half + half.swapaxes(0, 1)
    centrifugal = [
        [0.5 * (m[0, 0, 0] + m[0, 0, 0] - m[0, 0, 0]), 0.5 * (m[0, 1, 1] + m[0, 1, 1] - m[1, 1, 0])],
        [0.5 * (m[1, 0, 0] + m[1, 0, 0] - m[0, 0, 1]), 0.5 * (m[1, 1, 1] + m[1, 1, 1] - m[1, 1, 1])],
    ]
    products = [[m[0, 0, 1] + m[0, 1, 0] - m[0, 1, 0]], [m[1, 0, 1] + m[1, 1, 0] - m[0, 1, 1]]]
    symbols = christoffel_symbols(m)
    np.testing.assert_allclose(centrifugal_matrix(symbols), centrifugal, atol=1e-15)
    np.testing.assert_allclose(coriolis_product_matrix(symbols), products, atol=1e-15)


def test_products_are_in_the_order_of_the_columns():
    np.testing.assert_array_equal(velocity_products([2.0, 3.0, 5.0]), [6.0, 10.0, 15.0])
    assert coriolis_product_matrix(np.zeros((1, 1, 1))).shape == (1, 0)


@pytest.mark.parametrize("function", [christoffel_symbols, lagrange_coefficients])
@pytest.mark.parametrize("shape", [(3, 3), (3, 3, 2)])
def test_wrong_shapes_are_named(function, shape):
    with pytest.raises(InputError, match=r"slopes: expected an array of shape \(.*\), received shape \(3, 3"):
        function(np.zeros(shape))


def test_wrong_length_of_v_is_named():
    with pytest.raises(InputError, match=r"v: expected an array of shape \(3,\), received shape \(2,\)"):
        coriolis_matrix(np.zeros((3, 3, 3)), np.zeros(2))
