# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The force and torque sensor: axes, weight of the tool, errors, delay and tare."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from robodyn_ros import InputError
from robodyn_ros.simulation.force_torque_sensor import ForceTorqueSensing, ForceTorqueSensor, tool_weight

PERIOD, GRAVITY = 0.002, np.array([0.0, 0.0, -9.81])
TURN = Rotation.from_euler("xyz", [0.3, -0.5, 0.9]).as_matrix()
WRENCH = np.array([1.0, -2.0, 3.0, 0.1, 0.2, -0.3])


def sensor(**settings):
    return ForceTorqueSensor(ForceTorqueSensing(**settings), PERIOD, np.random.default_rng(0))


def measured(one, wrench=WRENCH, turn=TURN):
    return one.measure(wrench, turn, GRAVITY)


def test_the_wrench_is_in_the_axes_of_the_sensor():
    expected = np.concatenate([TURN.T @ WRENCH[:3], TURN.T @ WRENCH[3:]])
    np.testing.assert_allclose(measured(sensor()), expected, atol=1e-15)


def test_it_bears_the_weight_of_the_tool():
    one = sensor(tool_mass=2.0, tool_center_of_mass=[0.0, 0.1, 0.2])
    reading = measured(one, np.zeros(6))
    np.testing.assert_allclose(TURN @ reading[:3], [0.0, 0.0, -2.0 * 9.81], atol=1e-12)
    np.testing.assert_allclose(reading[3:], np.cross([0.0, 0.1, 0.2], reading[:3]), atol=1e-12)
    np.testing.assert_array_equal(reading, tool_weight(2.0, np.array([0.0, 0.1, 0.2]), TURN, GRAVITY))


def test_bias_is_constant_and_drift_grows():
    bias, drift = np.arange(6.0), np.linspace(1.0, 2.0, 6)
    one = sensor(bias=bias, drift=drift)
    readings = [measured(one, np.zeros(6)) for _ in range(500)]
    np.testing.assert_allclose(readings[-1], bias + drift * 1.0, rtol=1e-12)
    np.testing.assert_allclose(readings[249], bias + drift * 0.5, rtol=1e-12)


def test_noise_has_its_deviations_and_repeats():
    first, second = sensor(force_noise=0.5, torque_noise=0.02), sensor(force_noise=0.5, torque_noise=0.02)
    rows = np.array([measured(first, np.zeros(6)) for _ in range(4000)])
    np.testing.assert_array_equal(rows[:100], [measured(second, np.zeros(6)) for _ in range(100)])
    np.testing.assert_allclose(rows.std(axis=0), [0.5] * 3 + [0.02] * 3, rtol=0.05)


def test_a_delay_shifts_readings_and_tare_zeroes_them():
    one = sensor(delay=3)
    rows = [measured(one, k * WRENCH, np.eye(3)) for k in range(10)]
    np.testing.assert_allclose(rows[9], 6.0 * WRENCH)
    one.restart()
    np.testing.assert_array_equal(measured(one, WRENCH, np.eye(3)), WRENCH)
    biased = sensor(bias=np.ones(6), tool_mass=1.0, force_noise=0.1)
    measured(biased)
    biased.tare()
    rows = np.array([measured(biased) for _ in range(2000)])
    assert np.abs(rows.mean(axis=0)).max() < 0.01  # without the noise of the reading at the tare
    other = sensor(delay=2)
    other.continue_from(biased)
    np.testing.assert_array_equal(other.reading, biased.reading)


@pytest.mark.parametrize("wrong", [{"force_noise": -1.0}, {"torque_noise": np.nan}, {"bias": [1.0]}, {"delay": -1},
                                   {"drift": [np.inf] * 6}, {"tool_mass": "heavy"}, {"tool_center_of_mass": [1.0]}])
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(InputError, match=f"force and torque sensor: {next(iter(wrong))}: expected"):
        ForceTorqueSensing(**wrong)
