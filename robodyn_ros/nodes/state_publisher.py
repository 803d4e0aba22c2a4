# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Node ``state_publisher``: the robot's links on /tf and /tf_static and its description on robot_description.

It replaces robot_state_publisher where that is not installed: it has the same topics, message types and qualities of
service, and the same parameters ``robot_description``, ``publish_frequency`` and ``frame_prefix``. It publishes the
newest joint state at its own rate.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
from numpy.typing import NDArray
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from robodyn_ros.description.urdf import load_urdf
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics.link_tree import LinkTree
from robodyn_ros.nodes.common.messages import POSITION, JointOrder, read_stamp
from robodyn_ros.nodes.common.parameters import FRAME_PREFIX, ROBOT_PARAMETERS, Parameter, robot_source
from robodyn_ros.nodes.common.poses import to_transform
from robodyn_ros.nodes.common.runtime import RobodynNode, run_node
from robodyn_ros.nodes.common.topics import LATCHED_QOS, LatestMessage

PARAMETERS = (
    *ROBOT_PARAMETERS,
    Parameter("publish_frequency", 50.0, "Rate of /tf while joint states arrive [Hz].", read_only=True,
              minimum=0.1, maximum=1000.0),
    FRAME_PREFIX,
)

TF_QOS = QoSProfile(depth=100)
"""The quality of service of the broadcasters of tf2."""


class StatePublisher(RobodynNode):
    """Publishes every joint of the description as a transform from its parent link to its child link."""

    def __init__(self) -> None:
        super().__init__("state_publisher")
        self.parameters.declare(PARAMETERS)
        model = load_urdf(robot_source(self.parameters))
        self._tree = LinkTree.from_model(model)
        self._prefix = self.parameters["frame_prefix"]
        self._joints = JointOrder(model.joint_names)
        self._q: NDArray[np.float64] = np.full(model.n, np.nan)

        description = self.create_publisher(String, "robot_description", LATCHED_QOS)
        description.publish(String(data=model.description))
        static = self.create_publisher(TFMessage, "/tf_static", LATCHED_QOS)
        static.publish(self._message(self._tree.fixed_poses().items(), self.get_clock().now().to_msg()))
        self._tf = self.create_publisher(TFMessage, "/tf", TF_QOS)

        self._joint_states = LatestMessage(self, self.diagnostics, JointState, "joint_states")
        period = 1.0 / self.parameters["publish_frequency"]
        self.create_steady_timer(period, self._publish_newest)
        self.log.info("robot", f"robot '{model.name}': {len(model.frames)} links, base link '{model.base_link}'")

    def _publish_newest(self) -> None:
        state = self._joint_states.take()
        if state is None:
            return
        try:
            read_stamp(state.header.stamp, "joint_states: header.stamp")  # it goes on to /tf
            self._q = self._joints.read(state.name, state.position, "joint_states: position", POSITION, fill=self._q,
                                        others=True)
        except InputError as error:
            self.diagnostics.problem("rejected joint states", str(error))
            return
        if self._tf.get_subscription_count() == 0:
            return  # poses and messages are most of this node's work
        known = [(link, pose) for link, pose in self._tree.moving_poses(self._q).items() if not np.isnan(pose).any()]
        self._tf.publish(self._message(known, state.header.stamp))

    def _message(self, poses: Iterable[tuple[str, NDArray[np.float64]]], stamp: Time) -> TFMessage:
        message = TFMessage()
        for link, pose in poses:
            transform = TransformStamped(child_frame_id=self._prefix + link, transform=to_transform(pose))
            transform.header.stamp = stamp
            transform.header.frame_id = self._prefix + self._tree.parents[link]
            message.transforms.append(transform)
        return message


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM."""
    return run_node(StatePublisher, args)
