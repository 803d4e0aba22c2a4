# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Passes commands and external wrenches from messages to the plant of the hardware node."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped
from numpy.typing import NDArray
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header

from robodyn_interfaces.msg import VoltageCommands
from robodyn_ros.base import topic_names
from robodyn_ros.base.checks import Range
from robodyn_ros.base.errors import InputError
from robodyn_ros.base.timing import to_seconds
from robodyn_ros.description.model import Array
from robodyn_ros.nodes.common.diagnostics import Diagnostics
from robodyn_ros.nodes.common.joint_wire import JointWire
from robodyn_ros.nodes.common.messages import EFFORT, VOLTAGE, JointOrder, MessageError, read_stamp
from robodyn_ros.nodes.common.poses import read_wrench
from robodyn_ros.nodes.common.topic_owners import TopicOwners
from robodyn_ros.simulation.commands import JointCommands
from robodyn_ros.simulation.engine import SharedPlant


class CommandInputs:
    """Passes messages of all command topics to one :class:`JointCommands`, each as a whole or not at all.

    Args:
        joints: The robot's joints.
        commands: Receives good commands.
        has_motor: Which joints take voltages, shape (n,).
        diagnostics: Receives reports of bad commands.
        owners: Owner of each joint's commands. A command for a joint of another owner is refused as a whole.
        driver: Name of a driver that accepts only efforts; empty: voltages are accepted, too.

    Attributes:
        first_stamp: Stamp of the state at the last new start [ns]. Commands that answer an earlier state are refused.
            Stamp 0 means no stamp, and is always accepted.
    """

    def __init__(self, joints: JointOrder, commands: JointCommands, has_motor: NDArray[np.bool_],
                 diagnostics: Diagnostics, owners: TopicOwners, driver: str = "") -> None:
        self._joints, self._commands, self._diagnostics = joints, commands, diagnostics
        self.first_stamp, self._driver = 0, driver
        self._owners = owners
        self._wire = JointWire(joints.names, ["effort"])
        self._without_motor = {name for name, motor in zip(joints.names, has_motor, strict=True) if not motor}

    def serialized_efforts(self, data: bytes, sender: bytes = b"") -> int | None:
        """Take a serialized message of ``joint_commands``.

        Args:
            data: The message.
            sender: GID of its publisher; empty: unknown.

        Returns:
            Its stamp [ns]; None: the message is malformed, the stamp is invalid, or another node owns the joints.
        """
        known = self._wire.decode(data, EFFORT.maximum)
        if known is not None:
            stamp, (effort,) = known
            if not self._is_outdated(stamp, topic_names.JOINT_COMMANDS):
                if not self._is_admitted(sender):
                    return None
                self._commands.accept(effort, answers=stamp != 0)
            return stamp
        message = self._diagnostics.deserialize(data, JointState, topic_names.JOINT_COMMANDS)
        return None if message is None else self.efforts(message, sender)

    def efforts(self, message: JointState, sender: bytes = b"") -> int | None:
        """Take ``joint_commands``, without positions and velocities; see :meth:`serialized_efforts`."""
        answers = message.header.stamp != Time()
        return self._take(sender, message.header, message.name, message.effort, "joint_commands: effort", EFFORT,
                          self._commands.effort, partial(self._commands.accept, answers=answers))

    def voltages(self, message: VoltageCommands, sender: bytes = b"") -> int | None:
        """Take ``voltage_commands``; return their stamp as :meth:`serialized_efforts` does."""
        return self._take(sender, message.header, message.name, message.voltage, "voltage_commands: voltage", VOLTAGE,
                          self._commands.voltage, self._commands.accept_voltage, self._without_motor)

    def array(self, message: Float64MultiArray, sender: bytes = b"") -> bool:
        """Take ``~/commands``: the efforts of all joints in the robot's order.

        Returns:
            False if another node owns the joints.
        """
        return self._take(sender, Header(), (), message.data, "commands: data", EFFORT, self._commands.effort,
                          self._commands.accept) is not None

    def _is_admitted(self, sender: bytes, columns: Sequence[int] | None = None) -> bool:
        """Return whether a command's sender owns its joints; count the command otherwise."""
        if self._owners.admits(sender, time.monotonic(), columns):
            return True
        self._diagnostics.count("refused commands")
        return False

    def _is_outdated(self, stamp: int, topic: str) -> bool:
        """Return whether a command answers a state from before the last new start; report it if so."""
        if stamp >= self.first_stamp or stamp == 0:
            return False
        self._diagnostics.problem("outdated commands", f"{topic}: command refused: its stamp, {to_seconds(stamp)} s, "
                                  f"is that of a state before the new start at {to_seconds(self.first_stamp)} s; "
                                  "answer the newest state, or give stamp 0")
        return True

    def _take(self, sender: bytes, header: Header, names: Sequence[str], values: Sequence[float], what: str,
              allowed: Range, last: Array, accept: Callable[..., None],
              refused: set[str] | None = None) -> int | None:
        """Accept a command, or report it and keep the last good one.

        Args:
            sender: GID of its publisher.
            header: Header of the command.
            names: Joint of each value; empty: all in the robot's order.
            values: The values.
            what: Topic and field, for errors.
            allowed: Range of the values.
            last: Values of joints that are not named, shape (n,).
            accept: Called with the values and the commanded columns.
            refused: Joints that take no voltages; None: the values are efforts.

        Returns:
            The stamp of the command, bad or not [ns]; None: it is invalid, or another node owns the joints.
        """
        joints, stamp = self._joints, None
        try:
            topic = what.partition(":")[0]
            stamp = read_stamp(header.stamp, f"{topic}: header.stamp")
            if self._is_outdated(stamp, topic):
                return stamp
            if refused is not None and self._driver:
                raise MessageError("efforts only", f"{what}: expected joint_commands, as the driver "
                                   f"'{self._driver}' takes efforts; see the parameter 'driver'")
            if refused and (wrong := refused.intersection(names or joints.names)):
                raise MessageError("no motor", f"{what}: expected joints with motors, received "
                                   f"{', '.join(sorted(map(repr, wrong)))}: see the parameter 'actuators'")
            if names == joints.names:
                columns, numbers = None, joints.read((), values, what, allowed)  # already in order
            else:
                columns = joints.columns(names, topic) if names else None
                numbers = joints.read(names, values, what, allowed, fill=last)
            if not self._is_admitted(sender, columns):
                return None
            accept(numbers, columns)
        except MessageError as error:
            self._diagnostics.problem(f"rejected commands: {error.reason}", f"command rejected: {error}; "
                                      "the last good one stays")
        return stamp


