# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Seconds and nanoseconds."""

import pytest

from robodyn_ros.base.errors import InputError
from robodyn_ros.base.timing import join_stamp, split_stamp, to_nanoseconds, to_seconds


def test_stamps_of_today_keep_every_nanosecond_that_a_float_can_hold():
    assert to_seconds(1_000_000_001) == 1.000000001
    assert to_seconds(3) == 3e-9  # 3 * 1e-9 is 3.0000000000000004e-09


def test_seconds_are_rounded_to_the_nearest_nanosecond():
    assert to_nanoseconds(0.002) == 2_000_000
    assert to_nanoseconds(1.0 / 3.0) == 333_333_333
    assert all(to_nanoseconds(to_seconds(time)) == time for time in (1, 999_999_999, 86_400_000_000_001))


@pytest.mark.parametrize(("seconds", "nanoseconds"), [(0, 0), (1, 999_999_999), (2**31 - 1, 999_999_999)])
def test_stamps_are_joined_and_split(seconds, nanoseconds):
    assert split_stamp(join_stamp(seconds, nanoseconds)) == (seconds, nanoseconds)


@pytest.mark.parametrize(("seconds", "nanoseconds"), [
    (2**31 - 1, 2**32 - 1), (0, 10**9), (-1, 0), (-2**31, 2**32 - 1)])
def test_stamps_that_are_no_time_are_refused(seconds, nanoseconds):
    with pytest.raises(InputError, match=f"received sec {seconds}, nanosec {nanoseconds}"):
        join_stamp(seconds, nanoseconds)
