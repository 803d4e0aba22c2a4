# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
import pytest

from robodyn_ros.base.errors import InputError
from robodyn_ros.compile.batch_abi import checked_arrays, real_array, shape_error


def test_float64_arrays_are_taken_as_they_are():
    for array in (np.zeros(3), np.zeros((4, 6))[::2, ::3], np.zeros((2, 3), order="F"), np.zeros(0)):
        assert real_array("f", "x", array) is array


@pytest.mark.parametrize(
    "given",
    [
        [1, 2, 3],
        (1.0, 2, True),
        np.array([1, 2, 3], dtype=np.int8),
        np.array([1, 2, 3], dtype=np.float32),
        np.array([1, 2, 3], dtype=">f8"),
        np.array([1, 2, 3], dtype=object),
        np.frombuffer(b"\0" + np.array([1.0, 2.0, 3.0]).tobytes(), dtype=np.float64, offset=1),
    ],
)
def test_other_numbers_are_converted(given):
    array = real_array("f", "x", given)
    assert array.dtype == np.float64
    assert array.dtype.isnative
    assert array.flags.aligned
    np.testing.assert_array_equal(array, np.asarray(given, dtype=float))


@pytest.mark.parametrize(
    "given", [None, "a", ["a"], [1, None], [[1], [2, 3]], 1j, np.array([1 + 0j]), {"a": 1}, object()]
)
def test_what_is_not_numbers_is_refused(given):
    with pytest.raises(InputError, match=f"f: x: expected real numbers, received {type(given).__name__}"):
        real_array("f", "x", given)


def test_order_of_arguments():
    inputs, q, v = {"q": (1,), "v": (2,)}, [1], [2, 3]
    for positional, named in (((q, v), {}), ((q,), {"v": v}), ((), {"v": v, "q": q})):
        assert [array.tolist() for array in checked_arrays("f", inputs, positional, named)] == [q, v]
    for array, shape in zip(checked_arrays("f", inputs, ([q, q], [v, v]), {}, ("N",)), inputs.values(), strict=True):
        assert array.shape == (2, *shape)


@pytest.mark.parametrize(
    ("positional", "named", "received"),
    [
        ((1,), {}, "1 by position"),
        ((1, 2, 3), {}, "3 by position"),
        ((1,), {"w": 2}, "1 by position, w by name"),
        ((1, 2), {"v": 2}, "2 by position, v by name"),
        ((), {}, "0 by position"),
    ],
)
def test_missing_superfluous_or_unknown_arguments(positional, named, received):
    with pytest.raises(InputError, match=rf"f: expected 2 arrays \(q, v\), received {received}$"):
        checked_arrays("f", {"q": (1,), "v": (2,)}, positional, named)


def test_shape_error_reads_like_numpy():
    assert str(shape_error("f", "q", (7,), (6,))) == "f: q: expected shape (7,), received (6,)"
    assert str(shape_error("f", "Q", ("N", 7), (6,))) == "f: Q: expected shape (N, 7), received (6,)"
    assert str(shape_error("f", "s", (), (6,))) == "f: s: expected shape (), received (6,)"
