# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The link of bench/two_machines: what it does to frames, in time that the tests give."""

import pytest

from bench.two_machines.link import Link, Quality

COUNT = 2000


def arrivals(quality, period=0.001, end=10.0):
    """Frames in the order of their arrival, of COUNT that are sent at a period, one way and back: (time, number)."""
    link, arrived = Link(quality, seed=1), {0: [], 1: []}
    for number in range(COUNT):
        for direction in (0, 1):
            link.accept(direction, str(number).encode(), number * period)
        step(link, number * period, arrived)
    while link.wait(0.0) is not None:
        step(link, link.wait(0.0), arrived)
    assert link.wait(end) is None
    return arrived


def step(link, now, arrived):
    for direction, frame in link.due(now):
        arrived[direction].append((now, int(frame)))


def test_a_good_link_passes_every_frame_on_at_once():
    for frames in arrivals(Quality()).values():
        assert frames == [(0.001 * number, number) for number in range(COUNT)]


def test_frames_are_delayed_and_keep_their_order_under_jitter():
    for frames in arrivals(Quality(delay=0.01, jitter=0.005)).values():
        assert [number for _, number in frames] == list(range(COUNT))
        delays = [time - 0.001 * number for time, number in frames]
        assert min(delays) >= 0.01 - 1e-9 and 0.014 < max(delays) < 0.0165  # seen a period later at the latest


def test_the_given_part_of_the_frames_is_lost():
    for frames in arrivals(Quality(loss=0.1)).values():
        assert len(frames) == pytest.approx(0.9 * COUNT, rel=0.03)


def test_the_given_part_of_the_frames_overtakes_others():
    for frames in arrivals(Quality(delay=0.01, reordering=0.1)).values():
        numbers = [number for _, number in frames]
        assert sorted(numbers) == list(range(COUNT))
        early = sum(time - 0.001 * number < 0.005 for time, number in frames)
        assert early == pytest.approx(0.1 * COUNT, rel=0.25) and numbers != sorted(numbers)


def test_a_cut_loses_frames_on_their_way_and_new_ones():
    link = Link(Quality(delay=0.01))
    link.accept(0, b"on its way", 0.0)
    link.quality = Quality(cut=True)
    link.accept(0, b"new", 0.005)
    assert link.due(0.02) == [] and link.wait(0.02) is None
