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
from hypothesis import strategies as st
from pin_reference import SEEDS, PinReference, random_state
from planar_2r import GRAVITY, LENGTHS, MASSES, planar_2r

from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import trace
from robodyn_ros.description.denavit_hartenberg import DHRow, load_dh
from robodyn_ros.description.model import Inertia
from robodyn_ros.description.resources import robot_file
from robodyn_ros.description.urdf import load_urdf
from robodyn_ros.dynamics import energy
from robodyn_ros.dynamics import mass_matrix as composite
from robodyn_ros.kinematics.forward import forward_kinematics
from robodyn_ros.textbook import christoffel, lagrange_jacobians, lagrange_traces, newton_euler
from robodyn_ros.textbook.planar_2r import Planar2R, planar_2r_inverse_kinematics, planar_2r_position

figures = st.tuples(*[st.floats(0.1, 3.0)] * 7)


def as_robot(arm):
    """The same arm link by link, from its Denavit-Hartenberg table."""
    bodies = [
        Inertia(mass, np.array([com, 0.0, 0.0]), np.diag([0.5 * inertia, 0.5 * inertia, inertia]))
        for mass, com, inertia in ((arm.mass_1, arm.com_1, arm.inertia_1), (arm.mass_2, arm.com_2, arm.inertia_2))
    ]
    rows = [DHRow(0.0, 0.0, 0.0, 0.0, inertia=bodies[0]), DHRow(arm.length_1, 0.0, 0.0, 0.0, inertia=bodies[1])]
    return load_dh(rows, gravity=(0.0, -arm.gravity, 0.0))


