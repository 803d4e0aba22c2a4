# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Status of a running graph: joints and errors, tip link, law, time, warnings, and publishers."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rcl_interfaces.srv import GetParameters
from sensor_msgs.msg import JointState

from robodyn_interfaces.msg import ControllerState
from robodyn_ros.base import topic_names
from robodyn_ros.base.text_tables import aligned
from robodyn_ros.base.timing import to_seconds
from robodyn_ros.description.mjcf.urdf_text import roll_pitch_yaw
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.kinematics.forward import forward_kinematics
from robodyn_ros.nodes.client.graph_client import GraphClient
from robodyn_ros.nodes.client.motion_requests import MotionRequests
from robodyn_ros.nodes.common.messages import read_stamp
from robodyn_ros.nodes.common.poses import to_vector
from robodyn_ros.nodes.common.topics import LATEST_QOS

_CALENDAR = 1e9  # [s]; later stamps are calendar time
_UNITS = {"prismatic": ("mm", 1e3, "N"), "revolute": ("deg", math.degrees(1.0), "N m")}

LISTENING_SECONDS = 1.2
"""Time for which messages are collected [s]; diagnostics arrive once a second."""
ANSWER_SECONDS = 10.0
"""Longest wait for an answer, and for a first joint state if there is a publisher [s]."""
CONTROLLER = "controller"
"""Name of the node, and of its parameter that names the law."""
COMMANDS = (topic_names.JOINT_COMMANDS, topic_names.VOLTAGE_COMMANDS)


@dataclass(frozen=True)
class RobotStatus:
    """State of a graph; arrays have shape (n,), with NaN for unknown values.

    Attributes:
        time: Stamp of the newest joint state [s]; NaN: none arrived.
        rate: Joint states per second of real time; 0: none arrive.
        real_time_factor: Increase of their stamps per second of real time.
        q: Positions [rad or m].
        error: Desired minus measured positions [rad or m].
        effort: Efforts [N m or N].
        pose_base_tip: Pose of the tip link in the base frame, shape (4, 4); None where a position is not known.
        tip_error: Distance of the tip link from its desired position [m]; None: there is no desired position.
        law: The active controller; empty without a controller node.
        uncompiled_reason: Why it runs as Python code; empty if it is compiled.
        mode: What the controller does and why, such as "stopped: on request"; empty while it runs.
        intervention: What the supervisor did, and events that last; empty: nothing.
        speed_scaling: Speed of motions relative to the one asked for.
        publishers: Nodes by topic, of joint states and commands.
        warnings: Messages of nodes whose status is not OK, by node.
    """

    time: float
    rate: float
    real_time_factor: float
    q: Array
    error: Array
    effort: Array
    pose_base_tip: Array | None
    tip_error: float | None
    law: str
    uncompiled_reason: str
    mode: str
    intervention: str
    speed_scaling: float
    publishers: Mapping[str, tuple[str, ...]]
    warnings: Mapping[str, str]


