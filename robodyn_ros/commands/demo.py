"""The demo: four nodes, a trajectory, a change of controller in mid-motion, and what came of it.

Everything here goes over DDS between processes, as a user's own program would do it: a JointTrajectory is published,
the parameter ``controller`` is set by a service call, and the controller's own reports are what is judged.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from geometry_msgs.msg import TransformStamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from tf2_msgs.msg import TFMessage
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robodyn_interfaces.msg import ControllerState
from robodyn_interfaces.srv import Gravity
from robodyn_ros.commands.processes import NodeProcess
from robodyn_ros.commands.progress import Progress
from robodyn_ros.commands.swap import check_swapped, swap_client, swap_request
from robodyn_ros.errors import RobodynError
from robodyn_ros.nodes.common.runtime import init_ros
from robodyn_ros.resources import robot_file
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.tracking import TrackingRecord

ROBOT = "arm6"
CONTROLLERS = ("pd", "computed_torque")
START = {"shoulder_pan_joint": 0.0, "shoulder_lift_joint": -1.2, "elbow_joint": 1.4, "wrist_1_joint": -1.6,
         "wrist_2_joint": -1.2, "wrist_3_joint": 0.0}
"""Where the arm stands when the simulation starts [rad]."""
SWINGS = np.array([[0.9, -0.4, 0.5, -0.4, 0.5, 1.2], [-0.6, 0.3, -0.6, 0.6, -0.4, -0.9],
                   [0.5, -0.6, 0.7, 0.3, 0.6, 0.6], [-0.8, 0.2, -0.3, -0.5, -0.6, -1.2]])
"""Waypoints relative to the start [rad], passed twice; half-way, all joints are between two of them."""
SECONDS_PER_WAYPOINT = 1.5
START_DEADLINE = 30.0


class DemoNode(Node):
    """The demo's own node: sends the trajectory and the change of controller, and listens."""

    def __init__(self) -> None:
        super().__init__("demo", start_parameter_services=False)
        self.states: list[ControllerState] = []
        self.transforms: dict[str, TransformStamped] = {}
        self.trajectory = self.create_publisher(JointTrajectory, "controller/joint_trajectory", 1)
        self.swap = swap_client(self, "controller")
        self.gravity = self.create_client(Gravity, "dynamics/gravity")
        self.create_subscription(ControllerState, "controller/controller_state", self.states.append, 100)
        self.create_subscription(TFMessage, "/tf", self._keep_transforms, 10)

    def _keep_transforms(self, message: TFMessage) -> None:
        for transform in message.transforms:
            self.transforms[transform.child_frame_id] = transform


class Demo:
    """One run of the demo.

    Args:
        node: The demo's own node.
        nodes: The processes of the graph; the wait for anything ends when one of them does.
    """

    def __init__(self, node: DemoNode, nodes: Sequence[NodeProcess]) -> None:
        self.node = node
        self.nodes = nodes
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(node)

    def wait_for(self, condition: Callable[[], Any], what: str, seconds: float) -> Any:
        """Serve callbacks until the condition is met, and return what it returned.

        Raises:
            RobodynError: A node ended, or the time ran out.
        """
        deadline = time.monotonic() + seconds
        while not (result := condition()):
            for process in self.nodes:
                process.check()
            if time.monotonic() > deadline:
                raise RobodynError(f"demo: waited {seconds:g} s in vain for {what}; are other nodes on this "
                                   f"ROS_DOMAIN_ID ({os.environ.get('ROS_DOMAIN_ID', '0')})?")
            self.executor.spin_once(timeout_sec=0.05)
        return result

    def call(self, client: Any, request: Any, what: str) -> Any:
        """Call a service and return its answer."""
        self.wait_for(client.service_is_ready, f"the service {client.srv_name}", START_DEADLINE)
        future = client.call_async(request)
        self.wait_for(future.done, what, 10.0)
        return future.result()

    def ready(self) -> None:
        """Wait until the whole graph talks."""
        self.wait_for(lambda: self.node.states, "the controller's state", START_DEADLINE)
        self.wait_for(lambda: self.node.transforms, "/tf of the state publisher", START_DEADLINE)
        self.wait_for(lambda: self.node.trajectory.get_subscription_count() > 0, "the controller's trajectory topic",
                      START_DEADLINE)

    def swap(self, controller: str) -> None:
        """Set the parameter ``controller``, as ``robodyn swap`` and ``ros2 param set`` do."""
        response = self.call(self.node.swap, swap_request(controller), "the answer to set_parameters")
        check_swapped(controller, response)

    def run(self, robot: Robot) -> TrackingRecord:
        """Send the motion, change the controller half-way, and return what happened."""
        states = self.node.states
        held = {name: states[-1].feedback.positions[i] for i, name in enumerate(states[-1].joint_names)}
        answer = self.call(self.node.gravity, Gravity.Request(joint_names=list(held), position=list(held.values())),
                           "the gravity service")
        print("gravity effort at the start [N m]: " + ", ".join(f"{effort:.2f}" for effort in answer.effort))

        motion = trajectory(robot)
        duration = SECONDS_PER_WAYPOINT * len(motion.points)
        states.clear()
        self.node.trajectory.publish(motion)
        progress = Progress(duration, "s", decimals=1)
        first = self.wait_for(lambda: states and states[0], "the controller's state", 5.0)
        start = seconds(first)

        def reached(moment: float) -> bool:
            now = seconds(states[-1]) - start
            progress.show(now, states[-1].controller)
            return now >= moment

        self.wait_for(lambda: reached(duration / 2), "the first half of the motion", 5 * duration)
        progress.end()
        print(f"set_parameters: controller := {CONTROLLERS[1]}", flush=True)
        self.swap(CONTROLLERS[1])
        self.wait_for(lambda: reached(duration + 0.2), "the second half of the motion", 5 * duration)
        progress.end()
        ended = np.array(states[-1].reference.positions)
        if not np.allclose(ended, motion.points[-1].positions, atol=1e-6):
            raise RobodynError("demo: the trajectory did not run to its end; the nodes printed:\n"
                               + "\n".join(process.output() for process in self.nodes))
        return record(robot, states)


