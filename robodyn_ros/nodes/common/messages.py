# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Reads joint values from messages by name, in any order, for all or some joints, and checks every value.

    joints = JointOrder(robot.joint_names)
    tau = joints.read(message.name, message.effort, "joint_commands: effort", EFFORT, fill=last_effort)

raises MessageError, an InputError, unless every value is in range and every joint known. Names in the order of the
robot, as sent by our nodes, cost one comparison.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration, Time
from numpy.typing import NDArray
from rclpy.serialization import deserialize_message

from robodyn_ros.base.checks import MAX_MAGNITUDE, Range
from robodyn_ros.base.errors import InputError
from robodyn_ros.base.timing import NANOSECONDS_PER_SECOND, join_stamp, split_stamp

Array = NDArray[np.float64]

POSITION = Range(-MAX_MAGNITUDE, MAX_MAGNITUDE, "rad or m")
VELOCITY = Range(-1e5, 1e5, "rad/s or m/s")
ACCELERATION = Range(-1e7, 1e7, "rad/s^2 or m/s^2")
EFFORT = Range(-1e7, 1e7, "N m or N")
VOLTAGE = Range(-1e6, 1e6, "V")
FORCE = Range(-1e7, 1e7, "N, torques in N m")
LENGTH = Range(-1e6, 1e6, "m")
"""Ranges of numbers in messages and requests: far beyond any robot, and far below an overflow in a formula. A message
with a number out of range is rejected like one with NaN.
"""


class MessageError(InputError):
    """A message has invalid names or values.

    Attributes:
        reason: Short name of the kind of fault, for counters.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class JointOrder:
    """The order of a robot's joints in its arrays.

    Args:
        names: The robot's joint names, length n.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self._index = {name: i for i, name in enumerate(self.names)}

    def __len__(self) -> int:
        """Return the number of joints."""
        return len(self.names)

    def read(self, names: Sequence[str], values: Sequence[float], what: str, allowed: Range,
             fill: Array | None = None, others: bool = False) -> Array:
        """Return named values in the robot's order.

        Args:
            names: Joint of each value, any order; empty: the order of the robot.
            values: One number per name.
            what: The message and field, for errors: "joint_commands: effort".
            allowed: Range of the values, the same on both sides of zero.
            fill: Values of joints that are not named, shape (n,); None: every joint must be named.
            others: Whether to ignore joints that the robot does not have, instead of rejecting the message.

        Returns:
            The values, shape (n,); they may share the memory of the message.

        Raises:
            MessageError: Lengths differ; a name is unknown, missing or repeated; or a value is not finite or out of
                range.
        """
        if (not names or names == self.names) and len(values) == len(self.names):
            # The array of the message is used without a copy: nobody changes a received message.
            result = np.frombuffer(values) if type(values) is array else np.array(values, dtype=np.float64)
            if not math.hypot(*values) <= allowed.maximum:  # then check them one by one
                self.check(self.names, values, what, allowed)
            return result
        columns = self.columns(names, what, others)
        if len(values) != len(columns):
            raise MessageError("wrong length",
                               f"{what}: expected one value per joint, {len(columns)}, received {len(values)}")
        kept = [(name, column, value) for name, column, value in zip(names or self.names, columns, values, strict=True)
                if column >= 0]
        self.check([name for name, _, _ in kept], [value for _, _, value in kept], what, allowed)
        if fill is None and len(kept) < len(self.names):
            missing = sorted(set(self.names) - {name for name, _, _ in kept}, key=self._index.__getitem__)
            raise MessageError("missing joint",
                               f"{what}: no value for {_quote(missing)}; every joint of the robot must be named")
        result = np.zeros(len(self.names)) if fill is None else np.array(fill, dtype=np.float64)
        for _, column, value in kept:
            result[column] = value
        return result

    def columns(self, names: Sequence[str], what: str, others: bool = False) -> list[int]:
        """Return the index of each name in the robot's order.

        Args:
            names: Names of joints; empty: all, in the order of the robot.
            what: The message, for errors.
            others: Whether to return -1 for joints that the robot does not have, instead of rejecting them.

        Raises:
            MessageError: A name is unknown or repeated.
        """
        names = names or self.names
        columns = [self._index.get(name, -1) for name in names]
        unknown = [name for name, column in zip(names, columns, strict=True) if column < 0]
        if unknown and not others:
            raise MessageError("unknown joint",
                               f"{what}: unknown joint {_quote(unknown)}; the robot has {_quote(self.names)}")
        known = [column for column in columns if column >= 0]
        if len(set(known)) < len(known):
            twice = [name for name in self.names if list(names).count(name) > 1]
            raise MessageError("repeated joint", f"{what}: joint {_quote(twice)} is named more than once")
        return columns

    @staticmethod
    def check(names: Sequence[str], values: Sequence[float], what: str, allowed: Range) -> None:
        """Check values of joints; arguments as for `read`.

        Raises:
            MessageError: A value is not finite or out of range.
        """
        for name, value in zip(names, values, strict=True):
            if not math.isfinite(value):
                raise MessageError("not finite",
                                   f"{what}: expected finite numbers, received {value} for joint '{name}'")
            if not allowed.minimum <= value <= allowed.maximum:
                raise MessageError("out of range", f"{what}: expected {allowed}, received {value:g} for joint '{name}'")


def deserialize(data: bytes, message_type: type[Any]) -> Any:
    """Convert a serialized message to a message.

    Raises:
        MessageError: The message is malformed: cut off, or not of this type.
    """
    try:
        return deserialize_message(data, message_type)
    except Exception:  # the middleware raises RMWError without a reason
        raise MessageError("malformed", f"expected a serialized {message_type.__module__.split('.')[0]}/"
                           f"{message_type.__name__}, received {len(data)} bytes that are none") from None


def to_field(values: Array) -> array[float]:
    """Convert values to the type that a float64[] field accepts without checking each element."""
    return array("d", values.tobytes())


def set_stamp(stamp: Time | Duration, nanoseconds: int) -> None:
    """Write a time into a stamp or a duration.

    Args:
        stamp: The field to write.
        nanoseconds: Time since the epoch of its clock [ns].
    """
    stamp.sec, stamp.nanosec = split_stamp(nanoseconds)


def read_stamp(stamp: Time, what: str = "header.stamp") -> int:
    """Return the time of a stamp since the epoch of its clock [ns].

    Args:
        stamp: The field to read.
        what: Name of the field, for errors.

    Raises:
        MessageError: The stamp is negative, or has nanoseconds of a second or more.
    """
    try:
        return join_stamp(stamp.sec, stamp.nanosec)
    except InputError as error:
        raise MessageError("invalid stamp", f"{what}: {error}") from None


def read_duration(duration: Duration) -> int:
    """Return the length of a duration, which may be negative [ns]."""
    return int(duration.sec) * NANOSECONDS_PER_SECOND + int(duration.nanosec)


def _quote(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
