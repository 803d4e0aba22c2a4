# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.


"""The closed loops of the safety filter's table: with the filter none passes a limit, without it nearly all do."""

import numpy as np
import pytest

from bench.safety import closed_loops


def passed(count, is_filtered):
    """Loops that pass a limit, by limit."""
    found = [{name: np.count_nonzero(left < 0.0) for name, left in block.items()}
             for block in closed_loops(count, is_filtered, seed=7)]
    return {name: sum(block[name] for block in found) for name in found[0]}


@pytest.mark.parametrize("count", [100, pytest.param(5000, marks=pytest.mark.long)])
def test_no_loop_with_the_filter_passes_a_limit(count):
    assert set(passed(count, True).values()) == {0}


def test_loops_without_the_filter_pass_every_limit_but_that_of_the_efforts():
    found = passed(100, False)
    assert found.pop("efforts [share]") == 0
    assert min(found.values()) > 5
    assert found["joint positions [rad]"] == 100
