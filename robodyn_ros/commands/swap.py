"""``robodyn swap`` puts another controller in force in a running graph."""

from __future__ import annotations

from argparse import Namespace

from robodyn_ros.commands.options import Subparsers
from robodyn_ros.commands.ros_required import ros_required

REFUSED = 1


def add_commands(commands: Subparsers) -> None:
    """Add ``swap``."""
    swap = commands.add_parser(
        "swap",
        help="put another controller in force in a running graph",
        description="Put another controller in force while the robot moves, as 'ros2 param set /controller controller "
        "NAME' does.",
    )
    swap.add_argument("controller", help="such as pd or computed_torque, or package.module:Class of your own")
    swap.add_argument("--node", default="/controller", help="name of the controller node (default: %(default)s)")
    swap.set_defaults(run=run_swap, error_code=REFUSED)


def run_swap(options: Namespace) -> int:
    """Swap the controller.

    Raises:
        RobodynError: The controller node does not answer, or refuses; the message has its reason.
    """
    with ros_required():
        from robodyn_ros.nodes.client.robot_client import RobotClient

    with RobotClient("swap", options.node) as client:
        client.swap(options.controller)
    print(f"controller '{options.controller}' is in force")
    return 0
