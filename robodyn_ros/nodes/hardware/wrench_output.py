# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Topic ``force_torque_sensor_broadcaster/wrench``, as ros2_control names it: the simulated force and torque sensor."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node

from robodyn_ros.base import topic_names
from robodyn_ros.base.timing import to_seconds
from robodyn_ros.nodes.common.messages import set_stamp
from robodyn_ros.nodes.common.poses import set_vector
from robodyn_ros.nodes.common.topics import CONTROL_QOS
from robodyn_ros.simulation.engine import SharedPlant, SimulatedRobot
from robodyn_ros.simulation.force_torque_sensor import ForceTorqueSensing, ForceTorqueSensor, tool_weight


class WrenchOutput:
    """Measures the wrench on a link of a plant, and publishes it; on the thread of the control path.

    The sensor carries the payload of the plant, and a tool.

    Args:
        node: The node that publishes.
        simulated: Holds the simulated robot.
        link: Link that carries the sensor.
        frame_prefix: Prefix of tf frames.
        sensing: Settings of the sensor.
        period_ns: Control period [ns].
        random: Source of the noise.

    Attributes:
        payload: Mass [kg] and centre of mass in the frame of the tip link, shape (3,) [m], of the plant's payload.
        sensor: The sensor; any thread may replace it.

    Raises:
        InputError: No link has that name.
    """

    def __init__(self, node: Node, simulated: SharedPlant, link: str, frame_prefix: str, sensing: ForceTorqueSensing,
                 period_ns: int, random: np.random.Generator) -> None:
        plant, self._simulated, self._link = simulated.plant, simulated, link
        plant.check_link(link)
        self.payload = 0.0, np.zeros(3)
        self._pose = plant.robot.dynamics().forward_kinematics
        self._period, self._random = to_seconds(period_ns), random
        self.sensor = ForceTorqueSensor(sensing, self._period, random)
        self._message = WrenchStamped()
        self._message.header.frame_id = frame_prefix + link
        self._publisher = node.create_publisher(WrenchStamped, topic_names.FORCE_TORQUE, CONTROL_QOS)
        self.prepare(plant)

    def prepare(self, plant: SimulatedRobot) -> None:
        """Compile what measuring needs; from any thread."""
        plant.environment_wrench(self._link)
        self._pose(plant.q, self._link)

    def configure(self, sensing: ForceTorqueSensing) -> None:
        """Change the settings; time, tare and delayed measurements stay."""
        sensor = ForceTorqueSensor(sensing, self._period, self._random)
        sensor.continue_from(self.sensor)
        self.sensor = sensor

    def measure(self) -> None:
        """Measure at the end of a control period."""
        plant = self._simulated.plant
        pose, gravity = self._pose(plant.q, self._link), plant.robot.model.gravity
        wrench, (mass, center) = plant.environment_wrench(self._link), self.payload
        if mass:
            tip = self._pose(plant.q, plant.robot.tip_link)
            weight = tool_weight(mass, tip[:3, :3] @ center + tip[:3, 3] - pose[:3, 3], np.eye(3), gravity)
            wrench = wrench + weight
        self.sensor.measure(wrench, pose[:3, :3], gravity)

    def restart(self) -> None:
        """Measure a state after a jump of the joints, without delayed measurements."""
        self.sensor.restart()
        self.measure()

    def publish(self, stamp: int) -> None:
        """Publish the last measurement with a stamp [ns]."""
        message, reading = self._message, self.sensor.reading
        set_stamp(message.header.stamp, stamp)
        set_vector(message.wrench.force, reading[:3])
        set_vector(message.wrench.torque, reading[3:])
        self._publisher.publish(message)
