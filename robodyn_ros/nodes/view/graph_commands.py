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
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robodyn_interfaces.srv import Step
from robodyn_ros.base import topic_names
from robodyn_ros.base.checks import MAX_MAGNITUDE
from robodyn_ros.base.errors import RobodynError
from robodyn_ros.base.timing import to_nanoseconds
from robodyn_ros.control.references.quintic import rest_to_rest_duration
from robodyn_ros.description.model import Array
from robodyn_ros.nodes.client.graph import AbsentError, Graph, Request, next_turn
from robodyn_ros.nodes.client.graph_parameters import Entry, GraphParameters, UnknownParameterError
from robodyn_ros.nodes.client.simulation_requests import Simulation
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
CONTROLLER, HARDWARE = "controller", "hardware"
SERVICES = ((SetBool, HARDWARE, "pause"), (Step, HARDWARE, "step"), (Trigger, HARDWARE, "reset"),
            (Trigger, CONTROLLER, "stop"), (Trigger, CONTROLLER, "release"))
FINDING_SECONDS, ANSWER_SECONDS = 2.0, 20.0
"""Longest waits of a request for its service and for the answer [s]; topics of a node may appear before its services,
and a law takes time to compile."""
SPEED_SCALING = "speed_scaling"
"""Parameter of the controller node: speed of all motions, relative to the requested one."""


