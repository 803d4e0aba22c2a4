# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The misprints of [Yamamoto] 3 and 5, [LagrangeNotes] and [ManipulatorNotes]: printed they fail, corrected they hold.

docs/errata.md lists them.
"""

import numpy as np
import pytest
from pin_reference import PinReference, random_state, relative_error
from scipy.integrate import solve_ivp

from robodyn_ros.dynamics.energy import kinetic_energy, potential_energy
from robodyn_ros.dynamics.forward_dynamics import mass_matrix_forward_dynamics as forward_dynamics
from robodyn_ros.kinematics.forward import link_poses
from robodyn_ros.textbook import lagrange_jacobians, lagrange_traces
from robodyn_ros.textbook.center_of_mass_jacobians import link_jacobians
from robodyn_ros.textbook.christoffel import (
    christoffel_symbols,
    coriolis_matrix,
    coriolis_product_matrix,
    lagrange_coefficients,
    velocity_products,
)
from robodyn_ros.textbook.generalized_force import generalized_force
from robodyn_ros.textbook.planar_2r import Planar2R
from robodyn_ros.textbook.pose_derivatives import pose_derivatives
from robodyn_ros.textbook.properties import energy_defect, kinetic_energy_rate, skew_symmetry_defect
from robodyn_ros.textbook.rigid_body import inertia_tensor
from robodyn_ros.textbook.state_space import state_derivative

HOLDS, FAILS = 1e-9, 1e-2


@pytest.fixture(scope="module")
def arm():
    return PinReference("arm6")


@pytest.fixture
def state(arm):
    return random_state(arm.robot, 5)


@pytest.fixture(scope="module")
def points():
    """Mass points: masses of shape (5,), homogeneous coordinates of shape (5, 4)."""
    rng = np.random.default_rng(2)
    return rng.uniform(0.5, 2.0, 5), np.column_stack([rng.normal(size=(5, 3)), np.ones(5)])


def slope(function, q, step=1e-5):
    """Derivatives by q in the last axis, by central differences."""
    return np.stack([(function(q + h) - function(q - h)) / (2 * step) for h in step * np.eye(len(q))], axis=-1)


def test_yamamoto_3_7_and_3_8_a_points_velocity_and_its_energy(arm, state, points):
    """P' = T' P, not T P; dK = tr(T' P P^T T'^T) dm / 2, not with T' twice."""
    (q, v, _), (masses, coordinates) = state, points
    link = pose_derivatives(arm.robot, q)[3]
    rate = slope(lambda position: link_poses(arm.robot, position)[3], q) @ v
    for point in coordinates:
        assert relative_error(link.velocity(v) @ point, rate @ point) < 1e-6
        assert relative_error(link.pose @ point, rate @ point) > FAILS
    velocities = coordinates @ link.velocity(v).T
    energies = 0.5 * masses * np.sum(velocities**2, axis=1)
    moments = 0.5 * masses[:, None, None] * coordinates[:, :, None] * coordinates[:, None, :]
    turned = link.velocity(v)
    assert relative_error(np.trace(turned @ moments @ turned.T, axis1=1, axis2=2), energies) < HOLDS
    assert relative_error(np.trace(turned @ moments @ turned, axis1=1, axis2=2), energies) > FAILS


def test_yamamoto_3_9_elements_of_the_pseudo_inertia_matrix(points):
    """(2, 3) is the integral of p_y p_z, (4, 4) the mass, not both the integral of p_z."""
    masses, coordinates = points
    matrix = coordinates.T @ (masses[:, None] * coordinates)
    printed = matrix.copy()
    printed[1, 2] = printed[3, 3] = masses @ coordinates[:, 2]
    tensor = inertia_tensor(coordinates[:, :3], masses)
    assert matrix[1, 2] == pytest.approx(-tensor[1, 2])  # as (3.15) and (3.17) have it
    assert matrix[3, 3] == pytest.approx(masses.sum())
    assert relative_error(printed, printed.T) > FAILS
    assert relative_error(printed, matrix) > FAILS


def test_yamamoto_3_30_the_joint_itself_counts(arm, state):
    """For j <= i: with j < i as printed a joint would not move its own link."""
    robot, q = arm.robot, state[0]
    printed = []
    for index, (link, joint) in enumerate(zip(pose_derivatives(robot, q), robot.joints, strict=True)):
        first = link.first.copy()
        first[index] = 0.0
        weighted = first @ lagrange_traces.pseudo_inertia_matrix(joint.inertia)
        printed.append(np.tensordot(weighted, first, axes=((1, 2), (1, 2))))
    expected = arm.mass_matrix(q)
    assert relative_error(lagrange_traces.mass_matrix(robot, q), expected) < HOLDS
    assert relative_error(np.sum(printed, axis=0), expected) > FAILS


