# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Sends requests from the page to the nodes of the graph, by topics, services and parameters."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rcl_interfaces.msg import ParameterDescriptor, ParameterValue
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robodyn_interfaces.srv import Step
from robodyn_ros.base import topic_names
from robodyn_ros.base.checks import MAX_MAGNITUDE
from robodyn_ros.base.timing import to_nanoseconds
from robodyn_ros.control.references.quintic import rest_to_rest_duration
from robodyn_ros.description.model import Array
from robodyn_ros.nodes.common.messages import set_stamp
from robodyn_ros.nodes.common.poses import to_pose, to_wrench
from robodyn_ros.nodes.view.graph_state import GraphState
from robodyn_ros.nodes.view.recording import Recording
from robodyn_ros.robot import Robot
from robodyn_ros.toolbox.view.sliders import Gain, is_shown

SUGGESTIONS = "such as: "
"""Prefix of a descriptor's additional_constraints that lists suggestions instead of all allowed values."""
MOTION_INTERVAL = 0.1
"""Least time between two motions while a slider or handle is dragged [s]."""
STEPS = 10
"""Control periods per click on the step button."""
SERVICES = {topic_names.PAUSE: SetBool, topic_names.STEP: Step, topic_names.RESET: Trigger, topic_names.STOP: Trigger,
            topic_names.RELEASE: Trigger}
FINDING_SECONDS = 2.0
"""Longest wait of a request for its service [s]; a node's topics may appear before its services."""
SPEED_SCALING = "speed_scaling"
"""Parameter of the controller node: speed of all motions, relative to the requested one."""


class RemoteParameters:
    """The parameters of one node.

    Args:
        node: The node that asks.
        remote: Name of the node with the parameters, in the namespace of ``node``.
    """

    def __init__(self, node: Node, remote: str) -> None:
        self.remote, self._node = remote, node
        before = set(node.clients)
        self._client = AsyncParameterClient(node, remote)  # it has no method that destroys its clients
        self._of_services = set(node.clients) - before

    def destroy(self) -> None:
        """Destroy the service clients, for which other processes keep memory."""
        for client in self._of_services:
            self._node.destroy_client(client)

    @property
    def ready(self) -> bool:
        """Whether the node is running."""
        return self._client.services_are_ready()

    def read(self, names: Sequence[str], on_values: Callable[[list[Any]], None]) -> None:
        """Read values; None for unknown parameters."""
        future = self._client.get_parameters(list(names))
        future.add_done_callback(lambda done: on_values([parameter_value_to_python(value)
                                                         for value in done.result().values]))

    def suggestions(self, name: str, on_values: Callable[[list[str]], None]) -> None:
        """Read the values that a parameter's descriptor suggests; an empty list without suggestions."""
        def read(done: Any) -> None:
            [descriptor] = done.result().descriptors or [ParameterDescriptor()]
            words = descriptor.additional_constraints
            on_values(words.removeprefix(SUGGESTIONS).split(", ") if words.startswith(SUGGESTIONS) else [])

        self._client.describe_parameters([name]).add_done_callback(read)

    def gains(self, prefix: str, on_gains: Callable[[list[Gain]], None]) -> None:
        """Read the numbers and switches among the parameters that begin with a prefix and a dot."""
        def listed(done: Any) -> None:
            names = [name for name in done.result().result.names if name.startswith(f"{prefix}.")]
            if not names:
                on_gains([])
                return
            self._client.describe_parameters(names).add_done_callback(lambda described: described_all(names, described))

        def described_all(names: list[str], done: Any) -> None:
            descriptors = done.result().descriptors
            self._client.get_parameters(names).add_done_callback(lambda values: on_gains(
                [gain for descriptor, value in zip(descriptors, values.result().values, strict=True)
                 if (gain := to_gain(descriptor, value)) is not None]))

        self._client.list_parameters([prefix]).add_done_callback(listed)

    def set(self, name: str, value: float | bool | str, on_answer: Callable[[str], None]) -> None:
        """Set a parameter; the answer is empty on success, otherwise the reason for the refusal."""
        def answered(done: Any) -> None:
            [result] = done.result().results
            on_answer("" if result.successful else result.reason or "refused without a reason")

        self._client.set_parameters([Parameter(name, value=value)]).add_done_callback(answered)