def check(arm, robot, seed):
    q, v, a = random_state(robot, seed)
    same = {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(arm.mass_matrix(q), composite.mass_matrix(robot, q), **same)
    np.testing.assert_allclose(arm.gravity_efforts(q), newton_euler.gravity(robot, q), **same)
    tau = arm.inverse_dynamics(q, v, a)
    for formulation in (newton_euler, lagrange_traces, lagrange_jacobians):
        np.testing.assert_allclose(tau, formulation.inverse_dynamics(robot, q, v, a), **same)
    np.testing.assert_allclose(arm.kinetic_energies(q, v).sum(), energy.kinetic_energy(robot, q, v), **same)
    np.testing.assert_allclose(arm.kinetic_energies(q, v).sum(), 0.5 * v @ arm.mass_matrix(q) @ v, **same)
    symbols = christoffel.christoffel_symbols(lagrange_jacobians.mass_matrix_derivatives(robot, q))
    np.testing.assert_allclose(arm.centrifugal_matrix(q), christoffel.centrifugal_matrix(symbols), **same)
    np.testing.assert_allclose(arm.coriolis_product_matrix(q), christoffel.coriolis_product_matrix(symbols), **same)


@settings(deadline=None, max_examples=7)
@given(figures, SEEDS)
def test_any_arm_against_the_formulations_for_any_robot(values, seed):
    arm = Planar2R(*values)
    robot = as_robot(arm)
    check(arm, robot, seed)
    (q,) = random_state(robot, seed, 1)
    assert arm.potential_energies(q).sum() == pytest.approx(energy.potential_energy(robot, q), rel=1e-9, abs=1e-9)


def test_point_masses_are_the_arm_of_lynch_and_park():
    check(Planar2R(*MASSES, LENGTHS[0], *LENGTHS, gravity=GRAVITY), planar_2r(), 1)


def test_the_shipped_arm():
    robot = PinReference("planar_2r").robot
    first, second = robot.joints
    about_axes = [joint.axis @ joint.inertia.rotational @ joint.axis for joint in robot.joints]
    coms = [joint.inertia.com[0] for joint in robot.joints]
    length = second.pose_parent_link[0, 3]
    arm = Planar2R(first.inertia.mass, second.inertia.mass, length, *coms, *about_axes)
    check(arm, robot, 2)


def test_figures_by_hand():
    """Unit masses at the ends of unit links, g = 10, the first link level and the second upright."""
    arm = Planar2R(1.0, 1.0, 1.0, 1.0, 1.0, gravity=10.0)
    q, v = np.array([0.0, np.pi / 2]), np.array([1.0, 2.0])
    np.testing.assert_allclose(arm.mass_matrix(q), [[3.0, 1.0], [1.0, 1.0]], atol=1e-15)
    np.testing.assert_allclose(arm.gravity_efforts(q), [20.0, 0.0], atol=1e-14)
    np.testing.assert_allclose(arm.coriolis_centrifugal(q, v), [-8.0, 1.0], atol=1e-15)
    np.testing.assert_allclose(arm.kinetic_energies(q, v), [0.5, 5.0])
    np.testing.assert_allclose(arm.potential_energies(q), [0.0, 10.0], atol=1e-15)


def test_traced_it_is_the_same():
    arm = Planar2R(2.0, 1.0, 0.7, 0.3, 0.2, 0.05, 0.04)
    q, v, a = np.random.default_rng(1).normal(size=(3, 2))
    tape = trace(arm.inverse_dynamics, dict.fromkeys("qva", (2,)))
    np.testing.assert_allclose(tape(q, v, a), arm.inverse_dynamics(q, v, a), rtol=1e-12)


def test_wrong_shape_is_named():
    with pytest.raises(InputError, match=r"v: expected an array of shape \(2,\), received shape \(3,\)"):
        Planar2R(1.0, 1.0, 1.0, 0.5, 0.5).kinetic_energies(np.zeros(2), np.zeros(3))


lengths = st.floats(0.05, 5.0)
angles = st.floats(-3.1, 3.1)


@settings(deadline=None)
@given(angles, angles, lengths, lengths)
def test_both_elbows_reach_the_position_and_one_is_the_arm(q1, q2, l1, l2):
    position = planar_2r_position([q1, q2], l1, l2)
    solutions = planar_2r_inverse_kinematics(position, l1, l2)
    for solution in solutions:
        np.testing.assert_allclose(planar_2r_position(solution, l1, l2), position, atol=1e-9 * (l1 + l2))
    assert solutions[0, 1] >= 0.0 >= solutions[1, 1]
    assert (np.abs(solutions) <= np.pi).all()
    if np.hypot(*position) > 1e-3 and abs(q2) > 1e-3:
        differences = (solutions - [q1, q2] + np.pi) % (2 * np.pi) - np.pi
        assert np.abs(differences).max(axis=1).min() < 1e-6


@settings(deadline=None)
@given(angles, angles, lengths, lengths)
def test_k_is_the_books(q1, q2, l1, l2):
    """Heron's product is the k of (1.24): 2 l1 l2 |sin q2|."""
    x, y = planar_2r_position([q1, q2], l1, l2)
    square = (x**2 + y**2 + l1**2 + l2**2) ** 2 - 2 * ((x**2 + y**2) ** 2 + l1**4 + l2**4)
    elbow = planar_2r_inverse_kinematics([x, y], l1, l2)[0, 1]
    assert (2 * l1 * l2 * np.sin(elbow)) ** 2 == pytest.approx(square, abs=1e-10 * (l1 + l2) ** 4)


def test_right_angles():  # links of 1 m, hand at (1, 1): along x then up, or up then along x
    np.testing.assert_allclose(
        planar_2r_inverse_kinematics([1, 1], 1, 1), [[0, np.pi / 2], [np.pi / 2, -np.pi / 2]], atol=1e-15
    )


def test_stretched_folded_and_with_the_hand_in_the_shoulder():
    np.testing.assert_allclose(planar_2r_inverse_kinematics([0.0, 1.5], 1.0, 0.5), [[np.pi / 2, 0]] * 2, atol=1e-15)
    folded = planar_2r_inverse_kinematics([0.5, 0.0], 1.0, 0.5)
    np.testing.assert_allclose(folded, [[0, np.pi], [0, -np.pi]], atol=1e-15)
    np.testing.assert_allclose(planar_2r_inverse_kinematics([0, 0], 0.7, 0.7), [[0, np.pi], [0, -np.pi]])


@pytest.mark.parametrize("position", [[1.6, 0.0], [0.0, 0.4], [0.0, 0.0]])
def test_out_of_reach_says_the_reach(position):
    with pytest.raises(InputError, match="between 0.5 m and 1.5 m .*, received"):
        planar_2r_inverse_kinematics(position, 1.0, 0.5)


def test_lengths_must_be_positive():
    with pytest.raises(InputError, match="lengths: expected positive ones, received 0 m and 0.5 m"):
        planar_2r_inverse_kinematics([0.5, 0.0], 0.0, 0.5)


def test_it_solves_the_shipped_arm():
    """The shipped arm swings in the plane through x and z of its base."""
    model = load_urdf(robot_file("planar_2r"))
    shoulder = forward_kinematics(model, np.zeros(2), "link1")
    elbow = np.linalg.inv(shoulder) @ forward_kinematics(model, np.zeros(2), "link2")
    tip = np.linalg.inv(forward_kinematics(model, np.zeros(2), "link2")) @ forward_kinematics(model, np.zeros(2))
    l1, l2 = np.linalg.norm(elbow[:3, 3]), np.linalg.norm(tip[:3, 3])
    q = np.array([0.4, 0.9])
    from_shoulder = np.linalg.inv(shoulder) @ forward_kinematics(model, q)
    axis = model.joints[0].axis
    along, across = elbow[:3, 3] / l1, np.cross(axis, elbow[:3, 3] / l1)
    position = np.array([along @ from_shoulder[:3, 3], across @ from_shoulder[:3, 3]])
    np.testing.assert_allclose(position, planar_2r_position(q, l1, l2), atol=1e-12)
    np.testing.assert_allclose(planar_2r_inverse_kinematics(position, l1, l2)[0], q, atol=1e-12)
