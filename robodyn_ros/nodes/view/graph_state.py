# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""State of a running graph: the newest messages, as plain values in the robot's joint order."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState

from robodyn_interfaces.msg import ActuatorStates, ControllerState
from robodyn_ros.base import topic_names
from robodyn_ros.base.errors import InputError
from robodyn_ros.base.timing import to_seconds
from robodyn_ros.control.runtime.modes import STOPS
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.nodes.common.messages import EFFORT, POSITION, JointOrder, read_stamp
from robodyn_ros.nodes.common.polled_states import NewestStates
from robodyn_ros.nodes.common.poses import read_wrench, to_arrays
from robodyn_ros.nodes.common.runtime import RobodynNode
from robodyn_ros.nodes.common.topics import LatestMessage
from robodyn_ros.toolbox.view.robot_figure import to_pose

SILENCE = 1.0
"""Time without joint states after which the graph counts as ended [s]."""
STILL_SECONDS = 0.3
"""Time without a new stamp after which the simulation counts as paused [s]."""
GAP, STEADY = 0.2, 2.0
"""Times [s]: the view subscribes to joint_states if no controller state arrives for `GAP`, and unsubscribes after
`STEADY` without such a gap. A subscriber of joint_states costs the control loop time in every period.
"""
SPEED_WINDOW = 1.0
"""Time span over which the real-time factor is measured [s]."""

STOPPED_MODES = tuple(mode.value for mode in STOPS)
"""Modes of ``~/controller_state`` in which the robot is stopped until it is released."""

MOST_TERMS = 20
"""Terms of an effort that are shown; a message may have any number."""


@dataclass
class ShownReference:
    """Reference of the controller at its last tick; arrays of shape (n,), None for values that do not exist.

    Attributes:
        controller: Name of the active controller; empty if unknown.
        q: Desired positions [rad or m].
        tip: Desired pose of the tip link in the base frame, shape (4, 4).
        error: Desired minus measured positions [rad or m].
        tip_error: Distance from the desired to the measured position of the tip link [m].
        stopped: Why the robot is stopped until its release; empty: it is not.
        speed: Speed of all motions, relative to the requested one; None if unknown.
        terms: Parts of the efforts by name [N m or N]; empty if unknown.
    """

    controller: str = ""
    q: Array | None = None
    tip: Array | None = None
    error: Array | None = None
    tip_error: float | None = None
    stopped: str = ""
    speed: float | None = None
    terms: dict[str, Array] = field(default_factory=dict)


