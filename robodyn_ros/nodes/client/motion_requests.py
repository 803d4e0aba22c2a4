# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Motions of a running robot: joints to positions by the action, the tip link to a pose by the current law."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.srv import GetParameters
from rclpy.action import ActionClient
from scipy.spatial.transform import Rotation
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectoryPoint

from robodyn_interfaces.msg import CartesianSegment, CartesianTrajectory, ControllerState
from robodyn_ros.base import topic_names
from robodyn_ros.base.errors import RobodynError
from robodyn_ros.base.timing import to_nanoseconds, to_seconds
from robodyn_ros.control.references.joint_trajectory import Points
from robodyn_ros.control.references.quintic import rest_to_rest_duration
from robodyn_ros.description.model import Array
from robodyn_ros.kinematics.turns import shortest
from robodyn_ros.nodes.client.graph_client import GraphClient
from robodyn_ros.nodes.client.robot_client import to_trajectory_points
from robodyn_ros.nodes.common.joint_states import NO_STATES
from robodyn_ros.nodes.common.messages import read_stamp, set_stamp
from robodyn_ros.nodes.common.poses import from_arrays, set_vector, to_vector
from robodyn_ros.nodes.common.topics import LATCHED_QOS
from robodyn_ros.robot import Robot

ANSWER = 10.0
"""Longest wait for an answer, or for a message that nodes repeat [s]."""
STUCK_FACTOR = 30.0
"""A motion counts as stuck after this factor times its duration, plus as many seconds."""
SAME_PLACE, AT_REST = 1e-6, 1e-9
"""The reference has arrived if it is this close to its end point [m] and this slow [m/s, rad/s]."""

SETTLED_CHANGE, SETTLING_SPAN, LONGEST_SETTLING = 1e-4, 0.2, 3.0
"""Joints or the tip link have settled if their errors changed by less than the first [m, rad] within the second [s].
The third is the longest wait [s], because encoder noise may never let them settle.
"""

ANGLE_TOLERANCE, LENGTH_TOLERANCE, RESTING_FACTOR = 0.1, 0.02, 3.0
"""Tolerances of a joint at its goal [rad], [m], and the factor on them for joints that should not move."""


DESCRIPTION_SECONDS = 5.0
"""Time from the first diagnostics of a node for the publisher of the description to start [s]."""
AT_LIMIT = 0.99
"""From this share of its effort limit a joint counts as at the limit."""


def _distance_reason(robot: Robot, message: ControllerState) -> str:
    """Return why the arm may be away from its reference, from the last state of the controller."""
    limits = dict(zip(robot.joint_names, robot.effort_limit.tolist(), strict=True))
    units = {joint.name: joint.effort_unit for joint in robot.model.leaders}
    held = [f"joint '{name}' is at its effort limit of {limits[name]:g} {units[name]}"
            for name, effort in zip(message.joint_names, message.output, strict=False)
            if abs(effort) >= AT_LIMIT * limits[name] > 0.0]
    return ", ".join(held) or "the law does not bring the arm there, or something holds it"


