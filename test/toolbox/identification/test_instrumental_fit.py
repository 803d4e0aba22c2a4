# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Errors over deviations where positions have steps or noise, on arms with known parameters; Stribeck's velocity."""

import numpy as np
import pytest

from bench.identified_deviations import Coverage, Recording
from robodyn_ros.toolbox.identification.instrumental_fit import ErrorSpectra, stribeck_velocity
from robodyn_ros.toolbox.identification.measured_motion import encoder_steps

RANDOM = np.random.default_rng(0)
V = np.sin(np.linspace(0.0, 40.0, 8000)) * np.linspace(0.05, 1.0, 8000)
V = V[np.abs(V) > 0.004]
COLUMNS = np.column_stack([V, np.sign(V)])


def test_noise_of_the_positions_makes_no_inertia_small():
    """With least squares, that of link 1 is 8 % small, at ten of its deviations."""
    runs = [Recording("planar_2r", 500, noise=5e-4).identified(seed) for seed in range(2)]
    for model, errors in runs:
        assert (np.abs(errors) < 4.0 * model.base_deviations).all() and model.base_identified.all()
        np.testing.assert_allclose(errors[2] / model.base_values[2], 0.0, atol=0.015)
        assert np.isnan(model.effort_model.stribeck_velocity).all()
        assert (np.abs(model.base_bias) <= model.base_deviations).all()


def test_a_recording_without_signal_identifies_no_inertia():
    model, errors = Recording("planar_2r", 100, noise=0.005).identified(0)
    inertias = np.array(["I" in name.split(".")[1] for name in np.array(model.effort_model.names)[
        model.effort_model.base.independent]])
    wrong = np.abs(errors) > 4.0 * model.base_deviations
    assert not (model.base_identified & wrong & inertias).any()


@pytest.mark.long
@pytest.mark.parametrize("recording", [
    Recording("planar_2r", 100, step=1e-4), Recording("planar_2r", 100, step=5e-4, corner=1.0),
    Recording("planar_2r", 500, noise=5e-4), Recording("arm6", 100, noise=5e-4, corner=1.0),
], ids=str)
def test_deviations_are_those_of_fifty_recordings(recording):
    """`python -m bench.identified_deviations` prints more of them."""
    found = Coverage.of(recording, range(50))
    assert 0.9 <= found.within_two <= 0.99 and found.stribeck == 0


def test_variances_of_sums_are_those_of_many_draws():
    """Of errors of two joints that are alike, and coloured: as the spectrum of one draw has them."""
    random, count, draws = np.random.default_rng(0), 2000, 400
    influence = random.normal(size=(count, 2, 3)) + random.normal(size=(1, 2, 3))
    white = random.normal(size=(draws, count + 10, 2)) @ [[1.0, 0.6], [0.0, 0.8]]
    sums = white.cumsum(axis=1)
    errors = (sums[:, 10:] - sums[:, :-10]) / np.sqrt(10.0)
    expected = np.einsum("rkj,kjm->rm", errors, influence).var(axis=0)
    found = ErrorSpectra(0.01 * np.arange(count)).variances(influence, errors)
    assert found.shape == (draws, 3)
    np.testing.assert_allclose(found.mean(axis=0), expected, rtol=0.2)


def test_steps_of_encoders_are_recognised():
    q = np.random.default_rng(0).normal(size=(1000, 2))
    q[:, 0] = np.rint(q[:, 0] / 1e-3) * 1e-3
    np.testing.assert_allclose(encoder_steps(q), [1e-3, 0.0])


def effort(rise, velocity=0.03, noise=0.02):
    level = 2.0 + rise * np.exp(-((V / velocity) ** 2))
    return 0.7 * V + level * np.sign(V) + noise * RANDOM.normal(size=len(V))


def found(effort, rows=slice(None), slowest=0.004):
    columns, v = COLUMNS[rows], V[rows]
    return stribeck_velocity(columns, columns, v, effort, slowest, ErrorSpectra(np.arange(float(len(v)))))


@pytest.mark.parametrize("velocity", [0.01, 0.03, 0.1])
def test_stribecks_velocity_is_found_where_the_friction_rises(velocity):
    assert found(effort(1.0, velocity)) == pytest.approx(velocity, rel=0.05)


def test_without_a_rise_there_is_no_stribeck_velocity():
    assert np.isnan(found(effort(0.0)))
    assert np.isnan(found(effort(-1.0)))


def test_a_rise_within_the_noise_is_not_identified():
    """A rise of a third of the errors is told by thousands of samples, unless a hundred neighbours are alike."""
    errors = np.repeat(RANDOM.normal(size=len(V) // 100 + 1), 100)[:len(V)]
    assert np.isnan(found(effort(0.03) + 0.1 * errors))


def test_a_joint_that_is_never_slow_has_no_stribeck_velocity():
    fast = np.abs(V) > 0.2
    assert np.isnan(found(effort(1.0)[fast], fast, 0.2))
    assert np.isnan(found(V[:0], slice(0, 0)))
