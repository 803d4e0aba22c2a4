# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Joint trajectories from messages and goals: reads and plans them, has them followed, and reports how goals end."""

from __future__ import annotations

from struct import error as StructError
from struct import unpack_from
from typing import Any, Protocol

import numpy as np
from trajectory_msgs.msg import JointTrajectory as JointTrajectoryMessage
from trajectory_msgs.msg import JointTrajectoryPoint

from robodyn_ros.base import topic_names
from robodyn_ros.base.checks import Range
from robodyn_ros.base.errors import InputError, RobodynError
from robodyn_ros.base.fields import Field
from robodyn_ros.base.timing import to_seconds
from robodyn_ros.control.references.joint_trajectory import JointTrajectory, Points, check_count
from robodyn_ros.control.references.trajectory_limits import (
    EXCESSIVE_SPEEDS,
    REFUSE,
    SCALE,
    check_positions,
    excessive_speeds,
    within_speed_limits,
)
from robodyn_ros.control.runtime.followed_reference import TrajectoryStart
from robodyn_ros.control.runtime.requests import Follow, HoldStill
from robodyn_ros.control.runtime.tick import Tick
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.nodes.common.messages import (
    ACCELERATION,
    POSITION,
    VELOCITY,
    JointOrder,
    MessageError,
    read_duration,
    read_stamp,
)
from robodyn_ros.nodes.controller.goal import Outcome, Result
from robodyn_ros.nodes.controller.part import AnsweredState, Context, Part

_FREED_AT_ONCE = 64

REJECTED = "rejected trajectories"
TOPIC = "joint_trajectory"


class WatchedGoal(Protocol):
    """A goal whose client gets an outcome; its methods are called on the control path's thread."""

    def begin(self, trajectory: JointTrajectory) -> None:
        """Start to judge the trajectory that the control loop follows for this goal."""

    def watch(self, stamp: int, tick: Tick) -> Outcome | None:
        """Judge a tick; return the outcome of the goal, or None while it is active."""

    def finish(self, outcome: Outcome) -> None:
        """Report the outcome of the goal."""


