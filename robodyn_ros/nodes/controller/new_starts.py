# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Topic ``new_starts``: joint states from which the hardware has controllers begin anew."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from robodyn_interfaces.msg import NewStart
from robodyn_ros.base import topic_names
from robodyn_ros.nodes.common.joint_states import Indices
from robodyn_ros.nodes.common.messages import JointOrder, MessageError, read_stamp
from robodyn_ros.nodes.common.participants import participant, sender
from robodyn_ros.nodes.common.runtime import RobodynNode
from robodyn_ros.nodes.common.topics import NEWEST_DEPTH, STATE_QOS, unserved_subscription
from robodyn_ros.nodes.internals.rcl import take_serialized

TOPIC = topic_names.NEW_STARTS


class _Asked(NamedTuple):
    """A message: its stamp [ns], the robot's joints that it names, why they begin anew, and the process it is from."""

    stamp: int
    joints: frozenset[int]
    reason: str
    process: bytes


class NewStarts:
    """Matches the messages with joint states; for the thread of the control path.

    A message comes before the joint state that it names. If it comes later, or if that joint state is lost, the next
    joint state of these joints is the new start. A driver that does not know the topic asks for none.

    Args:
        node: The controller node.
        joints: The robot's joints.
        follows: Returns whether joint states of a participant are answered; messages of others wait.

    Attributes:
        handle: Of the subscription, which the control path uses.
    """

    def __init__(self, node: RobodynNode, joints: JointOrder,
                 follows: Callable[[bytes], bool] = lambda process: True) -> None:
        self._joints, self._diagnostics, self._follows = joints, node.diagnostics, follows
        self.handle = unserved_subscription(node, NewStart, TOPIC, STATE_QOS).handle
        self._waiting: deque[_Asked] = deque(maxlen=NEWEST_DEPTH)
        self._done: deque[_Asked] = deque(maxlen=len(joints))  # a paused simulation repeats its last ones

    def reason(self, stamp: int, joints: Indices) -> str:
        """Return why a joint state is a new start; empty if it is none.

        Args:
            stamp: Its stamp [ns].
            joints: Index of each joint that it names.
        """
        while (taken := take_serialized(self.handle, NewStart)) is not None:
            self._note(*taken)
        if not self._waiting:
            return ""
        reached = [asked for asked in self._waiting
                   if asked.stamp <= stamp and not asked.joints.isdisjoint(joints.tolist())
                   and self._follows(asked.process)]
        for asked in reached:
            self._waiting.remove(asked)
        self._done.extend(reached)
        return f"the hardware says: {reached[-1].reason}" if reached else ""

    def _note(self, data: bytes, info: Mapping[str, Any]) -> None:
        message = self._diagnostics.deserialize(data, NewStart, TOPIC)
        try:
            asked = None if message is None else self._read(message, participant(sender(info)))
        except MessageError as error:
            self._diagnostics.problem(f"rejected new starts: {error.reason}", str(error))
            return
        if asked is not None and asked.joints and asked not in self._done:
            self._waiting.append(asked)

    def _read(self, message: NewStart, process: bytes) -> _Asked:
        columns = self._joints.columns(message.name, TOPIC, others=True)
        return _Asked(read_stamp(message.header.stamp, f"{TOPIC}: header.stamp"),
                      frozenset(column for column in columns if column >= 0), message.reason, process)
