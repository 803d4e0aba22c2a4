# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Velocities from positions."""

import numpy as np
import pytest

from robodyn_ros.control.runtime.velocity_estimate import VelocityEstimate

PERIOD = 2_000_000  # [ns]


def velocities(estimate, rows, begin=PERIOD):
    return [estimate.update(begin + k * PERIOD, np.array(row)) for k, row in enumerate(rows)]


def test_differences_of_positions_from_rest_on():
    found = velocities(VelocityEstimate(0.0, 0.5), [[0.1, 0.0], [0.102, 0.0], [0.1, 0.004]])
    np.testing.assert_allclose(found, [[0.0, 0.0], [1.0, 0.0], [-1.0, 2.0]], atol=1e-9)


def test_the_filter_reaches_63_percent_after_its_time_constant():
    estimate = VelocityEstimate(0.02, 0.5)
    found = velocities(estimate, [[2.0 * k * 0.002] for k in range(11)])
    assert found[10][0] == pytest.approx(2.0 * (1.0 - np.exp(-1.0)), rel=0.05)
    assert velocities(estimate, [[2.0 * k * 0.002] for k in range(11, 300)], 12 * PERIOD)[-1][0] == pytest.approx(2.0)


def test_a_repeated_stamp_a_gap_a_step_back_and_a_jump():
    estimate = VelocityEstimate(0.0, 0.5)
    moving = velocities(estimate, [[0.0], [0.002]])[-1]
    np.testing.assert_array_equal(estimate.update(2 * PERIOD, np.array([9.0])), moving)
    for stamp, q in ((10**9, 0.004), (PERIOD, 0.006), (2 * PERIOD, 0.3)):
        assert estimate.update(stamp, np.array([q]))[0] == 0.0
    assert estimate.update(3 * PERIOD, np.array([0.302]))[0] == pytest.approx(1.0)


def test_a_continuous_joint_that_is_wrapped_turns_on():
    estimate = VelocityEstimate(0.0, 0.5, np.array([True, False]))
    found = velocities(estimate, [[3.140, 0.0], [3.142 - 2 * np.pi, 2 * np.pi]])[-1]
    np.testing.assert_allclose(found, [0.0, 0.0], err_msg="the second joint jumped")
    np.testing.assert_allclose(estimate.update(3 * PERIOD, np.array([3.144 - 2 * np.pi, 2 * np.pi])), [1.0, 0.0],
                               atol=1e-9)
    alone = velocities(VelocityEstimate(0.0, 0.5, np.array([True])), [[3.140], [3.142 - 2 * np.pi]])[-1]
    np.testing.assert_allclose(alone, [1.0], atol=1e-9)