class ExternalWrenches:
    """The active external wrenches; each acts until it is replaced, cleared or too old.

    A message (geometry_msgs/WrenchStamped) names the link in ``header.frame_id``. Its force and torque are about the
    origin of the link, in the axes of the link, and turn with it; the plant takes base axes.

    Args:
        simulated: Holds the simulated robot.

    Attributes:
        timeout: Age at which a wrench ends, in control periods; 0: never.
    """

    def __init__(self, simulated: SharedPlant) -> None:
        self.timeout = 0
        self._simulated = simulated
        self._dynamics = simulated.plant.robot.dynamics()
        self._now = 0
        self._active: dict[str, tuple[Array, int]] = {}  # by link: wrench in the link's axes, period of arrival

    def read(self, message: WrenchStamped) -> tuple[str, Array]:
        """Check a message, and compile the functions for its link; from any thread.

        Returns:
            Link, and (force, torque) about its origin, in its axes, shape (6,) [N, N m].

        Raises:
            MessageError: There is no such link, or a value is not finite or out of range.
        """
        link = message.header.frame_id
        try:
            self._simulated.plant.check_link(link)
        except InputError as error:
            raise MessageError("unknown link", f"external_wrench: header.frame_id: {error}") from None
        wrench = read_wrench(message.wrench, f"external_wrench on '{link}'")
        if wrench.any():  # compile here, not on the control path
            self._base_axes(self._simulated.plant.initial_position, link, wrench)
        return link, wrench

    def put_in_force(self, link: str, wrench: Array) -> None:
        """Apply a wrench to a link from now on, replacing the present one; zeros remove it.

        Args:
            link: Name of the link.
            wrench: (force, torque) about its origin, in its axes, shape (6,) [N, N m].
        """
        if wrench.any():
            self._active[link] = wrench, self._now
        elif self._active.pop(link, None) is not None:
            self._simulated.plant.set_wrench(link, np.zeros(6))

    def advance(self) -> None:
        """Set the wrenches of the plant for the next control period."""
        self._now += 1
        for link, (wrench, since) in list(self._active.items()):
            if self.timeout and self._now - since > self.timeout:
                self.put_in_force(link, np.zeros(6))
            else:
                self._simulated.plant.set_wrench(link, self._base_axes(self._simulated.plant.q, link, wrench))

    def in_force(self) -> dict[str, Array]:
        """Return (force, torque) by link, in the link's axes; from any thread."""
        return {link: wrench for link, (wrench, _) in self._active.copy().items()}

    def clear(self) -> None:
        """Remove all wrenches."""
        for link in list(self._active):
            self.put_in_force(link, np.zeros(6))

    def __len__(self) -> int:
        """Return the number of links with a wrench."""
        return len(self._active)

    def _base_axes(self, q: Array, link: str, wrench: Array) -> Array:
        rotation = self._dynamics.forward_kinematics(q, link)[:3, :3]
        return np.concatenate([rotation @ wrench[:3], rotation @ wrench[3:]])
