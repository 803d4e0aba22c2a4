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
from robodyn_ros.textbook import lagrange_traces, newton_euler
from robodyn_ros.textbook.lagrange_jacobians import (
    coriolis_centrifugal,
    gravity,
    inverse_dynamics,
    kinetic_energy_gradient,
    mass_matrix,
    mass_matrix_derivatives,
    mass_matrix_rate,
    vector_form,
)


def check(reference, seed):
    robot = reference.robot
    q, v, a = random_state(robot, seed)
    matrix = reference.mass_matrix(q)
    size = np.max(np.abs(matrix))
    assert relative_error(mass_matrix(robot, q), matrix) < 1e-9
    assert relative_error(mass_matrix(robot, q), newton_euler.mass_matrix(robot, q)) < 1e-9
    slopes = mass_matrix_derivatives(robot, q)
    assert relative_error(slopes, reference.mass_matrix_derivatives(q), size) < 1e-9
    assert relative_error(slopes, lagrange_traces.mass_matrix_derivatives(robot, q), size) < 1e-9
    assert relative_error(gravity(robot, q), reference.gravity(q), size) < 1e-9
    assert relative_error(vector_form(robot, q, v), reference.bias(q, v), size) < 1e-9
    tau = inverse_dynamics(robot, q, v, a)
    assert relative_error(tau, reference.inverse_dynamics(q, v, a), size) < 1e-9
    assert relative_error(tau, newton_euler.inverse_dynamics(robot, q, v, a), size) < 1e-9


@SHIPPED
def test_shipped_robots_against_pinocchio(name):
    check(PinReference(name), 1)


@settings(deadline=None, max_examples=10)
@given(urdf_robots(max_joints=8), SEEDS)
def test_random_trees_against_pinocchio(urdf, seed):
    check(PinReference(urdf), seed)


def test_speeds_have_no_part_in_the_rest():
    """h is 0 at rest, quadratic in v, and does the work that dM/dt asks for: [LagrangeNotes] (47)."""
    robot = PinReference("arm6").robot
    q, v = random_state(robot, 4, 2)
    np.testing.assert_array_equal(coriolis_centrifugal(robot, q, np.zeros(6)), np.zeros(6))
    effort = coriolis_centrifugal(robot, q, v)
    np.testing.assert_allclose(coriolis_centrifugal(robot, q, -2.0 * v), 4.0 * effort, atol=1e-12)
    assert v @ effort == pytest.approx(0.5 * v @ mass_matrix_rate(robot, q, v) @ v, rel=1e-12)
    assert v @ kinetic_energy_gradient(robot, q, v) == pytest.approx(v @ effort, rel=1e-12)


def test_traced_it_is_the_same():
    robot = PinReference("scara").robot
    q, v, a = random_state(robot, 2)
    tape = trace(lambda *state: inverse_dynamics(robot, *state), dict.fromkeys("qva", (robot.n,)))
    np.testing.assert_allclose(tape(q, v, a), inverse_dynamics(robot, q, v, a), rtol=1e-12, atol=1e-12)


def test_wrong_shapes_are_named():
    robot = PinReference("arm6").robot
    for place, name in enumerate("qva"):
        arrays = [np.zeros(5 if index == place else 6) for index in range(3)]
        with pytest.raises(InputError, match=rf"{name}: expected an array of shape \(6,\), received shape \(5,\)"):
            inverse_dynamics(robot, *arrays)
