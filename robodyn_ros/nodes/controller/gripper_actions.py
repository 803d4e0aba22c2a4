# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The actions of ros2_controllers' gripper controllers: they move a gripper beside the arm, with limited efforts.

`GripperCommand` has one position for all joints of the gripper, `ParallelGripperCommand` one for each that it names. A
goal is reached, or stalls, by the rules of gripper_controllers and parallel_gripper_controller. After a stall the
gripper presses on. The server rejects a goal that cannot be followed; the log says why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from typing import Any, NamedTuple

import numpy as np
from rclpy.action import CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.task import Future
from sensor_msgs.msg import JointState

from robodyn_ros.base import topic_names
from robodyn_ros.base.errors import InputError, RobodynError
from robodyn_ros.base.fields import Field
from robodyn_ros.base.timing import NANOSECONDS_PER_SECOND
from robodyn_ros.control.contract.controller import JointReference
from robodyn_ros.control.references.joint_trajectory import JointTrajectory, Points
from robodyn_ros.control.references.trajectory_limits import check_positions
from robodyn_ros.control.runtime.requests import Grip
from robodyn_ros.control.runtime.tick import Tick
from robodyn_ros.description.default_tip import MovingJoint, gripper_joints
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.nodes.common.messages import EFFORT, POSITION, VELOCITY, set_stamp, to_field
from robodyn_ros.nodes.controller.goal_server import GoalServer
from robodyn_ros.nodes.controller.part import AnsweredState, Context, Part

try:
    from control_msgs.action import GripperCommand, ParallelGripperCommand
except ImportError:  # control_msgs of a workspace that was built before it had them
    GripperCommand = ParallelGripperCommand = None

REJECTED = "rejected gripper goals"
PEAK_SPEED = 1.875
"""Greatest speed of a quintic between two points at rest, relative to its mean speed."""
SHORTEST_MOTION = 0.25
"""[s]"""
USUAL_SPEED = 0.5
"""Greatest speed of a goal without one, relative to the velocity limits of the joints."""
UNLIMITED_SPEED = 0.1
"""The same for joints without a velocity limit [rad/s or m/s]."""

TYPES = {topic_names.GRIPPER_COMMAND: "position_controllers/GripperActionController",
         topic_names.PARALLEL_GRIPPER_COMMAND: "parallel_gripper_action_controller/GripperActionController"}
"""Type of the controller that serves each action in ros2_control; MoveIt knows the action by it."""


class GripperOutcome(NamedTuple):
    """How a goal ends."""

    text: str
    reached: bool = False
    stalled: bool = False
    canceled: bool = False


@dataclass(eq=False)
class GripperGoal:
    """A goal that is followed."""

    handle: ServerGoalHandle[Any, Any, Any]
    joints: list[int]  # indices of the joints that it moves
    target: Array  # where to, shape of `joints` [rad or m]
    grip: Grip  # what the loop follows for it
    tick: Tick  # the newest one
    moved: int  # stamp at which the gripper moved last [ns]
    outcome: Future[GripperOutcome] = field(default_factory=Future)