def to_gain(descriptor: ParameterDescriptor, number: Any) -> Gain | None:
    """Return the data of a slider for a parameter; None if it is neither a finite number nor a switch."""
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
        state: State of the graph.
        report: Called with a message and whether it is a success; an empty message clears it.
        recording: The recorder that a page starts.
    """

    def __init__(self, node: Node, robot: Robot, state: GraphState, report: Callable[[str, bool], None],
                 recording: Recording) -> None:
        self._node, self._robot, self._state, self._report = node, robot, state, report
        self._recording, self._graph = recording, Graph(node)
        self._lock = threading.Lock()
        self._new, self._running = dict[str, Request[None]](), dict[str, Request[None]]()
        self._next_motion = 0.0
        self._speed_parameter = ""
        self._trajectory = node.create_publisher(JointTrajectory, topic_names.JOINT_TRAJECTORY, 10)
        self._pose = node.create_publisher(PoseStamped, topic_names.POSE, 10)
        self._wrench = node.create_publisher(WrenchStamped, topic_names.EXTERNAL_WRENCH, 10)
        for service in SERVICES:  # a client that exists is known to the node when a person clicks
            self._graph.client(*service)
        self._pushing = False

    def run_pending(self) -> None:
        """Go on with all requests; on the executor's thread."""
        with self._lock:
            new, self._new = self._new, {}
        for key, request in new.items():
            if key in self._running:
                self._running[key].close()
            self._running[key] = request
        for key in list(self._running):
            request = self._running.pop(key)
            try:
                request.send(None)
                self._running[key] = request
            except StopIteration:
                pass
            except RobodynError as error:
                self._report(str(error), False)

    def close(self) -> None:
        """End a push of the tip."""
        if self._pushing:
            self._send_force(np.zeros(3))

    def destroy(self) -> None:
        """End a push of the tip and destroy all clients; called when a new description arrives."""
        self.close()
        for request in (*self._new.values(), *self._running.values()):
            request.close()
        for publisher in (self._trajectory, self._pose, self._wrench):
            self._node.destroy_publisher(publisher)
        self._graph.destroy()

    # Commands, on any thread.

    def swap(self, controller: str) -> None:
        """Swap to an installed controller."""
        self._later("swap", self._set(CONTROLLER, "controller", controller,
                                      f"the controller node refused '{controller}'"))

    def set_parameter(self, name: str, value: float | bool) -> None:
        """Set a parameter of the controller node."""
        self._later(name, self._set(CONTROLLER, name, value, f"the controller node refused {name}"))

    def set_speed(self, factor: float) -> None:
        """Set the real-time factor, in simulated seconds per second."""
        self._later("speed", self._set(HARDWARE, self._speed_parameter, factor, "refused"))

    def stop(self) -> None:
        """Stop the robot until it is released."""
        self._supervise("stop")

    def release(self) -> None:
        """End a stop: the controller begins at the current state."""
        self._supervise("release")

    def set_motion_speed(self, share: float) -> None:
        """Set the speed of all motions, relative to the requested one, 0 to 1."""
        self._later("motion speed", self._set(CONTROLLER, SPEED_SCALING, share, "speed refused"))

    def move_joints(self, q: Array) -> None:
        """Move the joints to positions, shape (n,) [rad or m]."""
        self._later("motion", self._move(lambda: self._send_motion(q)))

    def move_tip(self, pose: Array) -> None:
        """Move the tip link to a pose in the base frame, shape (4, 4)."""
        self._later("motion", self._move(lambda: self._send_tip(pose)))

    def push(self, force: Array) -> None:
        """Push the tip link with a force in base axes, shape (3,) [N], until the next push; zeros end the push."""
        self._later("push", self._act(lambda: self._send_force(force)))

    def pause(self, paused: bool) -> None:
        """Pause or resume the simulation."""
        self._later("pause", self._serve(topic_names.PAUSE, lambda: self._simulation.pause(paused)))

    def step(self) -> None:
        """Advance a paused simulation."""
        self._later("step", self._serve(topic_names.STEP, lambda: self._simulation.step(STEPS)))

    def reset(self) -> None:
        """Reset the simulated robot to its initial state."""
        self._later("reset", self._serve(topic_names.RESET, lambda: self._simulation.reset()))

    def record(self, wanted: bool) -> None:
        """Start or end a recording on the view's machine."""
        self._later("record", self._act(self._recording.start if wanted else self._recording.stop))

    # Reading, on the executor's thread.

    def read_controllers(self, on_names: Callable[[list[str]], None]) -> None:
        """Read the names of controllers that the controller node suggests; an empty list without suggestions."""
        def read(entries: list[Entry]) -> None:
            words = entries[0].descriptor.additional_constraints if entries else ""
            on_names(words.removeprefix(SUGGESTIONS).split(", ") if words.startswith(SUGGESTIONS) else [])

        self._later("controllers", self._read(CONTROLLER, ["controller"], read))

    def read_gains(self, prefix: str, on_gains: Callable[[list[Gain]], None]) -> None:
        """Read the numbers and switches among the controller's parameters that begin with a prefix and a dot."""
        def read(entries: list[Entry]) -> None:
            gains = [to_gain(entry.descriptor, entry.value) for entry in entries if entry.name.startswith(f"{prefix}.")]
            on_gains([gain for gain in gains if gain is not None])

        self._later("gains", self._read(CONTROLLER, [prefix], read))

    def read_speed(self, on_speed: Callable[[float | None], None]) -> None:
        """Read the requested real-time factor of the hardware; None in real time or without a speed limit."""
        def read(entries: list[Entry]) -> None:
            given = {entry.name: entry.value for entry in entries}
            mode = str(given.get("time_mode"))
            self._speed_parameter = {"scaled": "real_time_factor", "lockstep": "lockstep_speed_limit"}.get(mode, "")
            value = given.get(self._speed_parameter)
            speed = value if isinstance(value, float) and 0.0 < value <= MAX_MAGNITUDE else 0.0
            on_speed(speed or (5.0 if mode == "lockstep" else None))

        self._later("read speed", self._read(HARDWARE, ["time_mode", "real_time_factor", "lockstep_speed_limit"], read))

    # Requests as coroutines, on the executor's thread.

    @property
    def _simulation(self) -> Simulation:
        return Simulation(self._graph, FINDING_SECONDS)

    def _later(self, key: str, request: Request[None]) -> None:
        """Begin a request at the next turn, in the place of an older one of this key."""
        with self._lock:
            if (older := self._new.pop(key, None)) is not None:
                older.close()
            self._new[key] = request

    async def _act(self, action: Callable[[], None]) -> None:
        action()

    async def _move(self, send: Callable[[], None]) -> None:
        """Send a motion, at least `MOTION_INTERVAL` after the last one."""
        while time.monotonic() < self._next_motion:
            await next_turn()
        send()

    async def _set(self, node: str, name: str, value: float | bool | str, refusal: str) -> None:
        try:
            result = await self._graph.set_parameters(node, {name: value}, FINDING_SECONDS, ANSWER_SECONDS)
        except AbsentError:
            raise RobodynError(f"node '{node}' is not running") from None
        reason = "" if result.successful else result.reason or "refused without a reason"
        self._report(f"{refusal}: {reason}" if reason else "", False)

    async def _read(self, node: str, names: list[str], on_entries: Callable[[list[Entry]], None]) -> None:
        """Read parameters of a node, as soon as it is there; an empty list if it lacks one of them."""
        with suppress(RobodynError):
            try:
                entries = await GraphParameters(self._graph, node, math.inf).entries(names)
            except UnknownParameterError:
                entries = []
            on_entries(entries)

    def _supervise(self, service: str) -> None:
        self._later("stop", self._serve(f"{CONTROLLER}/{service}", lambda: self._graph.supervise(
            service, FINDING_SECONDS, ANSWER_SECONDS)))

    async def _serve(self, name: str, ask: Callable[[], Request[str]]) -> None:
        try:
            await ask()
        except AbsentError:
            reason = ("its node is gone" if name.startswith(CONTROLLER) else
                      "this robot is not simulated, or its node is gone")
            raise RobodynError(f"there is no service {name}: {reason}") from None
        self._report("", False)

    def _send_tip(self, pose: Array) -> None:
        """Send a pose to a law that follows the tip, or the joint positions of that pose to any other law."""
        if self._state.follow.tip is not None:
            self._next_motion = time.monotonic() + MOTION_INTERVAL
            message = PoseStamped(pose=to_pose(pose))
            message.header.frame_id = self._robot.model.base_link
            self._pose.publish(message)
            return
        target = pose if self._robot.n >= 6 else pose[:3, 3]
        start = self._state.q if self._state.follow.q is None else self._state.follow.q
        found = self._robot.inverse_kinematics(target, start, restarts=0, position_tolerance=1e-5,
                                               orientation_tolerance=1e-4)
        self._send_motion(found.q)
        self._report("" if found.success else "out of reach: the tip goes to the nearest pose that the arm found", True)

    def _send_motion(self, q: Array) -> None:
        if self._state.follow.controller and self._state.follow.q is None:
            self._report(f"controller '{self._state.follow.controller}' does not follow joints: choose one that does, "
                         "such as computed_torque", False)
            return
        self._next_motion = time.monotonic() + MOTION_INTERVAL
        start = self._state.q if self._state.follow.q is None else self._state.follow.q
        point = JointTrajectoryPoint(positions=q.tolist(), velocities=[0.0] * len(q))
        set_stamp(point.time_from_start, to_nanoseconds(rest_to_rest_duration(self._robot.model, start, q)))
        self._trajectory.publish(JointTrajectory(joint_names=list(self._robot.joint_names), points=[point]))

    def _send_force(self, force: Array) -> None:
        link = self._robot.tip_link
        rotation = self._robot.dynamics().forward_kinematics(self._state.q)[:3, :3]
        message = WrenchStamped(wrench=to_wrench(np.concatenate([rotation.T @ force, np.zeros(3)])))
        message.header.frame_id = link
        self._wrench.publish(message)
        self._pushing = bool(force.any())
