# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
import pytest
from shipped import few

from robodyn_ros.compile import compile_function, lowering


def mostly_constant(x):
    """Many results that need no computing, among few that do, as in the regressor of a robot with many branches."""
    result = np.zeros((40, 30), dtype=object)
    result[::7, ::5] = 2.5
    result[3::9] = x[1]
    result[5, ::4] = x[0] * x[1]
    result[11, 2] = x[2] * x[0]
    return result


@pytest.mark.parametrize("at_once", few([1, 250, 1189, 10_000], (250, 1189)))
def test_results_without_operations_are_stored(monkeypatch, at_once):
    monkeypatch.setattr(lowering, "MAX_STORES", at_once)
    kernel = compile_function(mostly_constant, {"x": (3,)})
    samples = np.random.default_rng(2).normal(size=(11, 3))
    expected = np.array([mostly_constant(sample) for sample in samples], dtype=float)
    np.testing.assert_array_equal(kernel.batch(samples), expected)
    np.testing.assert_array_equal([kernel(sample) for sample in samples], expected)