class GripperActions(Part):
    """Serves both actions, if the robot has a gripper. One goal is active at a time; a new goal preempts it.

    Args:
        context: What it knows of the node.

    Raises:
        InputError: The parameter names a joint that the robot does not have.
    """

    PARAMETERS = (
        Field("gripper.joints", ["auto"], "Joints of the gripper; auto: those of the fingers behind the arm; none: no "
              "gripper", structural=True),
        Field("gripper.goal_tolerance", 0.01, "Distance of a joint of the gripper from its goal that counts as reached",
              unit="rad or m", minimum=0.0),
        Field("gripper.max_effort", 0.0, "Greatest effort of the gripper's joints for goals without one; 0: their "
              "limits", unit="N m or N", minimum=0.0),
        Field("gripper.max_velocity", 0.0, "Greatest speed of the gripper's joints for goals without one; 0: half of "
              "their limits", unit="rad/s or m/s", minimum=0.0),
        Field("gripper.allow_stalling", False, "Whether a gripper that stalls has succeeded"),
        Field("gripper.stall_velocity_threshold", 0.001, "Speed up to which a joint of the gripper stands still",
              unit="rad/s or m/s", minimum=0.0),
        Field("gripper.stall_timeout", 1.0, "Time of standing still, farther than the tolerance behind its motion, "
              "after which the gripper has stalled", unit="s", minimum=0.0, maximum=3600.0),
    )

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._node, self._thread, self._joints = context.node, context.thread, context.joints
        self._model = context.robot.model
        self._goal: GripperGoal | None = None
        self._servers: dict[type[Any], GoalServer] = {}
        given = self._node.parameters["gripper.joints"]
        self.names = _found(self._model) if given == ["auto"] else [] if given == ["none"] else given
        self._columns = self._joints.columns(self.names, "gripper.joints") if self.names else []
        if self.names and GripperCommand is None:
            self._node.log.info("gripper", "the control_msgs that are installed have no actions for the gripper")
        if not self.names or GripperCommand is None:
            return
        for name, kind in zip(TYPES, (GripperCommand, ParallelGripperCommand), strict=True):
            self._servers[kind] = GoalServer(self._node, kind, name, partial(self._execute, kind), self._on_goal,
                                             self._on_cancel)

    def controllers(self) -> Mapping[str, str]:
        """Types of the controllers that stand for the actions in ros2_control, by name."""
        return {name.partition("/")[0]: kind for name, kind in TYPES.items()} if self._servers else {}

    def close(self) -> None:
        """Abort the active goal and end the services."""
        if self._goal is not None:
            self._finish(self._goal, GripperOutcome("the controller node was stopped"))
            self._node.serve_last()
        for server in self._servers.values():
            server.destroy()

    # On the executor's thread.

    def _on_goal(self, message: Any) -> GoalResponse:
        try:
            self._plan(self._command(message))
        except RobodynError as error:
            self._node.diagnostics.problem(REJECTED, f"rejected a goal of the gripper: {error}")
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def _command(self, message: Any) -> JointState:
        """Return the command of a goal of either action."""
        command, count = message.command, len(self.names)
        return command if isinstance(command, JointState) else JointState(
            position=[command.position] * count, effort=[command.max_effort] * count)

    def _plan(self, command: JointState) -> tuple[list[int], Array, Grip]:
        """Return the joints that a command moves, where to, and the motion.

        Raises:
            RobodynError: The command cannot be followed.
        """
        names, parameters, model = list(command.name) or self.names, self._node.parameters, self._model
        if others := [name for name in names if name not in self.names]:
            raise InputError(f"gripper_cmd: joint '{others[0]}' is not of the gripper: {', '.join(self.names)}")
        begin = self._thread.call(lambda: self._thread.loop.trajectory_start(None, joints=names))
        last = self._thread.loop.last
        assert last is not None  # for mypy: a motion can begin
        columns = self._joints.columns(names, "gripper_cmd: name")
        start, rest = begin.reference, np.zeros(len(self._joints))
        if np.abs(last.state.q - start.q)[columns].max() > parameters["gripper.goal_tolerance"]:  # something held it
            start = JointReference(np.where(np.isin(range(len(rest)), columns), last.state.q, start.q), rest, rest)
        target = self._joints.read(names, command.position, "gripper_cmd: position", POSITION, fill=start.q)
        efforts = self._magnitudes(names, command.effort, "effort", EFFORT, parameters["gripper.max_effort"] or inf)
        limit = np.where(model.velocity_limit > 0.0, USUAL_SPEED * model.velocity_limit, UNLIMITED_SPEED)
        usual = parameters["gripper.max_velocity"] or limit
        speeds = self._magnitudes(names, command.velocity, "velocity", VELOCITY, usual)
        duration = max(SHORTEST_MOTION, float((np.abs(target - start.q) / speeds).max()) * PEAK_SPEED)
        fastest, points = 2.0 * (target - start.q) / duration, Points.from_arrays([duration], [target])
        v = np.clip(start.v, np.minimum(fastest, 0.0), np.maximum(fastest, 0.0))  # so that it does not overshoot
        trajectory = JointTrajectory(JointReference(start.q, v, rest), begin.start_time, points)
        check_positions(model, points, trajectory, start)
        mask = np.isin(range(len(rest)), self._columns)
        return columns, target[columns], Grip(mask, trajectory, np.where(mask, efforts, inf))

    def _magnitudes(self, names: Sequence[str], values: Sequence[float], what: str, allowed: Any, usual: Any) -> Array:
        """Return greatest values of all joints, shape (n,), where 0 and no value stand for the usual ones."""
        none = np.zeros(len(self._joints))
        given = self._joints.read(names, values, f"gripper_cmd: {what}", replace(allowed, minimum=0.0), fill=none
                                  ) if len(values) else none
        return np.where(given > 0.0, given, usual)

    async def _execute(self, kind: type[Any], handle: ServerGoalHandle[Any, Any, Any]) -> Any:
        """Follow a goal to its end; the executor serves other callbacks meanwhile."""
        goal: GripperGoal | None = None
        outcome: GripperOutcome | None = GripperOutcome("canceled before it began", canceled=True)
        if not handle.is_cancel_requested:
            try:
                goal = self._begin(handle)
                outcome = await goal.outcome
            except RobodynError as error:
                outcome = GripperOutcome(str(error))
                self._node.diagnostics.problem(REJECTED, f"rejected a goal of the gripper: {error}")
        assert outcome is not None
        succeeds = outcome.reached or outcome.stalled and self._node.parameters["gripper.allow_stalling"]
        self._servers[kind].changed(handle.canceled if outcome.canceled else handle.succeed if succeeds
                                    else handle.abort)
        self._node.log.info("goals", f"goal of the gripper: {outcome.text}")
        result = kind.Result(stalled=outcome.stalled, reached_goal=outcome.reached)
        return result if goal is None else self._fill(result, goal)

    def _begin(self, handle: ServerGoalHandle[Any, Any, Any]) -> GripperGoal:
        columns, target, grip = self._plan(self._command(handle.request))

        def put_in_force() -> GripperGoal:
            followed = self._thread.request_here(grip)
            loop = self._thread.loop
            assert loop.last is not None  # for mypy: it follows a motion
            if self._goal is not None:
                self._finish(self._goal, GripperOutcome("preempted by another goal"))
            self._goal = GripperGoal(handle, columns, target, followed, loop.last, loop.stamp)
            return self._goal

        begun: GripperGoal = self._thread.call(put_in_force)
        return begun

    def _on_cancel(self, handle: ServerGoalHandle[Any, Any, Any]) -> CancelResponse:
        """Hold the gripper where it is."""
        goal, last = self._goal, self._thread.loop.last
        if goal is None or last is None or goal.handle.goal_id != handle.goal_id:
            return CancelResponse.ACCEPT  # it has ended

        def end() -> None:
            if self._goal is goal:
                self._thread.request_here(still)
                self._finish(goal, GripperOutcome("canceled: holding the present position", canceled=True))

        try:
            still = self._plan(JointState(position=last.state.q[self._columns].tolist()))[2]
            self._thread.call(end)
        except RobodynError as error:
            self._node.diagnostics.problem("failed cancellations", f"cannot cancel a goal of the gripper: {error}")
            return CancelResponse.REJECT
        return CancelResponse.ACCEPT

    def _fill(self, message: Any, goal: GripperGoal) -> Any:
        """Write the present position and effort of the gripper into a result; return it."""
        state, effort = goal.tick.state, goal.tick.effort
        if hasattr(message, "state"):
            message.state = JointState(name=self.names, position=to_field(state.q[self._columns]),
                                       velocity=to_field(state.v[self._columns]),
                                       effort=to_field(effort[self._columns]))
            set_stamp(message.state.header.stamp, self._thread.loop.stamp)
        else:
            message.position = float(state.q[goal.joints].mean())
            message.effort = float(np.abs(effort[goal.joints]).max())
        return message

    # On the control path's thread.

    def after_tick(self, answer: AnsweredState) -> None:
        """Judge the active goal."""
        goal, loop = self._goal, self._thread.loop
        if goal is None:
            return
        tick = goal.tick = answer.tick
        q, v, parameters = tick.state.q[goal.joints], tick.state.v[goal.joints], self._node.parameters
        tolerance = parameters["gripper.goal_tolerance"]
        if loop.grip is not goal.grip:
            why = "a new start" if tick.reason is None else tick.reason.text
            self._finish(goal, GripperOutcome(f"ended: {why}" if loop.grip is None else "preempted by a trajectory"))
        elif np.abs(q - goal.target).max() < tolerance:
            self._finish(goal, GripperOutcome("reached", reached=True))
        elif (np.abs(v).max() > parameters["gripper.stall_velocity_threshold"]
              or np.abs(q - tick.reference.q[goal.joints]).max() < tolerance):
            goal.moved = answer.stamp
        elif answer.stamp - goal.moved > parameters["gripper.stall_timeout"] * NANOSECONDS_PER_SECOND:
            self._finish(goal, GripperOutcome("stalled", stalled=True))

    def abort(self, reason: str) -> None:
        """Abort the active goal, if any."""
        if self._goal is not None:
            self._finish(self._goal, GripperOutcome(reason))

    def _finish(self, goal: GripperGoal, outcome: GripperOutcome) -> None:
        self._goal = None
        goal.outcome.set_result(outcome)
        if self._node.executor is not None:
            self._node.executor.wake()


def _found(model: RobotModel) -> list[str]:
    """The joints of the gripper behind the arm of a robot, if there is one."""
    return gripper_joints([MovingJoint(joint.name, "", joint.link, joint.parent,
                                       joint.name != model.joint_names[joint.dof]) for joint in model.joints])
