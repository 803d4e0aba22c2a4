# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Serialized transforms of tf, without a Python object for each link and number; see :mod:`.joint_wire`."""

from __future__ import annotations

import struct
from collections.abc import Mapping

import numpy as np
from geometry_msgs.msg import TransformStamped
from numpy.typing import NDArray
from rclpy.serialization import serialize_message
from tf2_msgs.msg import TFMessage

from robodyn_ros.base.errors import RobodynError
from robodyn_ros.base.timing import split_stamp
from robodyn_ros.description.model import Array
from robodyn_ros.nodes.common.messages import set_stamp
from robodyn_ros.nodes.common.poses import set_quaternion, set_vector

_STAMP = struct.Struct("=iI")
_NUMBERS = 7  # of a transform: x, y, z and the quaternion x, y, z, w


class TransformWire:
    """Writes serialized tf2_msgs/TFMessage with the same links.

    Args:
        parents: Frame of each link's parent by the frame of the link.

    Raises:
        RobodynError: The middleware serializes messages in a form that is not known.
    """

    def __init__(self, parents: Mapping[str, str]) -> None:
        stamp, values = 0x0102030405060708, np.random.default_rng(0).normal(size=(len(parents), _NUMBERS))
        self._buffer = bytearray(serialize_message(transforms_message(parents, stamp, values)))
        self._bytes = np.frombuffer(self._buffer, np.uint8)
        pattern, end, stamps, numbers = _STAMP.pack(*split_stamp(stamp)), 0, [], []
        for row in values:
            found = self._buffer.find(pattern, end), self._buffer.find(row.tobytes(), end)
            if not 0 <= found[0] < found[1]:
                raise RobodynError("tf: this middleware does not serialize messages as CDR: choose another one by "
                                   "RMW_IMPLEMENTATION")
            stamps.append(found[0])
            numbers.append(found[1])
            end = found[1] + row.nbytes
        # Where each byte goes, so that one assignment writes all links.
        self._stamps = np.add.outer(np.array(stamps, int), np.arange(_STAMP.size))
        self._numbers = np.add.outer(np.array(numbers, int), np.arange(_NUMBERS * values.itemsize))

    def encode(self, stamp: int, values: Array) -> bytes:
        """Serialize a message; for one thread at a time.

        Args:
            stamp: Stamp of all transforms [ns].
            values: Position and quaternion x, y, z, w of each link in its parent, shape (links, 7).
        """
        self._bytes[self._stamps] = np.frombuffer(_STAMP.pack(*split_stamp(stamp)), np.uint8)
        self._bytes[self._numbers] = values.view(np.uint8)
        return bytes(self._buffer)


def transforms_message(parents: Mapping[str, str], stamps: int | NDArray[np.int64], values: Array) -> TFMessage:
    """Return a message of transforms.

    Args:
        parents: As for :class:`TransformWire`.
        stamps: Stamp of all transforms, or of each [ns].
        values: As for `TransformWire.encode`.
    """
    message = TFMessage()
    each = np.broadcast_to(stamps, len(parents)).tolist()
    for (child, parent), stamp, row in zip(parents.items(), each, values, strict=True):
        transform = TransformStamped(child_frame_id=child)
        transform.header.frame_id = parent
        set_stamp(transform.header.stamp, stamp)
        set_vector(transform.transform.translation, row[:3])
        set_quaternion(transform.transform.rotation, row[3:])
        message.transforms.append(transform)
    return message
