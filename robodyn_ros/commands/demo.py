# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``robodyn demo``: a robot follows a trajectory, and its controller is swapped in mid-motion.

Four nodes run in their own processes. The demo talks to them over DDS, like a user's program. It sends the trajectory,
sets the parameter ``controller`` and records ``~/controller_state``.
"""

from __future__ import annotations

import contextlib
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Protocol, TypeVar

import numpy as np

from robodyn_ros.base.errors import InputError, RobodynError
from robodyn_ros.commands.options import named_controllers
from robodyn_ros.commands.processes import NodeProcess
from robodyn_ros.commands.progress import Progress
from robodyn_ros.commands.required import ros_required
from robodyn_ros.commands.trajectory_files import read_motion
from robodyn_ros.control.contract.controller import JointReference
from robodyn_ros.control.plugins.registry import load_controller
from robodyn_ros.control.references.joint_trajectory import Points
from robodyn_ros.description.model import Array
from robodyn_ros.description.resources import actuators_file, robot_file
from robodyn_ros.nodes.common.discovery import described, stay_on_this_machine
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.plant import default_position
from robodyn_ros.simulation.standard_motion import excursion_points
from robodyn_ros.simulation.tracking import SETTLING, TrackingRecord, TrackingSample
from robodyn_ros.toolbox.plots.motion import Curves, MotionCurves, energies, joint_units
from robodyn_ros.toolbox.plots.motion_figure import save_motions

START = {"shoulder_pan_joint": 0.0, "shoulder_lift_joint": -1.2, "elbow_joint": 1.4, "wrist_1_joint": -1.6,
         "wrist_2_joint": -1.2, "wrist_3_joint": 0.0}
"""Joint positions of arm6 at the start of the simulation [rad]; arm6 has its own motion."""
SWINGS = np.array([[0.9, -0.4, 0.5, -0.4, 0.5, 1.2], [-0.6, 0.3, -0.6, 0.6, -0.4, -0.9],
                   [0.5, -0.6, 0.7, 0.3, 0.6, 0.6], [-0.8, 0.2, -0.3, -0.5, -0.6, -1.2]])
"""Waypoints relative to the start [rad], passed twice; all joints move between waypoints."""
SECONDS_PER_WAYPOINT = 1.5
DEADLINE = 120.0
"""Longest wait for the nodes and their answers [s], for slow machines; a node that ends is reported at once."""

T = TypeVar("T")


class DemoClient(Protocol):
    """The methods of ``RobotClient`` that the demo calls, declared here because importing that class needs ROS 2."""

    def wait_for(self, condition: Callable[[], T], what: str, seconds: float) -> T:
        """Serve callbacks until a condition is true, and return its value."""

    def wait_for_transforms(self, seconds: float) -> None:
        """Wait until a node publishes /tf."""

    def record(self) -> list[TrackingSample]:
        """Start recording ``~/controller_state``."""

    def gravity_effort(self, joint_names: Sequence[str], q: Array, seconds: float) -> Array:
        """Return the gravity efforts from the dynamics node, shape (n,) [N m or N]."""

    def follow(self, joint_names: Sequence[str], points: Points, seconds: float) -> None:
        """Send a joint trajectory that starts on arrival."""

    def swap(self, controller: str, seconds: float) -> None:
        """Swap to a controller."""


def run_demo(options: Namespace) -> int:
    """Start the nodes, run the motion, print the tracking errors and write the plot.

    Raises:
        InputError: A file or controller cannot be used.
        RobodynError: A node ended or does not answer, or ROS 2 cannot be imported.
        OSError: The plot cannot be written.
    """
    with ros_required():
        from robodyn_ros.nodes.client.robot_client import RobotClient

    stay_on_this_machine()
    file, controllers = robot_file(options.robot).resolve(), named_controllers(options)
    robot = Robot.from_urdf(file, tip_link=options.tip_link)
    robot.check_accelerations()
    for name in controllers:
        if load_controller(name).follows is not JointReference:
            raise InputError(f"demo: expected controllers that follow joints, received '{name}'")
    start, points = motion(robot, options.trajectory)
    hardware: dict[str, object] = {f"initial_position.{name}": float(value)
                                   for name, value in zip(robot.joint_names, start, strict=True)}
    everywhere = {"tip_link": robot.tip_link}
    if options.actuators:
        everywhere["actuators"] = str(actuators_file(options.actuators).resolve())
        robot = robot.with_actuators(everywhere["actuators"])  # raise before the nodes start
    print(described())
    options.output.mkdir(parents=True, exist_ok=True)
    parameters: Mapping[str, Mapping[str, object]] = {
        "hardware": {**everywhere, **hardware}, "controller": {"controller": controllers[0], **everywhere},
        "dynamics": everywhere, "state_publisher": {}}
    with RobotClient("demo") as client, start_nodes(str(file), parameters) as processes:
        client.checks += [process.check for process in processes]
        print(f"started hardware, controller ({controllers[0]}), dynamics and state_publisher for '{robot.name}'")
        samples = perform(client, robot, controllers, points, processes)
    result = record(robot, samples)
    print(f"\nTracking error (desired minus measured; settled: {SETTLING:g} s after the start or the swap):\n\n"
          f"{result.table()}")
    plot = options.output / "tracking.png"
    title = f"{controllers[0]} swapped for {', '.join(controllers[1:])} in mid-motion" if controllers[1:] else (
        controllers[0])
    save_motions([curves_of(robot, result, samples)], plot, f"{robot.name}: {title}")
    print(f"\nPlot of desired against measured: {plot}")
    return 0


def motion(robot: Robot, trajectory: str | None) -> tuple[Array, Points]:
    """Return the joint positions at the start, shape (n,) [rad or m], and the points to move through.

    Args:
        robot: The robot.
        trajectory: File of the motion; None: arm6's own motion, twice the waypoints and back, or the standard motion.
    """
    if trajectory:
        points, path = read_motion(trajectory, robot)
        return path.sample(0.0).q, points
    if robot.joint_names != tuple(START):
        return default_position(robot), excursion_points(robot, slower=3.0, times=4)
    start = np.array([START[name] for name in robot.joint_names])
    positions: Array = start + np.concatenate([SWINGS, SWINGS, np.zeros((1, robot.n))])
    return start, Points.from_arrays(SECONDS_PER_WAYPOINT * np.arange(1.0, len(positions) + 1.0), positions)


@contextlib.contextmanager
def start_nodes(robot: str, parameters: Mapping[str, Mapping[str, object]]) -> Iterator[list[NodeProcess]]:
    """Start nodes, each in its own process, with the hardware in lockstep: a busy machine only slows the demo down.

    Args:
        robot: URDF file of the robot.
        parameters: Parameters of each node by its name.
    """
    given: dict[str, dict[str, object]] = {node: {"robot": robot, **values} for node, values in parameters.items()}
    given["hardware"] = {"time_mode": "lockstep", "lockstep_speed_limit": 1.0, **given["hardware"]}
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(NodeProcess(node, values)) for node, values in given.items()]


def perform(client: DemoClient, robot: Robot, controllers: Sequence[str], points: Points,
            processes: Sequence[NodeProcess]) -> list[TrackingSample]:
    """Send the motion, swap the controllers on the way and record the tracking.

    Args:
        client: The connection to the nodes.
        robot: The robot.
        controllers: The controllers; the first one is running.
        points: Points to move through.
        processes: The node processes, whose output is shown in errors.

    Raises:
        RobodynError: A node ended or does not answer, or the trajectory did not run to its end.
    """
    samples = client.record()
    client.wait_for(lambda: samples, "controller state", DEADLINE)
    client.wait_for_transforms(DEADLINE)
    gravity = client.gravity_effort(samples[-1].joint_names, samples[-1].measured, DEADLINE)
    print("gravity effort at the start [N m or N]: " + ", ".join(f"{effort:.2f}" for effort in gravity))

    client.follow(robot.joint_names, points, DEADLINE)
    samples.clear()
    start = client.wait_for(lambda: samples[:1], "controller state", DEADLINE)[0].time
    duration = float(points.times[-1])
    patience = DEADLINE + 5.0 * duration
    progress = Progress(duration, "s", decimals=1)

    def reached(moment: float) -> bool:
        now = samples[-1].time - start
        progress.show(now, samples[-1].controller)
        return now >= moment

    for number, controller in enumerate(controllers[1:], 1):
        moment = duration * number / len(controllers)
        client.wait_for(partial(reached, moment), "progress of the motion", patience)
        progress.end()
        print(f"set_parameters: controller := {controller}", flush=True)
        client.swap(controller, DEADLINE)
    client.wait_for(lambda: reached(duration + 0.2), "end of the motion", patience)
    progress.end()
    if not np.allclose(samples[-1].desired, points.q[-1], atol=1e-6):
        raise RobodynError("demo: the trajectory did not run to its end; the nodes printed:\n"
                           + "\n".join(process.output() for process in processes))
    return samples


def record(robot: Robot, samples: Sequence[TrackingSample]) -> TrackingRecord:
    """Join samples into one record."""
    return TrackingRecord(
        samples[0].joint_names, joint_units(robot.model),
        np.array([sample.time for sample in samples]),
        np.array([sample.desired for sample in samples]),
        np.array([sample.measured for sample in samples]),
        [sample.controller for sample in samples])


def curves_of(robot: Robot, tracking: TrackingRecord, samples: Sequence[TrackingSample]) -> MotionCurves:
    """Return the demo's motion for its plot."""
    time, batch = tracking.time - tracking.time[0], robot.dynamics().batch
    return MotionCurves(
        robot.name, tracking.joint_names, tracking.units, tracking.spans(), Curves(time, tracking.measured),
        Curves(time, tracking.desired), Curves(time, tracking.error),
        Curves(time, np.array([sample.effort for sample in samples])), robot.model.effort_limit,
        energies=energies(robot, time, tracking.measured, np.array([sample.velocity for sample in samples])),
        tip=Curves(time, batch.forward_kinematics(tracking.measured)[:, :3, 3]),
        desired_tip=Curves(time, batch.forward_kinematics(tracking.desired)[:, :3, 3]))
