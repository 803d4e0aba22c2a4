# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""[Yamamoto] 6.3 to 6.6: the printed forms fail, the corrected ones hold. The robot with its motors is the judge."""

import numpy as np
import pytest
from numpy.linalg import inv

from robodyn_ros import Robot
from robodyn_ros.actuation import Actuators, DCMotor, GearTrain
from robodyn_ros.actuation.actuated_dynamics import forward_dynamics
from robodyn_ros.description.resources import robot_file
from robodyn_ros.textbook.lyapunov import lyapunov_function
from robodyn_ros.textbook.steady_state import error_transform, gravity_stiffness

ROBOT = Robot.from_urdf(robot_file("scara"))  # the one with viscous friction
MODEL, DYNAMICS, N = ROBOT.model, ROBOT.dynamics(), ROBOT.n
RNG = np.random.default_rng(3)
MOTOR = DCMotor(RNG.uniform(0.3, 2.0, N), RNG.uniform(0.03, 0.08, N), RNG.uniform(1e-5, 5e-5, N))
ACTUATORS = Actuators(MOTOR, GearTrain(RNG.uniform(50.0, 120.0, N)))
R, K_M, J, K_E = (np.diag(figure) for figure in (MOTOR.resistance, MOTOR.torque_constant, MOTOR.rotor_inertia,
                                                  MOTOR.back_emf_constant))
GAMMA, D = np.diag(ACTUATORS.gear.ratio), np.diag(MODEL.damping)
K_P, K_V, K_I = (np.diag(RNG.uniform(low, 2.0 * low, N)) for low in (20.0, 2.0, 50.0))
K = GAMMA.T @ K_M @ inv(R)
REFLECTED = inv(GAMMA.T @ J @ GAMMA)
DAMPING = K @ (K_E @ GAMMA + K_V) + D
Q, Q_D = np.array([0.4, -0.6, 0.1, 1.0]), np.array([0.6, -0.3, 0.2, 0.2])
V, INTEGRAL = np.array([0.3, -0.5, 0.2, 1.0]), np.array([0.02, 0.01, -0.03, 0.05])
M, H, G = DYNAMICS.mass_matrix(Q), DYNAMICS.coriolis_matrix(Q, V) @ V, DYNAMICS.gravity(Q)
E, E_DOT = Q_D - Q, -V


def acceleration(voltage, v=V):
    return forward_dynamics(MODEL, ACTUATORS, Q, v, voltage)


def vanishes(residual, scale=1.0):
    return np.abs(residual).max() < 1e-8 * scale


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_6_18_and_6_28_sign_of_the_position_error(sign):
    """From rest at q, printed, v_M = K_p (q - q_d) + ... drives every joint away from q_d; the other way to it."""
    position = sign * K_P @ (Q_D - Q)
    integral = sign * K_I @ (Q_D - Q) * 0.1  # an error that has lasted for a tenth of a second
    rest = np.zeros(N)
    for voltage in (position, position + integral):
        moved = inv(REFLECTED) @ (acceleration(voltage + inv(K) @ G, rest))  # gravity held
        power = moved @ (Q_D - Q)
        assert power > 0.0 if sign > 0 else power < 0.0


def test_6_19_is_6_17_with_6_18_corrected():
    a = acceleration(-K_V @ V + K_P @ E)
    assert vanishes(-(M + inv(REFLECTED)) @ a - DAMPING @ V + K @ K_P @ E - H - G, 100.0)


def test_6_20_sign_of_the_damping():
    e_ddot = -acceleration(-K_V @ V + K_P @ E)
    undamped = (M + inv(REFLECTED)) @ e_ddot + K @ K_P @ E - H - G
    assert vanishes(undamped + DAMPING @ E_DOT, 100.0)
    assert not vanishes(undamped - DAMPING @ E_DOT, 1e6)


def neglecting_the_links(voltage):
    """(6.17) with M and h set to 0, as before (6.21): rotors, friction and gravity alone."""
    return REFLECTED @ (K @ voltage - (K @ K_E @ GAMMA + D) @ V - G)


