# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np

from robodyn_ros.toolbox.identification.motor_constants import motor_constants

RANDOM = np.random.default_rng(0)
V, CURRENT = RANDOM.normal(size=(2, 500, 2))


def test_constants_and_deviations_of_noisy_measurements():
    effort = 5.0 * CURRENT + 0.01 * RANDOM.normal(size=CURRENT.shape)
    voltage = 0.8 * CURRENT + 4.9 * V + 0.02 * RANDOM.normal(size=V.shape)
    found = motor_constants(V, effort, CURRENT, voltage)
    assert found.known.all()
    for value, deviation, true in ((found.effort_per_current, found.effort_deviation, 5.0),
                                   (found.resistance, found.resistance_deviation, 0.8),
                                   (found.back_emf, found.back_emf_deviation, 4.9)):
        assert (np.abs(value - true) < 5.0 * deviation).all() and (deviation < 2e-3).all()


def test_joints_without_current_have_no_motor():
    current = CURRENT.copy()
    current[:, 1] = np.nan
    found = motor_constants(V, 5.0 * CURRENT, current, np.full_like(V, np.nan))
    np.testing.assert_array_equal(found.known, [True, False])
    assert np.isnan(found.resistance).all()


def test_a_resting_joint_does_not_tell_resistance_from_back_emf():
    found = motor_constants(np.zeros_like(V), 5.0 * CURRENT, CURRENT, 0.8 * CURRENT)
    assert found.known.all() and np.isnan(found.resistance).all()
