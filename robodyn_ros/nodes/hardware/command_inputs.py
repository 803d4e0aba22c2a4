"""Commands in messages, by name, in any order, complete or not: taken as a whole, or rejected as a whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robodyn_interfaces.msg import VoltageCommands
from robodyn_ros.description.model import Array
from robodyn_ros.nodes.common.diagnostics import Diagnostics
from robodyn_ros.nodes.common.joint_wire import JointWire
from robodyn_ros.nodes.common.messages import JointOrder, MessageError, read_stamp
from robodyn_ros.simulation.commands import JointCommands


class CommandInputs:
    """Hands the messages of all command topics to one :class:`JointCommands`.

    Args:
        joints: The robot's joints.
        commands: Where good commands go.
        has_motor: Which joints take voltages, shape (n,).
        diagnostics: Where bad commands are reported.
    """

    def __init__(self, joints: JointOrder, commands: JointCommands, has_motor: NDArray[np.bool_],
                 diagnostics: Diagnostics) -> None:
        self._joints, self._commands, self._diagnostics = joints, commands, diagnostics
        self._wire = JointWire(joints.names, ["effort"])
        self._without_motor = {name for name, motor in zip(joints.names, has_motor, strict=True) if not motor}

    def serialized_efforts(self, data: bytes) -> int:
        """Take ``joint_commands`` as it came over the wire.

        Returns:
            Its stamp [ns].
        """
        known = self._wire.decode_finite(data, fields=1)
        if known is not None:
            self._commands.accept(known[1][0])
            return known[0]
        message = deserialize_message(data, JointState)
        self.efforts(message)
        return read_stamp(message.header.stamp)

    def efforts(self, message: JointState) -> None:
        """Take ``joint_commands``; positions and velocities are not looked at."""
        self._take(message.name, message.effort, "joint_commands: effort", self._commands.effort,
                   self._commands.accept)

    def voltages(self, message: VoltageCommands) -> None:
        """Take ``voltage_commands``."""
        self._take(message.name, message.voltage, "voltage_commands: voltage", self._commands.voltage,
                   self._commands.accept_voltage, self._without_motor)

    def array(self, message: Float64MultiArray) -> None:
        """Take ``~/commands``: the efforts of all joints in the robot's order."""
        self._take((), message.data, "commands: data", self._commands.effort, self._commands.accept)

    def _take(self, names: Sequence[str], values: Sequence[float], what: str, last: Array,
              accept: Callable[..., None], refused: set[str] | frozenset[str] = frozenset()) -> None:
        """Take a command, or report it and keep the last good one.

        Args:
            names: Joint of each value; empty: all, in the robot's order.
            values: The values.
            what: Topic and field, for errors.
            last: Values of joints that are not named, shape (n,).
            accept: Takes the values, and the columns that are commanded.
            refused: Joints that take no such commands.
        """
        joints = self._joints
        try:
            if refused and (wrong := refused.intersection(names or joints.names)):
                raise MessageError("no motor", f"{what}: expected joints with motors, received "
                                   f"{', '.join(sorted(map(repr, wrong)))}: see the parameter 'actuators'")
            if names == joints.names:
                accept(joints.read((), values, what))  # in order, so that names need not be looked at again
            else:
                columns = joints.columns(names, what.partition(":")[0])
                accept(joints.read(names, values, what, fill=last), columns)
        except MessageError as error:
            self._diagnostics.problem(f"rejected commands: {error.reason}", f"command rejected: {error}; "
                                      "the last good one stays")
