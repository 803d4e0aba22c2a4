# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Checks of numbers and arrays: accepted and refused values, and messages."""

import numpy as np
import pytest

from robodyn_ros.base.checks import (
    ANY_FINITE,
    NOT_NEGATIVE,
    POSITIVE,
    Range,
    as_array,
    as_floats,
    as_joint_array,
    as_joint_arrays,
    as_number,
    is_traced,
)
from robodyn_ros.base.errors import InputError

LIMIT = Range(0.0, above=True, or_infinite=True)


@pytest.mark.parametrize(("allowed", "good", "bad", "text"), [
    (ANY_FINITE, [-1e300, 0], [np.nan, np.inf, -np.inf], "a finite number"),
    (POSITIVE, [1e-300], [0.0, -1.0, np.nan, np.inf], "a finite number above 0"),
    (NOT_NEGATIVE, [0.0, 3], [-1e-300, np.inf], "a finite number of 0 or more"),
    (Range(0.5, 2.0, "N m"), [0.5, 2.0], [0.49, 2.01], r"a finite number from 0.5 to 2 \[N m\]"),
    (Range(0.0, 1.0, above=True), [1.0], [0.0, 1.1], "a finite number above 0 and up to 1"),
    (Range(maximum=1.0), [-5.0, 1.0], [1.1, -np.inf], "a finite number up to 1"),
    (LIMIT, [0.1, np.inf], [0.0, np.nan, -np.inf], "a number above 0"),
])
def test_a_range_decides_and_says_so(allowed, good, bad, text):
    for number in good:
        assert as_number(number, allowed, "mass") == number
    for number in (*bad, "1", None, True, [1.0]):
        with pytest.raises(InputError, match=f"^mass: expected {text}, received "):
            as_number(number, allowed, "mass")


def test_one_number_stands_for_all_joints():
    for value in (2, [2.0], [2.0, 2.0, 2.0]):
        array = as_joint_array(value, 3, POSITIVE, "p")
        assert array.tolist() == [2.0, 2.0, 2.0] and not array.flags.writeable
    assert as_joint_array([1.0, 2.0], None, POSITIVE, "p").tolist() == [1.0, 2.0]


def test_the_callers_array_is_copied():
    given = np.array([1.0, 2.0])
    kept = as_joint_array(given, 2, POSITIVE, "p")
    given[0] = 9.0
    assert kept.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(("value", "message"), [
    ("two", "p: expected a finite number above 0, or one for each joint, received 'two'"),
    ([[1.0, 2.0]], r"p: expected one number or shape \(2,\), one for each joint, received shape \(1, 2\)"),
    ([1.0, 2.0, 3.0], r"p: expected one number or shape \(2,\), one for each joint, received shape \(3,\)"),
    ([1.0, np.nan], "p of joint elbow: expected a finite number above 0, received nan"),
    (-1.0, "p of joint shoulder: expected a finite number above 0, received -1"),
])
def test_other_values_of_joints_are_refused(value, message):
    with pytest.raises(InputError, match=message):
        as_joint_array(value, 2, POSITIVE, "p", ("shoulder", "elbow"))


def test_several_values_get_one_length():
    arrays = as_joint_arrays("Motor", {"resistance": 2, "limit": [1.0, np.inf, 3.0]}, {"limit": LIMIT})
    assert {name: array.tolist() for name, array in arrays.items()} == {
        "resistance": [2.0, 2.0, 2.0], "limit": [1.0, np.inf, 3.0]}
    assert not any(array.flags.writeable for array in arrays.values())
    with pytest.raises(InputError, match="received lengths {'resistance': 2, 'limit': 3}"):
        as_joint_arrays("Motor", {"resistance": [1.0, 2.0], "limit": [1.0, 2.0, 3.0]}, {})
    with pytest.raises(InputError, match=r"Motor.limit: expected a number above 0, or one .* received \[1.0, -2.0\]"):
        as_joint_arrays("Motor", {"resistance": 1.0, "limit": [1.0, -2.0]}, {"limit": LIMIT})


def test_as_array_says_expected_and_received_shape():
    with pytest.raises(InputError, match=r"jacobian: expected an array of shape \(6, any\), received shape \(3, 2\)"):
        as_array(np.zeros((3, 2)), (6, None), "jacobian")
    assert as_array(np.zeros((6, 2)), (6, None), "jacobian").shape == (6, 2)


def test_as_array_refuses_ragged_lists():
    with pytest.raises(InputError, match=r"point: expected an array of shape \(3,\), received \[1, \[2, 3\], 4\]"):
        as_array([1, [2, 3], 4], (3,), "point")


@pytest.mark.parametrize("bad", [[1.0, np.nan, 0.0], [1.0, np.inf, 0.0]])
def test_as_array_refuses_what_is_not_finite(bad):
    with pytest.raises(InputError, match="point: expected finite numbers"):
        as_array(bad, (3,), "point")


def test_as_array_refuses_text_and_complex_numbers():
    for bad in (["1", "2", "3"], [1j, 0, 0]):
        with pytest.raises(InputError, match="point: expected real numbers"):
            as_array(bad, (3,), "point")


def test_objects_pass_as_arrays_but_not_as_floats():
    traced = np.array([object(), object()])
    assert is_traced(as_array(traced, (2,), "q"))
    with pytest.raises(InputError, match="q: expected floats, received objects"):
        as_floats(traced, (2,), "q")
