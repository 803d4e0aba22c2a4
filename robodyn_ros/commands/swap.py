"""Swapping the controller of a running graph, as ``ros2 param set /controller controller NAME`` does."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import rclpy
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.client import Client
from rclpy.exceptions import NameValidationException
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from robodyn_ros.errors import InputError, RobodynError
from robodyn_ros.nodes.common.runtime import init_ros

DEADLINE = 5.0


def swap_client(node: Node, target: str) -> Client:
    """A client of the service that sets parameters of a controller node.

    Raises:
        InputError: No node can have that name.
    """
    try:
        return node.create_client(SetParameters, f"{target}/set_parameters")
    except NameValidationException as error:
        raise InputError(f"'{target}' is no name of a node: expected such as /controller: {error}") from None


def swap_request(controller: str) -> SetParameters.Request:
    """The request that puts a controller in force."""
    value = ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=controller)
    return SetParameters.Request(parameters=[Parameter(name="controller", value=value)])


def check_swapped(controller: str, response: SetParameters.Response) -> None:
    """Raise if the controller node refused.

    Raises:
        RobodynError: With the node's reason; or it is no controller node.
    """
    result = response.results[0]
    if "undeclared" in result.reason:
        raise RobodynError("the node has no parameter 'controller': it is another one than a controller node")
    if not result.successful:
        raise RobodynError(f"the controller node refused '{controller}', what ran before goes on: {result.reason}")


def swap(controller: str, target: str) -> None:
    """Ask a running controller node to put another controller in force.

    Args:
        controller: Installed name, or ``package.module:Class``.
        target: Name of the controller node, with its namespace.

    Raises:
        RobodynError: The node is not there, does not answer, or refuses.
    """
    node = Node("swap", start_parameter_services=False)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    try:
        client = swap_client(node, target)
        if not client.wait_for_service(DEADLINE):
            raise RobodynError(f"no node '{target}' within {DEADLINE:g} s: is it running, with the same ROS_DOMAIN_ID?")
        future = client.call_async(swap_request(controller))
        executor.spin_until_future_complete(future, DEADLINE)
        response = future.result() if future.done() else None
        if response is None:
            raise RobodynError(f"node '{target}' did not answer within {DEADLINE:g} s")
        check_swapped(controller, response)
    finally:
        executor.shutdown()
        node.destroy_node()


def main(args: Sequence[str] | None = None) -> int:
    """Run the command.

    Returns:
        0 if the controller is in force, 1 with one message on stderr if not.
    """
    parser = argparse.ArgumentParser(prog="robodyn swap", description="Put another controller in force while the robot "
                                     "moves; the same as: ros2 param set /controller controller NAME.")
    parser.add_argument("controller", help="such as pd or computed_torque, or package.module:Class of your own")
    parser.add_argument("--node", default="/controller", help="the controller node (default: %(default)s)")
    options = parser.parse_args(args)
    try:
        init_ros()
        swap(options.controller, options.node)
    except RobodynError as error:
        print(f"robodyn swap: error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        rclpy.try_shutdown()
    print(f"controller '{options.controller}' is in force")
    return 0
