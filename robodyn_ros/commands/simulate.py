"""All nodes of the simulation in one process, as ``robodyn simulate`` runs them."""

from __future__ import annotations

from collections.abc import Sequence

from rclpy.exceptions import InvalidNamespaceException
from rclpy.validate_namespace import validate_namespace

from robodyn_ros.commands.processes import ros_arguments
from robodyn_ros.commands.simulation_setup import Setup
from robodyn_ros.errors import InputError
from robodyn_ros.nodes.common.runtime import run_nodes
from robodyn_ros.nodes.controller.node import ControllerNode
from robodyn_ros.nodes.dynamics import DynamicsNode
from robodyn_ros.nodes.hardware.node import HardwareNode
from robodyn_ros.nodes.state_publisher import StatePublisher


def main(setup: Setup, namespace: str = "", more: Sequence[str] = ()) -> int:
    """Run the nodes until SIGINT or SIGTERM.

    Args:
        setup: Parameters of all nodes.
        namespace: Namespace of all nodes, with or without a slash before it.
        more: Further arguments, ``--ros-args`` and all.

    Returns:
        Exit code, as of :func:`robodyn_ros.nodes.common.runtime.run_nodes`.

    Raises:
        InputError: The namespace is not one.
    """
    namespace = f"/{namespace.strip('/')}"
    try:
        validate_namespace(namespace)
    except InvalidNamespaceException as error:
        raise InputError(f"namespace: {error}") from None
    # Files first: of two values for all nodes, the later one counts.
    files = [argument for file in setup.files for argument in ("--params-file", str(file))]
    arguments = ["--ros-args", *files, *ros_arguments(setup.values, namespace), *more]
    return run_nodes([HardwareNode, ControllerNode, DynamicsNode, StatePublisher], arguments)
