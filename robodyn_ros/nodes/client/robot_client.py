# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Requests to the nodes of one robot, with NumPy arrays instead of messages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tf2_msgs.msg import TFMessage
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robodyn_interfaces.msg import ControllerState
from robodyn_interfaces.srv import Gravity
from robodyn_ros.base import topic_names
from robodyn_ros.base.errors import RobodynError
from robodyn_ros.base.timing import to_nanoseconds, to_seconds
from robodyn_ros.control.references.joint_trajectory import Points
from robodyn_ros.description.model import Array
from robodyn_ros.nodes.client.controller_client import ControllerClient
from robodyn_ros.nodes.client.graph import check_node_name
from robodyn_ros.nodes.common.messages import read_stamp, set_stamp
from robodyn_ros.simulation.tracking import TrackingSample


class RobotClient(ControllerClient):
    """A client of the nodes ``controller`` and ``dynamics``.

    Args:
        name: Name of the program's own node.
        controller: Name of the controller node.
        dynamics: Name of the dynamics node.
        namespace: Namespace of the graph.

    Raises:
        RobodynError: ROS cannot start in this environment.
        InputError: The namespace, or a name of a node, cannot be one.
    """

    def __init__(self, name: str, controller: str = "controller", dynamics: str = "dynamics",
                 namespace: str = "") -> None:
        check_node_name(dynamics)
        super().__init__(name, controller, namespace)
        self._dynamics = dynamics

    def follow(self, joint_names: Sequence[str], points: Points, seconds: float = 5.0) -> None:
        """Send a joint trajectory that starts on arrival.

        Args:
            joint_names: Names of the n joints.
            points: The points; incomplete velocities or accelerations of a point are omitted.
            seconds: Longest wait for a subscribing controller node [s].

        Raises:
            RobodynError: No controller node subscribes.
        """
        message = JointTrajectory(joint_names=list(joint_names), points=to_trajectory_points(points))
        self.publish(self._controller, f"{self._controller}/joint_trajectory", message, seconds)

    def record(self) -> list[TrackingSample]:
        """Start to record ``~/controller_state`` of a controller that follows joints.

        Returns:
            A list that grows by one sample per message while a method of this client waits. The time of a sample is the
            stamp of its joint state.
        """
        samples: list[TrackingSample] = []

        def on_state(message: ControllerState) -> None:
            stamp = message.header.stamp
            samples.append(TrackingSample(
                to_seconds(read_stamp(stamp)), message.controller, tuple(message.joint_names),
                np.array(message.reference.positions), np.array(message.feedback.positions),
                np.array(message.feedback.velocities), np.array(message.output)))

        self.node.create_subscription(ControllerState, f"{self._controller}/controller_state", on_state, 100)
        return samples

    def wait_for_transforms(self, seconds: float) -> None:
        """Wait until somebody publishes /tf.

        Raises:
            RobodynError: Nobody does.
        """
        self.first_message(TFMessage, topic_names.TF, 10, "message on /tf", seconds)

    def gravity_effort(self, joint_names: Sequence[str], q: Array, seconds: float = 10.0) -> Array:
        """Return the gravity efforts from the dynamics node, shape (n,) [N m or N].

        Args:
            joint_names: Names of the n joints.
            q: Joint positions, shape (n,) [rad or m].
            seconds: Longest wait for the service, and for its answer [s].

        Raises:
            RobodynError: The dynamics node does not answer or refuses.
        """
        request = Gravity.Request(joint_names=list(joint_names), position=np.asarray(q).tolist())
        answer = self.call(Gravity, self._dynamics, "gravity", request, seconds, repeatable=True)
        if not answer.success:
            raise RobodynError(f"node '{self._dynamics}' refused the request: {answer.message}")
        return np.array(answer.effort)


def to_trajectory_points(points: Points) -> list[JointTrajectoryPoint]:
    """Convert points to messages; incomplete velocities or accelerations are omitted."""
    fields = []
    for when, *rows in zip(points.times, points.q, points.v, points.a, strict=True):
        q, v, a = ([] if np.isnan(row).any() else row.tolist() for row in rows)
        point = JointTrajectoryPoint(positions=q, velocities=v, accelerations=a)
        set_stamp(point.time_from_start, to_nanoseconds(when))
        fields.append(point)
    return fields
