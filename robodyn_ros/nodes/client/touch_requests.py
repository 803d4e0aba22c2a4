# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Requests of the touch demo: exert a force, draw a circle, record both."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from geometry_msgs.msg import Vector3, WrenchStamped

from robodyn_interfaces.msg import CartesianSegment, CartesianTrajectory, ControllerState
from robodyn_ros.base import topic_names
from robodyn_ros.base.timing import to_nanoseconds, to_seconds
from robodyn_ros.description.model import Array
from robodyn_ros.nodes.client.graph_client import GraphClient
from robodyn_ros.nodes.common.messages import read_stamp, set_stamp
from robodyn_ros.nodes.common.poses import set_vector, to_vector, to_wrench


@dataclass
class TouchRecord:
    """Recorded measurements; each list has one element per message.

    Attributes:
        force_times: Stamps of the forces [s].
        forces: Measured forces of the surroundings in sensor axes, shape (3,) each [N].
        times: Stamps of the positions [s].
        desired: Desired position of the tip link in the base frame, shape (3,) each [m].
        measured: Measured position likewise [m].
        joints: Joint positions in the robot's order, shape (n,) each [rad or m].
    """

    force_times: list[float] = field(default_factory=list)
    forces: list[Array] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    desired: list[Array] = field(default_factory=list)
    measured: list[Array] = field(default_factory=list)
    joints: list[Array] = field(default_factory=list)


class TouchRequests:
    """Sends requests to a controller that follows poses and wrenches.

    Args:
        client: The connection to the graph.
        base_link: Name of the robot's base link.
    """

    def __init__(self, client: GraphClient, base_link: str) -> None:
        self._client, self._frame = client, base_link

    def press(self, force: Array, seconds: float) -> None:
        """Exert a force on the surroundings from now on.

        Args:
            force: In base axes, shape (3,) [N].
            seconds: Longest wait for the controller [s].

        Raises:
            RobodynError: No controller subscribes.
        """
        message = WrenchStamped(wrench=to_wrench(np.concatenate([force, np.zeros(3)])))
        message.header.frame_id = self._frame
        self._client.publish("controller", topic_names.WRENCH, message, seconds)

    def draw_circle(self, center: Array, axis: Array, duration: float, seconds: float) -> None:
        """Move once around an axis.

        Args:
            center: A point on the axis in the base frame, shape (3,) [m].
            axis: Its direction in base axes, shape (3,).
            duration: Of the motion [s].
            seconds: Longest wait for the controller [s].

        Raises:
            RobodynError: No controller subscribes.
        """
        segment = CartesianSegment(shape=CartesianSegment.CIRCLE, angle=2.0 * np.pi, axis=Vector3())
        set_vector(segment.center, center)
        set_vector(segment.axis, axis)
        set_stamp(segment.duration, to_nanoseconds(duration))
        message = CartesianTrajectory(segments=[segment])
        message.header.frame_id = self._frame
        self._client.publish("controller", topic_names.CARTESIAN_TRAJECTORY, message, seconds)

    def record(self) -> TouchRecord:
        """Start recording the sensor and the controller's state; the lists grow while a method of the client waits."""
        found = TouchRecord()

        def on_wrench(message: WrenchStamped) -> None:
            found.force_times.append(to_seconds(read_stamp(message.header.stamp)))
            found.forces.append(to_vector(message.wrench.force))

        def on_state(message: ControllerState) -> None:
            if message.cartesian:
                state = message.cartesian[0]
                found.times.append(to_seconds(read_stamp(message.header.stamp)))
                found.desired.append(to_vector(state.reference.position))
                found.measured.append(to_vector(state.feedback.position))
                found.joints.append(np.array(message.feedback.positions))

        self._client.node.create_subscription(WrenchStamped, topic_names.FORCE_TORQUE, on_wrench, 100)
        self._client.node.create_subscription(ControllerState, topic_names.CONTROLLER_STATE, on_state, 100)
        return found
