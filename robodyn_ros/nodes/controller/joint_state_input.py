# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Joint states as drivers publish them: in any order, with more joints, without velocities."""

from __future__ import annotations

from math import hypot
from typing import NamedTuple

import numpy as np
from sensor_msgs.msg import JointState

from robodyn_ros.checks import Range
from robodyn_ros.control.velocity_estimate import VelocityEstimate
from robodyn_ros.description.model import Array
from robodyn_ros.nodes.common.diagnostics import Diagnostics
from robodyn_ros.nodes.common.joint_wire import FIELDS, JointWire
from robodyn_ros.nodes.common.messages import POSITION, VELOCITY, JointOrder, MessageError, read_stamp
from robodyn_ros.nodes.common.parameters import Parameter

TOPIC = "joint_states"
REJECTED_STATES = "rejected joint states"

VELOCITY_FILTER = Parameter(
    "velocity_filter", 0.0, "Time constant of the low-pass filter on velocities that joint states lack, which are "
    "differences of positions [s]; 0: none.", read_only=True, minimum=0.0, maximum=10.0,
)


class MeasuredState(NamedTuple):
    """A joint state in the robot's order.

    Attributes:
        stamp: Its stamp [ns].
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
        frame: Its ``header.frame_id``.
    """

    stamp: int
    q: Array
    v: Array
    frame: str


class _Foreign(NamedTuple):
    """Messages of a publisher with another order or more joints."""

    wire: JointWire
    columns: list[int]
    fields: list[str]


class JointStateInput:
    """Reads serialized joint states; bad ones are counted and reported.

    Messages of the form that this package's nodes publish cost least. The form of another publisher is learnt from its
    first message, so that its numbers are read in place too.

    Args:
        joints: The robot's joints.
        diagnostics: Receives reports of bad joint states.
        estimate: Gives velocities that a message lacks: an empty field, or NaN, as joint_state_broadcaster publishes.
    """

    def __init__(self, joints: JointOrder, diagnostics: Diagnostics, estimate: VelocityEstimate) -> None:
        self._joints, self._diagnostics, self._estimate = joints, diagnostics, estimate
        self._wire = JointWire(joints.names)
        self._foreign: _Foreign | None = None
        self.estimated = False

    def read(self, data: bytes) -> MeasuredState | None:
        """Read a message; for one thread at a time.

        Returns:
            The joint state; None: it was bad, and is reported.
        """
        known = self._wire.decode_within(data, POSITION.maximum, VELOCITY.maximum)  # without the effort
        if known is not None:
            stamp, (q, v, _) = known
            return MeasuredState(stamp, q, v, self._wire.frame)
        try:
            return self._read_foreign(data) or self._read_message(data)
        except MessageError as error:
            self._diagnostics.problem(f"{REJECTED_STATES}: {error.reason}", str(error))
            return None

    def _read_foreign(self, data: bytes) -> MeasuredState | None:
        """Read a message of the form of the last one; None: it has another form, or a number to be looked at."""
        if self._foreign is None:
            return None
        wire, columns, fields = self._foreign
        known = wire.decode(data)
        if known is None:
            return None
        values = {field: array[columns] for field, array in zip(fields, known[1], strict=True)}
        if not hypot(*values["position"].tolist()) <= POSITION.maximum:
            return None
        return self._complete(known[0], values["position"], values.get("velocity"), wire.frame)

    def _read_message(self, data: bytes) -> MeasuredState | None:
        message, joints = self._diagnostics.deserialize(data, JointState, TOPIC), self._joints
        if message is None:
            return None
        q = joints.read(message.name, message.position, f"{TOPIC}: position", POSITION, others=True)
        stamp = read_stamp(message.header.stamp, f"{TOPIC}: header.stamp")
        v = None
        if message.velocity:
            columns = self._columns(message)
            if len(message.velocity) != len(message.name or joints.names):
                raise MessageError("wrong length", f"{TOPIC}: velocity: expected one value per joint, "
                                   f"{len(message.name or joints.names)}, received {len(message.velocity)}")
            v = np.array(message.velocity)[columns]
        measured = self._complete(stamp, q, v, message.header.frame_id)
        self._learn(message)
        return measured

    def _learn(self, message: JointState) -> None:
        """Read further messages of this form in place."""
        fields = [field for field in FIELDS if len(getattr(message, field)) == len(message.name)]
        if message.name and (list(message.name) != self._joints.names or fields != list(FIELDS)):
            self._foreign = _Foreign(JointWire(message.name, fields, message.header.frame_id), self._columns(message),
                                     fields)

    def _columns(self, message: JointState) -> list[int]:
        """Index in a message of each of the robot's joints."""
        place = {name: index for index, name in enumerate(message.name or self._joints.names)}
        return [place[name] for name in self._joints.names]

    def _complete(self, stamp: int, q: Array, v: Array | None, frame: str) -> MeasuredState:
        """Fill in velocities that are missing, and check the others."""
        estimate = None
        if v is None or np.isnan(v).any():
            estimate = self._estimate.update(stamp, q)
            v = estimate if v is None else np.where(np.isnan(v), estimate, v)
        self.estimated = estimate is not None
        _check(self._joints, v, VELOCITY)
        return MeasuredState(stamp, q, v, frame)


def _check(joints: JointOrder, v: Array, allowed: Range) -> None:
    if not hypot(*v.tolist()) <= allowed.maximum:
        joints.read((), v.tolist(), f"{TOPIC}: velocity", allowed)
