# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Goals of the action FollowJointTrajectory: tolerances, reasons of refusal and outcomes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance

from robodyn_ros.base.errors import InputError, RobodynError
from robodyn_ros.base.timing import to_seconds
from robodyn_ros.control.references.goal_tolerances import StateTolerance, Tolerances, Verdict
from robodyn_ros.control.references.joint_trajectory import PastTrajectoryError
from robodyn_ros.nodes.common.messages import JointOrder, MessageError, read_duration
from robodyn_ros.nodes.common.parameters import DeclaredParameters

Result = FollowJointTrajectory.Result

CODES = {
    Verdict.REACHED: Result.SUCCESSFUL,
    Verdict.PATH_VIOLATED: Result.PATH_TOLERANCE_VIOLATED,
    Verdict.GOAL_VIOLATED: Result.GOAL_TOLERANCE_VIOLATED,
}

DEFAULT, NO_LIMIT = 0.0, -1.0
"""Values of a tolerance in a goal that stand for the default and for no limit."""


class Outcome(NamedTuple):
    """The outcome of a goal.

    Attributes:
        code: One of the action's result codes.
        text: The reason.
        canceled: Whether the client canceled the goal.
    """

    code: int
    text: str
    canceled: bool = False


def refusal(error: RobodynError) -> Outcome:
    """Return the outcome of a goal that cannot be followed."""
    if isinstance(error, PastTrajectoryError):
        return Outcome(Result.OLD_HEADER_TIMESTAMP, str(error))
    wrong_joints = isinstance(error, MessageError) and error.reason.endswith("joint")
    return Outcome(Result.INVALID_JOINTS if wrong_joints else Result.INVALID_GOAL, str(error))


def default_tolerances(parameters: DeclaredParameters, joint_names: Sequence[str]) -> Tolerances:
    """Return the tolerances that the parameters set."""
    n = len(joint_names)

    def of_joints(name: str) -> Any:
        return np.array([_or_any(parameters[f"constraints.{joint}.{name}"]) for joint in joint_names])

    at_rest = np.full(n, _or_any(parameters["constraints.stopped_velocity_tolerance"]))
    return Tolerances(StateTolerance(of_joints("trajectory"), np.full(n, math.inf)),
                      StateTolerance(of_joints("goal"), at_rest), _or_any(parameters["constraints.goal_time"]))


def goal_tolerances(goal: FollowJointTrajectory.Goal, joints: JointOrder, defaults: Tolerances) -> Tolerances:
    """Return the tolerances of a goal.

    Tolerances of accelerations are ignored, since joint states have no accelerations.

    Args:
        goal: The goal.
        joints: The robot's joints.
        defaults: Tolerances for joints and fields that the goal leaves at 0.

    Raises:
        InputError: A joint is unknown, a tolerance is negative but not -1, or the goal is for joints with several
            degrees of freedom.
    """
    for field in ("component_path_tolerance", "component_goal_tolerance"):
        if getattr(goal, field):
            raise InputError(f"{field}: expected none, as this robot's joints have one degree of freedom each")
    if goal.multi_dof_trajectory.points or goal.multi_dof_trajectory.joint_names:
        raise InputError("multi_dof_trajectory: expected none, as this robot's joints have one degree of freedom each")
    duration = goal.goal_time_tolerance
    return Tolerances(
        _of_states(goal.path_tolerance, "path_tolerance", joints, defaults.path),
        _of_states(goal.goal_tolerance, "goal_tolerance", joints, defaults.goal),
        _resolved(to_seconds(read_duration(duration)), defaults.goal_time, "goal_time_tolerance"),
    )


def _of_states(given: Sequence[JointTolerance], field: str, joints: JointOrder,
               defaults: StateTolerance) -> StateTolerance:
    q, v = defaults.q.copy(), defaults.v.copy()
    if given:
        columns = joints.columns([each.name for each in given], field)
        for column, each in zip(columns, given, strict=True):
            q[column] = _resolved(each.position, q[column], f"{field}: position of joint '{each.name}'")
            v[column] = _resolved(each.velocity, v[column], f"{field}: velocity of joint '{each.name}'")
    return StateTolerance(q, v)


def _resolved(value: float, default: float, what: str) -> float:
    if value == DEFAULT:
        return float(default)
    if value == NO_LIMIT:
        return math.inf
    if not value > 0.0:
        raise InputError(f"{what}: expected a positive number, 0 for the default or -1 for no limit, received {value}")
    return value


def _or_any(value: float) -> float:
    return value or math.inf
