# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Times of ticks: whom unanswered joint states are blamed on, and statistics."""

import numpy as np
import pytest

from robodyn_ros.control import tick_monitor
from robodyn_ros.control.tick_monitor import FORGIVEN_AFTER, TickMonitor

PERIOD = 0.002


class Ticks:
    """A monitor, a clock, and ticks that take some time."""

    def __init__(self, monkeypatch):
        self.monitor, self.now, self.stamp, self.sequence, self.waited = TickMonitor(), 5.0, 10**9, 1, 0.0
        monkeypatch.setattr(tick_monitor, "waiting_time", lambda: self.waited)

    def tick(self, took=1e-4, late=0.0, waited=0.0):
        """A tick on a joint state that came `late` after it could be taken; then time until the next state [s]."""
        self.now += late
        self.monitor.begin(self.now, self.stamp, self.sequence)
        delay = self.monitor.delay
        self.now, self.waited = self.now + took, self.waited + waited
        self.monitor.end(self.now)
        periods = max(1, int((took + 1e-9) / PERIOD))
        self.now += max(0.0, PERIOD - took)
        self.stamp, self.sequence = self.stamp + periods * 2_000_000, self.sequence + periods
        return delay

    def stop(self, seconds):
        """The process stands still between two ticks."""
        periods = round(seconds / PERIOD)
        self.now += seconds
        self.stamp, self.sequence = self.stamp + periods * 2_000_000, self.sequence + periods


@pytest.fixture
def ticks(monkeypatch):
    return Ticks(monkeypatch)


def test_ticks_in_time_are_no_overruns(ticks):
    assert [ticks.tick() for _ in range(100)] == [None] * 100
    assert ticks.monitor.overruns == 0.0


def test_a_law_that_takes_longer_than_a_period_is_blamed_from_its_second_overrun_on(ticks):
    delays = [ticks.tick(took=0.05) for _ in range(6)]
    assert delays[:2] == [None, None], "nothing is unanswered at first, and the first overrun was not measured"
    assert all(delay.of_law and delay.unanswered == 24 for delay in delays[2:])
    np.testing.assert_allclose([delay.law for delay in delays[2:]], 0.05)
    np.testing.assert_allclose([delay.period for delay in delays[2:]], PERIOD)
    assert ticks.monitor.overruns == 5.0


def test_overruns_are_forgiven_after_ticks_in_time(ticks):
    for _ in range(4):
        ticks.tick(took=0.01)
    before = ticks.monitor.overruns
    for _ in range(2 * FORGIVEN_AFTER):
        ticks.tick()
    ticks.tick(took=0.01)
    ticks.tick()
    assert ticks.monitor.overruns == pytest.approx(before + 1 + 1 - 2, abs=0.2)


def test_a_thread_that_stood_still_between_ticks_was_held_up(ticks):
    for _ in range(3):
        ticks.tick()
    ticks.stop(0.3)
    delay = ticks.tick()
    assert not delay.of_law and delay.unanswered == 150
    assert delay.held_up == pytest.approx(0.3, rel=0.02)
    assert ticks.monitor.overruns == 0.0


def test_a_thread_that_waited_for_a_processor_during_the_law_was_held_up(ticks):
    for _ in range(3):
        ticks.tick(took=0.05)
    ticks.tick(took=0.05, waited=0.049)
    delay = ticks.tick()
    assert not delay.of_law and delay.law_in_time
    assert ticks.monitor.overruns == 3.0, "those before, of the law"


def test_a_slow_law_overruns_even_when_most_of_a_delay_is_the_computers(ticks):
    for _ in range(3):
        ticks.tick(took=0.05)
    ticks.tick(took=0.15, waited=0.1)
    delay = ticks.tick()
    assert not delay.of_law and not delay.law_in_time
    assert ticks.monitor.overruns == 4.0
    assert delay.held_up == pytest.approx(0.1, rel=0.02)


def test_unmeasured_time_is_no_overrun_of_the_law(ticks):
    for _ in range(3):
        ticks.tick()
    ticks.tick(took=0.005)
    ticks.stop(0.1)
    delay = ticks.tick()
    assert delay.law_in_time and delay.held_up == pytest.approx(0.1, rel=0.02)
    assert ticks.monitor.overruns == 1.0


def test_a_repeated_state_and_a_new_publisher_are_no_delay(ticks):
    for _ in range(3):
        ticks.tick()
    ticks.sequence += 7  # of a lockstep simulation that waits and repeats its state
    ticks.stamp -= 2_000_000
    assert ticks.tick() is None
    ticks.sequence = 1
    assert ticks.tick() is None


def test_statistics_are_those_since_the_last_call(ticks):
    for _ in range(50):
        ticks.tick(took=1e-3)
    values = ticks.monitor.statistics()
    assert values["execution time [us]: mean"] == pytest.approx(1000.0)
    assert values["periodicity [Hz]: mean"] == pytest.approx(500.0)
    assert values["periodicity [Hz]: greatest"] == pytest.approx(500.0)
    assert ticks.monitor.statistics() == {}


def test_waiting_time_of_this_thread_grows():
    first = tick_monitor.waiting_time()
    assert first is None or tick_monitor.waiting_time() >= first
