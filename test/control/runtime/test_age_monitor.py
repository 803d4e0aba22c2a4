# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Ages of states and commands."""

from robodyn_ros.control.runtime.age_monitor import AgeMonitor

LABELS = ("least", "mean", "greatest")
NOW, MS = 1_795_000_000 * 10**9, 10**6


def test_ages_since_the_last_look_by_system_time():
    monitor = AgeMonitor()
    assert monitor.statistics() == {}
    monitor.note(NOW - 4 * MS, NOW - 1 * MS, NOW, NOW + MS)
    monitor.note(NOW - 6 * MS, NOW - 3 * MS, NOW, NOW + MS)
    assert monitor.statistics() == {
        "transport of joint states [ms]: least": 1.0, "transport of joint states [ms]: mean": 2.0,
        "transport of joint states [ms]: greatest": 3.0, "age of joint states [ms]: least": 4.0,
        "age of joint states [ms]: mean": 5.0, "age of joint states [ms]: greatest": 6.0,
        "age of commands [ms]: least": 5.0, "age of commands [ms]: mean": 6.0, "age of commands [ms]: greatest": 7.0}
    assert monitor.statistics() == {}


def test_stamps_of_another_clock_have_no_age_and_unknown_times_no_transport():
    monitor = AgeMonitor()
    monitor.note(10**9, NOW - MS, NOW, NOW)
    assert list(monitor.statistics()) == [f"transport of joint states [ms]: {name}" for name in LABELS]
    monitor.note(NOW, 0, NOW, NOW)
    assert "transport of joint states [ms]: mean" not in monitor.statistics()


def test_commands_that_nothing_answers_have_the_age_at_which_they_are_taken():
    monitor = AgeMonitor("commands")
    monitor.note(NOW - 4 * MS, NOW - MS, NOW)
    assert monitor.statistics() == {f"transport of commands [ms]: {name}": 1.0 for name in LABELS} | {
        f"age of commands [ms]: {name}": 4.0 for name in LABELS}
