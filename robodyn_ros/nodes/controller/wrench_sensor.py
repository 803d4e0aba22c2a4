# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Measurements of a force and torque sensor, for controllers that regulate forces.

They come on ``measured_wrench``, or on the topic of ros2_control's broadcaster, where the simulated hardware has them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.qos import qos_profile_sensor_data

from robodyn_ros.base import topic_names
from robodyn_ros.base.errors import InputError
from robodyn_ros.base.fields import Field
from robodyn_ros.control.contract.controller import UNMEASURED
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.public_conventions import swap_parts
from robodyn_ros.kinematics.twists import homogeneous, wrench_in_parent
from robodyn_ros.nodes.common.poses import read_wrench
from robodyn_ros.nodes.common.runtime import RobodynNode
from robodyn_ros.nodes.controller.loop_thread import LoopThread
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.force_torque_sensor import tool_weight

TOPIC = topic_names.MEASURED_WRENCH

PARAMETERS = (
    Field("wrench_sensor.tool_mass", 0.0, "Mass that the force and torque sensor carries; its weight is removed from "
          "the measurements", unit="kg", minimum=0.0, maximum=1e5),
    Field("wrench_sensor.tool_center_of_mass", [0.0, 0.0, 0.0], "Its centre of mass in the frame of the sensor",
          length=3, unit="m", minimum=-100.0, maximum=100.0),
)


class WrenchSensor:
    """Passes measured wrenches of the environment on the robot to the control loop, without the weight of the tool.

    Args:
        node: The node that subscribes.
        robot: The robot.
        thread: The control loop on its thread, which takes the measurements.
        timeout: Age at which a measurement expires [s].

    Attributes:
        wrench_tip: The last measurement, see `State.wrench_tip`.
    """

    def __init__(self, node: RobodynNode, robot: Robot, thread: LoopThread, timeout: float) -> None:
        self.wrench_tip = UNMEASURED
        self._node, self._robot, self._loop, self._timeout = node, robot, thread.loop, timeout
        self._forward_kinematics = robot.dynamics().forward_kinematics
        self._last_arrival = -np.inf
        self._tool = 0.0, np.zeros(3)
        for topic in (TOPIC, topic_names.FORCE_TORQUE):
            thread.path.listen(WrenchStamped, topic, self._on_wrench, qos_profile_sensor_data)
        node.create_steady_timer(timeout, self._look_for_silence)

    def configure(self, value: Callable[[str], Any]) -> None:
        """Read mass and centre of mass of the tool; ``value`` returns the value of a parameter. From any thread."""
        self._tool = value("wrench_sensor.tool_mass"), np.array(value("wrench_sensor.tool_center_of_mass"))

    def _on_wrench(self, message: WrenchStamped) -> None:
        try:
            self.wrench_tip = self._at_tip(message)
            self._last_arrival = time.monotonic()
        except InputError as error:
            self._node.diagnostics.problem(f"rejected {TOPIC}", f"{TOPIC}: {error}")

    def _at_tip(self, message: WrenchStamped) -> Array:
        """Return (force, torque) about the tip link's origin in base axes, shape (6,), at the last joint positions."""
        link, wrench = message.header.frame_id, read_wrench(message.wrench, f"wrench at '{message.header.frame_id}'")
        self._robot.model.frame(link)
        last = self._loop.last
        if last is None:
            return UNMEASURED
        sensor, tip = self._forward_kinematics(last.state.q, link), self._forward_kinematics(last.state.q)
        mass, center = self._tool
        if mass:
            wrench = wrench - tool_weight(mass, center, sensor[:3, :3], self._robot.model.gravity)
        pose_tip_sensor = homogeneous(sensor[:3, :3], sensor[:3, 3] - tip[:3, 3])  # from the tip's origin, in base axes
        return swap_parts(wrench_in_parent(pose_tip_sensor, swap_parts(wrench)))

    def _look_for_silence(self) -> None:
        if time.monotonic() - self._last_arrival > self._timeout:
            self.wrench_tip = UNMEASURED
