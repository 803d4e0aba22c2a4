"""``robodyn demo``: a 6-axis arm follows a trajectory, and its controller is swapped in mid-motion.

Four nodes run in processes of their own. The demo talks to them over DDS, as a program of a user does. It sends the
trajectory, sets the parameter ``controller`` and records ``~/controller_state``.
"""

from __future__ import annotations

import contextlib
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

import numpy as np

from robodyn_ros.commands.processes import NodeProcess
from robodyn_ros.commands.progress import Progress
from robodyn_ros.commands.required import ros_required
from robodyn_ros.description.model import Array
from robodyn_ros.errors import RobodynError
from robodyn_ros.nodes.common.discovery import described, stay_on_this_machine
from robodyn_ros.plots.motion import Curves, MotionCurves, joint_units
from robodyn_ros.plots.motion_figure import save_motions
from robodyn_ros.resources import robot_file
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.tracking import SETTLING, TrackingRecord, TrackingSample

ROBOT = "arm6"
CONTROLLERS = ("pd", "computed_torque")
START = {"shoulder_pan_joint": 0.0, "shoulder_lift_joint": -1.2, "elbow_joint": 1.4, "wrist_1_joint": -1.6,
         "wrist_2_joint": -1.2, "wrist_3_joint": 0.0}
"""Joint positions when the simulation starts [rad]."""
SWINGS = np.array([[0.9, -0.4, 0.5, -0.4, 0.5, 1.2], [-0.6, 0.3, -0.6, 0.6, -0.4, -0.9],
                   [0.5, -0.6, 0.7, 0.3, 0.6, 0.6], [-0.8, 0.2, -0.3, -0.5, -0.6, -1.2]])
"""Waypoints relative to the start [rad], passed twice; half-way, all joints move from one waypoint to the next."""
SECONDS_PER_WAYPOINT = 1.5
START_DEADLINE = 30.0
"""Longest wait for the nodes to start, and for their answers [s]."""

T = TypeVar("T")


class DemoClient(Protocol):
    """The methods of ``RobotClient`` that the demo calls, declared here because importing that class needs ROS 2."""

    def wait_for(self, condition: Callable[[], T], what: str, seconds: float) -> T:
        """Serve callbacks until a condition returns something true, and return that."""

    def wait_for_transforms(self, seconds: float) -> None:
        """Wait until a node publishes /tf."""

    def record(self) -> list[TrackingSample]:
        """Start to record ``~/controller_state``."""

    def gravity_effort(self, joint_names: Sequence[str], q: Array, seconds: float) -> Array:
        """Ask the dynamics node for the gravity efforts, shape (n,) [N m or N]."""

    def follow(self, joint_names: Sequence[str], times: Array, positions: Array, seconds: float) -> None:
        """Send a joint trajectory that starts on arrival."""

    def swap(self, controller: str, seconds: float) -> None:
        """Put a controller in force."""


def run_demo(options: Namespace) -> int:
    """Start the nodes, run the motion, print the tracking errors and write the plot.

    Raises:
        RobodynError: A node ended or does not answer, or ROS 2 cannot be imported.
        OSError: The plot cannot be written.
    """
    with ros_required():
        from robodyn_ros.nodes.client.robot_client import RobotClient

    stay_on_this_machine()
    print(described())
    robot = Robot.from_urdf(robot_file(ROBOT))
    options.output.mkdir(parents=True, exist_ok=True)
    with RobotClient("demo") as client, start_nodes() as processes:
        client.checks += [process.check for process in processes]
        print(f"started hardware, controller ({CONTROLLERS[0]}), dynamics and state_publisher for '{ROBOT}'")
        samples = perform(client, robot, processes)
    result = record(robot, samples)
    print(f"\nTracking error (desired minus measured; settled: {SETTLING:g} s after the start or the swap):\n\n"
          f"{result.table()}")
    plot = options.output / "tracking.png"
    save_motions([curves_of(robot, result, np.array([sample.effort for sample in samples]))], plot,
                 f"{ROBOT}: {CONTROLLERS[0]} swapped for {CONTROLLERS[1]} in mid-motion")
    print(f"\nPlot of desired against measured: {plot}")
    return 0


