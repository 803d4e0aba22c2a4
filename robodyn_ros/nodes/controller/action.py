# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Action ~/follow_joint_trajectory: trajectories as goals, sent by MoveIt for example.

The server rejects a goal that names joints wrongly; the log says why. It accepts any other goal and aborts one that
cannot be followed at once, since a rejection cannot give a reason; the result has a code and a text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import inf
from typing import Any

from control_msgs.action import FollowJointTrajectory
from rclpy.action import CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.duration import Duration
from rclpy.executors import Executor
from rclpy.task import Future

from robodyn_ros.base import topic_names
from robodyn_ros.base.errors import InputError, RobodynError
from robodyn_ros.base.fields import Field
from robodyn_ros.base.timing import NANOSECONDS_PER_SECOND, to_nanoseconds
from robodyn_ros.control.references.goal_tolerances import Tolerances, TrajectoryGoal, constraint_parameters
from robodyn_ros.control.references.joint_trajectory import JointTrajectory
from robodyn_ros.control.runtime.tick import Tick
from robodyn_ros.nodes.common.messages import set_stamp
from robodyn_ros.nodes.controller.goal import (
    CODES,
    Outcome,
    Result,
    default_tolerances,
    goal_tolerances,
    refusal,
)
from robodyn_ros.nodes.controller.goal_server import GoalServer
from robodyn_ros.nodes.controller.joint_trajectories import REJECTED, JointTrajectories, release_points
from robodyn_ros.nodes.controller.part import Context, Part
from robodyn_ros.nodes.controller.state_output import state_point
from robodyn_ros.robot import Robot

MONITOR_RATE = Field("action_monitor_rate", 20.0, "Rate of the feedback on the active goal, in the time of the joint "
                     "states", unit="Hz", structural=True, minimum=0.1, maximum=1000.0)


class ActiveGoal:
    """A goal that is followed: the control path's thread judges it, the executor's thread sends feedback and result.

    Args:
        handle: Handle of the goal in the action server.
        tolerances: Tolerances of the goal.
        robot: The robot.
        executor: Executor of the action server.
        period: Least time between two feedback messages [ns].
    """

    def __init__(self, handle: ServerGoalHandle[Any, Any, Any], tolerances: Tolerances, robot: Robot,
                 executor: Executor, period: float) -> None:
        self.outcome: Future[Outcome] = Future()
        self._handle, self._tolerances = handle, tolerances
        self._joint_names, self._angles = list(robot.joint_names), robot.model.angles
        self._executor, self._period = executor, period
        self._last_feedback = -inf

    def begin(self, trajectory: JointTrajectory) -> None:
        """Start to judge the trajectory that the control loop follows for this goal."""
        self._judge = TrajectoryGoal(trajectory, self._tolerances, self._joint_names, self._angles)

    def watch(self, stamp: int, tick: Tick) -> Outcome | None:
        """Judge a tick; return the outcome of the goal, or None while it is active."""
        if stamp >= self._last_feedback + self._period:
            self._last_feedback = stamp
            self._executor.create_task(self._publish_feedback, stamp, tick)
        end = self._judge.judge(tick)
        return None if end is None else Outcome(CODES[end[0]], end[1])

    def finish(self, outcome: Outcome) -> None:
        """Set the outcome and wake the task that waits for it."""
        self.outcome.set_result(outcome)
        self._executor.wake()

    def _publish_feedback(self, stamp: int, tick: Tick) -> None:
        state, reference, trajectory = tick.state, tick.reference, self._judge.trajectory
        if reference is None or not self._handle.is_active:
            return
        feedback = FollowJointTrajectory.Feedback(joint_names=self._joint_names)
        set_stamp(feedback.header.stamp, stamp)
        feedback.desired = state_point(reference.q, reference.v, reference.a)
        feedback.actual = state_point(state.q, state.v)
        feedback.error = state_point(reference.q - state.q, reference.v - state.v)
        since_start = Duration(nanoseconds=to_nanoseconds(tick.time - trajectory.origin)).to_msg()
        for point in (feedback.desired, feedback.actual, feedback.error):
            point.time_from_start = since_start
        if hasattr(feedback, "index"):  # since control_msgs 6.3; not in ROS 2 Jazzy
            feedback.index = trajectory.point_ahead(tick.time)
        self._handle.publish_feedback(feedback)