class JointTrajectories(Part):
    """Has trajectories of ~/joint_trajectory and of goals followed; the newest one replaces the one before.

    Args:
        context: What it knows of the node; events that end goals end the active one.

    Attributes:
        goal: The active goal, or None; for the control path's thread only.
    """

    PARAMETERS = (
        Field("allow_partial_joints_goal", True, "Whether trajectories may leave out joints, which then stay where "
              "they are"),
        Field("allow_nonzero_velocity_at_trajectory_end", False, "Whether the last point of a trajectory may have "
              "velocities; the robot then has to stop there at once"),
        EXCESSIVE_SPEEDS,
    )

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.goal: WatchedGoal | None = None
        self._node, self._robot, self._joints = context.node, context.robot, context.joints
        self._thread = context.thread
        context.events.end_goal = self.interrupt
        self._node.listen(JointTrajectoryMessage, topic_names.own(topic_names.JOINT_TRAJECTORY), self._on_trajectory,
                    accepts=self._is_short_enough)

    # On the executor's thread.

    def follow(self, message: JointTrajectoryMessage, goal: WatchedGoal | None = None) -> None:
        """Follow a trajectory.

        Args:
            message: The trajectory.
            goal: The goal that sent it; None: it came as a message.

        Raises:
            RobodynError: The trajectory cannot be followed; the motion before goes on.
        """
        check_count(len(message.points))
        self.check_names(message)
        stamp = read_stamp(message.header.stamp) or None
        begin = self._thread.call(
            lambda: self._thread.loop.trajectory_start(stamp, joints=message.joint_names))
        trajectory = plan(message, self._joints, self._robot.model, begin, self._ends_at_rest())
        trajectory = self._within_limits(message, trajectory, begin)

        def put_in_force() -> None:
            followed = self._thread.request_here(Follow(trajectory, stamp is None, tuple(message.joint_names)))
            self.interrupt("preempted by a new trajectory")
            if goal is not None:
                goal.begin(followed)
                self.goal = goal

        self._thread.call(put_in_force)
        self._node.log.info("motions", f"following a trajectory: {len(message.points)} points, "
                            f"{trajectory.end_time - begin.start_time:.6g} s")

    def _within_limits(self, message: JointTrajectoryMessage, trajectory: JointTrajectory, begin: TrajectoryStart
                       ) -> JointTrajectory:
        """Apply the parameter ``trajectory_limits`` to a trajectory that may be too fast."""
        model, texts = self._robot.model, excessive_speeds(self._robot.model, trajectory)
        if not texts:
            return trajectory
        policy = self._node.parameters["trajectory_limits"]
        if policy == REFUSE:
            raise InputError(f"trajectory: {texts[0]}; give it more time, or set trajectory_limits to {SCALE}")
        if policy == SCALE:
            points = read_points(message, self._joints, begin.reference.q, self._ends_at_rest()).short_way(
                begin.reference.q, model.angles)
            trajectory, factor = within_speed_limits(model, points, begin.reference, begin.start_time, begin.origin)
            check_positions(model, points, trajectory, begin.reference)
            self._node.log.warning("excessive speeds", f"trajectory: {texts[0]}: it takes {factor:.3g} times as long")
            return trajectory
        for text in texts:
            self._node.log.warning("excessive speeds", f"trajectory: {text}")
        return trajectory

    def cancel(self, goal: WatchedGoal) -> None:
        """Cancel a goal and hold the current state; do nothing if the goal has ended."""
        def end() -> None:
            if self.goal is goal:
                self._end(Outcome(Result.SUCCESSFUL, "canceled: holding the current state", canceled=True))

        self._thread.call(end)

    def stop(self) -> None:
        """Drop the motion that is followed and hold the current state."""
        def end() -> None:
            self._thread.request_here(HoldStill())
            self.interrupt("preempted by an empty trajectory: holding the current state")

        self._thread.call(end)
        self._node.log.info("motions", "empty trajectory: holding the current state")

    def _is_short_enough(self, data: bytes) -> bool:
        """Refuse too many points before they become Python objects, which take 15 us and 1 kB each."""
        try:
            check_count(serialized_points(data))
        except InputError as error:
            self._node.diagnostics.problem(REJECTED, f"rejected a trajectory: {error}")
            return False
        return True

    def _on_trajectory(self, message: JointTrajectoryMessage) -> None:
        try:
            if message.points:
                self.follow(message)
            else:
                self.stop()
        except RobodynError as error:
            self._node.diagnostics.problem(REJECTED, f"rejected a trajectory: {error}")

    def check_names(self, message: JointTrajectoryMessage) -> None:
        """Check the names of joints in a trajectory.

        Raises:
            MessageError: A name is unknown or repeated, or one is missing.
        """
        if not message.joint_names:
            raise MessageError("missing joint", f"{TOPIC}: expected joint_names, received none")
        self._joints.columns(message.joint_names, TOPIC)
        if not self._node.parameters["allow_partial_joints_goal"]:
            self._check_complete(message)

    def _ends_at_rest(self) -> bool:
        return not self._node.parameters["allow_nonzero_velocity_at_trajectory_end"]

    def _check_complete(self, message: JointTrajectoryMessage) -> None:
        missing = [name for name in self._joints.names if name not in message.joint_names]
        if missing:
            raise MessageError("missing joint", f"joint_names: expected all joints, as allow_partial_joints_goal is "
                               f"false, received none of {', '.join(missing)}")

    # On the control path's thread.

    def after_tick(self, answer: AnsweredState) -> None:
        """Let the active goal judge a tick, if there is one."""
        if self.goal is not None and (outcome := self.goal.watch(answer.stamp, answer.tick)) is not None:
            self._end(outcome)

    def interrupt(self, reason: str) -> None:
        """Abort the active goal, if any, because its trajectory is no longer followed."""
        goal, self.goal = self.goal, None
        if goal is not None:
            goal.finish(Outcome(Result.INVALID_GOAL, reason))

    def abort(self, reason: str) -> None:
        """Abort the active goal, if any, and hold the current state."""
        if self.goal is not None:
            self._end(Outcome(Result.INVALID_GOAL, reason))

    def _end(self, outcome: Outcome) -> None:
        goal: Any
        goal, self.goal = self.goal, None
        if outcome.canceled or outcome.code != Result.SUCCESSFUL:
            self._thread.request_here(HoldStill())
        goal.finish(outcome)