def to_gain(descriptor: ParameterDescriptor, value: ParameterValue) -> Gain | None:
    """Return the data of a slider for a parameter; None if it is neither a finite number nor a switch."""
    number = parameter_value_to_python(value)
    if not is_shown(number):
        return None
    ranges = [*descriptor.floating_point_range, *descriptor.integer_range]
    lower, upper = (float(ranges[0].from_value), float(ranges[0].to_value)) if ranges else (-math.inf, math.inf)
    if not lower <= number <= upper:  # also if a limit is NaN
        lower, upper = -math.inf, math.inf
    unbounded = 2.0**62  # integers have no infinity
    return Gain(descriptor.name, number, lower if lower > -unbounded else -math.inf,
                upper if upper < unbounded else math.inf, descriptor.description,
                descriptor.read_only or "fixed while the controller is in force" in descriptor.description)


class GraphCommands:
    """Accepts requests on any thread and sends them on the executor's thread; see `robodyn_ros.toolbox.view.panel`.

    Args:
        node: The node that sends.
        robot: The robot.
        graph: State of the graph.
        report: Called with a message and whether it is a success; an empty message clears it.
        recording: The recorder that a page starts.
    """

    def __init__(self, node: Node, robot: Robot, graph: GraphState, report: Callable[[str, bool], None],
                 recording: Recording) -> None:
        self._node, self._robot, self._graph, self._report = node, robot, graph, report
        self._recording = recording
        self._lock, self._pending = threading.Lock(), dict[str, Callable[[], None]]()
        self._next_motion = 0.0
        self.controller, self.hardware = RemoteParameters(node, "controller"), RemoteParameters(node, "hardware")
        self._speed_parameter = ""
        self._trajectory = node.create_publisher(JointTrajectory, topic_names.JOINT_TRAJECTORY, 10)
        self._pose = node.create_publisher(PoseStamped, topic_names.POSE, 10)
        self._wrench = node.create_publisher(WrenchStamped, topic_names.EXTERNAL_WRENCH, 10)
        self._services = {name: node.create_client(kind, name) for name, kind in SERVICES.items()}
        self._pushing = False

    def run_pending(self) -> None:
        """Send the pending requests; on the executor's thread."""
        with self._lock:
            pending, self._pending = self._pending, {}
        for send in pending.values():
            send()

    def close(self) -> None:
        """End a push of the tip."""
        if self._pushing:
            self._send_force(np.zeros(3))

    def destroy(self) -> None:
        """End a push of the tip and destroy all clients; called when a new description arrives."""
        self.close()
        for publisher in (self._trajectory, self._pose, self._wrench):
            self._node.destroy_publisher(publisher)
        for client in self._services.values():
            self._node.destroy_client(client)
        self.controller.destroy()
        self.hardware.destroy()

    # Commands, on any thread.

    def swap(self, controller: str) -> None:
        """Swap to an installed controller."""
        self._set("swap", self.controller, "controller", controller, f"the controller node refused '{controller}'")

    def set_parameter(self, name: str, value: float | bool) -> None:
        """Set a parameter of the controller node."""
        self._set(name, self.controller, name, value, f"the controller node refused {name}")

    def set_speed(self, factor: float) -> None:
        """Set the real-time factor, in simulated seconds per second."""
        self._set("speed", self.hardware, self._speed_parameter, factor, "refused")

    def stop(self) -> None:
        """Stop the robot until it is released."""
        self._call("stop", topic_names.STOP, Trigger.Request())

    def release(self) -> None:
        """End a stop: the controller begins at the current state."""
        self._call("stop", topic_names.RELEASE, Trigger.Request())

    def set_motion_speed(self, share: float) -> None:
        """Set the speed of all motions, relative to the requested one, 0 to 1."""
        self._set("motion speed", self.controller, SPEED_SCALING, share, "speed refused")

    def move_joints(self, q: Array) -> None:
        """Move the joints to positions, shape (n,) [rad or m]."""
        self._move(lambda: self._send_motion(q))

    def move_tip(self, pose: Array) -> None:
        """Move the tip link to a pose in the base frame, shape (4, 4)."""
        self._move(lambda: self._send_tip(pose))

    def push(self, force: Array) -> None:
        """Push the tip link with a force in base axes, shape (3,) [N], until the next push; zeros end the push."""
        self._later("push", lambda: self._send_force(force))

    def pause(self, paused: bool) -> None:
        """Pause or resume the simulation."""
        self._call("pause", topic_names.PAUSE, SetBool.Request(data=paused))

    def step(self) -> None:
        """Advance a paused simulation."""
        self._call("step", topic_names.STEP, Step.Request(steps=STEPS))

    def reset(self) -> None:
        """Reset the simulated robot to its initial state."""
        self._call("reset", topic_names.RESET, Trigger.Request())

    def record(self, wanted: bool) -> None:
        """Start or end a recording on the view's machine."""
        self._later("record", self._recording.start if wanted else self._recording.stop)

    def _later(self, key: str, send: Callable[[], None]) -> None:
        with self._lock:
            self._pending.pop(key, None)
            self._pending[key] = send

    def _move(self, send: Callable[[], None]) -> None:
        """Send a motion, at least `MOTION_INTERVAL` after the last one."""
        def attempt() -> None:
            if time.monotonic() < self._next_motion:
                self._again("motion", attempt)
            else:
                send()

        self._later("motion", attempt)

    def _when(self, key: str, is_ready: Callable[[], bool], send: Callable[[], None], absent: str) -> None:
        """Send a request once its receiver is ready; report if it stays absent."""
        deadline = time.monotonic() + FINDING_SECONDS

        def attempt() -> None:
            if is_ready():
                send()
            elif time.monotonic() < deadline:
                self._again(key, attempt)
            else:
                self._report(absent, False)

        self._later(key, attempt)

    def _set(self, key: str, remote: RemoteParameters, name: str, value: float | bool | str, refusal: str) -> None:
        self._when(key, lambda: remote.ready, lambda: remote.set(
            name, value, lambda reason: self._report(f"{refusal}: {reason}" if reason else "", False)),
            f"node '{remote.remote}' is not running")

    def _call(self, key: str, name: str, request: Any) -> None:
        client = self._services[name]

        def answered(done: Any) -> None:
            response = done.result()
            self._report("" if response.success else f"{name.rpartition('/')[2]}: {response.message}", False)

        reason = ("its node is gone" if name.startswith("controller/") else
                  "this robot is not simulated, or its node is gone")
        self._when(key, client.service_is_ready, lambda: client.call_async(request).add_done_callback(answered),
                   f"there is no service {client.srv_name}: {reason}")

    # On the executor's thread.

    def _again(self, key: str, send: Callable[[], None]) -> None:
        with self._lock:
            self._pending.setdefault(key, send)  # unless a newer request has arrived

    def read_speed(self, on_speed: Callable[[float | None], None]) -> None:
        """Read the requested real-time factor of the hardware; None in real time or without a speed limit."""
        def read(values: list[Any]) -> None:
            mode, factor, limit = values
            name, value = {"scaled": ("real_time_factor", factor), "lockstep": ("lockstep_speed_limit", limit)}.get(
                mode, ("", None))
            self._speed_parameter = name
            speed = value if isinstance(value, float) and 0.0 < value <= MAX_MAGNITUDE else 0.0
            on_speed(speed or (5.0 if mode == "lockstep" else None))

        self.hardware.read(["time_mode", "real_time_factor", "lockstep_speed_limit"], read)

    def _send_tip(self, pose: Array) -> None:
        """Send a pose to a law that follows the tip, or the joint positions of that pose to any other law."""
        if self._graph.follow.tip is not None:
            self._next_motion = time.monotonic() + MOTION_INTERVAL
            message = PoseStamped(pose=to_pose(pose))
            message.header.frame_id = self._robot.model.base_link
            self._pose.publish(message)
            return
        target = pose if self._robot.n >= 6 else pose[:3, 3]
        start = self._graph.q if self._graph.follow.q is None else self._graph.follow.q
        found = self._robot.inverse_kinematics(target, start, restarts=0, position_tolerance=1e-5,
                                               orientation_tolerance=1e-4)
        self._send_motion(found.q)
        self._report("" if found.success else "out of reach: the tip goes to the nearest pose that the arm found", True)

    def _send_motion(self, q: Array) -> None:
        if self._graph.follow.controller and self._graph.follow.q is None:
            self._report(f"controller '{self._graph.follow.controller}' does not follow joints: choose one that does, "
                         "such as computed_torque", False)
            return
        self._next_motion = time.monotonic() + MOTION_INTERVAL
        start = self._graph.q if self._graph.follow.q is None else self._graph.follow.q
        point = JointTrajectoryPoint(positions=q.tolist(), velocities=[0.0] * len(q))
        set_stamp(point.time_from_start, to_nanoseconds(rest_to_rest_duration(self._robot.model, start, q)))
        self._trajectory.publish(JointTrajectory(joint_names=list(self._robot.joint_names), points=[point]))

    def _send_force(self, force: Array) -> None:
        link = self._robot.tip_link
        rotation = self._robot.dynamics().forward_kinematics(self._graph.q)[:3, :3]
        message = WrenchStamped(wrench=to_wrench(np.concatenate([rotation.T @ force, np.zeros(3)])))
        message.header.frame_id = link
        self._wrench.publish(message)
        self._pushing = bool(force.any())
