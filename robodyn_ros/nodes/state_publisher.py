# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Node ``state_publisher``: the robot's links on /tf and /tf_static and its description on robot_description.

It replaces robot_state_publisher where that is not installed, with the same topics, message types, qualities of service
and parameters ``robot_description``, ``publish_frequency`` and ``frame_prefix``. It publishes the newest joint state at
its own rate.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from geometry_msgs.msg import TransformStamped
from numpy.typing import NDArray
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from robodyn_ros.base import topic_names
from robodyn_ros.base.errors import RobodynError
from robodyn_ros.base.fields import Field
from robodyn_ros.base.timing import split_stamp
from robodyn_ros.compile import compile_function
from robodyn_ros.description.held_joints import held_positions
from robodyn_ros.description.model import Array
from robodyn_ros.description.urdf import load_urdf, load_urdf_text
from robodyn_ros.kinematics.link_tree import LinkTree
from robodyn_ros.nodes.common.messages import JointOrder, set_stamp
from robodyn_ros.nodes.common.parameters import FRAME_PREFIX, ROBOT_PARAMETERS, given_robot
from robodyn_ros.nodes.common.polled_states import DEFAULT_RATE, NewestStates, PolledJointStates
from robodyn_ros.nodes.common.poses import set_quaternion, set_vector, to_numbers
from robodyn_ros.nodes.common.runtime import RobodynNode, run_node
from robodyn_ros.nodes.common.topics import LATCHED_QOS

PARAMETERS = (
    *ROBOT_PARAMETERS,
    Field("publish_frequency", DEFAULT_RATE, "Rate of /tf while joint states arrive", unit="Hz", structural=True,
          minimum=0.1, maximum=1000.0),
    FRAME_PREFIX,
)

TF_QOS = QoSProfile(depth=100)
"""The quality of service of the broadcasters of tf2."""
_STAMP = struct.Struct("=iI")
_NUMBERS = 7  # of a transform: x, y, z and the quaternion x, y, z, w


class StatePublisher(RobodynNode):
    """Publishes every joint of the description as a transform from its parent link to its child link."""

    def __init__(self) -> None:
        super().__init__("state_publisher")
        self.parameters.declare(PARAMETERS)
        model = given_robot(self.parameters, load_urdf, load_urdf_text, hold_massless=False)
        self._tree = LinkTree.from_model(model)
        moving, fixed = [joint.link for joint in model.joints], self._tree.fixed_poses()
        self._moving, self._wire = self._frames(moving), TransformWire(self._frames(moving))
        self._poses: Callable[[Array], Array] | None = None  # of the moving links
        self._dofs = np.array([joint.dof for joint in model.joints], dtype=np.intp)

        description = self.create_publisher(String, topic_names.ROBOT_DESCRIPTION, LATCHED_QOS)
        description.publish(String(data=model.description))
        static = self.create_publisher(TFMessage, topic_names.TF_STATIC, LATCHED_QOS)
        static.publish(transforms_message(self._frames(fixed), self.get_clock().now().nanoseconds,
                                          np.array(list(map(to_numbers, fixed.values())))))
        self._tf = self.create_publisher(TFMessage, topic_names.TF, TF_QOS)

        start = np.full(model.n, np.nan)
        for name, position in held_positions(model).items():  # simulated robots do not publish these joints
            start[model.joint_index(name)] = position
        PolledJointStates(self, JointOrder(model.joint_names), self.parameters["publish_frequency"], self._tf,
                          self._publish, start=start)
        self.introduction = f"robot '{model.name}': {len(model.frames)} links, base link '{model.base_link}'"

    def _frames(self, links: Iterable[str]) -> dict[str, str]:
        """Return each link's parent frame by the frame of the link."""
        prefix: str = self.parameters["frame_prefix"]
        return {prefix + link: prefix + self._tree.parents[link] for link in links}

    def _publish(self, newest: NewestStates) -> None:
        """Publish the moving links whose joints have new states; on the polling thread.

        Each transform has the stamp of
        its joint, so that no position appears newer than it is.
        """
        if self._poses is None:
            self._poses = compile_function(
                lambda q: np.array(list(map(to_numbers, self._tree.moving_poses(q).values()))), {"q": newest.q.shape},
                name="transforms")
        poses, stamps = self._poses(newest.q), newest.stamps[self._dofs]
        new = newest.updated[self._dofs] | (stamps == newest.stamps.max())
        if new.all() and (stamps == stamps[0]).all() and not np.isnan(newest.q).any():
            self._tf.publish(self._wire.encode(int(stamps[0]), poses))
            return
        new &= ~np.isnan(poses.sum(axis=1))
        links = dict(frames for frames, is_new in zip(self._moving.items(), new, strict=True) if is_new)
        self._tf.publish(transforms_message(links, stamps[new], poses[new]))


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM."""
    return run_node(StatePublisher, args)


class TransformWire:
    """Writes serialized tf2_msgs/TFMessage with the same links.

    Args:
        parents: Frame of each link's parent by the frame of the link.

    Raises:
        RobodynError: The middleware serializes messages in an unknown form.
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
        # Destination of each byte, so that one assignment writes all links.
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
