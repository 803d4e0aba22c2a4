"""Seconds and nanoseconds."""

from robodyn_ros.timing import to_nanoseconds, to_seconds


def test_stamps_of_today_keep_every_nanosecond_that_a_float_can_hold():
    assert to_seconds(1_000_000_001) == 1.000000001
    assert to_seconds(3) == 3e-9  # 3 * 1e-9 is 3.0000000000000004e-09


def test_seconds_are_rounded_to_the_nearest_nanosecond():
    assert to_nanoseconds(0.002) == 2_000_000
    assert to_nanoseconds(1.0 / 3.0) == 333_333_333
    assert all(to_nanoseconds(to_seconds(time)) == time for time in (1, 999_999_999, 86_400_000_000_001))
