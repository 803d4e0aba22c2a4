"""All nodes of the simulation in one process, as ``robodyn simulate`` runs them."""

from __future__ import annotations

from collections.abc import Sequence

from rclpy.exceptions import InvalidNamespaceException
from rclpy.validate_namespace import validate_namespace

from robodyn_ros.errors import InputError
from robodyn_ros.nodes.common.runtime import run_nodes
from robodyn_ros.nodes.controller.node import ControllerNode
from robodyn_ros.nodes.dynamics import DynamicsNode
from robodyn_ros.nodes.hardware.node import HardwareNode
from robodyn_ros.nodes.state_publisher import StatePublisher


def main(arguments: Sequence[str], namespace: str) -> int:
    """Run the nodes until SIGINT or SIGTERM.

    Args:
        arguments: Command-line arguments of ROS: ``--ros-args`` and all after it.
        namespace: Namespace that the arguments give to all nodes; starts with a slash.

    Returns:
        Exit code, as of :func:`robodyn_ros.nodes.common.runtime.run_nodes`.

    Raises:
        InputError: The namespace is not valid.
    """
    try:
        validate_namespace(namespace)
    except InvalidNamespaceException as error:
        raise InputError(f"namespace: {error}") from None
    return run_nodes([HardwareNode, ControllerNode, DynamicsNode, StatePublisher], arguments)
