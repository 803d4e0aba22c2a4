# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Takes serialized messages together with the GID of their publisher, on every release of ROS 2: rcl's C interface.

The middleware provides the GID with each message. rclpy passes it on since ROS 2 Kilted, but not in Jazzy. There this
module calls the same function of rcl, ``rcl_take_serialized_message``, through ctypes, with the structures of
``rmw/types.h`` and ``rcutils/types/uint8_array.h``.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Callable
from typing import Any

from rclpy import subscription

RCLPY_GIVES_SENDERS = "publisher_gid" in getattr(getattr(subscription, "MessageInfo", None), "__annotations__", {})
"""Whether rclpy itself provides the sender of a message."""

Taken = tuple[bytes, dict[str, Any]] | None
"""A serialized message and its information: sequence number, times, GID; None: no message is waiting."""

_TAKEN, _NONE_WAITING = 0, 401  # RCL_RET_OK, RCL_RET_SUBSCRIPTION_TAKE_FAILED


class _Allocator(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in (
        "allocate", "deallocate", "reallocate", "zero_allocate", "state")]


class _Bytes(ctypes.Structure):
    _fields_ = [("buffer", ctypes.c_void_p), ("length", ctypes.c_size_t), ("capacity", ctypes.c_size_t),
                ("allocator", _Allocator)]


_INFO = struct.Struct("@qqQQP16s?7x")
"""rmw_message_info_t: times, sequence numbers of publication and reception, name of the middleware, GID, and a flag."""
_PLACE = struct.Struct("@PN")
"""Address and number of bytes, at the beginning of `_Bytes`."""


def _take_by_rclpy(handle: Any, message_type: type[Any]) -> Taken:
    taken: Taken = handle.take_message(message_type, True)
    return taken


def _taker_by_rcl() -> Callable[[Any, type[Any]], Taken]:
    """Return the function that calls rcl, whose libraries rclpy has loaded."""
    rcutils, rcl = ctypes.PyDLL("librcutils.so"), ctypes.PyDLL("librcl.so")  # PyDLL keeps the GIL, like rclpy
    rcutils.rcutils_get_default_allocator.restype = _Allocator
    allocator = rcutils.rcutils_get_default_allocator()
    take = rcl.rcl_take_serialized_message
    take.argtypes = [ctypes.c_void_p] * 4

    class Buffers(threading.local):
        """Structures that rcl fills, for each thread; the bytes are reused for the next message."""

        def __init__(self) -> None:
            self.message, self.info = _Bytes(allocator=allocator), ctypes.create_string_buffer(_INFO.size)
            self.filled = ctypes.addressof(self.message), ctypes.addressof(self.info), None

    buffers = Buffers()

    def take_by_rcl(handle: Any, message_type: type[Any]) -> Taken:
        mine = buffers
        code = take(handle.pointer, *mine.filled)
        if code == _TAKEN:
            published, received, sequence, _, _, gid, _ = _INFO.unpack_from(mine.info)
            return ctypes.string_at(*_PLACE.unpack_from(mine.message)), {
                "source_timestamp": published, "received_timestamp": received,
                "publication_sequence_number": sequence, "publisher_gid": {"data": gid}}
        if code == _NONE_WAITING:
            return None
        rcutils.rcutils_reset_error()
        return _take_by_rclpy(handle, message_type)  # raises rclpy's own exception

    return take_by_rcl


take_serialized: Callable[[Any, type[Any]], Taken] = _take_by_rclpy if RCLPY_GIVES_SENDERS else _taker_by_rcl()
"""Take the next message of a subscription, serialized.

Args:
    handle: Handle of the subscription, entered as a context manager.
    message_type: Type of the messages.

Returns:
    The message and its information.
"""
