# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
import pytest

from robodyn_ros import compile as c
from robodyn_ros.base.errors import CompileError
from robodyn_ros.compile.scalar import Scalar

VALUES = np.array([-2.0, -0.5, 0.0, 0.5, 2.0, np.nan])
FUNCTIONS = {
    "where": (lambda x, y: c.where(c.less(x, y), x, 10.0), lambda x, y: np.where(x < y, x, 10.0)),
    "where of a comparison": (lambda x, y: c.where([a >= b for a, b in zip(x, y, strict=True)], 1.0, y), None),
    "minimum": (c.minimum, np.minimum),
    "maximum": (c.maximum, np.maximum),
    "clip": (lambda x, y: c.clip(x, -1, y), lambda x, y: np.minimum(np.maximum(x, -1), y)),
    "sign": (lambda x, y: c.sign(x), lambda x, y: np.sign(x)),
    "arctan2": (c.arctan2, np.arctan2),
    "arctan2 of a constant": (lambda x, y: c.arctan2(0.25, y), lambda x, y: np.arctan2(0.25, y)),
    "less": (c.less, np.less),
    "less_equal": (c.less_equal, np.less_equal),
    "greater": (c.greater, np.greater),
    "greater_equal": (c.greater_equal, np.greater_equal),
    "equal": (c.equal, np.equal),
    "absolute": (lambda x, y: np.abs(x - 1), lambda x, y: np.abs(x - 1)),
    "not equal": (lambda x, y: [(a != b) * 1.0 for a, b in zip(x, y, strict=True)], np.not_equal),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_floats_tape_and_machine_code_agree(name):
    function, expected = FUNCTIONS[name]
    first, second = (grid.reshape(-1) for grid in np.meshgrid(VALUES, VALUES))
    reference = np.asarray((expected or function)(first, second), dtype=float)
    # NumPy may have an arctan2 of its own, which the C library's need not equal in the last bit.
    tolerance = 1e-15 if "arctan2" in name else 0.0
    kernel = c.compile_function(function, {"x": first.shape, "y": second.shape}, name=name)
    for found in (
        np.asarray(function(first, second), dtype=float),
        kernel.tape(first, second),
        kernel(first, second),
        kernel.batch(first[None], second[None])[0],
    ):
        np.testing.assert_allclose(found, reference, rtol=tolerance, atol=0.0)


def test_numbers_give_numbers():
    assert c.where(True, 1.0, 2.0) == 1.0
    assert c.minimum(1, 2) == 1
    assert c.clip(5.0, -1.0, 1.0) == 1.0
    assert c.sign(-3.0) == -1.0
    assert c.less(1, 2) == 1.0


def test_broadcasting_keeps_numbers_numbers():
    seen = []
    kernel = c.compile_function(lambda x: seen.append(c.maximum([[0.0], [1.0]], x)) or seen[0], {"x": (3,)})
    np.testing.assert_array_equal(kernel([-1.0, 0.5, 2.0]), [[0.0, 0.5, 2.0], [1.0, 1.0, 2.0]])
    mixed = c.maximum(np.array([1.0, 2.0], dtype=object), 1.5)
    assert mixed.tolist() == [1.5, 2.0]


def test_untraced_condition_chooses_while_tracing():
    def choose(x):
        result = c.where([True, False], x, -1.0)
        assert isinstance(result[0], Scalar)
        assert result[1] == -1.0
        return result

    assert c.trace(choose, {"x": (2,)}).operation_count == 0


def test_choosing_between_other_things_is_refused():
    with pytest.raises(CompileError, match="where: expected numbers or traced values, received Scalar and str and "):
        c.trace(lambda x: c.where(x[0] < 0, "a", 1.0), {"x": (1,)})
