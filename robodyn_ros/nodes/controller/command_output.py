# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The commands of the controller node, in the form that the parameter ``output`` names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robodyn_ros.base import topic_names
from robodyn_ros.base.errors import InputError
from robodyn_ros.base.fields import Field
from robodyn_ros.control.runtime.tick import Tick
from robodyn_ros.description.model import Array
from robodyn_ros.nodes.common.joint_wire import JointWire
from robodyn_ros.nodes.common.messages import JointOrder, to_field
from robodyn_ros.nodes.common.runtime import RobodynNode
from robodyn_ros.nodes.common.topics import CONTROL_QOS
from robodyn_ros.nodes.controller.gravity_of_driver import COMMAND, DRIVER, GravityOfDriver
from robodyn_ros.nodes.controller.gravity_of_driver import PARAMETERS as DRIVER_PARAMETERS
from robodyn_ros.nodes.controller.part import Context, Part
from robodyn_ros.nodes.controller.voltage_output import VoltageOutput
from robodyn_ros.robot import Robot

EFFORT, JOINT_COMMANDS, EFFORT_GROUP, VOLTAGE = "effort", "joint_commands", "effort_group", "voltage"


class CommandOutput(Protocol):
    """Publishes the commands of ticks."""

    @property
    def handles(self) -> Sequence[Any]:
        """Handles of publishers, for `ControlPath.use`."""

    def publish(self, stamp: int, tick: Tick) -> None:
        """Publish the command of a tick.

        Args:
            stamp: Stamp of the joint state that it answers [ns].
            tick: The tick.
        """


class CommandPublisher(Part):
    """The commands of the node, by the parameters that name their kind.

    Args:
        context: What it knows of the node.

    Raises:
        InputError: As in `command_output`.
    """

    PARAMETERS = (
        Field("output", EFFORT, "Kind of command. effort: efforts on joint_commands, with the stamp of the joint state "
              "that they answer; joint_commands: the same with the stamp of the node's clock, as ros2_control's "
              "joint_state_topic_hardware_interface sends them; effort_group: efforts as an array on "
              "effort_controller/commands, for ros2_control's forward_command_controller or "
              "JointGroupEffortController; voltage: the motor voltages that give these efforts, on voltage_commands",
              structural=True,
              choices=(EFFORT, JOINT_COMMANDS, EFFORT_GROUP, VOLTAGE)),
        Field("effort_group_joints", [""], "Order of the joints in commands of output effort_group: the parameter "
              "'joints' of that controller; one empty name: the order of the robot", structural=True),
        *DRIVER_PARAMETERS,
    )

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._gravity = GravityOfDriver(context)
        self._output = command_output(context.node, context.robot, self._gravity)
        for handle in self._output.handles:
            context.thread.path.use(handle)
        self.publish = self._output.publish

    def voltage(self, tick: Tick) -> Array | None:
        """Return the voltages that a tick commands, shape (n,) [V]; None: it commands efforts."""
        return self._output.voltage(tick) if isinstance(self._output, VoltageOutput) else None

    def values(self) -> Mapping[str, object]:
        """Return who compensates gravity."""
        return {"gravity compensated by": "driver" if self._gravity.by_driver else "commands"}


def command_output(node: RobodynNode, robot: Robot, gravity: GravityOfDriver) -> CommandOutput:
    """Return the output that the parameters name.

    Args:
        node: The node that publishes.
        robot: The robot.
        gravity: Leaves gravity out where the driver adds it.

    Raises:
        InputError: Parameters contradict each other, or the joints of a group are not those of the robot.
    """
    parameters, kind = node.parameters, node.parameters["output"]
    if kind == VOLTAGE:
        if gravity.by_driver:
            raise InputError(f"parameter 'gravity_compensation_by': expected '{COMMAND}', as 'output' is '{VOLTAGE}' "
                             f"and a driver that takes voltages compensates nothing; received '{DRIVER}'")
        return VoltageOutput(node, robot)
    joints = [name for name in parameters["effort_group_joints"] if name]
    if kind == EFFORT_GROUP:
        return EffortGroup(node, group_order(robot.joint_names, joints), gravity.commanded)
    if joints:
        raise InputError(f"parameter 'effort_group_joints': has an effect with output {EFFORT_GROUP} only, received "
                         f"output {kind}")
    return JointEfforts(node, robot.joint_names, gravity.commanded, own_clock=kind == JOINT_COMMANDS)


def group_order(names: Sequence[str], group: Sequence[str]) -> list[int]:
    """Return the index of each joint of a group in the robot's order.

    Args:
        names: The robot's joints.
        group: The joints of the group; empty: those of the robot.

    Raises:
        InputError: The group has not all joints of the robot, each once.
    """
    columns = JointOrder(names).columns(group, "parameter 'effort_group_joints'")
    if missing := [name for column, name in enumerate(names) if column not in columns]:
        raise InputError(f"parameter 'effort_group_joints': expected all joints of the robot, received none of "
                         f"{', '.join(missing)}")
    return columns


class JointEfforts:
    """Efforts by name on ``joint_commands``.

    Args:
        node: The node that publishes.
        names: The robot's joints.
        effort: Returns the efforts to command at a tick, shape (n,) [N m or N].
        own_clock: Whether commands have the stamp of the node's clock, not that of the joint state.
    """

    def __init__(self, node: RobodynNode, names: Sequence[str], effort: Callable[[Tick], Array], own_clock: bool
                 ) -> None:
        self._effort, self._wire = effort, JointWire(names, ["effort"])
        self._clock = node.get_clock() if own_clock else None
        self._publisher = node.create_publisher(JointState, topic_names.JOINT_COMMANDS, CONTROL_QOS)
        self.handles = (self._publisher.handle,)
        self._publish: Callable[[bytes], None] = self._publisher.handle.publish_raw

    def publish(self, stamp: int, tick: Tick) -> None:
        """As in :class:`CommandOutput`."""
        if self._clock is not None:
            stamp = self._clock.now().nanoseconds
        self._publish(self._wire.encode(stamp, self._effort(tick)))


class EffortGroup:
    """Efforts as an array, for a controller of ros2_control that passes them to effort interfaces.

    Args:
        node: The node that publishes.
        columns: Index in the robot's order of each element of a command.
        effort: As in :class:`JointEfforts`.
    """

    handles = ()

    def __init__(self, node: RobodynNode, columns: list[int], effort: Callable[[Tick], Array]) -> None:
        self._effort, self._columns = effort, columns
        self._publisher = node.create_publisher(Float64MultiArray, topic_names.EFFORT_GROUP_COMMANDS, CONTROL_QOS)
        self._message = Float64MultiArray()

    def publish(self, stamp: int, tick: Tick) -> None:
        """As in :class:`CommandOutput`; such commands have no stamp."""
        self._message.data = to_field(self._effort(tick)[self._columns])
        self._publisher.publish(self._message)