def serialized_points(data: bytes) -> int:
    """Return the number of points that a serialized JointTrajectory announces; 0 for a malformed one."""
    order, at = ("<" if data[1:2] == b"\x01" else ">"), 12  # after the encoding and the stamp

    def number() -> int:
        nonlocal at
        at += 4 + -at % 4
        value: int = unpack_from(order + "I", data, at - 4)[0]
        return value

    def skip_text() -> None:
        nonlocal at
        length = number()
        at += length

    try:
        skip_text()  # the frame
        for _ in range(number()):
            skip_text()  # a joint's name
        return number()
    except StructError:
        return 0


def release_points(message: JointTrajectoryMessage) -> None:
    """Empty a message a few points at a time; to free many at once would hold the GIL for as long as that takes."""
    while message.points:
        del message.points[-_FREED_AT_ONCE:]


def plan(message: JointTrajectoryMessage, joints: JointOrder, model: RobotModel, begin: TrajectoryStart,
         ends_at_rest: bool = True) -> JointTrajectory:
    """Return the motion that a trajectory message describes; continuous joints begin the short way.

    Args:
        message: The message.
        joints: The robot's joints.
        model: The robot.
        begin: Reference and time at which it begins.
        ends_at_rest: Whether the last point has to be at rest.

    Raises:
        InputError: As in `read_points`; or the motion exceeds a position limit, or ends in the past.
    """
    points = read_points(message, joints, begin.reference.q, ends_at_rest)
    points = points.short_way(begin.reference.q, model.angles)
    trajectory = JointTrajectory(begin.reference, begin.start_time, points, begin.origin)
    check_positions(model, points, trajectory, begin.reference)
    return trajectory


def read_points(message: JointTrajectoryMessage, joints: JointOrder, held: Array, ends_at_rest: bool = True) -> Points:
    """Read the points of a trajectory message.

    Args:
        message: The message: positions by name, in any order; velocities and accelerations may be left empty.
        joints: The robot's joints.
        held: Positions of joints that are not named, shape (n,) [rad or m].
        ends_at_rest: Whether the last point has to be at rest.

    Raises:
        InputError: Names, lengths, values or times are not valid; the error names field and point.
    """
    if not message.joint_names:
        raise MessageError("missing joint", f"{TOPIC}: expected joint_names, received none")
    named = joints.columns(message.joint_names, TOPIC)
    rest = np.zeros(len(joints))
    free = np.zeros(len(joints))
    free[named] = np.nan

    def read(index: int, point: JointTrajectoryPoint, field: str, allowed: Range, absent: Array | None,
             unnamed: Array) -> Array:
        values = getattr(point, field)
        if not values and absent is not None:
            return absent
        return joints.read(message.joint_names, values, f"{TOPIC}: {field} of point {index}", allowed,
                           fill=unnamed)

    points = list(enumerate(message.points))
    for index, point in points:
        if point.effort:
            raise InputError(f"{TOPIC}: effort of point {index}: expected none, as controllers follow motion only; "
                             f"received {len(point.effort)} values")
    return Points.from_arrays(
        [_seconds(point) for _, point in points],
        [read(index, point, "positions", POSITION, None, held) for index, point in points],
        [read(index, point, "velocities", VELOCITY, free, rest) for index, point in points],
        [read(index, point, "accelerations", ACCELERATION, free, rest) for index, point in points],
        ends_at_rest=ends_at_rest,
    )


def _seconds(point: JointTrajectoryPoint) -> float:
    return to_seconds(read_duration(point.time_from_start))
