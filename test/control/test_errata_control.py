"""The misprints of [Yamamoto] chapter 6 that docs/errata_control.md lists: as printed they fail, corrected they hold.

The plant is (6.17) with M, h and g of the planar 2R, and motors of made-up figures.
"""

import numpy as np
import pytest

from robodyn_ros import Robot
from robodyn_ros.resources import robot_file

DYNAMICS = Robot.from_urdf(robot_file("planar_2r")).dynamics()
GEAR, J_M = np.diag([80.0, 50.0]), np.diag([2e-5, 1e-5])
K_M, R_M, K_E = np.diag([0.05, 0.04]), np.diag([1.2, 1.5]), np.diag([0.05, 0.04])
K_P, K_V, K_I = np.diag([40.0, 30.0]), np.diag([2.0, 1.5]), np.diag([9.0, 7.0])
D = np.diag([0.3, 0.2])
K_HAT = GEAR.T @ K_M @ np.linalg.inv(R_M)
ALL_DAMPING = K_HAT @ (K_E @ GEAR + K_V) + D  # the bracket of (6.19) and (6.20)
Q, V, Q_D, INTEGRAL = np.array([[0.4, -0.7], [1.1, -0.6], [0.9, 0.2], [0.05, -0.02]])
E = Q_D - Q


def inertia(q):
    return DYNAMICS.mass_matrix(q) + GEAR.T @ J_M @ GEAR


def acceleration(q, v, voltage):
    """Of (6.17)."""
    damping = D + K_HAT @ K_E @ GEAR
    return np.linalg.solve(inertia(q), K_HAT @ voltage - DYNAMICS.bias(q, v) - damping @ v)


def bias(q=Q, v=V):
    """h(q, v) + g(q)."""
    return DYNAMICS.bias(q, v)


def closed_loop(position_gain):
    """System matrix of small motions at rest: is the equilibrium stable?"""
    step, rows = 1e-6, []
    centre = np.concatenate([Q_D, np.zeros(2)])

    def rate(x):
        return np.concatenate([x[2:], acceleration(x[:2], x[2:], -K_V @ x[2:] + position_gain @ (x[:2] - Q_D))])

    for direction in np.eye(4):
        rows.append((rate(centre + step * direction) - rate(centre - step * direction)) / (2 * step))
    return np.array(rows).T


def test_6_18_with_the_printed_sign_the_arm_runs_away():
    assert np.linalg.eigvals(closed_loop(K_P)).real.max() > 1.0
    assert np.linalg.eigvals(closed_loop(-K_P)).real.max() < 0.0


def test_6_20_the_error_equation_of_6_19():
    q_dd = acceleration(Q, V, -K_V @ V + K_P @ E)
    np.testing.assert_allclose(-inertia(Q) @ q_dd - ALL_DAMPING @ V + K_HAT @ K_P @ E, bias())  # (6.19)
    e_d, e_dd = -V, -q_dd
    np.testing.assert_allclose(inertia(Q) @ e_dd + ALL_DAMPING @ e_d + K_HAT @ K_P @ E, bias())
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(inertia(Q) @ e_dd - ALL_DAMPING @ e_d + K_HAT @ K_P @ E, bias(), rtol=0.1)


def error_equation_of_pid(q_dd, e, e_d, e_dd, integral):
    """Difference of the sides of (6.29), times the inertia and with M and h, which the book leaves out, kept."""
    return inertia(Q) @ e_dd + ALL_DAMPING @ e_d + K_HAT @ (K_P @ e + K_I @ integral) - bias()


def test_6_28_and_6_29_hold_for_e_as_desired_minus_actual():
    q_dd = acceleration(Q, V, -K_V @ V + K_P @ E + K_I @ INTEGRAL)
    np.testing.assert_allclose(error_equation_of_pid(q_dd, E, -V, -q_dd, INTEGRAL), 0.0, atol=1e-9)
    assert np.abs(error_equation_of_pid(q_dd, -E, V, q_dd, -INTEGRAL)).max() > 1.0  # e = q - q_d
    printed = acceleration(Q, V, -K_V @ V - K_P @ E - K_I @ INTEGRAL)
    for sign in (1.0, -1.0):
        residual = error_equation_of_pid(printed, sign * E, -sign * V, -sign * printed, sign * INTEGRAL)
        assert np.abs(residual).max() > 1.0


def test_6_32_solves_6_31_with_k_i():
    """(6.31) is linear in e(s): solved, and compared with (6.32) at some s."""
    s, g, c = 1.7, DYNAMICS.gravity(Q_D), np.array([[3.0, 1.0], [1.0, 2.0]])
    motor = np.linalg.inv(J_M @ GEAR) @ K_M @ np.linalg.inv(R_M)
    rotor = np.linalg.inv(GEAR.T @ J_M @ GEAR)
    bracket = motor @ (K_E @ GEAR + K_V) + rotor @ D
    of_6_31 = s**2 * np.eye(2) + s * bracket + motor @ K_P + motor @ K_I / s + rotor @ c
    e = np.linalg.solve(of_6_31, rotor @ g / s)

    def of_6_32(last):
        return np.linalg.solve(
            s**3 * np.eye(2) + s**2 * bracket + s * (motor @ K_P + rotor @ c) + last, rotor @ g)

    np.testing.assert_allclose(of_6_32(motor @ K_I), e)
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(of_6_32(motor), e, rtol=0.01)


def test_6_35_and_6_39_energy_only_falls():
    """(6.35) against the plant under (6.34), and dV/dt of (6.36) along the motion, with D = 0."""
    damping = K_HAT @ (K_E @ GEAR + K_V)
    gravity = DYNAMICS.gravity(Q)
    voltage = -K_V @ V + K_P @ E + np.linalg.inv(K_HAT) @ gravity  # (6.34)
    q_dd = acceleration(Q, V, voltage) + np.linalg.solve(inertia(Q), D @ V)  # of a plant without D
    h = bias() - gravity
    np.testing.assert_allclose(inertia(Q) @ q_dd + h + damping @ V + K_HAT @ K_P @ (Q - Q_D), 0.0, atol=1e-9)
    assert np.abs(inertia(Q) @ q_dd + h + damping @ V + K_HAT @ K_P @ (Q_D - Q)).max() > 1.0

    def lyapunov(q, v):
        return 0.5 * (v @ inertia(q) @ v + (q - Q_D) @ K_HAT @ K_P @ (q - Q_D))  # (6.36)

    step = 1e-6
    rate = (lyapunov(Q + step * V, V + step * q_dd) - lyapunov(Q - step * V, V - step * q_dd)) / (2 * step)
    np.testing.assert_allclose(rate, -V @ damping @ V, rtol=1e-5)
    assert rate < 0