class TrajectoryActionServer(Part):
    """Serves the action. One goal is active at a time; a new goal preempts it.

    Args:
        context: What it knows of the node.
    """

    PARAMETERS = (MONITOR_RATE,)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        node = self._node = context.node
        self._robot, self._joints = context.robot, context.joints
        node.parameters.declare(constraint_parameters(context.robot.model))
        self._period = NANOSECONDS_PER_SECOND / node.parameters[MONITOR_RATE.name]
        self._goals: dict[bytes, ActiveGoal] = {}
        self._counts: Counter[str] = Counter()
        self._server = GoalServer(node, FollowJointTrajectory, topic_names.own(topic_names.FOLLOW_JOINT_TRAJECTORY),
                                  self._execute, self._on_goal, self._on_cancel)

    @property
    def _trajectories(self) -> JointTrajectories:
        return self.context.parts[JointTrajectories]

    def values(self) -> Mapping[str, object]:
        """Return the number of goals by outcome."""
        return {f"goals {kind}": count for kind, count in self._counts.items()}

    def close(self) -> None:
        """Abort the active goal and end the service."""
        if self._goals:
            for goal in self._goals.values():
                goal.finish(Outcome(Result.INVALID_GOAL, "the controller node was stopped"))
            self._node.serve_last()
        self._server.destroy()

    def _on_goal(self, message: FollowJointTrajectory.Goal) -> GoalResponse:
        try:
            self._trajectories.check_names(message.trajectory)
            self._tolerances(message)
        except RobodynError as error:
            if refusal(error).code == Result.INVALID_JOINTS:
                self._node.diagnostics.problem(REJECTED, f"rejected a goal: {error}")
                self._counts["rejected"] += 1
                return GoalResponse.REJECT
        return GoalResponse.ACCEPT  # what else is wrong with it, the result says

    def _tolerances(self, message: FollowJointTrajectory.Goal) -> Tolerances:
        return goal_tolerances(message, self._joints, default_tolerances(self._node.parameters, self._joints.names))

    async def _execute(self, handle: ServerGoalHandle[Any, Any, Any]) -> Any:
        """Follow a goal to its end; the executor serves other callbacks meanwhile."""
        identity = bytes(handle.goal_id.uuid)
        outcome: Outcome | None
        if handle.is_cancel_requested:
            outcome = Outcome(Result.SUCCESSFUL, "canceled before it began", canceled=True)
        else:
            try:
                self._goals[identity] = self._begin(handle)
                outcome = await self._goals[identity].outcome
                assert outcome is not None
            except RobodynError as error:
                release_points(handle.request.trajectory)
                outcome = refusal(error)
                self._node.diagnostics.problem(REJECTED, f"rejected a goal: {error}")
            finally:
                self._goals.pop(identity, None)
        self._end(handle, outcome)
        return Result(error_code=outcome.code, error_string=outcome.text)

    def _begin(self, handle: ServerGoalHandle[Any, Any, Any]) -> ActiveGoal:
        message = handle.request
        tolerances = self._tolerances(message)
        if not message.trajectory.points:
            raise InputError("trajectory: expected at least one point, received none; cancel a goal to stop")
        executor = self._node.executor
        assert executor is not None  # for mypy: the executor runs this callback
        goal = ActiveGoal(handle, tolerances, self._robot, executor, self._period)
        self._trajectories.follow(message.trajectory, goal)
        return goal

    def _end(self, handle: ServerGoalHandle[Any, Any, Any], outcome: Outcome) -> None:
        if outcome.canceled:
            kind, end = "canceled", handle.canceled
        elif outcome.code == Result.SUCCESSFUL:
            kind, end = "reached", handle.succeed
        else:
            kind, end = "aborted", handle.abort
        self._server.changed(end)
        self._counts[kind] += 1
        self._node.log.info("goals", f"goal {kind}: {outcome.text}")

    def _on_cancel(self, handle: ServerGoalHandle[Any, Any, Any]) -> CancelResponse:
        goal = self._goals.get(bytes(handle.goal_id.uuid))
        try:
            if goal is not None:
                self._trajectories.cancel(goal)
        except RobodynError as error:
            self._node.diagnostics.problem("failed cancellations", f"cannot cancel a goal: {error}")
            return CancelResponse.REJECT
        return CancelResponse.ACCEPT
