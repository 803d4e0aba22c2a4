"""Ages of states and commands."""

from robodyn_ros.control.age_monitor import AgeMonitor

NOW, MS = 1_795_000_000 * 10**9, 10**6


def test_ages_since_the_last_look_by_system_time():
    monitor = AgeMonitor()
    assert monitor.statistics() == {}
    monitor.note(NOW - 4 * MS, NOW - 1 * MS, NOW, NOW + MS)
    monitor.note(NOW - 6 * MS, NOW - 3 * MS, NOW, NOW + MS)
    assert monitor.statistics() == {
        "transport of joint states [ms]: mean": 2.0, "transport of joint states [ms]: greatest": 3.0,
        "age of joint states [ms]: mean": 5.0, "age of joint states [ms]: greatest": 6.0,
        "age of commands [ms]: mean": 6.0, "age of commands [ms]: greatest": 7.0}
    assert monitor.statistics() == {}


def test_stamps_of_another_clock_have_no_age_and_unknown_times_no_transport():
    monitor = AgeMonitor()
    monitor.note(10**9, NOW - MS, NOW, NOW)
    assert list(monitor.statistics()) == [f"transport of joint states [ms]: {name}" for name in ("mean", "greatest")]
    monitor.note(NOW, 0, NOW, NOW)
    assert "transport of joint states [ms]: mean" not in monitor.statistics()
