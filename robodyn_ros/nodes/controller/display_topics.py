# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Topics for displays such as RViz: path of the tip link, desired path, target and efforts, at a low rate.

The executor publishes them, never the control thread. A topic that nobody subscribes to costs nothing.
"""

from __future__ import annotations

import copy
from collections import deque

import numpy as np
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Path
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from visualization_msgs.msg import MarkerArray

from robodyn_ros.base import topic_names
from robodyn_ros.base.fields import Field
from robodyn_ros.base.timing import to_nanoseconds
from robodyn_ros.control.contract.controller import JointReference
from robodyn_ros.control.references.reference import Trajectory
from robodyn_ros.control.references.tip_reference import ForceReference, TipReference
from robodyn_ros.nodes.common.messages import set_stamp, to_field
from robodyn_ros.nodes.common.parameters import FRAME_PREFIX
from robodyn_ros.nodes.common.poses import from_arrays, to_pose
from robodyn_ros.nodes.common.topics import LATCHED_QOS
from robodyn_ros.nodes.controller.law_drawings import LawDrawings
from robodyn_ros.nodes.controller.part import Context, Part

DISPLAY_RATE = Field("display_rate", 10.0, "Rate of ~/tip_path, ~/target, ~/effort and ~/drawing, for displays such as "
                     "RViz", unit="Hz", structural=True, minimum=0.1, maximum=100.0)

UNHEARD_PERIOD = 0.5
"""Time between two looks for subscribers, while there are none [s]."""

TRAIL = 80
"""Poses in ``~/tip_path``."""
SAMPLES = 60
"""Poses in ``~/desired_path``."""


class DisplayTopics(Part):
    """Publishes the controller's last tick and the trajectory under way for displays.

    Args:
        context: What it knows of the node.
    """

    PARAMETERS = (DISPLAY_RATE, FRAME_PREFIX)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        node, robot = context.node, context.robot
        self._loop, self._frame = context.loop, node.parameters[FRAME_PREFIX.name] + robot.model.base_link
        self._forward_kinematics = robot.dynamics().forward_kinematics
        self._tip_path = node.create_publisher(Path, topic_names.own(topic_names.TIP_PATH), 10)
        self._desired_path = node.create_publisher(Path, topic_names.own(topic_names.DESIRED_PATH), LATCHED_QOS)
        self._target = node.create_publisher(PoseStamped, topic_names.own(topic_names.TARGET), 10)
        self._effort = node.create_publisher(JointState, topic_names.own(topic_names.EFFORT), 10)
        self._drawing = node.create_publisher(MarkerArray, topic_names.own(topic_names.DRAWING), 10)
        self._drawings = LawDrawings(self._frame, node.stop_requested.is_set,
                                     lambda text: node.diagnostics.problem("failed drawings", text))
        self._joint_names = list(robot.joint_names)
        self._trail: deque[PoseStamped] = deque(maxlen=TRAIL)
        self._shown: Trajectory | None = None
        self._publishers = (self._tip_path, self._desired_path, self._target, self._effort, self._drawing)
        self._period = 1.0 / node.parameters[DISPLAY_RATE.name]
        self._timer = node.create_steady_timer(self._period, self._publish)

    def _publish(self) -> None:
        heard = any(map(self._heard, self._publishers))
        self._timer.timer_period_ns = to_nanoseconds(self._period if heard else max(self._period, UNHEARD_PERIOD))
        tick, header = self._loop.last, self._header()
        if tick is None:
            return
        self._show_motion(self._loop.motion(), header)
        if self._heard(self._tip_path):
            pose = to_pose(self._forward_kinematics(tick.state.q))
            self._trail.append(PoseStamped(header=header, pose=pose))
            self._tip_path.publish(Path(header=header, poses=list(self._trail)))
        else:
            self._trail.clear()
        if tick.reference is not None and self._heard(self._target):
            self._target.publish(self._pose(tick.reference, header))
        if self._heard(self._drawing) and (markers := self._drawings.markers(tick)) is not None:
            self._drawing.publish(markers)
        if self._heard(self._effort):
            # Without a stamp: RViz then takes the newest transform of each joint, which may be older than this tick.
            message = JointState(name=self._joint_names, effort=to_field(tick.effort))
            message.header.frame_id = self._frame
            self._effort.publish(message)

    def _show_motion(self, motion: Trajectory | None, header: Header) -> None:
        """Publish the desired path of another trajectory than before; without one, an empty path."""
        if motion is self._shown:
            return
        self._shown = motion
        path = Path(header=header)
        if motion is not None:
            motion = copy.copy(motion)  # sampling remembers where it was, and the control thread samples too
            times = np.linspace(motion.start_time, motion.end_time, SAMPLES).tolist()
            path.poses = [self._pose(motion.sample(time), header) for time in times]
        self._desired_path.publish(path)

    def _pose(self, reference: JointReference | TipReference | ForceReference, header: Header) -> PoseStamped:
        """Return the pose of the tip link in a reference."""
        if isinstance(reference, JointReference):
            return PoseStamped(header=header, pose=to_pose(self._forward_kinematics(reference.q)))
        return PoseStamped(header=header, pose=from_arrays(reference.position, reference.quaternion))

    def _header(self) -> Header:
        header = Header(frame_id=self._frame)
        set_stamp(header.stamp, self._loop.stamp)
        return header

    @staticmethod
    def _heard(publisher: Publisher) -> bool:
        return publisher.get_subscription_count() > 0
