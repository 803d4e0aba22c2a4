# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Node ``kinematic_robot``: a robot that follows its trajectories exactly, for robots without inertias.

It replaces hardware and controller: it follows trajectories on the controller's topic, and publishes joint states.
``robodyn simulate --kinematic`` runs it.
"""

from __future__ import annotations

import time

import numpy as np
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory as JointTrajectoryMessage

from robodyn_ros.base import topic_names
from robodyn_ros.base.errors import RobodynError
from robodyn_ros.control.contract.controller import JointReference
from robodyn_ros.control.references.joint_trajectory import JointTrajectory, check_count
from robodyn_ros.control.runtime.followed_reference import TrajectoryStart
from robodyn_ros.nodes.common.messages import JointOrder, set_stamp
from robodyn_ros.nodes.common.parameters import ROBOT_PARAMETERS, TIP_LINK, given_robot
from robodyn_ros.nodes.common.runtime import RobodynNode
from robodyn_ros.nodes.common.topics import STATE_QOS
from robodyn_ros.nodes.controller.joint_trajectories import plan, serialized_points
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.plant import default_position

RATE = 60.0
"""Joint states per second [Hz]."""


class KinematicRobot(RobodynNode):
    """Follows each trajectory from the present position, at any speed, and publishes the joint states."""

    def __init__(self) -> None:
        super().__init__("kinematic_robot")
        self.parameters.declare((*ROBOT_PARAMETERS, TIP_LINK))
        self._robot = given_robot(self.parameters, Robot.from_urdf, Robot.from_urdf_text)
        self._joints = JointOrder(self._robot.joint_names)
        rest = np.zeros(self._robot.n)
        self._reference = JointReference(default_position(self._robot), rest, rest)
        self._motion: JointTrajectory | None = None
        self._publisher = self.create_publisher(JointState, topic_names.JOINT_STATES, STATE_QOS)
        self.listen(JointTrajectoryMessage, topic_names.JOINT_TRAJECTORY, self._on_trajectory,
                    accepts=self._is_short_enough)
        self.create_steady_timer(1.0 / RATE, self._publish)
        self.introduction = (f"'{self._robot.name}', {self._robot.n} joints, without dynamics: motions are followed "
                             "exactly")

    def _is_short_enough(self, message: bytes) -> bool:
        try:
            check_count(serialized_points(message))
        except RobodynError as error:
            self.diagnostics.problem("rejected trajectories", str(error))
            return False
        return True

    def _on_trajectory(self, message: JointTrajectoryMessage) -> None:
        self._update()
        if not message.points:
            self._motion = None
            return
        now = time.monotonic()
        try:
            self._motion = plan(message, self._joints, self._robot.model, TrajectoryStart(now, now, self._reference))
        except RobodynError as error:
            self.diagnostics.problem("rejected trajectories", str(error))

    def _update(self) -> None:
        """Move to the present point of the motion; rest without or after one."""
        if self._motion is None:
            rest = np.zeros(self._robot.n)
            self._reference = JointReference(self._reference.q, rest, rest)
        else:
            self._reference = self._motion.sample(time.monotonic())

    def _publish(self) -> None:
        self._update()
        message = JointState(name=list(self._robot.joint_names), position=self._reference.q.tolist(),
                             velocity=self._reference.v.tolist())
        set_stamp(message.header.stamp, time.time_ns())
        message.header.frame_id = self._robot.model.base_link
        self._publisher.publish(message)