def seconds(state: ControllerState) -> float:
    """Stamp of a message [s]."""
    return float(state.header.stamp.sec) + 1e-9 * float(state.header.stamp.nanosec)


def trajectory(robot: Robot) -> JointTrajectory:
    """Make the motion: twice through the swings, then back to the start."""
    start = np.array([START[name] for name in robot.joint_names])
    offsets = [*SWINGS, *SWINGS, np.zeros(robot.n)]
    message = JointTrajectory(joint_names=list(robot.joint_names))
    for index, offset in enumerate(offsets, start=1):
        point = JointTrajectoryPoint(positions=(start + offset).tolist())
        point.time_from_start.sec, nanoseconds = divmod(round(1e9 * SECONDS_PER_WAYPOINT * index), 10**9)
        point.time_from_start.nanosec = nanoseconds
        message.points.append(point)
    return message


def record(robot: Robot, states: Sequence[ControllerState]) -> TrackingRecord:
    """Gather the controller's reports."""
    kinds = {joint.name: joint.kind for joint in robot.model.joints}
    names = list(states[0].joint_names)
    return TrackingRecord(
        names, ["m" if kinds[name] == "prismatic" else "rad" for name in names],
        np.array([seconds(state) for state in states]),
        np.array([state.reference.positions for state in states]),
        np.array([state.feedback.positions for state in states]),
        [state.controller for state in states])


@contextlib.contextmanager
def graph() -> Iterator[list[NodeProcess]]:
    """The four nodes, each in a process of its own."""
    common = {"robot": ROBOT}
    # In lockstep, what is seen does not depend on how busy the machine is; it is slower than real time if need be.
    hardware = {"time_mode": "lockstep", "lockstep_speed_limit": 1.0,
                **{f"initial_position.{name}": value for name, value in START.items()}}
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(NodeProcess(node, {**common, **parameters})) for node, parameters in (
            ("hardware", hardware), ("controller", {"controller": CONTROLLERS[0]}), ("dynamics", {}),
            ("state_publisher", {}))]


def main(args: Sequence[str] | None = None) -> int:
    """Run the demo.

    Returns:
        0, or 1 with one message on stderr if anything failed.
    """
    parser = argparse.ArgumentParser(prog="robodyn demo", description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("demo_output"), help="folder for the plot")
    options = parser.parse_args(args)
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    robot = Robot.from_urdf(robot_file(ROBOT))
    try:
        options.output.mkdir(parents=True, exist_ok=True)
        init_ros()
        with graph() as processes:
            print(f"started hardware, controller ({CONTROLLERS[0]}), dynamics and state_publisher for '{ROBOT}'")
            demo = Demo(DemoNode(), processes)
            demo.ready()
            result = demo.run(robot)
        print("\nTracking error (desired minus measured):\n")
        print(result.table())
        plot = options.output / "tracking.png"
        result.plot(plot, f"{ROBOT}: {CONTROLLERS[0]} swapped for {CONTROLLERS[1]} in mid-motion")
        print(f"\nPlot of desired against measured: {plot}")
    except (RobodynError, OSError) as error:
        print(f"robodyn demo: error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130
    finally:
        rclpy.try_shutdown()
    return 0
