# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Joint messages as bytes: the same bytes and the same numbers as the middleware's own serialization."""

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from robodyn_ros.nodes.common.joint_wire import FIELDS, JointWire
from robodyn_ros.nodes.common.messages import read_stamp, set_stamp

NAMES = ["shoulder", "elbow", "a", "wrist_3_joint"]
STAMP = 12_345_678_901_234

names_of_joints = st.lists(st.text("abc_0ü", min_size=1, max_size=9), min_size=1, max_size=8)
fields_of_messages = st.sampled_from([FIELDS, ("effort",), ("position",), ("position", "effort")])


def message(names, fields, stamp, values, frame_id=""):
    made = JointState(name=names)
    made.header.frame_id = frame_id
    set_stamp(made.header.stamp, stamp)
    for field, numbers in zip(fields, values, strict=True):
        setattr(made, field, numbers)
    return made


@settings(max_examples=60, deadline=None)
@given(names_of_joints, fields_of_messages, st.integers(0, 2**31 * 10**9 - 1), st.randoms(use_true_random=False))
def test_written_and_read_as_the_middleware_does(names, fields, stamp, random):
    values = [[random.gauss(0.0, 1e3) for _ in names] for _ in fields]
    wire = JointWire(names, fields)
    assert wire.in_place
    written = deserialize_message(wire.encode(stamp, *map(np.array, values)), JointState)
    assert written == message(names, fields, stamp, values)
    read = JointWire(names, fields).decode(serialize_message(message(names, fields, stamp, values)))
    assert read is not None and read[0] == stamp
    np.testing.assert_array_equal(read[1], values)


@pytest.mark.parametrize("fields", [("effort",), ("position",), ("position", "effort"), FIELDS])
def test_written_messages_end_with_their_last_field(fields):
    wire, values = JointWire(NAMES, fields), np.ones((len(fields), 4))
    written = wire.encode(STAMP, *values)
    last = written.rindex(np.ones(4).tobytes()) + 32
    assert written[last:] == bytes(4 * (2 - FIELDS.index(fields[-1])))
    own = serialize_message(message(NAMES, fields, STAMP, values.tolist()))
    assert deserialize_message(written, JointState) == deserialize_message(own, JointState)
    own = written + bytes(len(own) - len(written))  # rclpy leaves arbitrary bytes in the padding between fields
    for data in (written, own, written):
        assert wire.decode(data)[0] == STAMP, "with surplus bytes and without, read in place"
    assert wire._seen[-1] == written[last:]


def test_what_is_read_is_a_copy_that_kernels_take_as_it_is():
    wire = JointWire(NAMES)
    first = wire.encode(STAMP, *np.ones((3, 4)))
    _, (q, v, effort) = wire.decode(first)
    wire.encode(STAMP + 1, *np.zeros((3, 4)))
    for array in (q, v, effort):
        assert array.flags.aligned and array.flags.c_contiguous and array.dtype == np.float64
        assert array.tolist() == [1.0] * 4


@pytest.mark.parametrize(("seconds", "nanoseconds"), [(2**31 - 1, 2**32 - 1), (0, 10**9), (-1, 0)])
def test_stamps_that_are_no_time_and_malformed_bytes_are_left_to_the_slow_way(seconds, nanoseconds):
    data = bytearray(JointWire(NAMES).encode(STAMP, *np.ones((3, 4))))
    assert JointWire(NAMES).decode(bytes(data))
    data[4:12] = struct.pack("=iI", seconds, nanoseconds)
    assert JointWire(NAMES).decode(bytes(data)) is None
    assert JointWire(NAMES).decode(b"\xff" * len(data)) is None