@contextlib.contextmanager
def start_nodes() -> Iterator[list[NodeProcess]]:
    """Start the four nodes, each in a process of its own."""
    # In lockstep, a busy machine slows the simulation down and does not change its result.
    hardware = {"time_mode": "lockstep", "lockstep_speed_limit": 1.0,
                **{f"initial_position.{name}": value for name, value in START.items()}}
    parameters: dict[str, dict[str, object]] = {
        "hardware": {**hardware}, "controller": {"controller": CONTROLLERS[0]}, "dynamics": {}, "state_publisher": {}}
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(NodeProcess(node, {"robot": ROBOT, **values}))
               for node, values in parameters.items()]


def perform(client: DemoClient, robot: Robot, processes: Sequence[NodeProcess]) -> list[TrackingSample]:
    """Send the motion, swap the controller half-way and record the tracking.

    Args:
        client: The connection to the nodes.
        robot: The robot.
        processes: The processes of the nodes; an error shows what they printed.

    Raises:
        RobodynError: A node ended or does not answer, or the trajectory did not run to its end.
    """
    samples = client.record()
    client.wait_for(lambda: samples, "controller state", START_DEADLINE)
    client.wait_for_transforms(START_DEADLINE)
    gravity = client.gravity_effort(samples[-1].joint_names, samples[-1].measured, START_DEADLINE)
    print("gravity effort at the start [N m]: " + ", ".join(f"{effort:.2f}" for effort in gravity))

    times, positions = trajectory(robot)
    client.follow(robot.joint_names, times, positions, START_DEADLINE)
    samples.clear()
    start = client.wait_for(lambda: samples[:1], "controller state", 5.0)[0].time
    progress = Progress(times[-1], "s", decimals=1)

    def reached(moment: float) -> bool:
        now = samples[-1].time - start
        progress.show(now, samples[-1].controller)
        return now >= moment

    client.wait_for(lambda: reached(times[-1] / 2), "end of the motion's first half", 5 * times[-1])
    progress.end()
    print(f"set_parameters: controller := {CONTROLLERS[1]}", flush=True)
    client.swap(CONTROLLERS[1], 10.0)
    client.wait_for(lambda: reached(times[-1] + 0.2), "end of the motion", 5 * times[-1])
    progress.end()
    if not np.allclose(samples[-1].desired, positions[-1], atol=1e-6):
        raise RobodynError("demo: the trajectory did not run to its end; the nodes printed:\n"
                           + "\n".join(process.output() for process in processes))
    return samples


def trajectory(robot: Robot) -> tuple[Array, Array]:
    """Return times [s], shape (N,), and positions [rad], shape (N, n): twice the swings, then back to the start."""
    start = np.array([START[name] for name in robot.joint_names])
    positions: Array = start + np.concatenate([SWINGS, SWINGS, np.zeros((1, robot.n))])
    times: Array = SECONDS_PER_WAYPOINT * np.arange(1.0, len(positions) + 1.0)
    return times, positions


def record(robot: Robot, samples: Sequence[TrackingSample]) -> TrackingRecord:
    """Join samples of the robot into one record."""
    return TrackingRecord(
        samples[0].joint_names, joint_units(robot.model),
        np.array([sample.time for sample in samples]),
        np.array([sample.desired for sample in samples]),
        np.array([sample.measured for sample in samples]),
        [sample.controller for sample in samples])


def curves_of(robot: Robot, tracking: TrackingRecord, effort: Array) -> MotionCurves:
    """Return the demo's motion for its plot; efforts of shape (N, n) [N m or N]."""
    time, batch = tracking.time - tracking.time[0], robot.dynamics().batch
    return MotionCurves(
        ROBOT, tracking.joint_names, tracking.units, tracking.spans(), Curves(time, tracking.measured),
        Curves(time, tracking.desired), Curves(time, tracking.error), Curves(time, effort), robot.model.effort_limit,
        tip=Curves(time, batch.forward_kinematics(tracking.measured)[:, :3, 3]),
        desired_tip=Curves(time, batch.forward_kinematics(tracking.desired)[:, :3, 3]))
