"""A process that only listens to joint states, with the transports that ROS 2 chooses by itself."""

from __future__ import annotations

import rclpy
from rclpy.node import Node
from sensor_msgs.msg import JointState


def listen() -> None:
    """Listen until killed."""
    rclpy.init()
    node = Node("listener")
    node.create_subscription(JointState, "joint_states", lambda _: None, 1)
    rclpy.spin(node)


if __name__ == "__main__":
    listen()
