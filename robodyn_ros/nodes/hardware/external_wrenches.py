"""Wrenches that push links of the simulated robot: from messages to what the plant takes.

A message (geometry_msgs/WrenchStamped) names the link in ``header.frame_id``; its force and torque are about the link's
origin, in the link's axes, and turn with it. The plant wants base axes.
"""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import WrenchStamped

from robodyn_ros.description.model import Array
from robodyn_ros.errors import InputError
from robodyn_ros.nodes.common.messages import MessageError
from robodyn_ros.nodes.common.poses import read_wrench
from robodyn_ros.simulation.plant import Plant


class ExternalWrenches:
    """The wrenches in force, each until it is replaced, cleared, or too old.

    Args:
        plant: The simulated robot.

    Attributes:
        plant: The simulated robot; may be replaced by another one with the same links.
        timeout: Age at which a wrench ends, in control periods; 0: never.
    """

    def __init__(self, plant: Plant) -> None:
        self.timeout = 0
        self.plant = plant
        self._dynamics = plant.robot.dynamics()
        self._now = 0
        self._in_force: dict[str, tuple[Array, int]] = {}  # by link: wrench in the link's axes, when it came

    def read(self, message: WrenchStamped) -> tuple[str, Array]:
        """Check a message, and get ready for its link; from any thread.

        Returns:
            Link, and (force, torque) about its origin, in its axes, shape (6,) [N, N m].

        Raises:
            MessageError: There is no such link, or a value is not finite.
        """
        link = message.header.frame_id
        try:
            self.plant.robot.model.frame(link)
        except InputError as error:
            raise MessageError("unknown link", f"external_wrench: header.frame_id: {error}") from None
        wrench = read_wrench(message.wrench, f"external_wrench on '{link}'")
        if wrench.any():  # compiled now, not when the control path needs it
            self._dynamics.jacobian(self.plant.initial_position, link)
            self._base_axes(self.plant.initial_position, link, wrench)
        return link, wrench

    def put_in_force(self, link: str, wrench: Array) -> None:
        """Let a wrench push a link from now on, instead of the one that may push it now; zeros: let go.

        Args:
            link: Name of the link.
            wrench: (force, torque) about its origin, in its axes, shape (6,) [N, N m].
        """
        if wrench.any():
            self._in_force[link] = wrench, self._now
        elif self._in_force.pop(link, None) is not None:
            self.plant.set_wrench(link, np.zeros(6))

    def advance(self) -> None:
        """Give the plant the wrenches for the next control period."""
        self._now += 1
        for link, (wrench, since) in list(self._in_force.items()):
            if self.timeout and self._now - since > self.timeout:
                self.put_in_force(link, np.zeros(6))
            else:
                self.plant.set_wrench(link, self._base_axes(self.plant.q, link, wrench))

    def __len__(self) -> int:
        """Return the number of links that are pushed."""
        return len(self._in_force)

    def _base_axes(self, q: Array, link: str, wrench: Array) -> Array:
        rotation = self._dynamics.forward_kinematics(q, link)[:3, :3]
        return np.concatenate([rotation @ wrench[:3], rotation @ wrench[3:]])