BRACKET_21 = inv(J @ GAMMA) @ K_M @ inv(R) @ (K_E @ GAMMA + K_V) + REFLECTED @ D
STIFFNESS_21 = inv(J @ GAMMA) @ K_M @ inv(R) @ K_P
INTEGRAL_29 = inv(J @ GAMMA) @ K_M @ inv(R) @ K_I


def test_6_23_is_right():
    e_ddot = -neglecting_the_links(-K_V @ V + K_P @ E)
    assert vanishes(e_ddot + BRACKET_21 @ E_DOT + STIFFNESS_21 @ E - REFLECTED @ G, 1e4)


def test_6_29_needs_e_as_before():
    """With e = q_d - q the equation is right; with e = q - q_d, as printed, the right side has the wrong sign."""
    a = neglecting_the_links(-K_V @ V + K_P @ E + K_I @ INTEGRAL)  # (6.28), corrected
    residuals = {sign: -sign * a + BRACKET_21 @ (-sign * V) + STIFFNESS_21 @ (sign * E)
                 + INTEGRAL_29 @ (sign * INTEGRAL) - REFLECTED @ G for sign in (1.0, -1.0)}
    assert vanishes(residuals[1.0], 1e4)
    np.testing.assert_allclose(residuals[-1.0], -2.0 * REFLECTED @ G, atol=1e-4)
    assert np.abs(REFLECTED @ G).max() > 1.0


def test_6_32_has_lost_k_i():
    """Against (6.31) solved, which `error_transform` does, too."""
    s, g, c = 4.0, DYNAMICS.gravity(Q_D), gravity_stiffness(ROBOT.model, Q_D)
    left = s**2 * np.eye(N) + s * BRACKET_21 + STIFFNESS_21 + INTEGRAL_29 / s  # of (6.31)
    e = np.linalg.solve(left + REFLECTED @ c, REFLECTED @ g / s)
    common = s**3 * np.eye(N) + s**2 * BRACKET_21 + s * (STIFFNESS_21 + REFLECTED @ c)
    np.testing.assert_allclose(inv(common + INTEGRAL_29) @ REFLECTED @ g, e, rtol=1e-9, atol=1e-15)
    printed = inv(common + inv(J @ GAMMA) @ K_M @ inv(R)) @ REFLECTED @ g
    assert np.abs(printed - e).max() > 0.1 * np.abs(e).max()
    p, d, i = ((K @ gain).diagonal() for gain in (K_P, K_V + K_E @ GAMMA, K_I))
    links = s**2 * DYNAMICS.mass_matrix(Q_D)  # which (6.31) neglects
    expected = inv(links + inv(REFLECTED) @ (left + REFLECTED @ c)) @ g / s
    transform = error_transform(ROBOT.model, s, Q_D, p, d, i, ACTUATORS.reflected_inertia)
    np.testing.assert_allclose(transform, expected, rtol=1e-9, atol=1e-15)


def compensated(v):
    """(6.34)."""
    return -K_V @ v + K_P @ E + R @ inv(K_M) @ inv(GAMMA.T) @ G


def test_6_35_sign_of_the_position_error():
    common = (M + inv(REFLECTED)) @ acceleration(compensated(V)) + H + DAMPING @ V
    assert vanishes(common + K @ K_P @ (Q - Q_D), 100.0)
    assert not vanishes(common + K @ K_P @ (Q_D - Q), 1e6)


def test_6_39_has_lost_its_minus():
    p, rotors, h = (K @ K_P).diagonal(), inv(REFLECTED).diagonal(), 1e-6
    a = acceleration(compensated(V))
    after, before = (lyapunov_function(DYNAMICS.kinetic_energy, Q + s * V, V + s * a, Q_D, p, rotors) for s in (h, -h))
    printed = V @ DAMPING @ V
    np.testing.assert_allclose((after - before) / (2.0 * h), -printed, rtol=1e-5)
    assert printed > 1.0


def test_6_39_vanishes_away_from_the_goal_too():
    """At rest dV/dt = 0 although q differs from q_d, against the sentence below: LaSalle's principle is needed.

    The robot does not stay there: V''' < 0.
    """
    rest = np.zeros(N)
    a = acceleration(compensated(rest), rest)
    assert not vanishes(Q - Q_D) and rest @ DAMPING @ rest == 0.0
    assert -2.0 * a @ DAMPING @ a < -1.0
