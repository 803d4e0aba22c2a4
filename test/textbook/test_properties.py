# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
import pytest
from hypothesis import assume, given, settings
from pin_reference import SEEDS, SHIPPED, PinReference, random_state, relative_error
from random_robots import urdf_robots

from robodyn_ros.base.errors import InputError
from robodyn_ros.dynamics import coriolis
from robodyn_ros.textbook.christoffel import christoffel_symbols, coriolis_matrix, lagrange_coefficients
from robodyn_ros.textbook.generalized_force import forward_dynamics, generalized_force
from robodyn_ros.textbook.lagrange_jacobians import mass_matrix_derivatives
from robodyn_ros.textbook.newton_euler import bias, gravity
from robodyn_ros.textbook.properties import (
    energy_defect,
    gathered_coriolis_matrix,
    kinetic_energy_rate,
    skew_symmetry_defect,
)


def factorisations(slopes, v):
    """Five matrices C(q, v); the first two are those of Christoffel symbols, gathered or not."""
    symbols, coefficients = christoffel_symbols(slopes), lagrange_coefficients(slopes)
    return {
        "christoffel": coriolis_matrix(symbols, v),
        "lagrange": coriolis_matrix(coefficients, v),
        "lagrange, j and k exchanged": coriolis_matrix(coefficients.swapaxes(1, 2), v),
        "christoffel, gathered": gathered_coriolis_matrix(symbols, v),
        "lagrange, gathered": gathered_coriolis_matrix(coefficients, v),
    }


def check(reference, seed):
    robot = reference.robot
    q, v = random_state(robot, seed, 2)
    size = np.max(np.abs(reference.mass_matrix(q)))
    slopes = mass_matrix_derivatives(robot, q)
    rate, effort = slopes @ v, bias(robot, q, v) - gravity(robot, q)
    for matrix in factorisations(slopes, v).values():
        assert relative_error(matrix @ v, effort, size) < 1e-9  # property 1
        assert abs(energy_defect(rate, matrix, v)) < 1e-9 * size * (v @ v) * np.max(np.abs(v))  # property 2
    for matrix in (coriolis_matrix(christoffel_symbols(slopes), v), coriolis.coriolis_matrix(robot, q, v)):
        assert np.max(np.abs(skew_symmetry_defect(rate, matrix))) < 1e-9 * size * np.max(np.abs(v))  # property 3
    return slopes, rate, v


@SHIPPED
def test_shipped_robots(name):
    slopes, rate, v = check(PinReference(name), 1)
    matrices = factorisations(slopes, v)
    size = np.max(np.abs(rate))
    for other, matrix in matrices.items():
        if other != "christoffel":  # property 1: they differ; property 3: and that one alone is skew-symmetric
            assert np.max(np.abs(matrix - matrices["christoffel"])) > 1e-2 * size, other
            assert np.max(np.abs(skew_symmetry_defect(rate, matrix))) > 1e-2 * size, other


@settings(deadline=None, max_examples=7)
@given(urdf_robots(max_joints=7), SEEDS)
def test_random_trees(urdf, seed):
    check(PinReference(urdf), seed)


def test_two_joints_as_the_article_moves_the_term():
    """The first component for n = 2: Gamma_121 v_2 goes from the second column to the first."""
    gamma = np.random.default_rng(1).normal(size=(2, 2, 2))
    v = np.array([0.7, -1.3])
    before, after = coriolis_matrix(gamma, v), gathered_coriolis_matrix(gamma, v)
    (g111, g112), (g121, g122) = gamma[0]
    np.testing.assert_allclose(before[0], [g111 * v[0] + g112 * v[1], g121 * v[0] + g122 * v[1]])
    np.testing.assert_allclose(after[0], [g111 * v[0] + g112 * v[1] + g121 * v[1], g122 * v[1]])
    np.testing.assert_allclose(before @ v, after @ v)


@settings(deadline=None, max_examples=10)
@given(urdf_robots(max_joints=6), SEEDS)
def test_power_of_all_forces_becomes_kinetic_energy(urdf, seed):
    """[LagrangeNotes] (47) is (48): with friction, contact and gravity."""
    robot = PinReference(urdf).robot
    q, v, tau = random_state(robot, seed)
    wrench = np.random.default_rng(seed).normal(size=6)
    a = forward_dynamics(robot, q, v, tau, wrench)
    forces = [generalized_force(robot, q, v, tau, wrench), -gravity(robot, q)]
    terms = np.array([v @ force for force in forces])
    assume(np.max(np.abs(a)) < 1e5)
    assert kinetic_energy_rate(robot, q, v, a) == pytest.approx(terms.sum(), abs=1e-9 * max(1.0, *np.abs(a), *terms))


def test_wrong_shapes_are_named():
    with pytest.raises(InputError, match=r"coriolis: expected .*\(3, 3\), received shape \(2, 2\)"):
        skew_symmetry_defect(np.zeros((3, 3)), np.zeros((2, 2)))
    with pytest.raises(InputError, match=r"mass_rate: expected .*\(2, 2\), received shape \(3, 3\)"):
        energy_defect(np.zeros((3, 3)), np.zeros((3, 3)), np.zeros(2))
    with pytest.raises(InputError, match=r"coefficients: expected .*, received shape \(3, 3\)"):
        gathered_coriolis_matrix(np.zeros((3, 3)), np.zeros(3))
