# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Reads the values of one robot's joints from the joint states of any publisher.

Several publishers may share the state of a robot, such as the drivers of an arm and of its gripper. The newest message
is then not the complete state, so messages are read by joint name.
"""

from __future__ import annotations

from math import hypot
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import JointState

from robodyn_ros.base import topic_names
from robodyn_ros.description.model import Array
from robodyn_ros.nodes.common.diagnostics import Diagnostics
from robodyn_ros.nodes.common.joint_wire import FIELDS, JointWire
from robodyn_ros.nodes.common.messages import POSITION, VELOCITY, JointOrder, MessageError, read_stamp

TOPIC = topic_names.JOINT_STATES
REJECTED_STATES = "rejected joint states"

NO_STATES = "no joint states for"
"""Prefix of the report of a controller without joint states; commands read it."""

MAX_FORMS = 8
"""Limit of message forms that are read in place, one for each publisher."""

Indices = NDArray[np.intp]


class NamedState(NamedTuple):
    """State of m of the robot's joints, from one message.

    Attributes:
        stamp: Its stamp [ns].
        joints: Index of each joint in the robot's order, shape (m,).
        q: Joint positions, shape (m,) [rad or m].
        v: Joint velocities, shape (m,) [rad/s or m/s]; NaN where one is missing; None without any.
        effort: Joint efforts likewise [N m or N].
        complete: Whether it contains every joint, in the robot's order.
        good_velocities: Whether all velocities are present and in range.
    """

    stamp: int
    joints: Indices
    q: Array
    v: Array | None
    effort: Array | None
    complete: bool
    good_velocities: bool = False


class _Form(NamedTuple):
    """Messages of a publisher with its own names, order and fields.

    Attributes:
        wire: Reads the messages.
        fields: The fields that they have.
        places: Index in the message of each of the robot's joints that it names.
        joints: Index in the robot's order of each of them.
    """

    wire: JointWire
    fields: list[str]
    places: Indices
    joints: Indices


class JointStateReader:
    """Reads serialized joint states; for one thread at a time.

    Messages in the form of this package's nodes are fastest. Other forms are learnt from their first message, and then
    also read in place. Messages without the robot's joints are skipped.

    Args:
        joints: The robot's joints.
        diagnostics: Counts malformed messages.
        topic: Name of the topic, for messages.

    Attributes:
        other_names: Joint names of the last message in a new form without any of the robot's joints.
    """

    def __init__(self, joints: JointOrder, diagnostics: Diagnostics, topic: str = TOPIC) -> None:
        self._topic = topic
        self._names, self._order, self._diagnostics = joints.names, joints, diagnostics
        self._wire, self._all = JointWire(joints.names), np.arange(len(joints))
        self._forms: list[_Form] = []
        self._unlearnt: list[str] = []
        self.other_names: list[str] = []

    def read(self, data: bytes) -> NamedState | None:
        """Read a message.

        Returns:
            The state of the robot's joints; None: it contains none of them, or is malformed, which is reported.

        Raises:
            MessageError: Its values for the robot's joints cannot be used.
        """
        known = self._wire.decode(data, POSITION.maximum, VELOCITY.maximum)  # without the effort
        if known is not None:
            stamp, (q, v, effort) = known
            return NamedState(stamp, self._all, q, v, effort, True, True)
        for form in self._forms:
            if (numbers := form.wire.decode(data)) is not None:
                if not len(form.joints):
                    return None
                values = {field: array[form.places] for field, array in zip(form.fields, numbers[1], strict=True)}
                if hypot(*values["position"].tolist()) <= POSITION.maximum:
                    return self._state(numbers[0], form.joints, values)
        return self._read_message(data)

    def _read_message(self, data: bytes) -> NamedState | None:
        message = self._diagnostics.deserialize(data, JointState, self._topic)
        if message is None:
            return None
        columns = self._order.columns(message.name, self._topic, others=True)
        places = np.array([place for place, column in enumerate(columns) if column >= 0], dtype=np.intp)
        joints = np.array([column for column in columns if column >= 0], dtype=np.intp)
        names = [self._names[joint] for joint in joints]
        values: dict[str, Array] = {}
        for field in FIELDS if names else ():
            numbers = getattr(message, field)
            if field == "effort" and len(numbers) != len(columns):
                continue  # not needed
            if len(numbers) or field == "position":
                if len(numbers) != len(columns):
                    raise MessageError("wrong length", f"{self._topic}: {field}: expected one value per joint, "
                                       f"{len(columns)}, received {len(numbers)}")
                values[field] = np.array(numbers, dtype=np.float64)[places]
        if names:
            self._order.check(names, values["position"].tolist(), f"{self._topic}: position", POSITION)
            stamp = read_stamp(message.header.stamp, f"{self._topic}: header.stamp")
        else:
            self.other_names = list(message.name)
        self._learn(message, places, joints)
        return self._state(stamp, joints, values) if names else None

    def _state(self, stamp: int, joints: Indices, values: dict[str, Array]) -> NamedState:
        """Return the state, complete if it has all joints in the robot's order."""
        complete = len(joints) == len(self._names)
        if complete and not np.array_equal(joints, self._all):
            order = np.argsort(joints)
            joints, values = self._all, {field: array[order] for field, array in values.items()}
        return NamedState(stamp, joints, values["position"], values.get("velocity"), values.get("effort"), complete)

    def _learn(self, message: JointState, places: Indices, joints: Indices) -> None:
        """Read further messages of this form in place."""
        names = list(message.name)
        fields = [field for field in FIELDS if len(getattr(message, field)) == len(names)]
        if not names or "position" not in fields or any(len(getattr(message, field)) not in (0, len(names))
                                                        for field in FIELDS):
            return
        if len(self._forms) == MAX_FORMS and names != self._unlearnt:
            self._unlearnt = names  # learnt with the next message, so that names which always change are not learnt
            return
        self._forms = [_Form(JointWire(names, fields, message.header.frame_id), fields, places, joints),
                       *self._forms[:MAX_FORMS - 1]]
