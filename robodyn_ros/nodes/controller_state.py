"""~/controller_state: what the controller wanted, saw and commanded, now and then."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from rclpy.node import Node
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectoryPoint

from robodyn_interfaces.msg import ControllerState
from robodyn_ros.control.controller import JointReference
from robodyn_ros.control.loop import Tick
from robodyn_ros.description.model import Array
from robodyn_ros.nodes.messages import NANOSECONDS, to_field

RELATIVE_SLACK = 1e-6  # of a period, against rounding


class ControllerStatePublisher:
    """Publishes some ticks, at a rate in the time of the joint states; nothing if nobody listens.

    Args:
        node: The node that publishes.
        joint_names: The robot's joints.
        rate: Messages per second [Hz]; 0: none.
    """

    def __init__(self, node: Node, joint_names: Sequence[str], rate: float) -> None:
        self._publisher = node.create_publisher(ControllerState, "~/controller_state", 10)
        self._joint_names = list(joint_names)
        self._last = 0
        self.set_rate(rate)

    def set_rate(self, rate: float) -> None:
        """Change the rate [Hz]."""
        self._period = NANOSECONDS / rate * (1.0 - RELATIVE_SLACK) if rate > 0 else inf

    def publish(self, stamp: int, header: Header, controller: str, tick: Tick) -> None:
        """Publish a tick if it is due.

        Args:
            stamp: Stamp of the joint state [ns].
            header: Its header.
            controller: Name of the controller that answered.
            tick: What happened.
        """
        if self._last <= stamp < self._last + self._period or self._period == inf:
            return
        self._last = stamp
        if not self._publisher.get_subscription_count():
            return
        state, reference = tick.state, tick.reference
        message = ControllerState(
            header=header, controller=controller, joint_names=self._joint_names, output=to_field(tick.effort)
        )
        message.feedback = state_point(state.q, state.v)
        if isinstance(reference, JointReference):
            message.reference = state_point(reference.q, reference.v, reference.a)
            message.error = state_point(reference.q - state.q, reference.v - state.v)
        self._publisher.publish(message)


def state_point(q: Array, v: Array, a: Array | None = None) -> JointTrajectoryPoint:
    """A point of a trajectory message: positions, velocities and, if there are any, accelerations, shape (n,)."""
    point = JointTrajectoryPoint(positions=to_field(q), velocities=to_field(v))
    if a is not None:
        point.accelerations = to_field(a)
    return point
