# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Seconds and nanoseconds."""

import math
import os
import re

import pytest

from robodyn_ros.base.errors import InputError
from robodyn_ros.base.timing import (
    join_stamp,
    split_stamp,
    to_nanoseconds,
    to_seconds,
    usable_processors,
    whole_steps,
)


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


@pytest.mark.parametrize(("duration", "step", "steps"), [
    (0.002, 0.001, 2), (0.3, 0.1, 3), (1e-3, 1e-3, 1), (1.0, 1e-9, 1_000_000_000), (1e-4 / 3.0 * 3.0, 1e-4, 1)])
def test_a_duration_is_a_whole_number_of_steps(duration, step, steps):
    assert whole_steps(duration, step, "period: expected a multiple") == (round(duration * 1e9), steps)


@pytest.mark.parametrize(("duration", "step"), [
    (0.0015, 0.001), (0.0005, 0.001), (0.0, 0.001), (-0.001, 0.001), (math.nan, 0.001), (math.inf, 0.001)])
def test_a_duration_with_a_part_of_a_step_is_refused(duration, step):
    with pytest.raises(InputError, match=re.escape(f"period: expected a multiple of {step} s, received {duration} s")):
        whole_steps(duration, step, "period: expected a multiple")


def test_threads_are_counted_on_the_processors_that_this_process_may_use():
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert usable_processors() == 1
    finally:
        os.sched_setaffinity(0, allowed)
    assert usable_processors() == len(allowed)
