"""All nodes of the simulation in one process, as ``robodyn simulate`` runs them."""

from __future__ import annotations

from robodyn_ros.nodes.controller import ControllerNode
from robodyn_ros.nodes.hardware import HardwareNode

from robodyn_ros.nodes.dynamics import DynamicsNode
from robodyn_ros.nodes.graph import Setup
from robodyn_ros.nodes.processes import ros_arguments
from robodyn_ros.nodes.runtime import run_nodes
from robodyn_ros.nodes.state_publisher import StatePublisher


def main(setup: Setup, namespace: str = "") -> int:
    """Run the nodes until SIGINT or SIGTERM.

    Args:
        setup: Parameters of all nodes.
        namespace: Namespace of all nodes.

    Returns:
        Exit code, as of :func:`robodyn_ros.nodes.runtime.run_nodes`.
    """
    arguments = ros_arguments(setup.values, namespace)
    for file in setup.files:
        arguments += ["--params-file", str(file)]
    return run_nodes([HardwareNode, ControllerNode, DynamicsNode, StatePublisher], arguments)