def test_numbers_that_are_not_finite_come_through():
    wire, values = JointWire(NAMES, ["effort"]), np.array([np.nan, np.inf, -np.inf, -0.0])
    stamp, (effort,) = wire.decode(wire.encode(STAMP, values))
    assert stamp == STAMP and effort.tobytes() == values.tobytes()


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, 1e300, -101.0])
@pytest.mark.parametrize("field", range(3))
def test_small_numbers_can_be_asked_for_in_the_first_fields(field, wrong):
    wire, values = JointWire(NAMES), np.arange(12.0).reshape(3, 4)
    stamp, read = wire.decode(wire.encode(STAMP, *values), 100.0, 100.0, 100.0)
    assert stamp == STAMP
    np.testing.assert_array_equal(read, values)
    values[field, 2] = wrong
    data = wire.encode(STAMP, *values)
    for fields in range(4):
        assert (wire.decode(data, *[100.0] * fields) is None) == (field < fields)
    assert wire.decode(serialize_message(JointState())) is None


@pytest.mark.parametrize("other", [
    message(NAMES[::-1], FIELDS, STAMP, np.ones((3, 4)).tolist()),
    message(["shoulder", "elbow", "b", "wrist_3_joint"], FIELDS, STAMP, np.ones((3, 4)).tolist()),
    message(NAMES[:3], FIELDS, STAMP, np.ones((3, 3)).tolist()),
    message(NAMES, ["effort"], STAMP, [[1.0] * 4]),
    message(NAMES, FIELDS, STAMP, [[1.0] * 4, [1.0] * 5, [1.0] * 3]),
    message([*NAMES[:3], "wrist_3"], FIELDS, STAMP, np.ones((3, 4)).tolist(), frame_id="123456"),
    message([], FIELDS, STAMP, np.ones((3, 4)).tolist()),
    JointState(),
], ids=["order", "name", "fewer", "fields", "lengths", "name and frame", "no names", "empty"])
def test_any_other_message_is_left_to_the_middleware(other):
    wire = JointWire(NAMES)
    assert wire.decode(serialize_message(other)) is None
    assert wire.decode(wire.encode(STAMP, *np.ones((3, 4)))) is not None


@pytest.mark.parametrize("frame", ["b", "base_link", "a/base_link", "Grundplatte"])
def test_any_frame_is_written_and_adopted(frame):
    values = np.arange(12.0).reshape(3, 4)
    data = JointWire(NAMES, frame=frame).encode(STAMP, *values)
    assert deserialize_message(data, JointState) == message(NAMES, FIELDS, STAMP, values.tolist(), frame_id=frame)
    wire, seen = JointWire(NAMES), []
    for other in (data, data, JointWire(NAMES).encode(STAMP, *values), data):
        stamp, read = wire.decode(other)
        assert stamp == STAMP
        np.testing.assert_array_equal(read, values)
        seen.append(wire._seen)
    assert seen[0] is seen[1], "the second message in a frame is read in place"


def test_gaps_between_strings_may_hold_anything():
    wire = JointWire(NAMES, ["effort"])
    data = bytearray(wire.encode(STAMP, np.arange(4.0)))
    gap = data.index(b"shoulder\0") + len(b"shoulder\0")  # up to the next multiple of 4
    for filling in (b"\x01\x02\x03", b"\xff\xff\xff", b"\0\0\0"):
        data[gap : gap + 3] = filling
        assert read_stamp(deserialize_message(bytes(data), JointState).header.stamp) == STAMP
        stamp, (effort,) = wire.decode(bytes(data))
        assert stamp == STAMP and effort.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_without_known_places_everything_goes_by_way_of_messages(monkeypatch):
    monkeypatch.setattr(JointWire, "_probe", lambda self: (b"", []))
    wire, values = JointWire(NAMES), np.arange(12.0).reshape(3, 4)
    assert not wire.in_place
    data = wire.encode(STAMP, *values)
    assert deserialize_message(data, JointState) == message(NAMES, FIELDS, STAMP, values.tolist())
    assert wire.decode(data) is None


def test_a_robot_without_joints():
    wire = JointWire([])
    data = wire.encode(STAMP, *np.zeros((3, 0)))
    assert deserialize_message(data, JointState) == message([], FIELDS, STAMP, [[], [], []])