class GraphState:
    """The newest state of hardware and controller. Messages wake no thread; `update` reads arrived ones.

    Args:
        node: The node that subscribes.
        model: The robot.

    Attributes:
        stamp: Stamp of the last joint state [ns]; 0 before the first.
        q: Joint positions, shape (n,) [rad or m].
        effort: Efforts of the drives, shape (n,) [N m or N]; the commanded ones if nobody publishes them.
        follow: Reference of the controller.
        current: Motor currents, shape (n,) [A]; NaN for joints without a motor, None without any.
        voltage: Motor voltages likewise [V].
        wrenches: External and measured wrench: link, and (force, torque) in its axes, shape (6,) [N, N m].
        problem: Why the last joint state could not be used; empty if it could.
    """

    def __init__(self, node: RobodynNode, model: RobotModel) -> None:
        self._node, self._joints = node, JointOrder(model.joint_names)
        self._joint_states: LatestMessage[JointState] | None = self._listen_to_joint_states()
        self._newest = NewestStates(self._joints, node.diagnostics)
        self._controller = LatestMessage(node, node.diagnostics, ControllerState, topic_names.DISPLAY_CONTROLLER_STATE)
        self._actuators = LatestMessage(node, node.diagnostics, ActuatorStates,
                                        topic_names.DISPLAY_ACTUATOR_STATES)
        self._wrenches = [(kind, LatestMessage(node, node.diagnostics, WrenchStamped, topic)) for kind, topic in (
            ("external", topic_names.EXTERNAL_WRENCH), ("measured", topic_names.MEASURED_WRENCH),
            ("measured", topic_names.FORCE_TORQUE))]
        self.stamp = 0
        self.q, self.effort = np.zeros(model.n), np.full(model.n, math.nan)
        self.follow = ShownReference()
        self.current: Array | None = None
        self.voltage: Array | None = None
        self.wrenches: dict[str, tuple[str, Array]] = {}
        self.problem = ""
        self._arrival = self._progress = -math.inf
        self._controller_arrival = self._steady_since = self._drives_arrival = -math.inf
        self._stamps: deque[tuple[float, int]] = deque()

    def destroy(self) -> None:
        """End all subscriptions."""
        wrenches = (latest for _, latest in self._wrenches)
        for latest in (self._joint_states, self._controller, self._actuators, *wrenches):
            if latest is not None:
                latest.destroy(self._node)

    def update(self) -> bool:
        """Read the newest messages.

        Returns:
            Whether a joint state with a new stamp was among them.
        """
        now = time.monotonic()
        moved = self._take_joint_state(now)
        if (message := self._controller.take()) is not None:
            self.follow = self._read_controller(message)
            moved = self._take_feedback(now, message) or moved
        self._choose_source(now)
        if (actuators := self._actuators.take()) is not None:
            self.current = self._motor_values(actuators, actuators.current)
            self.voltage = self._motor_values(actuators, actuators.voltage)
            effort = self._motor_values(actuators, actuators.joint_effort)
            if self._joint_states is None and effort is not None:
                self.effort, self._drives_arrival = effort, now
        for kind, latest in self._wrenches:
            if (wrench := latest.take()) is not None:
                try:
                    self.wrenches[kind] = wrench.header.frame_id, read_wrench(wrench.wrench, kind)
                except InputError:  # the receiving node reports it
                    self.wrenches.pop(kind, None)
        return moved

    @property
    def alive(self) -> bool:
        """Whether joint states arrive."""
        return time.monotonic() - self._arrival < SILENCE

    @property
    def silence(self) -> float:
        """Time since the last joint state [s]; infinite before the first."""
        return time.monotonic() - self._arrival

    @property
    def is_still(self) -> bool:
        """Whether the simulation is paused or waits for a command."""
        return time.monotonic() - self._progress > STILL_SECONDS

    @property
    def real_time_factor(self) -> float:
        """Increase of the joint states' stamps per second of real time; 0 while the simulation is paused."""
        if len(self._stamps) < 2 or self.is_still:
            return 0.0
        (since, first), (until, last) = self._stamps[0], self._stamps[-1]
        return to_seconds(last - first) / (until - since) if until > since else 0.0

    def _listen_to_joint_states(self) -> LatestMessage[JointState]:
        return LatestMessage(self._node, self._node.diagnostics, JointState, topic_names.JOINT_STATES)

    def _take_joint_state(self, now: float) -> bool:
        messages = self._joint_states.take_all_serialized() if self._joint_states is not None else []
        named = self._newest.read(messages)
        self.problem = self._newest.problem if messages else self.problem
        if not named:
            return False
        self._arrival = now
        known = ~np.isnan(self._newest.q)
        self.q = np.where(known, self._newest.q, self.q)
        self.effort = np.where(EFFORT.holds(self._newest.effort), self._newest.effort, self.effort)
        return self._note_stamp(now, int(self._newest.stamps[known].max()))

    def _take_feedback(self, now: float, message: ControllerState) -> bool:
        """Note the arrival of a controller state; read the joints from it while joint_states are not subscribed."""
        if now - self._controller_arrival > GAP:
            self._steady_since = now
        self._controller_arrival = now
        if self._joint_states is not None:
            return False
        effort: Sequence[float] = () if now - self._drives_arrival < SILENCE else message.output
        self._arrival = now
        try:
            read = self._joints.read
            stamp = read_stamp(message.header.stamp)
            self.q = read(message.joint_names, message.feedback.positions, "controller state: position", POSITION,
                          fill=self.q, others=True)
            if len(effort):
                self.effort = read(message.joint_names, effort, "controller state: effort", EFFORT, fill=self.effort,
                                   others=True)
            self.problem = ""
        except InputError as error:
            self.problem = str(error)
            return False
        return self._note_stamp(now, stamp)

    def _choose_source(self, now: float) -> None:
        if self._joint_states is None:
            if now - self._controller_arrival > GAP:
                self._joint_states = self._listen_to_joint_states()
        elif now - self._controller_arrival < GAP and now - self._steady_since > STEADY:
            self._joint_states.destroy(self._node)
            self._joint_states = None

    def _note_stamp(self, now: float, stamp: int) -> bool:
        """Record the stamp of a joint state [ns], and return whether it is new."""
        moved, self.stamp = stamp != self.stamp, stamp
        if moved:
            self._progress = now
            if self._stamps and (now - self._stamps[-1][0] > STILL_SECONDS or stamp < self._stamps[-1][1]):
                self._stamps.clear()
            self._stamps.append((now, stamp))
            while now - self._stamps[0][0] > SPEED_WINDOW:
                self._stamps.popleft()
        return moved

    def _read_controller(self, message: ControllerState) -> ShownReference:
        follow = _without_reference(message)
        try:
            if message.reference.positions:
                follow.q = self._joints.read(message.joint_names, message.reference.positions, "reference", POSITION)
                follow.error = self._joints.read(message.joint_names, message.error.positions, "error", POSITION)
            for state in message.cartesian:
                position, quaternion = to_arrays(state.reference)
                follow.tip = to_pose(position, np.roll(quaternion, 1))
                missing = state.position_error
                follow.tip_error = math.hypot(missing.x, missing.y, missing.z)
            names, count = message.term_names[:MOST_TERMS], len(message.joint_names)
            follow.terms = {name: self._joints.read(message.joint_names, message.terms[i * count:(i + 1) * count],
                                                    f"term {name}", EFFORT) for i, name in enumerate(names)}
        except (InputError, ValueError):  # joints of another robot, or an invalid pose: keep the other values
            return _without_reference(message)
        return follow

    def _motor_values(self, message: ActuatorStates, values: object) -> Array | None:
        array = np.asarray(values, dtype=np.float64)
        if list(message.name) != self._joints.names or np.isnan(array).all():
            return None
        return array


def _without_reference(message: ControllerState) -> ShownReference:
    speed = message.speed_scaling_factor
    return ShownReference(message.controller, stopped=message.reason if message.mode in STOPPED_MODES else "",
                  speed=speed if 0.0 <= speed <= 1.0 else None)
