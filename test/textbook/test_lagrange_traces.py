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
from robodyn_ros.compile import trace
from robodyn_ros.description.model import Inertia
from robodyn_ros.textbook import lagrange_jacobians, newton_euler
from robodyn_ros.textbook.lagrange_traces import (
    coriolis_centrifugal,
    gravity,
    inverse_dynamics,
    kinetic_energy,
    kinetic_energy_gradient,
    lagrange_equation,
    mass_matrix,
    mass_matrix_derivatives,
    momentum_rate,
    pseudo_inertia_matrix,
)
from robodyn_ros.textbook.rigid_body import inertia_tensor


def check(reference, seed):
    robot = reference.robot
    q, v, a = random_state(robot, seed)
    matrix = reference.mass_matrix(q)
    size = np.max(np.abs(matrix))
    assert relative_error(mass_matrix(robot, q), matrix) < 1e-9
    assert relative_error(mass_matrix_derivatives(robot, q), reference.mass_matrix_derivatives(q), size) < 1e-9
    assert relative_error(kinetic_energy(robot, q, v), reference.kinetic_energy(q, v)) < 1e-9
    assert relative_error(gravity(robot, q), reference.gravity(q), size) < 1e-9
    bent = coriolis_centrifugal(robot, q, v)
    assert relative_error(bent, reference.bias(q, v) - reference.gravity(q), size) < 1e-9
    assert relative_error(bent, lagrange_jacobians.coriolis_centrifugal(robot, q, v), size) < 1e-9
    tau = reference.inverse_dynamics(q, v, a)
    assert relative_error(inverse_dynamics(robot, q, v, a), tau, size) < 1e-9
    assert relative_error(inverse_dynamics(robot, q, v, a), newton_euler.inverse_dynamics(robot, q, v, a), size) < 1e-9
    assert relative_error(lagrange_equation(robot, q, v, a), tau, size) < 1e-9


@SHIPPED
def test_shipped_robots_against_pinocchio(name):
    check(PinReference(name), 1)


@settings(deadline=None, max_examples=10)
@given(urdf_robots(max_joints=8), SEEDS)
def test_random_trees_against_pinocchio(urdf, seed):
    check(PinReference(urdf), seed)


@settings(deadline=None, max_examples=10)
@given(urdf_robots(max_joints=6), SEEDS)
def test_terms_of_lagranges_equation_are_those_of_the_other_derivation(urdf, seed):
    """(3.23) and (3.25), in traces, against (3.45), in derivatives of M."""
    robot = PinReference(urdf).robot
    q, v, a = random_state(robot, seed)
    size = np.max(np.abs(mass_matrix(robot, q)))
    gradient = lagrange_jacobians.kinetic_energy_gradient(robot, q, v)
    assert relative_error(kinetic_energy_gradient(robot, q, v), gradient, size) < 1e-9
    rate = lagrange_jacobians.mass_matrix_rate(robot, q, v) @ v + lagrange_jacobians.mass_matrix(robot, q) @ a
    assert relative_error(momentum_rate(robot, q, v, a), rate, size) < 1e-9


def test_pseudo_inertia_is_the_sum_over_mass_points():
    """(3.8) against (3.15); and the way back, (3.17)."""
    rng = np.random.default_rng(1)
    masses, points = rng.uniform(0.5, 2.0, 8), rng.normal(size=(8, 3))
    mass, com = masses.sum(), masses @ points / masses.sum()
    pseudo = pseudo_inertia_matrix(Inertia(mass, com, inertia_tensor(points - com, masses)))
    homogeneous = np.column_stack([points, np.ones(8)])
    np.testing.assert_allclose(pseudo, homogeneous.T @ (masses[:, None] * homogeneous), atol=1e-12)
    second = pseudo[:3, :3]
    np.testing.assert_allclose(np.trace(second) * np.eye(3) - second, inertia_tensor(points, masses), atol=1e-12)


def test_elements_of_the_pseudo_inertia_matrix():
    """(3.15) as it is printed."""
    inertia = PinReference("arm6").robot.joints[2].inertia
    pseudo, tensor = pseudo_inertia_matrix(inertia), inertia.rotational_about_origin
    xx, yy, zz = np.diagonal(tensor)
    np.testing.assert_allclose(
        np.diagonal(pseudo)[:3], [0.5 * (yy + zz - xx), 0.5 * (xx + zz - yy), 0.5 * (xx + yy - zz)], atol=1e-15
    )
    np.testing.assert_allclose(
        [pseudo[0, 1], pseudo[0, 2], pseudo[1, 2]], [-tensor[0, 1], -tensor[0, 2], -tensor[1, 2]]
    )
    np.testing.assert_allclose(pseudo[3], [*(inertia.mass * inertia.com), inertia.mass])


def test_traced_it_is_the_same():
    robot = PinReference("scara").robot
    q, v, a = random_state(robot, 2)
    inputs = dict.fromkeys("qva", (robot.n,))
    for function in (inverse_dynamics, lagrange_equation):
        tape = trace(lambda *state, function=function: function(robot, *state), inputs)
        np.testing.assert_allclose(tape(q, v, a), function(robot, q, v, a), rtol=1e-12, atol=1e-12)


def test_wrong_shapes_are_named():
    robot = PinReference("arm6").robot
    good, bad = np.zeros(6), np.zeros(5)
    for function in (inverse_dynamics, lagrange_equation):
        for place, name in enumerate("qva"):
            arrays = [bad if index == place else good for index in range(3)]
            with pytest.raises(InputError, match=rf"{name}: expected an array of shape \(6,\), received shape \(5,\)"):
                function(robot, *arrays)