def test_yamamoto_3_31_the_frames_origin_counts(arm, state):
    """A centre of mass is at T s = p + R s: with R s alone the origin would stand still."""
    robot, q = arm.robot, state[0]
    for index, link in enumerate(link_jacobians(robot, q)):
        com = robot.joints[index].inertia.com

        def at(position, homogeneous, index=index, com=com):
            return (link_poses(robot, position)[index] @ [*com, homogeneous])[:3]

        np.testing.assert_allclose(link.position, at(q, 1.0), atol=1e-12)
        np.testing.assert_allclose(link.linear, slope(lambda position, at=at: at(position, 1.0), q), atol=1e-8)
        if index >= 2:
            assert relative_error(slope(lambda position, at=at: at(position, 0.0), q), link.linear) > FAILS


def test_yamamoto_3_39_and_3_41_sign_of_the_potential_energy(arm, state):
    """P = -m g^T s with g = (0, 0, -g), as (3.26): with m g^T s what rises would lose energy."""
    robot, q = arm.robot, state[0]
    links = link_jacobians(robot, q)
    printed = sum(link.mass * robot.gravity @ link.position for link in links)
    lifted = sum(link.mass * 9.81 * link.position[2] for link in links)  # m g h
    assert potential_energy(robot, q) == pytest.approx(lifted)
    assert printed == pytest.approx(-lifted)
    assert abs(lifted) > 1.0


def test_yamamoto_5_3_sign_of_the_acceleration(arm, state):
    """M^-1 (tau - h - g), as (5.2), not M^-1 (h + g - tau)."""
    robot, (q, v, tau) = arm.robot, state
    expected = arm.forward_dynamics(q, v, tau)
    rest = lagrange_jacobians.vector_form(robot, q, v)
    printed = np.linalg.solve(lagrange_jacobians.mass_matrix(robot, q), rest - tau)
    assert relative_error(state_derivative(robot, np.concatenate([q, v]), tau)[6:], expected) < HOLDS
    assert relative_error(printed, expected) > FAILS


def test_yamamoto_g_12_gravity_is_in_the_lagrangian():
    """Q = d/dt dL/dv - dL/dq: with dK/dq as printed there would be no gravity."""
    arm = Planar2R(2.0, 1.5, 0.7, 0.3, 0.2, 0.05, 0.04)
    q, v, a = np.random.default_rng(3).normal(size=(3, 2))

    def kinetic(position):
        return arm.kinetic_energies(position, v).sum()

    def lagrangian(position):
        return kinetic(position) - arm.potential_energies(position).sum()

    # dL/dv = dK/dv = M v, as U does not depend on v.
    rate = arm.mass_matrix(q) @ a + slope(arm.mass_matrix, q) @ v @ v
    expected = arm.inverse_dynamics(q, v, a)
    assert relative_error(rate - slope(lagrangian, q), expected) < 1e-8
    assert relative_error(rate - slope(kinetic, q), expected) > FAILS


def test_lagrange_notes_after_27_power_is_force_times_speed(arm, state):
    """The text has xi_i q_i for xi_i q_i'. The truth is the work done along a link."""
    robot, (q, v, tau) = arm.robot, state
    v = 0.3 * v
    force = generalized_force(robot, q, v, tau)
    start = np.concatenate([q, v])

    def energy(x):
        return kinetic_energy(robot, x[:6], x[6:]) + potential_energy(robot, x[:6])

    step = 1e-5
    ends = [
        solve_ivp(lambda _, x: state_derivative(robot, x, force), (0, time), start, rtol=1e-12, atol=1e-12).y[:, -1]
        for time in (step, -step)
    ]
    power = (energy(ends[0]) - energy(ends[1])) / (2 * step)
    assert v @ force == pytest.approx(power, rel=1e-4)
    assert abs(q @ force - power) > FAILS * abs(power)


def test_lagrange_notes_after_50_the_rate_of_the_mass_matrix(arm, state):
    """v^T (dB/dt - 2 C) v = 0; the printed expression lacks the dot on B; it is not 0, and its units differ."""
    robot, (q, v, _) = arm.robot, state
    matrix = lagrange_jacobians.mass_matrix(robot, q)
    coriolis = coriolis_matrix(christoffel_symbols(lagrange_jacobians.mass_matrix_derivatives(robot, q)), v)
    size = abs(v @ coriolis @ v)
    assert abs(energy_defect(lagrange_jacobians.mass_matrix_rate(robot, q, v), coriolis, v)) < HOLDS * size
    assert abs(energy_defect(matrix, coriolis, v)) > FAILS * size


