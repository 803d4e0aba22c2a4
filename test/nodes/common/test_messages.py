# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Joint values by name: any order, complete or not, and rejected messages."""

from array import array

import numpy as np
import pytest
from builtin_interfaces.msg import Duration, Time

from robodyn_ros.nodes.common.messages import (
    EFFORT,
    POSITION,
    JointOrder,
    MessageError,
    deserialize,
    read_duration,
    read_stamp,
    set_stamp,
    to_field,
)

JOINTS = JointOrder(("a", "b", "c"))
NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(("names", "values", "expected"), [
    (["a", "b", "c"], [1.0, 2.0, 3.0], [1, 2, 3]),
    (["c", "a", "b"], [3.0, 1.0, 2.0], [1, 2, 3]),
    ([], [1.0, 2.0, 3.0], [1, 2, 3]),
    (["a", "b", "c"], [9e8, -9e8, 9e8], [9e8, -9e8, 9e8]),
])
def test_complete(names, values, expected):
    result = JOINTS.read(names, array("d", values), "topic: field", POSITION)
    assert result.tolist() == expected
    assert result.dtype == np.float64


def test_partial_keeps_the_fill_and_does_not_alter_it():
    fill = np.array([7.0, 8.0, 9.0])
    assert JOINTS.read(["b"], [2.0], "topic", POSITION, fill).tolist() == [7, 2, 9]
    assert fill.tolist() == [7, 8, 9]


def test_joints_of_others_are_ignored_where_asked():
    assert JOINTS.read(["x", "c", "b", "a"], [NAN, 3.0, 2.0, 1.0], "topic", POSITION, others=True).tolist() == [1, 2, 3]


@pytest.mark.parametrize(("names", "values", "reason", "message"), [
    (["a", "b", "x"], [1.0, 2.0, 3.0], "unknown joint", "t: f: unknown joint 'x'; the robot has 'a', 'b', 'c'"),
    (["a", "b", "b"], [1.0, 2.0, 3.0], "repeated joint", "t: f: joint 'b' is named more than once"),
    (["a", "b"], [1.0, 2.0], "missing joint", "t: f: no value for 'c'; every joint of the robot must be named"),
    (["a", "b", "c"], [1.0, 2.0], "wrong length", "t: f: expected one value per joint, 3, received 2"),
    ([], [1.0], "wrong length", "t: f: expected one value per joint, 3, received 1"),
    (["a", "b", "c"], [], "wrong length", "t: f: expected one value per joint, 3, received 0"),
    (["a", "b", "c"], [1.0, NAN, 3.0], "not finite", "t: f: expected finite numbers, received nan for joint 'b'"),
    (["c", "b", "a"], [INF, 1.0, 3.0], "not finite", "t: f: expected finite numbers, received inf for joint 'c'"),
    (["a", "b", "c"], [1.0, -1e300, 3.0], "out of range",
     "t: f: expected a finite number from -1e+07 to 1e+07 [N m or N], received -1e+300 for joint 'b'"),
    (["c"], [1.1e7], "out of range",
     "t: f: expected a finite number from -1e+07 to 1e+07 [N m or N], received 1.1e+07 for joint 'c'"),
    (["a", "b", "c"], [INF, -INF, 3.0], "not finite", "t: f: expected finite numbers, received inf for joint 'a'"),
])
def test_rejected(names, values, reason, message):
    with pytest.raises(MessageError) as caught:
        JOINTS.read(names, values, "t: f", EFFORT)
    assert caught.value.reason == reason
    assert str(caught.value) == message


def test_fields_and_stamps_go_there_and_back():
    assert to_field(np.array([[1.0, 2.0], [3.0, 4.0]])[1]) == array("d", [3.0, 4.0])
    stamp = Time()
    set_stamp(stamp, 1_234_567_890_123_456_789)
    assert (stamp.sec, stamp.nanosec) == (1_234_567_890, 123_456_789)
    assert read_stamp(stamp) == 1_234_567_890_123_456_789


def test_a_stamp_that_is_no_time_is_rejected_and_a_negative_duration_is_not():
    with pytest.raises(MessageError, match="t: header.stamp: expected sec of 0 or more") as caught:
        read_stamp(Time(sec=2147483647, nanosec=4294967295), "t: header.stamp")
    assert caught.value.reason == "invalid stamp"
    assert read_duration(Duration(sec=-1)) == -1_000_000_000


def test_malformed_bytes_are_no_message():
    with pytest.raises(MessageError, match="expected a serialized builtin_interfaces/Time, received 7 bytes") as caught:
        deserialize(b"\0\1\0\0\1\2\3", Time)
    assert caught.value.reason == "malformed"