class ControllerHealth:
    """Reads the diagnostics of the node ``controller`` and other nodes of its namespace.

    Diagnostics begin when a node has started.

    Args:
        client: The connection to the graph.

    Attributes:
        message: The last status message of ``controller``; empty: none has arrived.
    """

    def __init__(self, client: GraphClient) -> None:
        self.message, self._since = "", 0.0
        self._client, self._name = client, client.node.resolve_service_name("controller")
        client.node.create_subscription(DiagnosticArray, topic_names.DIAGNOSTICS, self._on_diagnostics, 10)

    @contextmanager
    def states_expected(self) -> Iterator[None]:
        """Within the context, waits end with an error if the controller has no joint states."""
        with self._checking(self._check_states):
            yield

    @contextmanager
    def description_expected(self) -> Iterator[None]:
        """Within the context, waits end with an error if nodes run but none publishes the description."""
        with self._checking(self._check_description):
            yield

    def lacks_states(self) -> bool:
        """Return whether the controller reports that it has no joint states."""
        return NO_STATES in self.message

    @contextmanager
    def _checking(self, check: Callable[[], None]) -> Iterator[None]:
        self._client.checks.append(check)
        try:
            yield
        finally:
            self._client.checks.remove(check)

    def _check_states(self) -> None:
        if self.lacks_states():
            raise RobodynError(f"the controller cannot act; it reports: {self.message}")

    def _check_description(self) -> None:
        topic, waited = topic_names.ROBOT_DESCRIPTION, time.monotonic() - self._since if self._since else 0.0
        if (waited > DESCRIPTION_SECONDS or self.lacks_states()) and not self._client.node.count_publishers(topic):
            report = f"; the controller reports: {self.message}" if self.lacks_states() else ""
            raise RobodynError(f"nobody publishes {topic}: start the node state_publisher, or robot_state_publisher"
                               f"{report}")

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name.rpartition("/")[0] == self._name.rpartition("/")[0]:
                self._since = self._since or time.monotonic()
            if status.name == self._name:
                self.message = status.message


class Settling:
    """Detects from the errors of successive states whether they have settled."""

    def __init__(self) -> None:
        self._errors: deque[tuple[float, Array]] = deque()  # errors of the last span, with their times
        self._begin = np.inf

    def update(self, time: float, error: Array) -> bool:
        """Take an error, shape (k,) [m, rad], at a time of the states [s]; returns whether it has settled."""
        self._begin = min(self._begin, time)
        self._errors.append((time, error))
        settled = False
        while time - self._errors[0][0] > SETTLING_SPAN:
            self._errors.popleft()
            settled = bool(np.ptp([each for _, each in self._errors], axis=0).max() < SETTLED_CHANGE)
        return settled or time - self._begin > LONGEST_SETTLING


class JointArrival:
    """Waits until the joints have settled after a motion, and reports their positions.

    Args:
        robot: The robot.
        goal: Goal positions of joints by name [rad or m].
    """

    def __init__(self, robot: Robot, goal: Mapping[str, float]) -> None:
        self._goal, self._robot = goal, robot
        self._units = [joint.unit for joint in robot.model.leaders]
        self._settling = Settling()

    def update(self, message: ControllerState) -> bool:
        """Take a state of the controller; returns whether the joints have settled."""
        self._message = message
        names, state = self._robot.joint_names, dict(zip(message.joint_names, message.feedback.positions, strict=True))
        wanted = dict(zip(message.joint_names, message.reference.positions or message.feedback.positions, strict=True))
        self._q = np.array([state[name] for name in names])
        goal = np.array([self._goal.get(name, wanted[name]) for name in names])
        self._error = shortest(goal - self._q, self._robot.model.angles)
        return self._settling.update(to_seconds(read_stamp(message.header.stamp)), self._error)

    def end(self, tolerance: float | None) -> str:
        """Return a report of the joints' positions.

        Args:
            tolerance: Greatest distance from the goal [rad or m]; None: `ANGLE_TOLERANCE`, `LENGTH_TOLERANCE`. Joints
                that should not move have `RESTING_FACTOR` times the tolerance.

        Raises:
            RobodynError: A joint is not at its goal.
        """
        default = [LENGTH_TOLERANCE if unit == "m" else ANGLE_TOLERANCE for unit in self._units]
        allowed = np.array(default if tolerance is None else [tolerance] * len(default))
        moved = np.array([name in self._goal for name in self._robot.joint_names])
        share = np.abs(self._error) / allowed
        farthest = int(np.where(moved, share, -1.0).argmax())
        text = (f"joint '{self._robot.joint_names[farthest]}' is at {self._q[farthest]:.4g} {self._units[farthest]}, "
                f"{self._distance(farthest)} from its goal")
        if moved.sum() > 1:
            text += f", the farthest of {moved.sum()}"
        other = int(np.where(moved, -1.0, share).argmax())
        fell = not moved[other] and share[other] > RESTING_FACTOR
        if not moved[other] and share[other] > 1.0:
            text += (f"; joint '{self._robot.joint_names[other]}', which was to stay, is {self._distance(other)} from "
                     "its reference")
        if share[farthest] > 1.0 or fell:
            bound = RESTING_FACTOR * allowed[other] if fell else allowed[farthest]
            raise RobodynError(f"the trajectory has ended, but {text}, tolerance {bound:g}: "
                               f"{_distance_reason(self._robot, self._message)}")
        return text

    def _distance(self, joint: int) -> str:
        return f"{abs(self._error[joint]):.3g} {self._units[joint]}"


