# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_loop_description import described, numbers

from robodyn_ros import InputError
from robodyn_ros.toolbox.study.block import (
    BLOCK_TIME,
    FIRST_BLOCK_SIZE,
    MAX_OVERHEAD,
    Block,
    BlockSize,
    compute_block,
    gaps,
    sample_count,
)
from robodyn_ros.toolbox.study.loop_description import PARAMETERS


@given(st.integers(1, 50), st.lists(st.tuples(st.integers(0, 49), st.integers(1, 20)), max_size=6))
def test_gaps_are_what_is_not_done_in_order(count, starts):
    done = [(begin, min(count, begin + length)) for begin, length in starts if begin < count]
    left = [number for begin, end in gaps(count, done) for number in range(begin, end)]
    assert left == [number for number in range(count) if not any(begin <= number < end for begin, end in done)]


def of_size(size, seconds, overhead, fresh=False):
    return Block(0, size, None, seconds, overhead, fresh, "any")


@pytest.mark.parametrize("workers", [1, 7])
@pytest.mark.parametrize("overhead", [0.0, 0.004, 0.3])
@pytest.mark.parametrize("per_sample", [1e-6, 1e-3, 0.2, 30.0])
def test_overhead_stays_below_its_share_after_a_few_blocks(per_sample, overhead, workers):
    size, left, sizes = BlockSize(workers), 10**9, []
    while left and len(sizes) < 200:
        sizes.append(size.next(left))
        left -= sizes[-1]
        size.measured(of_size(sizes[-1], per_sample * sizes[-1], overhead))
    assert sizes[0] == FIRST_BLOCK_SIZE and min(sizes) >= 2
    spent = per_sample * np.array(sizes[12:])
    assert overhead <= 1.01 * MAX_OVERHEAD * spent.min()
    assert spent.max() <= 1.01 * max(BLOCK_TIME, 2.0 * overhead / MAX_OVERHEAD, 3.0 * per_sample)


def test_a_fresh_block_is_not_measured_as_its_time_includes_compilation():
    size = BlockSize()
    size.measured(of_size(FIRST_BLOCK_SIZE, 30.0, 1.0, fresh=True))
    assert size.next(10**6) == FIRST_BLOCK_SIZE


def test_what_a_thread_waits_between_two_runs_is_no_overhead():
    description = described()
    arrays = {PARAMETERS: numbers(description, 4)}
    first, second, other = (compute_block(description, 0, arrays, run=run) for run in ("a", "a", "b"))
    assert first.overhead == 0.0 and second.overhead > 0.0 and other.overhead == 0.0


def test_workers_end_together_as_the_last_blocks_are_smaller():
    size, sizes, left = BlockSize(4), [], 100_000
    size.measured(of_size(FIRST_BLOCK_SIZE, 1e-4 * FIRST_BLOCK_SIZE, 1e-4))
    for _ in range(5):
        size.measured(of_size(1000, 0.1, 1e-4))
    while left:
        sizes.append(size.next(left))
        left -= sizes[-1]
    assert sum(sizes) == 100_000 and sizes[0] == 10_000
    assert sizes[:-1] == sorted(sizes[:-1], reverse=True)
    assert 20 <= min(sizes) <= sizes[-1] < 200, "20 samples are what an overhead of 0.1 ms asks for"


def test_arrays_of_different_lengths_and_no_samples_are_refused():
    assert sample_count({"a": np.zeros((3, 2)), "b": np.zeros(3)}) == 3
    with pytest.raises(InputError, match="received 3 of a, 4 of b"):
        sample_count({"a": np.zeros((3, 2)), "b": np.zeros(4)})
    with pytest.raises(InputError, match="received 0 of a"):
        sample_count({"a": np.zeros((0, 2))})
    with pytest.raises(InputError, match="received no array"):
        sample_count({})
