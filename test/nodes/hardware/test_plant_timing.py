# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""When periods begin and what stamps their ends have, on clocks of the test's own; with hold-ups: test_plant_loop."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from robodyn_ros.nodes.hardware import plant_timing
from robodyn_ros.nodes.hardware.parameters import LiveSettings, TimeMode
from robodyn_ros.nodes.hardware.plant_timing import Pace, PlantTiming
from robodyn_ros.simulation.commands import SafeBehaviour


def test_a_period_is_due_once_per_interval():
    pace = Pace(1000)
    pace.restart(5000)
    assert [pace.due(now) for now in (5000, 5999, 6000, 6001, 7000, 7500, 8000)] == [0, 0, 1, 0, 1, 0, 1]
    assert pace.missed == 0


def test_deadlines_do_not_drift_with_late_wake_ups():
    pace = Pace(1000)
    pace.restart(0)
    assert sum(pace.due(now) for now in range(1077, 100_077, 1000)) == 99
    assert pace.next == 100_000


def test_factor_scales_the_interval():
    pace = Pace(1000, factor=4.0)
    pace.restart(0)
    assert [pace.due(now) for now in (249, 250, 499, 500)] == [0, 1, 0, 1]


def test_missed_periods_are_caught_up_to_a_limit_and_the_rest_dropped():
    pace = Pace(1000, longest=5)
    pace.restart(0)
    assert pace.due(3500) == 3
    assert (pace.missed, pace.dropped, pace.next) == (2, 0, 4000)
    assert pace.due(23_999) == 5
    assert (pace.missed, pace.dropped, pace.next) == (21, 15_000, 24_000)
    assert pace.due(24_000) == 1
    assert pace.worst == 19_999


def test_one_period_at_a_time_is_never_early_and_owes_nothing():
    pace = Pace(period_ns=100)
    pace.restart(0)
    pace.begin(100)
    assert pace.next == 200
    pace.begin(650)
    assert pace.next == 650
    assert (pace.missed, pace.dropped) == (0, 0.0)


MILLISECOND = 1_000_000
SECOND = 1000 * MILLISECOND
SYSTEM_AHEAD = 1_700_000_000 * SECOND
SETTINGS = LiveSettings(command_timeout=0.0, safe_behaviour=SafeBehaviour.DAMPING, safe_time_constant=0.1,
                        real_time_factor=4.0, lockstep_speed_limit=0.5, wrench_timeout=0.0, actuator_state_rate=0.0,
                        sensors=None)


@pytest.fixture
def clocks(monkeypatch):
    """The steady clock and how far the system clock is ahead of it [ns]."""
    clocks = SimpleNamespace(now=7 * SECOND, ahead=SYSTEM_AHEAD)
    monkeypatch.setattr(plant_timing, "time", SimpleNamespace(
        monotonic_ns=lambda: clocks.now, time_ns=lambda: clocks.now + clocks.ahead))
    return clocks


@pytest.mark.parametrize("mode", [TimeMode.SCALED, TimeMode.LOCKSTEP])
def test_simulated_time_counts_periods_whatever_the_clocks_say(clocks, mode):
    timing = PlantTiming(mode, MILLISECOND)
    timing.restart()
    assert timing.stamp(standing_still=False) == MILLISECOND  # not 0, which ROS takes for no stamp
    clocks.now += 5 * SECOND
    clocks.ahead -= SYSTEM_AHEAD // 2
    timing.tick += 3
    assert timing.pace.due(clocks.now) == 100 and timing.skip_what_was_dropped()
    assert timing.stamp(standing_still=False) == 4 * MILLISECOND


def test_real_time_is_system_time_at_the_deadlines_not_when_they_are_met(clocks):
    timing = PlantTiming(TimeMode.REAL_TIME, MILLISECOND)
    begin = clocks.now
    timing.restart()
    clocks.now += MILLISECOND + 300_000
    assert timing.pace.due(clocks.now) == 1 and not timing.skip_what_was_dropped()
    timing.tick += 1
    assert timing.stamp(standing_still=False) == begin + SYSTEM_AHEAD + MILLISECOND


def test_time_given_up_is_a_gap_in_real_time_and_told_once(clocks):
    timing = PlantTiming(TimeMode.REAL_TIME, MILLISECOND)
    begin = clocks.now
    timing.restart()
    clocks.now += 150 * MILLISECOND
    assert timing.pace.due(clocks.now) == 100  # of 150: a tenth of a second is made up for
    assert timing.skip_what_was_dropped() and not timing.skip_what_was_dropped()
    timing.tick += 100
    assert timing.stamp(standing_still=False) == begin + SYSTEM_AHEAD + 150 * MILLISECOND


@pytest.mark.parametrize("jump", [3600 * SECOND, -3600 * SECOND])
def test_a_paused_simulation_follows_a_system_clock_that_jumps(clocks, jump):
    timing = PlantTiming(TimeMode.REAL_TIME, MILLISECOND)
    timing.restart()
    clocks.ahead += jump
    assert timing.stamp(standing_still=True) == clocks.now + clocks.ahead


def test_a_small_difference_to_system_time_is_no_jump(clocks):
    timing = PlantTiming(TimeMode.REAL_TIME, MILLISECOND)
    timing.restart()
    expected = clocks.now + clocks.ahead
    clocks.ahead += 99 * MILLISECOND
    assert timing.stamp(standing_still=True) == expected


@pytest.mark.parametrize(("mode", "limit", "interval"), [
    (TimeMode.REAL_TIME, 0.5, 1.0), (TimeMode.SCALED, 0.5, 0.25), (TimeMode.LOCKSTEP, 0.5, 2.0),
    (TimeMode.LOCKSTEP, 0.0, 1.0),
])
def test_each_mode_has_a_speed_of_its_own(mode, limit, interval):
    timing = PlantTiming(mode, MILLISECOND)
    timing.configure(replace(SETTINGS, lockstep_speed_limit=limit))
    assert timing.pace.interval == interval * MILLISECOND
