# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Encoders: resolution, noise, delay, velocities from positions, and refusals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from robodyn_ros.base.errors import InputError
from robodyn_ros.simulation.sensing import Sensing, Sensors, VelocitySource

PERIOD = 0.002
N = 3
positions = arrays(np.float64, (20, N), elements=st.floats(-10.0, 10.0))
resolutions = arrays(np.float64, N, elements=st.floats(1e-6, 0.1))


def measure(sensors, q, v=None):
    """Measurements of a motion, its first state as the restart, as two arrays (length, n)."""
    v = np.zeros_like(q) if v is None else v
    seen = [sensors.restart(q[0], v[0])] + [sensors.measure(*row) for row in zip(q[1:], v[1:], strict=True)]
    return np.array([row[0] for row in seen]), np.array([row[1] for row in seen])


def differentiating(**figures):
    return Sensors(Sensing(velocity_source=VelocitySource.POSITION, **figures), N, PERIOD)


@given(positions, positions)
def test_without_figures_everything_is_seen_as_it_is(q, v):
    assert Sensing().exact
    position, velocity = measure(Sensors(Sensing(), N, PERIOD), q, v)
    assert (position == q).all()
    assert (velocity == v).all()


@pytest.mark.parametrize("figures", [
    {"position_resolution": 0.1}, {"position_noise": [0.0, 0.0, 0.1]}, {"velocity_noise": 0.1}, {"delay": 1},
    {"velocity_filter": 0.1}, {"velocity_source": VelocitySource.POSITION},
])
def test_a_figure_makes_it_inexact(figures):
    assert not Sensing(**figures).exact


@given(positions, resolutions)
def test_an_encoder_counts_whole_steps_and_is_at_most_half_a_step_off(q, resolution):
    position, _ = measure(Sensors(Sensing(position_resolution=resolution), N, PERIOD), q)
    steps = position / resolution
    assert np.abs(steps - np.rint(steps)).max() < 1e-6
    assert (np.abs(position - q) <= 0.5 * resolution * (1.0 + 1e-9)).all()


def test_resolution_may_differ_from_joint_to_joint():
    position, _ = measure(Sensors(Sensing(position_resolution=[0.0, 0.1, 1.0]), N, PERIOD), np.full((1, N), 0.26))
    assert position[0] == pytest.approx([0.26, 0.3, 0.0])


@given(positions, st.integers(0, 30))
def test_delay_shifts_by_whole_periods_and_repeats_the_first(q, delay):
    position, velocity = measure(Sensors(Sensing(delay=delay), N, PERIOD), q, -q)
    late = np.maximum(np.arange(len(q)) - delay, 0)
    assert (position == q[late]).all()
    assert (velocity == -q[late]).all()


@given(positions, resolutions)
def test_differentiated_velocities_add_up_to_the_measured_way(q, resolution):
    position, velocity = measure(differentiating(position_resolution=resolution), q)
    assert np.allclose(velocity[1:].sum(axis=0) * PERIOD, position[-1] - position[0], rtol=0.0, atol=1e-9)


def test_velocity_filter_answers_a_step_as_a_first_order_system():
    time_constant = 0.01
    speed = np.array([1.0, -2.0, 3.0])
    t = PERIOD * np.arange(40)
    _, velocity = measure(differentiating(velocity_filter=time_constant), t[:, None] * speed)
    assert np.allclose(velocity, (1.0 - np.exp(-t / time_constant))[:, None] * speed, rtol=0.0, atol=1e-9)


def test_noise_has_its_deviation_and_no_mean():
    sensing = Sensing(position_noise=[1e-3, 0.0, 2e-3], velocity_noise=0.1)
    position, velocity = measure(Sensors(sensing, N, PERIOD, seed=1), np.zeros((4000, N)))
    assert position.std(axis=0) == pytest.approx([1e-3, 0.0, 2e-3], rel=0.05)
    assert velocity[1:].std(axis=0) == pytest.approx([0.1] * N, rel=0.05)
    assert np.abs(position.mean(axis=0)).max() < 4 * 2e-3 / np.sqrt(4000)


def test_the_seed_decides_the_noise_to_the_bit():
    def run(seed):
        return measure(Sensors(Sensing(position_noise=1e-3, velocity_noise=0.1), N, PERIOD, seed), np.zeros((50, N)))

    for first, again, other in zip(run(7), run(7), run(8), strict=True):
        assert first.tobytes() == again.tobytes()
        assert (first[1:] != other[1:]).all()


def test_restart_forgets_the_delay_line_the_filter_and_the_last_position():
    sensors = differentiating(delay=3, velocity_filter=0.1)
    measure(sensors, np.arange(30.0).reshape(10, N))
    q, v = np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.2, 0.3])
    for position, velocity in (sensors.restart(q, v), sensors.measure(q, v)):
        assert (position == q).all()
        assert (velocity == v).all()


@pytest.mark.parametrize(("figures", "message"), [
    ({"position_resolution": [0.1, 0.1]}, "position_resolution: expected one number or shape .3,., one for each joint"),
    ({"position_noise": -0.1}, "position_noise: expected a finite number from 0 to 10"),
    ({"velocity_noise": np.nan}, "velocity_noise: expected a finite number"),
    ({"delay": -1}, "delay: expected a whole number from 0 to 1000 .control periods."),
    ({"velocity_filter": -1.0}, "velocity_filter: expected a finite number from 0 to 10 .s."),
    ({"velocity_filter": np.nan}, "velocity_filter: expected a finite number from 0 to 10 .s."),
])
def test_bad_figures_are_refused(figures, message):
    with pytest.raises(InputError, match=message):
        Sensors(Sensing(**figures), N, PERIOD)