class StatusReader:
    """Collects the status of the graph of one namespace.

    Args:
        client: The connection to the graph.

    Attributes:
        model: The robot.

    Raises:
        RobodynError: Nobody publishes the robot's description, or it cannot be used.
    """

    def __init__(self, client: GraphClient) -> None:
        self._client, node = client, client.node
        self._states: list[tuple[float, JointState]] = []
        self._controller: ControllerState | None = None
        self._diagnostics: dict[str, DiagnosticStatus] = {}
        node.create_subscription(JointState, topic_names.JOINT_STATES,
                                 lambda message: self._states.append((time.monotonic(), message)), LATEST_QOS)
        node.create_subscription(ControllerState, topic_names.CONTROLLER_STATE, self._on_controller_state, LATEST_QOS)
        node.create_subscription(DiagnosticArray, topic_names.DIAGNOSTICS, self._on_diagnostics, 10)
        requests = MotionRequests(client)
        self._health = requests.health
        if self._has_controller():
            requests.take_tip_link()
        self.model: RobotModel = requests.robot.model

    def read(self) -> RobotStatus:
        """Collect messages for a moment, and return the status, also for a graph without joint states."""
        own = set(self.model.joint_names)
        self._states.clear()
        self._controller = None
        began = time.monotonic()

        def is_there_or_missing() -> bool:
            waited = time.monotonic() - began
            return (any(own & set(message.name) for _, message in self._states) or waited > ANSWER_SECONDS
                    or (waited > LISTENING_SECONDS and (self._health.lacks_states()
                                                or not self._client.node.count_publishers(topic_names.JOINT_STATES))))

        self._client.wait_for(is_there_or_missing, "joint states", 2.0 * ANSWER_SECONDS)
        began = time.monotonic()
        self._client.wait_for(lambda: time.monotonic() - began > LISTENING_SECONDS, "time", ANSWER_SECONDS)
        states = [(at, message) for at, message in self._states if own & set(message.name)]
        span, advance, until = 0.0, 0.0, math.nan
        if states:
            (first_at, first), (last_at, last) = states[0], states[-1]
            span, until = last_at - first_at, to_seconds(read_stamp(last.header.stamp))
            advance = until - to_seconds(read_stamp(first.header.stamp))
        q = effort = error = np.full(self.model.n, math.nan)
        for _, message in states:
            q = self._by_joint(q, message.name, message.position)
            effort = self._by_joint(effort, message.name, message.effort)
        controller = self._controller
        tip_error = None
        if controller is not None:
            error = self._by_joint(error, controller.joint_names, controller.error.positions)
            if np.isnan(effort).all():
                effort = self._by_joint(effort, controller.joint_names, controller.output)
            for state in controller.cartesian:
                tip_error = float(np.linalg.norm(to_vector(state.position_error)))
        return RobotStatus(
            time=until, rate=(len(states) - 1) / span if span > 0.0 else 0.0,
            real_time_factor=advance / span if span > 0.0 else 0.0,
            q=q, error=error, effort=effort, tip_error=tip_error,
            pose_base_tip=None if np.isnan(q).any() else forward_kinematics(self.model, q),
            law=self._silent_law() if controller is None else controller.controller,
            uncompiled_reason="" if controller is None else controller.uncompiled_reason,
            mode="" if controller is None or not controller.reason else f"{controller.mode}: {controller.reason}",
            intervention="" if controller is None else controller.intervention,
            speed_scaling=math.nan if controller is None else controller.speed_scaling_factor,
            publishers={topic: self._publishers(topic) for topic in (topic_names.JOINT_STATES, *COMMANDS)},
            warnings={name: status.message for name, status in sorted(self._diagnostics.items())
                      if status.level != DiagnosticStatus.OK})

    def _has_controller(self) -> bool:
        node = self._client.node
        return (CONTROLLER, node.get_namespace()) in node.get_node_names_and_namespaces()

    def _silent_law(self) -> str:
        """Return the law of a controller that publishes nothing now, as in a pause; empty: there is no controller."""
        if not self._has_controller():
            return ""
        request = GetParameters.Request(names=[CONTROLLER])
        [value] = self._client.call(GetParameters, CONTROLLER, "get_parameters", request, ANSWER_SECONDS).values
        return f"{value.string_value}, which is silent (a pause, or no joint states)"

    def _on_controller_state(self, message: ControllerState) -> None:
        self._controller = message

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        own = self._client.node.get_namespace().rstrip("/")
        for status in message.status:
            if status.name.rpartition("/")[0] == own:
                self._diagnostics[status.name] = status

    def _by_joint(self, known: Array, names: Sequence[str], values: Sequence[float]) -> Array:
        """Update known values from a message, which may also name other joints."""
        if len(names) != len(values):
            return known
        given = dict(zip(names, values, strict=True))
        return np.array([given.get(name, value) for name, value in zip(self.model.joint_names, known, strict=True)])

    def _publishers(self, topic: str) -> tuple[str, ...]:
        node = self._client.node
        return tuple(sorted(f"{one.node_namespace.rstrip('/')}/{one.node_name}"
                            for one in node.get_publishers_info_by_topic(node.resolve_topic_name(topic))))


def lines(model: RobotModel, status: RobotStatus) -> Iterator[str]:
    """The lines of a status.

    Args:
        model: The robot.
        status: Its status.
    """
    if math.isnan(status.time):
        yield f"{model.name}: no joint states"
    else:
        yield (f"{model.name} at {_clock(status.time)}: {status.rate:.0f} joint states a second, real-time factor "
               f"{status.real_time_factor:.2f}")
    yield _law(status)
    yield ""
    rows = [["joint", "position", "error", "effort", "of limit"]]
    limit = np.where(np.isfinite(model.effort_limit), model.effort_limit, np.nan)
    share = 100.0 * np.abs(status.effort) / limit
    for joint, q, error, effort, part in zip(model.leaders, status.q, status.error, status.effort, share, strict=True):
        unit, factor, force = _UNITS["prismatic" if joint.kind == "prismatic" else "revolute"]
        rows.append([joint.name, f"{_number(factor * q, 2)} {unit:<3}", f"{_number(factor * error, 3)} {unit:<3}",
                     f"{_number(effort, 2)} {force:<3}", f"{_number(part, 0)} %"])
    yield from aligned(rows, 13, 13, 13, 8)
    yield ""
    if status.pose_base_tip is not None:
        x, y, z = status.pose_base_tip[:3, 3]
        roll, pitch, yaw = np.degrees(roll_pitch_yaw(status.pose_base_tip[:3, :3]))
        missing = "" if status.tip_error is None else f", error {1e3 * status.tip_error:.2f} mm"
        yield (f"tip {model.tip_link}: x {x:.4f} y {y:.4f} z {z:.4f} m, roll {roll:.1f} pitch {pitch:.1f} "
               f"yaw {yaw:.1f} deg in {model.base_link}{missing}")
    for topic, nodes in status.publishers.items():
        if nodes or topic == topic_names.JOINT_STATES:
            yield f"{topic}: from {', '.join(nodes) or 'nobody'}"
    for node, message in status.warnings.items():
        yield f"warning of {node}: {message}"


def _law(status: RobotStatus) -> str:
    if not status.law:
        return "no controller"
    return "".join((f"controller {status.law}",
                    f", uncompiled: {status.uncompiled_reason}" if status.uncompiled_reason else "",
                    f", speed {100.0 * status.speed_scaling:g} %" if status.speed_scaling >= 0.0 else "",
                    *(f"; {text}" for text in (status.mode, status.intervention) if text)))


def _clock(seconds: float) -> str:
    """Format the time of a joint state: simulated time in seconds, or the time of day."""
    return f"{seconds:.3f} s" if seconds < _CALENDAR else time.strftime("%X", time.localtime(seconds))


def _number(value: float, digits: int) -> str:
    """Format a number; a dash: unknown."""
    return "-" if math.isnan(value) else f"{round(value, digits) + 0.0:.{digits}f}"
