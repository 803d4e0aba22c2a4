# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""All nodes of the simulation in one process, as ``robodyn simulate`` runs them."""

from __future__ import annotations

from collections.abc import Sequence

from rclpy.exceptions import InvalidNamespaceException
from rclpy.validate_namespace import validate_namespace

from robodyn_ros.base.errors import InputError
from robodyn_ros.nodes.common.runtime import run_nodes
from robodyn_ros.nodes.controller.node import ControllerNode
from robodyn_ros.nodes.dynamics import DynamicsNode
from robodyn_ros.nodes.hardware.node import HardwareNode
from robodyn_ros.nodes.kinematic_robot import KinematicRobot
from robodyn_ros.nodes.state_publisher import StatePublisher


def main(arguments: Sequence[str], namespace: str, *, kinematic: bool = False) -> int:
    """Run the nodes until SIGINT or SIGTERM.

    Args:
        arguments: Command-line arguments of ROS: ``--ros-args`` and all after it.
        namespace: Namespace that the arguments give to all nodes; starts with a slash.
        kinematic: Whether a robot without dynamics replaces hardware and controller.

    Returns:
        Exit code, as of :func:`robodyn_ros.nodes.common.runtime.run_nodes`.

    Raises:
        InputError: The namespace is not valid.
    """
    try:
        validate_namespace(namespace)
    except InvalidNamespaceException as error:
        raise InputError(f"namespace: {error}") from None
    if kinematic:
        return run_nodes([KinematicRobot, StatePublisher], arguments)
    return run_nodes([HardwareNode, ControllerNode, DynamicsNode, StatePublisher], arguments)
