# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
import pytest
from pin_reference import pin
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from robodyn_ros.base.errors import InputError
from robodyn_ros.description.model import Inertia
from robodyn_ros.textbook.rigid_body import (
    angular_momentum,
    eulers_angular_acceleration,
    eulers_moment,
    inertia_in_outer_axes,
    inertia_tensor,
    parallel_axes,
)


class Body:
    """Mass points about their centre of mass."""

    def __init__(self, seed=1):
        rng = np.random.default_rng(seed)
        self.masses = rng.uniform(0.5, 2.0, 6)
        points = rng.normal(size=(6, 3))
        self.points = points - self.masses @ points / self.masses.sum()
        self.mass = self.masses.sum()
        self.inertia = inertia_tensor(self.points, self.masses)
        self.omega, self.acceleration = rng.normal(size=(2, 3))
        self.rotation = Rotation.random(rng=rng).as_matrix()


@pytest.fixture
def body():
    return Body()


def test_angular_momentum_is_the_sum_over_the_points(body):  # (D.4), (D.5) against (D.7)
    momentum = sum(m * np.cross(p, np.cross(body.omega, p)) for m, p in zip(body.masses, body.points, strict=True))
    np.testing.assert_allclose(angular_momentum(body.inertia, body.omega), momentum, atol=1e-13)


def test_inertia_of_a_dumbbell():  # 1 kg at 1 m on both sides along x: nothing about x, 2 kg m^2 about y and z
    np.testing.assert_allclose(inertia_tensor([[1, 0, 0], [-1, 0, 0]], [1, 1]), np.diag([0, 2, 2]))


def test_rotated_inertia_is_that_of_the_rotated_points(body):  # (D.14), (D.15)
    turned = inertia_tensor(body.points @ body.rotation.T, body.masses)
    np.testing.assert_allclose(inertia_in_outer_axes(body.rotation, body.inertia), turned, atol=1e-13)
    np.testing.assert_allclose(inertia_in_outer_axes(body.rotation.T, turned), body.inertia, atol=1e-13)


def test_parallel_axes_give_the_inertia_of_the_shifted_points(body):  # (E.1), (E.2) against (E.9)
    offset = np.array([0.3, -0.5, 0.7])
    shifted = inertia_tensor(body.points - offset, body.masses)
    moved = parallel_axes(body.inertia, body.mass, offset)
    np.testing.assert_allclose(moved, shifted, atol=1e-13)
    np.testing.assert_allclose(Inertia(body.mass, offset, body.inertia).rotational_about_origin, moved, atol=1e-13)


@pytest.mark.parametrize("seed", range(5))
def test_against_pinocchio(seed):
    body, offset = Body(seed), np.array([0.3, -0.5, 0.7])
    reference = pin.Inertia(body.mass, np.zeros(3), body.inertia)
    turned = reference.se3Action(pin.SE3(body.rotation, np.zeros(3)))
    np.testing.assert_allclose(inertia_in_outer_axes(body.rotation, body.inertia), turned.inertia, rtol=1e-9)
    shifted = reference.se3Action(pin.SE3(np.eye(3), offset)).matrix()[3:, 3:]
    np.testing.assert_allclose(parallel_axes(body.inertia, body.mass, offset), shifted, rtol=1e-9)
    spin = pin.Motion(np.zeros(3), body.omega)
    np.testing.assert_allclose(angular_momentum(body.inertia, body.omega), (reference * spin).angular, rtol=1e-9)
    moment = (reference * pin.Motion(np.zeros(3), body.acceleration) + spin.cross(reference * spin)).angular
    np.testing.assert_allclose(eulers_moment(body.inertia, body.omega, body.acceleration), moment, rtol=1e-9)
    np.testing.assert_allclose(
        eulers_angular_acceleration(body.inertia, body.omega, moment), body.acceleration, rtol=1e-9
    )


def test_printed_matrix_of_e10_has_a_wrong_corner(body):
    """(E.10) prints s_z^2 + s_y^2 in element (3, 3) for s_x^2 + s_y^2, and z_z in element (1, 1) for s_z."""
    x, y, z = offset = np.array([0.3, -0.5, 0.7])
    corrected = np.array([[y**2 + z**2, -x * y, -x * z], [-y * x, x**2 + z**2, -y * z], [-z * x, -z * y, x**2 + y**2]])
    np.testing.assert_allclose(parallel_axes(np.zeros((3, 3)), 1.0, offset), corrected, atol=1e-15)
    assert abs((z**2 + y**2) - corrected[2, 2]) > 0.1


