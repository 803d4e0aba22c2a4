# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.


"""The closed loops of the safety filter's tables: with the filter none passes a limit, without it nearly all do."""

import numpy as np
import pytest

from bench.safety import arm6, closed_loops, timed, tx40
from robodyn_ros.base.timing import LoopTiming


def passed(limits, count, **own):
    """Loops that pass a limit, by limit."""
    found = [{name: np.count_nonzero(left < 0.0) for name, left in block.items()}
             for block in closed_loops(limits, count, seed=7, **own)]
    return {name: sum(block[name] for block in found) for name in found[0]}


@pytest.mark.parametrize("count", [20, pytest.param(5000, marks=pytest.mark.long)])
def test_no_loop_with_the_filter_passes_a_limit(count):
    assert set(passed(arm6(), count).values()) == {0}


@pytest.mark.parametrize("timing, count", [(LoopTiming(0.005, 1), 20), *(
    pytest.param(LoopTiming(*each), 1000, marks=pytest.mark.long) for each in ((0.001, 3), (0.002, 0), (0.01, 0)))])
def test_no_wrong_robot_passes_a_limit_whose_errors_are_declared(timing, count):
    assert set(passed(timed(tx40(), timing), count, wrong=True).values()) == {0}


def test_loops_without_the_filter_pass_every_limit_but_that_of_the_efforts():
    found = passed(arm6(), 100, is_filtered=False)
    assert found.pop("efforts [share]") == 0
    assert min(found.values()) > 5
