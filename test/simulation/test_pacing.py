"""Deadlines of control periods, missed ones, and time that is given up."""

from robodyn_ros.simulation.pacing import Pace


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