def test_lagrange_notes_end_energy_does_not_make_it_skew_symmetric(arm, state):
    """The displayed property holds for every C with the same C v; the skew-symmetry of the heading only for one C."""
    robot, (q, v, tau) = arm.robot, state
    slopes = lagrange_jacobians.mass_matrix_derivatives(robot, q)
    rate = slopes @ v
    a = forward_dynamics(robot, q, v, tau)
    assert kinetic_energy_rate(robot, q, v, a) == pytest.approx(v @ (tau - lagrange_jacobians.gravity(robot, q)))
    size = np.max(np.abs(rate))
    skew = coriolis_matrix(christoffel_symbols(slopes), v)
    other = coriolis_matrix(lagrange_coefficients(slopes), v)
    for matrix in (skew, other):
        assert abs(energy_defect(rate, matrix, v)) < HOLDS * size * (v @ v)
    assert np.max(np.abs(skew_symmetry_defect(rate, skew))) < HOLDS * size
    assert np.max(np.abs(skew_symmetry_defect(rate, other))) > FAILS * size


def test_manipulator_notes_4_3_4_columns_of_the_linear_jacobian(arm, state):
    """J_vi has dP_ci/dq_j in column j: its own link's centre of mass, not link j's."""
    robot, q = arm.robot, state[0]
    coms = slope(lambda position: np.array([link.position for link in link_jacobians(robot, position)]), q)
    for index, link in enumerate(link_jacobians(robot, q)):
        np.testing.assert_allclose(link.linear, coms[index], atol=1e-8)
        printed = np.stack([coms[joint, :, joint] * (joint <= index) for joint in range(6)], axis=-1)
        if index > 0:
            assert relative_error(printed, link.linear) > FAILS


def test_manipulator_notes_4_3_4_prismatic_joints_do_not_turn():
    """J_omega = [z ... z 0 ...] is for revolute joints: a prismatic joint's column is 0."""
    reference = PinReference("scara")
    robot = reference.robot
    (q,) = random_state(robot, 5, 1)
    expected, printed = reference.mass_matrix(q), np.zeros((robot.n, robot.n))
    axes = np.stack([pose[:3, :3] @ joint.axis for pose, joint in zip(link_poses(robot, q), robot.joints, strict=True)])
    for index, link in enumerate(link_jacobians(robot, q)):
        angular = (axes * (np.arange(robot.n) <= index)[:, None]).T
        printed += link.mass * link.linear.T @ link.linear + angular.T @ link.inertia @ angular
    assert relative_error(lagrange_jacobians.mass_matrix(robot, q), expected) < HOLDS
    lift = next(joint.dof for joint in robot.joints if joint.kind == "prismatic")
    assert relative_error(printed[lift], expected[lift]) > 1e-4  # the carried links are slender


def test_manipulator_notes_4_3_4_the_mass_matrix_is_of_all_links():
    """K = v^T M v / 2, not K_i."""
    arm = Planar2R(2.0, 1.5, 0.7, 0.3, 0.2)
    q, v = np.random.default_rng(4).normal(size=(2, 2))
    energies, quadratic = arm.kinetic_energies(q, v), 0.5 * v @ arm.mass_matrix(q) @ v
    assert energies.sum() == pytest.approx(quadratic)
    assert np.all(np.abs(energies - quadratic) > FAILS * quadratic)


def test_manipulator_notes_4_3_7_order_of_the_products():
    """B has the columns 2 b_i12, 2 b_i13, ...: they go with v_1 v_2, v_1 v_3, ..., not v_1 v_2, v_2 v_3, ..."""
    slopes = np.random.default_rng(5).normal(size=(3, 3, 3))
    symbols, v = christoffel_symbols(slopes + slopes.swapaxes(0, 1)), np.array([0.4, -1.2, 0.7])
    matrix = coriolis_product_matrix(symbols)
    np.testing.assert_array_equal(matrix[:, 1], 2.0 * symbols[:, 0, 2])  # 2 b_i13
    expected = (coriolis_matrix(symbols, v) - np.einsum("ijj,j->ij", symbols, v)) @ v
    assert relative_error(matrix @ velocity_products(v), expected) < HOLDS
    assert relative_error(matrix @ np.array([v[0] * v[1], v[1] * v[2], v[0] * v[2]]), expected) > FAILS


def test_manipulator_notes_4_3_8_gravity_is_derived_by_its_own_joint(arm, state):
    """G_j has dp_ci/dq_j; with dp_ci/dq_i as printed every joint would bear the same."""
    robot, q = arm.robot, state[0]
    links = link_jacobians(robot, q)
    printed = -sum(link.mass * robot.gravity @ link.linear[:, index] for index, link in enumerate(links))
    expected = arm.gravity(q)
    assert relative_error(lagrange_jacobians.gravity(robot, q), expected) < HOLDS
    assert relative_error(np.full(6, printed), expected) > FAILS
