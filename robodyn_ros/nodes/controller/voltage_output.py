# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Topic voltage_commands: motor voltages that give the controller's efforts."""

from __future__ import annotations

from rclpy.node import Node

from robodyn_interfaces.msg import VoltageCommands
from robodyn_ros.base import topic_names
from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import compile_function
from robodyn_ros.control.runtime.tick import Tick
from robodyn_ros.description.model import Array
from robodyn_ros.nodes.common.messages import set_stamp, to_field
from robodyn_ros.nodes.common.topics import CONTROL_QOS
from robodyn_ros.robot import Robot


class VoltageOutput:
    """Publishes voltage_commands instead of joint_commands.

    Args:
        node: The node that publishes.
        robot: The robot, with its actuators.

    Raises:
        InputError: It has no actuators, or a joint has no motor.
    """

    handles = ()

    def __init__(self, node: Node, robot: Robot) -> None:
        if robot.actuators is None:
            raise InputError("parameter 'output': voltage needs the motors' data: set the parameter 'actuators'")
        robot.actuators.check_motors(robot.joint_names, "parameter 'actuators'")
        self._voltage = compile_function(robot.actuators.circuits.commanded_voltage,
                                         {"effort": (robot.n,), "v": (robot.n,)}, name="voltage")
        self._command = VoltageCommands(name=list(robot.joint_names))
        self._publisher = node.create_publisher(VoltageCommands, topic_names.VOLTAGE_COMMANDS, CONTROL_QOS)

    def voltage(self, tick: Tick) -> Array:
        """Return voltages that give a tick's efforts, within the limits of the amplifiers, shape (n,) [V].

        [Yamamoto] (6.12), (6.13), neglecting inertia, friction and inductance of the motors.
        """
        return self._voltage(tick.effort, tick.state.v)

    def publish(self, stamp: int, tick: Tick) -> None:
        """Publish the voltages of a tick.

        Args:
            stamp: Stamp of the joint state that they answer [ns].
            tick: The tick.
        """
        command = self._command
        set_stamp(command.header.stamp, stamp)
        command.voltage = to_field(self.voltage(tick))
        self._publisher.publish(command)
