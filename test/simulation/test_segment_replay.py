# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
import pytest

from robodyn_ros import Robot
from robodyn_ros.base.errors import InputError
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.plant import Plant
from robodyn_ros.simulation.segment_replay import replay_segments, step_for

ROBOT = Robot.from_urdf(robot_file("planar_2r"))
PERIOD = 0.002
TIME = PERIOD * np.arange(500)


@pytest.fixture(scope="module")
def plant():
    return Plant(ROBOT, step_for(TIME))


@pytest.fixture(scope="module")
def motion(plant):
    """Positions, velocities and efforts of a simulated motion, of 1 s."""
    effort = np.stack([30.0 * np.cos(5.0 * TIME), 8.0 * np.sin(7.0 * TIME)], axis=1)
    plant.set_state([0.1, -0.2])
    q, v = [plant.q.copy()], [plant.v.copy()]
    for begin, end in zip(effort, effort[1:], strict=False):
        plant.advance(Drive(0.5 * (begin + end), np.zeros(2), np.zeros(2)), round(PERIOD / plant.step))
        q.append(plant.q.copy())
        v.append(plant.v.copy())
    return np.array(q), np.array(v), effort


def test_the_step_divides_the_sampling_period():
    assert step_for(TIME) == pytest.approx(0.001)
    assert step_for(0.0035 * np.arange(9)) == pytest.approx(0.000875)
    assert step_for(0.0005 * np.arange(9)) == pytest.approx(0.0005)


def test_the_same_robot_makes_the_same_motion(plant, motion):
    q, v, effort = motion
    for duration in (0.1, 10.0):
        np.testing.assert_allclose(replay_segments(plant, TIME, q, v, effort, duration), q, atol=1e-12)


def test_other_efforts_leave_it_and_each_segment_begins_where_it_was_measured(plant, motion):
    q, v, effort = motion
    apart = np.abs(replay_segments(plant, TIME, q, v, 1.1 * effort, 0.1) - q).max(axis=1)
    assert 1e-4 < apart.max() < 0.05 and apart[0] == 0.0
    starts = np.flatnonzero(apart[1:] < 0.1 * apart[:-1])
    assert len(starts) == 9 and set(np.diff(starts)) == {50}
    assert np.abs(replay_segments(plant, TIME, q, v, 1.1 * effort, 1.0) - q).max() > 5.0 * apart.max()


def test_gaps_begin_a_segment_and_none_is_shorter_than_a_sample(plant, motion):
    q, v, effort = motion
    time = TIME + np.where(TIME > 0.5, 1.0, 0.0)
    np.testing.assert_allclose(replay_segments(plant, time, q, v, effort, 10.0), q, atol=1e-12)
    with pytest.raises(InputError, match="segments: expected 0.002 s or more"):
        replay_segments(plant, TIME, q, v, effort, 1e-4)
