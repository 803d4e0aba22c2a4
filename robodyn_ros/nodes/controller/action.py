"""~/follow_joint_trajectory: trajectories as goals, by which MoveIt and others have their plans carried out.

Every goal is accepted, and one that cannot be followed is aborted at once: the action has no words for a rejection,
but its result has a code and a text.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from math import inf
from typing import Any

from control_msgs.action import FollowJointTrajectory
from rclpy.action import ActionServer, CancelResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.duration import Duration
from rclpy.executors import Executor
from rclpy.task import Future

from robodyn_ros.control.control_loop import Tick
from robodyn_ros.control.trajectories.goal_tolerances import Tolerances, TrajectoryGoal
from robodyn_ros.control.trajectories.joint_trajectory import JointTrajectory
from robodyn_ros.errors import InputError, RobodynError
from robodyn_ros.nodes.common.messages import JointOrder, set_stamp
from robodyn_ros.nodes.common.parameters import Parameter
from robodyn_ros.nodes.common.runtime import RobodynNode
from robodyn_ros.nodes.controller.goal import (
    CODES,
    Outcome,
    Result,
    constraint_parameters,
    default_tolerances,
    goal_tolerances,
    refusal,
)
from robodyn_ros.nodes.controller.joint_trajectories import REJECTED, JointTrajectories
from robodyn_ros.nodes.controller.state_output import state_point
from robodyn_ros.robot import Robot
from robodyn_ros.timing import NANOSECONDS_PER_SECOND, to_nanoseconds

MONITOR_RATE = Parameter(
    "action_monitor_rate", 20.0, "Rate of the feedback on a goal under way, in the time of the joint states [Hz].",
    read_only=True, minimum=0.1, maximum=1000.0,
)

LAST_WORDS = 20
"""Turns of the executor in which a stopping node tells who sent the goal under way how it ended."""


class ActiveGoal:
    """A goal under way: watched on the control path's thread, reported by the executor's.

    Args:
        handle: What the action server knows it by.
        tolerances: What carrying it out means.
        joint_names: The robot's joints.
        executor: Executor of the action server.
        period: Least time between two feedbacks [ns].
    """

    def __init__(self, handle: ServerGoalHandle[Any, Any, Any], tolerances: Tolerances, joint_names: list[str],
                 executor: Executor, period: float) -> None:
        self.outcome: Future[Outcome] = Future()
        self._handle, self._tolerances, self._joint_names = handle, tolerances, joint_names
        self._executor, self._period = executor, period
        self._last_feedback = -inf

    def begin(self, trajectory: JointTrajectory) -> None:
        """Take the trajectory as it is in force."""
        self._judge = TrajectoryGoal(trajectory, self._tolerances, self._joint_names)

    def watch(self, stamp: int, tick: Tick) -> Outcome | None:
        """Look at a tick; return how the goal ended, if it did."""
        if stamp >= self._last_feedback + self._period:
            self._last_feedback = stamp
            self._executor.create_task(self._publish_feedback, stamp, tick)
        end = self._judge.judge(tick)
        return None if end is None else Outcome(CODES[end[0]], end[1])

    def finish(self, outcome: Outcome) -> None:
        """Let the task that waits for the outcome go on."""
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
        since_start = Duration(nanoseconds=to_nanoseconds(state.time - trajectory.origin)).to_msg()
        for point in (feedback.desired, feedback.actual, feedback.error):
            point.time_from_start = since_start
        if hasattr(feedback, "index"):  # since control_msgs 6.3; not in ROS 2 Jazzy
            feedback.index = trajectory.point_ahead(state.time)
        self._handle.publish_feedback(feedback)


class TrajectoryActionServer:
    """Serves the action; goals are followed one at a time, a new one preempts the one before.

    Args:
        node: The node that serves it.
        robot: The robot.
        joints: Its joints.
        references: What trajectories are handed to.
    """

    def __init__(self, node: RobodynNode, robot: Robot, joints: JointOrder, references: JointTrajectories) -> None:
        node.parameters.declare([MONITOR_RATE, *constraint_parameters(robot.model)])
        self._node, self._joints, self._trajectories = node, joints, references
        self._period = NANOSECONDS_PER_SECOND / node.parameters[MONITOR_RATE.name]
        self._goals: dict[bytes, ActiveGoal] = {}
        self._counts: Counter[str] = Counter()
        self._server: ActionServer[Any, Any, Any] = ActionServer(
            node, FollowJointTrajectory, "~/follow_joint_trajectory", self._execute, cancel_callback=self._on_cancel)

    def values(self) -> dict[str, object]:
        """For diagnostics: how many goals ended how."""
        return {f"goals {kind}": count for kind, count in self._counts.items()}

    def close(self, executor: Executor | None) -> None:
        """Abort the goal under way, once its trajectory is not followed any more, and end the service."""
        if self._goals and executor is not None:
            for goal in self._goals.values():
                goal.finish(Outcome(Result.INVALID_GOAL, "the controller node was stopped"))
            for _ in range(LAST_WORDS):
                with suppress(Exception):  # of another callback, of a node that has stopped before
                    executor.spin_once(timeout_sec=0.0)
        self._server.destroy()

    async def _execute(self, handle: ServerGoalHandle[Any, Any, Any]) -> Any:
        """Carry out a goal: begin, wait without keeping the executor, end."""
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
                outcome = refusal(error)
                self._node.diagnostics.problem(REJECTED, f"rejected a goal: {error}")
            finally:
                self._goals.pop(identity, None)
        self._end(handle, outcome)
        return Result(error_code=outcome.code, error_string=outcome.text)

    def _begin(self, handle: ServerGoalHandle[Any, Any, Any]) -> ActiveGoal:
        message, names = handle.request, self._joints.names
        tolerances = goal_tolerances(message, self._joints, default_tolerances(self._node.parameters, names))
        if not message.trajectory.points:
            raise InputError("trajectory: expected at least one point, received none; cancel a goal to stop")
        executor = self._node.executor
        assert executor is not None  # it runs this
        goal = ActiveGoal(handle, tolerances, names, executor, self._period)
        self._trajectories.follow(message.trajectory, goal)
        return goal

    def _end(self, handle: ServerGoalHandle[Any, Any, Any], outcome: Outcome) -> None:
        if outcome.canceled:
            kind, end = "canceled", handle.canceled
        elif outcome.code == Result.SUCCESSFUL:
            kind, end = "reached", handle.succeed
        else:
            kind, end = "aborted", handle.abort
        end()
        self._counts[kind] += 1
        self._node.get_logger().info(f"goal {kind}: {outcome.text}")

    def _on_cancel(self, handle: ServerGoalHandle[Any, Any, Any]) -> CancelResponse:
        goal = self._goals.get(bytes(handle.goal_id.uuid))
        try:
            if goal is not None:
                self._trajectories.cancel(goal)
        except RobodynError as error:
            self._node.diagnostics.problem("failed cancellations", f"cannot cancel a goal: {error}")
            return CancelResponse.REJECT
        return CancelResponse.ACCEPT
