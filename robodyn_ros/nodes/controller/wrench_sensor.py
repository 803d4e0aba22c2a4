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
from collections.abc import Mapping
from functools import partial
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
from robodyn_ros.nodes.controller.part import Context, Part, PutInForce
from robodyn_ros.simulation.force_torque_sensor import tool_weight

TOPIC = topic_names.MEASURED_WRENCH

TOOL_MASS = Field("wrench_sensor.tool_mass", 0.0, "Mass that the force and torque sensor carries; its weight is "
                  "removed from the measurements", unit="kg", minimum=0.0, maximum=1e5)
TOOL_CENTER = Field("wrench_sensor.tool_center_of_mass", [0.0, 0.0, 0.0], "Its centre of mass in the frame of the "
                    "sensor", length=3, unit="m", minimum=-100.0, maximum=100.0)


class WrenchSensor(Part):
    """Passes measured wrenches of the environment on the robot to the control loop, without the weight of the tool.

    Args:
        context: What it knows of the node; a measurement expires after the parameter ``state_timeout``.

    Attributes:
        wrench_tip: The last measurement, see `State.wrench_tip`.
    """

    PARAMETERS = (TOOL_MASS, TOOL_CENTER)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.wrench_tip = UNMEASURED
        self._robot, self._loop = context.robot, context.loop
        self._timeout: float = context.node.parameters["state_timeout"]
        self._forward_kinematics = context.robot.dynamics().forward_kinematics
        self._last_arrival = -np.inf
        self._configure({})
        for topic in (TOPIC, topic_names.FORCE_TORQUE):
            context.thread.path.listen(WrenchStamped, topic, self._on_wrench, qos_profile_sensor_data)
        context.node.create_steady_timer(self._timeout, self._look_for_silence)

    def on_change(self, changes: Mapping[str, Any]) -> PutInForce | None:
        """Change mass and centre of mass of the tool."""
        return partial(self._configure, changes) if changes.keys() & {TOOL_MASS.name, TOOL_CENTER.name} else None

    def _configure(self, changes: Mapping[str, Any]) -> None:
        mass, center = (changes.get(field.name, self.context.node.parameters[field.name]) for field in self.PARAMETERS)
        self._tool = mass, np.array(center)

    def _on_wrench(self, message: WrenchStamped) -> None:
        try:
            self.wrench_tip = self._at_tip(message)
            self._last_arrival = time.monotonic()
        except InputError as error:
            self.context.node.diagnostics.problem(f"rejected {TOPIC}", f"{TOPIC}: {error}")

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