class TipArrival:
    """Detects when the tip link's reference has reached its end and the tip link has settled.

    Args:
        position: Where the reference ends, in the base frame, shape (3,) [m].

    Attributes:
        distance: Distance of the tip link from the reference [m].
        angle: Angle between the two [rad].
        message: The last state of the controller.
    """

    message: ControllerState

    def __init__(self, position: Array) -> None:
        self.distance = self.angle = np.inf
        self._position, self._settling = position, Settling()
        self._low = self._high = dict[str, float]()  # of the joints' positions

    def update(self, message: ControllerState) -> bool:
        """Take a state of the controller; returns whether the tip link has arrived."""
        self.message = message
        q = dict(zip(message.joint_names, message.feedback.positions, strict=True))
        self._low = {name: min(each, self._low.get(name, each)) for name, each in q.items()}
        self._high = {name: max(each, self._high.get(name, each)) for name, each in q.items()}
        if not message.cartesian:
            return False
        state = message.cartesian[0]
        twist, reference = state.reference_twist, to_vector(state.reference.position)
        if (np.abs(reference - self._position).max() > SAME_PLACE
                or np.abs([to_vector(twist.linear), to_vector(twist.angular)]).max() > AT_REST):
            return False
        errors = to_vector(state.position_error), to_vector(state.orientation_error)
        self.distance, self.angle = (float(np.linalg.norm(error)) for error in errors)
        return self._settling.update(to_seconds(read_stamp(message.header.stamp)), np.concatenate(errors))


    def at_rest(self, robot: Robot) -> str:
        """Return the joints of the chain that dry friction has held, as the end of a message; empty: none."""
        model = robot.model
        held = [f"joint '{name}' ({friction:g} {'N m' if leader.unit == 'rad' else 'N'})"
                for name, leader, friction, moves in zip(robot.joint_names, model.leaders, model.friction,
                                                         model.moves(robot.tip_link), strict=True)
                if moves and friction > 0.0 and self._high.get(name, np.inf) - self._low.get(name, 0.0) < SAME_PLACE]
        return f"; dry friction holds {', '.join(held)}" if held else ""


