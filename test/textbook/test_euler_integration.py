# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
import pytest
from pin_reference import PinReference
from scipy.integrate import solve_ivp

from robodyn_ros.base.errors import InputError
from robodyn_ros.dynamics.robot_dynamics import Dynamics
from robodyn_ros.textbook.euler_integration import euler_integration


def test_it_is_of_order_one_against_scipy():
    dyn = Dynamics(PinReference("planar_2r").robot)
    start, speed, duration = np.array([0.3, -0.5]), np.array([0.2, 0.4]), 0.5

    def effort(time):
        return np.array([2.0 * np.sin(3.0 * time), 1.0])

    def slope(time, x):
        return np.concatenate([x[2:], dyn.forward_dynamics(x[:2], x[2:], effort(time))])

    exact = solve_ivp(slope, (0.0, duration), [*start, *speed], rtol=1e-10, atol=1e-12).y[:, -1]
    errors = []
    for count in (200, 400, 800):
        step = duration / count
        efforts = [effort(index * step) for index in range(count)]
        motion = euler_integration(dyn.forward_dynamics, start, speed, efforts, step)
        assert motion.positions.shape == motion.velocities.shape == (count + 1, 2)
        errors.append(np.max(np.abs([*motion.positions[-1], *motion.velocities[-1]] - exact)))
    ratios = np.array(errors[:-1]) / errors[1:]
    np.testing.assert_allclose(ratios, 2.0, rtol=0.1)


def test_steps_are_the_books():
    """theta[k+1] = theta[k] + h theta'[k], theta'[k+1] = theta'[k] + h theta''[k]: the old velocity moves it."""
    motion = euler_integration(lambda q, v, tau: tau - q, [1.0], [2.0], [[3.0], [4.0]], 0.5)
    np.testing.assert_allclose(motion.positions[:, 0], [1.0, 2.0, 3.5])
    np.testing.assert_allclose(motion.velocities[:, 0], [2.0, 3.0, 4.0])


def test_bad_arguments_are_named():
    def acceleration(q, v, tau):
        return tau

    with pytest.raises(InputError, match=r"v_start.*\(2,\).*\(3,\)"):
        euler_integration(acceleration, np.zeros(2), np.zeros(3), np.zeros((4, 2)), 0.1)
    with pytest.raises(InputError, match=r"efforts.*\(any, 2\).*\(4, 3\)"):
        euler_integration(acceleration, np.zeros(2), np.zeros(2), np.zeros((4, 3)), 0.1)
    for step in (0.0, -0.1, np.nan, np.inf):
        with pytest.raises(InputError, match="step.*positive"):
            euler_integration(acceleration, np.zeros(2), np.zeros(2), np.zeros((4, 2)), step)
