# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
from pin_reference import SHIPPED, PinReference, random_state, relative_error
from scipy.linalg import expm
from scipy.signal import cont2discrete

from robodyn_ros.dynamics.forward_dynamics import mass_matrix_forward_dynamics as forward_dynamics
from robodyn_ros.dynamics.linearization import Linearization
from robodyn_ros.dynamics.robot_dynamics import Dynamics


def test_it_is_the_slope_of_the_state_derivative():
    robot = PinReference("arm6").robot
    n = robot.n
    q, v, tau = random_state(robot, 1)

    def state_derivative(x, tau):
        return np.concatenate([x[n:], forward_dynamics(robot, x[:n], x[n:], tau)])

    def differences(function, x, step=1e-6):
        return np.stack([(function(x + h) - function(x - h)) / (2 * step) for h in step * np.eye(len(x))], axis=-1)

    x = np.concatenate([q, v])
    state_matrix, effort_matrix = Dynamics(robot).linearization(q, v, tau)
    assert relative_error(state_matrix, differences(lambda x: state_derivative(x, tau), x)) < 1e-7
    assert relative_error(effort_matrix, differences(lambda tau: state_derivative(x, tau), tau)) < 1e-7


@SHIPPED
def test_shipped_robots_against_pinocchio(name):
    reference = PinReference(name)
    robot = reference.robot
    q, v, tau = random_state(robot, 3)
    linear = Dynamics(robot).linearization(q, v, tau)
    by_q, by_v, by_tau = reference.forward_dynamics_derivatives(q, v, tau)
    zero, one = np.zeros((robot.n, robot.n)), np.eye(robot.n)
    assert relative_error(linear.A, np.block([[zero, one], [by_q, by_v]])) < 1e-7
    assert relative_error(linear.B, np.vstack([zero, by_tau])) < 1e-7


def test_a_small_swing_about_the_hanging_position():
    """A planar 2R that hangs: A has the frequencies of M^-1 dg/dq, and the linear motion is the robot's."""
    reference = PinReference("planar_2r")
    robot, dyn = reference.robot, Dynamics(reference.robot)
    hanging = np.array([-np.pi / 2, 0.0])
    zero = np.zeros(2)
    np.testing.assert_allclose(dyn.gravity(hanging), zero, atol=1e-12)
    linear = dyn.linearization(hanging, zero, zero)
    frequencies = np.linalg.eigvals(linear.A)
    np.testing.assert_allclose(frequencies.real, 0.0, atol=1e-9)

    start, step, count = np.array([1e-4, -2e-4, 0.0, 0.0]), 1e-3, 200
    x = np.concatenate([hanging, zero]) + start
    for _ in range(count):  # midpoint rule, order 2
        slope = np.concatenate([x[2:], dyn.forward_dynamics(x[:2], x[2:], zero)])
        middle = x + 0.5 * step * slope
        x = x + step * np.concatenate([middle[2:], dyn.forward_dynamics(middle[:2], middle[2:], zero)])
    expected = expm(linear.A * step * count) @ start
    assert relative_error(x - np.concatenate([hanging, zero]), expected) < 1e-4

    sampled, *_ = cont2discrete((linear.A, linear.B, np.eye(4), np.zeros((4, 2))), step)
    np.testing.assert_allclose(sampled, expm(linear.A * step), atol=1e-12)
    assert robot.n == 2


def test_batches_keep_their_leading_axis():
    linear = Linearization.from_derivatives(np.arange(2 * 3 * 9.0).reshape(2, 3, 3, 3))
    assert linear.A.shape == (2, 6, 6)
    assert linear.B.shape == (2, 6, 3)
    np.testing.assert_array_equal(linear.A[1, :3], np.eye(6)[3:])
    np.testing.assert_array_equal(linear.B[1, 3:], 45.0 + np.arange(9.0).reshape(3, 3))