class MotionRequests:
    """Motions by the node ``controller``.

    Args:
        client: The connection to the graph.

    Attributes:
        robot: The robot of the graph, by the topic ``robot_description``.
        health: Health of the controller.
        tolerance: Greatest distance of a joint from its goal at the end of a motion [rad or m]; None: the default.

    Raises:
        RobodynError: Nobody publishes the robot's description, or it cannot be used.
    """

    def __init__(self, client: GraphClient) -> None:
        self.tolerance: float | None = None
        self._client, self.health = client, ControllerHealth(client)
        with self.health.description_expected():
            description = self._first(String, topic_names.ROBOT_DESCRIPTION, LATCHED_QOS)
        self.robot = Robot.from_urdf_text(description.data)

    def take_tip_link(self) -> None:
        """Use the tip link of the node ``controller`` for the robot.

        Raises:
            RobodynError: It does not answer.
        """
        request = GetParameters.Request(names=["tip_link"])
        for value in self._client.call(GetParameters, "controller", "get_parameters", request, ANSWER).values:
            if value.string_value:
                self.robot = Robot.from_urdf_text(self.robot.model.description, tip_link=value.string_value)

    def move_joints(self, targets: Mapping[str, float], duration: float | None) -> str:
        """Move joints to positions, and wait for their arrival.

        Args:
            targets: Goal position of each moving joint [rad or m].
            duration: Duration of the motion [s]; None: at most half of the velocity limits.

        Returns:
            How it ended.

        Raises:
            RobodynError: The controller refuses or aborts the motion, does not follow joints, or does not answer.
        """
        state = self._controller_state()
        positions = state.reference.positions
        if state.cartesian and not self._moving_the_tip(targets):
            positions = state.feedback.positions
        if not positions:
            raise RobodynError(f"controller '{state.controller}' does not follow joints; choose one that does (robodyn "
                               "swap computed_torque), or move the tip link: robodyn move --pose X Y Z")
        start = self._in_robot_order(state.joint_names, positions)
        end = start.copy()
        for name, position in targets.items():
            end[self.robot.joint_names.index(name)] = position
        seconds = rest_to_rest_duration(self.robot.model, start, end) if duration is None else duration
        point = JointTrajectoryPoint(positions=list(targets.values()), velocities=[0.0] * len(targets))
        set_stamp(point.time_from_start, to_nanoseconds(seconds))
        goal = FollowJointTrajectory.Goal()
        goal.trajectory.joint_names, goal.trajectory.points = list(targets), [point]
        return self._follow(goal, seconds, targets)

    def _moving_the_tip(self, names: Iterable[str]) -> list[str]:
        """Return the joints among these that move the tip link."""
        self.take_tip_link()
        moves = self.robot.model.moves(self.robot.tip_link)
        return [name for name in names if moves[self.robot.joint_names.index(name)]]

    def follow(self, points: Points) -> str:
        """Move through points, and wait until the last one is reached.

        Args:
            points: In the order of the robot's joints; a first point at time 0 must be the present position.

        Returns:
            How it ended.

        Raises:
            RobodynError: The controller refuses or aborts the motion, or does not answer.
        """
        goal = FollowJointTrajectory.Goal()
        goal.trajectory.joint_names = list(self.robot.joint_names)
        goal.trajectory.points = to_trajectory_points(points)
        return self._follow(goal, float(points.times[-1]),
                            dict(zip(self.robot.joint_names, points.q[-1].tolist(), strict=True)))

    def move_tip(self, position: Array, rotation: Array | None, duration: float | None) -> str:
        """Move the tip link to a pose in the base frame, and wait for its arrival.

        A law that follows the tip link moves it on a straight line. With other laws, the joints move to the solution of
        inverse kinematics.

        Args:
            position: Shape (3,) [m].
            rotation: Shape (3, 3); None: any (joints), or the present one (laws that follow the tip link).
            duration: Duration of the motion [s]; None: as fast as the limits of the node or joints allow.

        Returns:
            How it ended.

        Raises:
            RobodynError: The pose is out of reach, or as :meth:`move_joints`.
        """
        self.take_tip_link()
        state = self._controller_state()
        if state.cartesian:
            return self._move_on_line(position, rotation, duration)
        q = self._in_robot_order(state.joint_names, state.feedback.positions)
        target = position
        if rotation is not None:
            target = np.eye(4)
            target[:3, :3], target[:3, 3] = rotation, position
        found = self.robot.inverse_kinematics(target, q)
        if not found.success:
            raise RobodynError(f"the tip link '{self.robot.tip_link}' cannot get to this pose: {found.reason}")
        return self.move_joints(dict(zip(self.robot.joint_names, found.q.tolist(), strict=True)), duration)

    def _move_on_line(self, position: Array, rotation: Array | None, duration: float | None) -> str:
        segment = CartesianSegment(shape=CartesianSegment.LINE, turn=rotation is not None)
        set_vector(segment.position, position)
        quaternion = np.array([0.0, 0.0, 0.0, 1.0]) if rotation is None else Rotation.from_matrix(rotation).as_quat()
        segment.orientation = from_arrays(position, quaternion).orientation
        set_stamp(segment.duration, to_nanoseconds(duration or 0.0))
        message = CartesianTrajectory(segments=[segment])
        message.header.frame_id = self.robot.model.base_link
        arrival = TipArrival(position)
        with self._arrives(arrival.update, "arrival of the reference (its node logs why, if it refused the motion)",
                           STUCK_FACTOR * (1.0 + (duration or 0.0))):
            self._client.publish("controller", topic_names.CARTESIAN_TRAJECTORY, message, ANSWER)
        text = f"the tip link is {1000.0 * arrival.distance:.1f} mm and {arrival.angle:.4f} rad from it"
        length, angle = self.tolerance or LENGTH_TOLERANCE, self.tolerance or ANGLE_TOLERANCE
        turns = rotation is not None  # without it, the orientation is kept only as far as the arm has joints for it
        if arrival.distance > length or (turns and arrival.angle > angle):
            bounds = f"{length:g} m{f' and {angle:g} rad' * turns}"
            raise RobodynError(f"the reference is there, but {text}, tolerance {bounds}: "
                               f"{_distance_reason(self.robot, arrival.message)}{arrival.at_rest(self.robot)}")
        return f"the reference is there; {text}{arrival.at_rest(self.robot) if arrival.angle > angle else ''}"

    def _follow(self, goal: FollowJointTrajectory.Goal, duration: float, end: Mapping[str, float]) -> str:
        action: Any = ActionClient(self._client.node, FollowJointTrajectory, topic_names.FOLLOW_JOINT_TRAJECTORY)
        try:
            self._client.wait_for(action.server_is_ready, "node 'controller' with its action", ANSWER)
            self._client.run(self._client.graph.check_only_one("controller"))
            self._client.run(self._client.graph.meet("controller"))
            sent = action.send_goal_async(goal)
            self._client.wait_for(sent.done, "answer of node 'controller'", ANSWER)
            handle = sent.result()
            if not handle.accepted:
                raise RobodynError("node 'controller' rejected the motion; its log says why")
            ended = handle.get_result_async()
            try:
                self._client.wait_for(ended.done, "end of the motion (is the simulation paused?)",
                                      STUCK_FACTOR * (1.0 + duration))
            except BaseException:  # also Ctrl-C: the robot holds its position
                canceled = handle.cancel_goal_async()
                self._client.wait_for(canceled.done, "answer to the cancellation", ANSWER)
                raise
            answer = ended.result()
        finally:
            action.destroy()
        if answer.status != GoalStatus.STATUS_SUCCEEDED:
            raise RobodynError(f"node 'controller' ended the motion: {answer.result.error_string}")
        arrival = JointArrival(self.robot, end)
        with self._arrives(arrival.update, "rest of the joints (is the simulation paused?)", STUCK_FACTOR):
            pass
        return arrival.end(self.tolerance)

    @contextmanager
    def _arrives(self, update: Callable[[ControllerState], bool], what: str, seconds: float) -> Iterator[None]:
        """At the end of the context, wait until a function returns true for a state of the controller."""
        states: list[ControllerState] = []
        with self._client.subscribed(ControllerState, topic_names.CONTROLLER_STATE, states.append):
            yield
            self._client.wait_for(lambda: any(update(states.pop(0)) for _ in range(len(states))), what, seconds)

    def _controller_state(self) -> ControllerState:
        with self.health.states_expected():
            message: ControllerState = self._first(ControllerState, topic_names.CONTROLLER_STATE, 10)
        return message

    def _first(self, kind: Any, topic: str, qos: Any) -> Any:
        return self._client.first_message(kind, topic, qos, f"message on {topic}", ANSWER)

    def _in_robot_order(self, names: list[str], values: Any) -> Array:
        by_name = dict(zip(names, values, strict=True))
        return np.array([by_name[name] for name in self.robot.joint_names])
