# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
import pytest

from robodyn_ros.toolbox.identification.error_spectra import ErrorSpectra
from robodyn_ros.toolbox.identification.stribeck import stribeck_velocity

RANDOM = np.random.default_rng(0)
V = np.sin(np.linspace(0.0, 40.0, 8000)) * np.linspace(0.05, 1.0, 8000)
V = V[np.abs(V) > 0.004]
COLUMNS = np.column_stack([V, np.sign(V)])


def effort(rise, velocity=0.03, noise=0.02):
    level = 2.0 + rise * np.exp(-((V / velocity) ** 2))
    return 0.7 * V + level * np.sign(V) + noise * RANDOM.normal(size=len(V))


def found(effort, rows=slice(None), slowest=0.004):
    columns, v = COLUMNS[rows], V[rows]
    return stribeck_velocity(columns, columns, v, effort, slowest, ErrorSpectra(np.arange(float(len(v)))))


@pytest.mark.parametrize("velocity", [0.01, 0.03, 0.1])
def test_it_is_found_where_the_friction_rises(velocity):
    assert found(effort(1.0, velocity)) == pytest.approx(velocity, rel=0.05)


def test_without_a_rise_there_is_none():
    assert np.isnan(found(effort(0.0)))
    assert np.isnan(found(effort(-1.0)))


def test_a_rise_within_the_noise_is_not_told():
    """A rise of a third of the errors is told by thousands of samples, unless a hundred neighbours are alike."""
    errors = np.repeat(RANDOM.normal(size=len(V) // 100 + 1), 100)[:len(V)]
    assert np.isnan(found(effort(0.03) + 0.1 * errors))


def test_a_joint_that_is_never_slow_tells_nothing():
    fast = np.abs(V) > 0.2
    assert np.isnan(found(effort(1.0)[fast], fast, 0.2))
    assert np.isnan(found(V[:0], slice(0, 0)))
