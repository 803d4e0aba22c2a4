"""Starts the processes of a kill campaign at little expense: a process that has imported a node forks to start it.

``python -m bench.attack.nursery NAME`` starts one for each line of its standard input, and prints the process id.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import signal
import subprocess
import sys
from functools import partial

import rclpy
from rclpy.node import Node
from sensor_msgs.msg import JointState

from robodyn_ros.commands.processes import ros_arguments
from robodyn_ros.commands.simulation_setup import NODES as NODE_MODULES
from robodyn_ros.control.registry import controller_names, load_controller
from robodyn_ros.errors import RobodynError
from robodyn_ros.resources import robot_file
from robodyn_ros.robot import Robot

ROBOT = "planar_2r"
RATE = 1000
NODES: dict[str, dict[str, object]] = {
    "hardware": {"robot": ROBOT, "update_rate": RATE},
    "controller": {"robot": ROBOT, "controller": "pd_gravity"},
    "state_publisher": {"robot": ROBOT},
    "dynamics": {"robot": ROBOT},
}
LISTENER = "listener"
"""A process that only listens to joint states, with the transports that ROS 2 chooses by itself."""

_PR_SET_PDEATHSIG = 1  # of Linux's <sys/prctl.h>


class Nursery:
    """The process that forks, seen from the campaign.

    Args:
        name: Name of a node, or `LISTENER`.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._process = subprocess.Popen([sys.executable, "-m", "bench.attack.nursery", name],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def start(self) -> int:
        """Start the node; return its process id.

        Raises:
            RobodynError: The node cannot be imported.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RobodynError(f"the process that starts '{self._name}' has ended")
        return int(line)

    def close(self) -> None:
        """End the process; what it started ends with it."""
        self._process.kill()
        self._process.wait()


def serve(name: str) -> None:
    """Start the node for each line of standard input, and print its process id."""
    main = listen if name == LISTENER else partial(
        importlib.import_module(NODE_MODULES[name]).main, ros_arguments(NODES[name]))
    Robot.from_urdf(robot_file(ROBOT)).dynamics()
    for law in controller_names():
        load_controller(law)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the killed ones
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            silent = os.open(os.devnull, os.O_RDWR)
            for stream in range(3):
                os.dup2(silent, stream)
            os._exit(main() or 0)
        print(child, flush=True)


def listen() -> None:
    """Listen to joint states until killed."""
    rclpy.init()
    node = Node(LISTENER)
    node.create_subscription(JointState, "joint_states", lambda _: None, 1)
    rclpy.spin(node)


if __name__ == "__main__":
    serve(sys.argv[1])