def test_printed_cross_term_of_e4_holds_only_after_integration():
    """(E.4) to (E.6) print 2 p p_B0^T for p p_B0^T + p_B0 p^T, and the middle of (E.3) loses a factor."""
    p, b = np.array([0.3, -0.5, 0.7]), np.array([0.2, 0.4, -0.1])
    outer = np.outer(p - b, p - b)
    np.testing.assert_allclose(np.outer(p, p) - np.outer(p, b) - np.outer(b, p) + np.outer(b, b), outer, atol=1e-15)
    assert np.abs(np.outer(p, p) - 2 * np.outer(p, b) + np.outer(b, b) - outer).max() > 0.1
    assert p @ (p - b) - b @ (p - b) == pytest.approx((p - b) @ (p - b))


def test_eulers_moment_is_the_rate_of_the_momentum(body):  # (F.10), (F.16): about fixed axes, by finite differences
    h = 1e-6

    def momentum(time):
        # Angular velocity omega + acceleration * time, integrated to second order about time 0.
        turned = Rotation.from_rotvec(time * body.omega + time**2 / 2 * body.acceleration).as_matrix()
        inertia = inertia_in_outer_axes(turned, body.inertia)
        return angular_momentum(inertia, body.omega + time * body.acceleration)

    expected = (momentum(h) - momentum(-h)) / (2 * h)
    np.testing.assert_allclose(eulers_moment(body.inertia, body.omega, body.acceleration), expected, atol=1e-7)


def test_eulers_equation_has_one_form_in_body_and_in_fixed_axes(body):  # (F.11) against (F.16)
    r = body.rotation
    moment_body = eulers_moment(body.inertia, body.omega, body.acceleration)
    moment_base = eulers_moment(inertia_in_outer_axes(r, body.inertia), r @ body.omega, r @ body.acceleration)
    np.testing.assert_allclose(moment_base, r @ moment_body, atol=1e-13)


def test_printed_second_line_of_f15_has_the_inertia_twice(body):
    r, inertia = body.rotation, body.inertia
    base = inertia_in_outer_axes(r, inertia)
    acceleration_base = r @ body.acceleration
    first_term = r @ inertia @ body.acceleration
    np.testing.assert_allclose(r @ (r.T @ base @ r) @ r.T @ acceleration_base, first_term, atol=1e-13)
    assert np.abs(r @ (r.T @ base @ r) @ inertia @ r.T @ acceleration_base - first_term).max() > 0.1


def test_printed_sign_of_f12_does_not_matter_for_omega_but_for_other_vectors(body):
    """d/dt(R^T u) = -omega_body x R^T u + R^T u'; (F.12) prints a plus, which omega x omega = 0 forgives."""
    h, u = 1e-6, np.array([1.0, 2.0, 3.0])

    def in_body_axes(vector, time):
        return (Rotation.from_rotvec(time * body.omega).as_matrix() @ body.rotation).T @ vector

    rate = (in_body_axes(u, h) - in_body_axes(u, -h)) / (2 * h)
    omega_body = body.rotation.T @ body.omega
    np.testing.assert_allclose(rate, -np.cross(omega_body, body.rotation.T @ u), atol=1e-7)
    assert np.abs(rate - np.cross(omega_body, body.rotation.T @ u)).max() > 0.1


def test_free_body_keeps_momentum_and_energy(body):
    def rates(_, state):
        x, y, z, w, *omega = state
        spin = np.array([[w, -z, y], [z, w, -x], [-y, x, w], [-x, -y, -z]]) @ omega / 2
        return np.concatenate([spin, eulers_angular_acceleration(body.inertia, omega, np.zeros(3))])

    start = np.array([0, 0, 0, 1, *body.omega])
    end = solve_ivp(rates, (0, 2), start, rtol=1e-10, atol=1e-12).y[:, -1]
    r = Rotation.from_quat(end[:4]).as_matrix()
    np.testing.assert_allclose(
        r @ angular_momentum(body.inertia, end[4:]), angular_momentum(body.inertia, body.omega), atol=1e-7
    )
    assert end[4:] @ body.inertia @ end[4:] == pytest.approx(body.omega @ body.inertia @ body.omega, rel=1e-8)


def test_acceleration_comes_back_from_the_moment(body):
    moment = eulers_moment(body.inertia, body.omega, body.acceleration)
    np.testing.assert_allclose(
        eulers_angular_acceleration(body.inertia, body.omega, moment), body.acceleration, atol=1e-12
    )


def test_bad_arguments_say_what_was_expected(body):
    with pytest.raises(InputError, match="inertia: expected positive principal moments"):
        eulers_angular_acceleration(np.diag([0.0, 1.0, 1.0]), body.omega, np.zeros(3))
    with pytest.raises(InputError, match=r"masses: expected an array of shape \(2,\), received shape \(3,\)"):
        inertia_tensor(np.zeros((2, 3)), np.zeros(3))
