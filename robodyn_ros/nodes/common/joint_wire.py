# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Serialized joint states and commands, without a Python object for each name and number.

rclpy takes longer to serialize or deserialize a sensor_msgs/JointState than a whole control tick. From one tick to the
next, only the stamp and the numbers of such a message change. Hence the control path publishes and takes messages as
bytes, and writes and reads only the stamp and the numbers. A probe serialization by the middleware shows their offsets.
Messages of any other form go through rclpy.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from math import hypot
from operator import itemgetter

import numpy as np
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from robodyn_ros.base.timing import NANOSECONDS_PER_SECOND, split_stamp
from robodyn_ros.description.model import Array
from robodyn_ros.nodes.common.messages import MessageError, deserialize, set_stamp, to_field

FIELDS = ("position", "velocity", "effort")

_STAMP = struct.Struct("=iI")
_STAMP_BEGIN, _STAMP_END = 4, 12  # after the four bytes of the encoding
_NUMBER, _LENGTH = 8, 4  # sizes [bytes]
_MAX_OTHER_FORMS = 8
"""Limit of the other forms that are remembered, one for each other publisher."""


class JointWire:
    """Writes and reads serialized joint messages with given names, in a given order, and given fields.

    Args:
        names: Joint names, length n.
        fields: Which of position, velocity and effort have n numbers; the others have none.
        frame: ``header.frame_id`` of the messages; `decode` adopts the frame of the messages that it reads.

    Attributes:
        in_place: Whether the offsets of the numbers are known; if not, rclpy serializes every message.
    """

    def __init__(self, names: Sequence[str], fields: Sequence[str] = FIELDS, frame: str = "") -> None:
        self._names, self._fields, self._n = list(names), tuple(fields), len(names)
        self._lay_out(frame)

    def _lay_out(self, frame: str) -> None:
        """Determine the offsets of stamp and numbers in messages with this frame."""
        self._frame = frame
        self._unfit: dict[tuple[int, bytes], None] = {}  # other forms, which are not deserialized again
        data, self._begins = self._probe()
        self.in_place = bool(self._begins)
        if not self.in_place:
            return
        first, last = self._begins[0], self._begins[-1] + _NUMBER * self._n
        # rclpy adds surplus bytes after the lengths of the empty fields at the end; strict readers refuse them.
        end = last + _LENGTH * (len(FIELDS) - 1 - FIELDS.index(self._fields[-1]))
        self._sizes = end, len(data)
        self._region = first, last
        self._split = itemgetter(*(slice(place, place + self._n)
                                   for place in ((begin - first) // _NUMBER for begin in self._begins)))
        ends = [begin + _NUMBER * self._n for begin in self._begins]
        # All bytes except stamp and numbers: encoding, names, and lengths between and after the numbers.
        fixed = [slice(0, _STAMP_BEGIN), slice(_STAMP_END, first),
                 *(slice(end, begin) for end, begin in zip(ends, self._begins[1:], strict=False)), slice(last, end)]
        self._fixed = itemgetter(*fixed)
        self._seen = self._fixed(data)
        # The pieces of a message; odd places are empty, for stamp and numbers.
        self._pieces = [piece for part in fixed for piece in (data[part], b"")][:-1]

    def encode(self, stamp: int, *values: Array) -> bytes:
        """Serialize a message; for one thread at a time.

        Args:
            stamp: Its stamp [ns].
            *values: One array per field, shape (n,), float64.
        """
        if not self.in_place:
            return bytes(serialize_message(self._message(stamp, values)))
        pieces = self._pieces.copy()
        pieces[1] = _STAMP.pack(*divmod(stamp, NANOSECONDS_PER_SECOND))
        pieces[3::2] = [array.tobytes() for array in values]
        data = b"".join(pieces)
        if len(data) != self._sizes[0]:
            raise ValueError(f"{len(self._fields)} arrays of shape ({self._n},), received {values}")
        return data

    def decode(self, data: bytes, *largest: float) -> tuple[int, Sequence[Array]] | None:
        """Read a serialized message; for one thread at a time.

        Args:
            data: The message.
            *largest: Largest norm of the numbers of the first field, of the second one, and so on; the last fields may
                be without one, and may then have numbers that are not finite.

        Returns:
            Stamp [ns] and one array per field, shape (n,), read-only; None if the message has another form, is
            malformed, has an invalid stamp, or the norm of a field is larger or not finite.
        """
        if not self.in_place:
            return None
        if not (len(data) in self._sizes and self._fixed(data) == self._seen) and not self._recognize(data):
            return None
        seconds, nanoseconds = _STAMP.unpack_from(data, _STAMP_BEGIN)
        if seconds < 0 or nanoseconds >= NANOSECONDS_PER_SECOND:
            return None
        begin, end = self._region
        numbers = np.frombuffer(data[begin:end])  # a copy, as numbers in messages are not aligned
        arrays = [numbers] if len(self._fields) == 1 else self._split(numbers)
        for array, bound in zip(arrays, largest):  # noqa: B905  (the last fields may be without a bound)
            if not hypot(*array.tolist()) <= bound:  # faster than NumPy for few numbers
                return None
        return seconds * NANOSECONDS_PER_SECOND + nanoseconds, arrays

    def _recognize(self, data: bytes) -> bool:
        """Return whether a message has this form; adopt its frame if that differs."""
        form = len(data), data[_STAMP_END:self._region[0]]  # the frame and the names
        if form in self._unfit:
            return False
        try:
            message = deserialize(data, JointState)
            if self._fits(message):
                if message.header.frame_id != self._frame:
                    self._lay_out(message.header.frame_id)
                if self.in_place and len(data) in self._sizes:
                    # Padding between strings may hold any bytes, usually the same in all messages of one publisher.
                    self._seen = self._fixed(data)
                    return True
        except (MessageError, UnicodeError):  # malformed, or a frame that cannot be written
            pass
        self._unfit[form] = None
        if len(self._unfit) > _MAX_OTHER_FORMS:
            del self._unfit[next(iter(self._unfit))]
        return False

    def _fits(self, message: JointState) -> bool:
        """Return whether a message has these names and fields."""
        return list(message.name) == self._names and all(
            len(getattr(message, name)) == (self._n if name in self._fields else 0) for name in FIELDS)

    def _message(self, stamp: int, values: Sequence[Array]) -> JointState:
        message = JointState(name=self._names)
        message.header.frame_id = self._frame
        set_stamp(message.header.stamp, stamp)
        for name, array in zip(self._fields, values, strict=True):
            setattr(message, name, to_field(array))
        return message

    def _probe(self) -> tuple[bytes, list[int]]:
        """Return a message and the offset of each field's numbers; an empty list if the offsets are ambiguous."""
        random = np.random.default_rng(0)
        stamp, values = 0x0102030405060708, [random.normal(size=self._n) for _ in self._fields]
        data = bytes(serialize_message(self._message(stamp, values)))
        begins = [data.find(array.tobytes()) for array in values]
        known = (self._n > 0 and -1 not in begins and begins == sorted(begins)
                 and all((begin - begins[0]) % _NUMBER == 0 for begin in begins)
                 and data[_STAMP_BEGIN:_STAMP_END] == _STAMP.pack(*split_stamp(stamp)))
        return data, begins if known else []
