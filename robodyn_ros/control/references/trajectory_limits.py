# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Checks whether a trajectory stays within the robot's limits, and slows it down."""

from __future__ import annotations

import numpy as np

from robodyn_ros.base.errors import InputError
from robodyn_ros.base.fields import Field
from robodyn_ros.control.contract.controller import JointReference
from robodyn_ros.control.references.joint_trajectory import JointTrajectory, Points
from robodyn_ros.description.model import RobotModel

ROUNDING = 1e-6  # [rad or m]
SPEED_TOLERANCE = 1.001  # relative
_ROUNDS = 10  # initial speeds do not shrink with more time, so one stretch may not suffice

WARN, SCALE, REFUSE = "warn", "scale", "refuse"

EXCESSIVE_SPEEDS = Field(
    "trajectory_limits", WARN, "What happens to a trajectory in which a joint exceeds its velocity limit. warn: it is "
    "followed, with a warning; scale: it is followed in the least time that keeps to the limits; refuse: it is refused",
    choices=(WARN, SCALE, REFUSE))
"""The parameter that says what to do with trajectories that are too fast."""


def check_positions(model: RobotModel, points: Points, trajectory: JointTrajectory, start: JointReference) -> None:
    """Check that the points and the motion between them respect the position limits.

    A joint that is already beyond a limit may stay there or return.

    Args:
        model: The robot.
        points: The requested points.
        trajectory: The motion through them.
        start: Where it starts.

    Raises:
        InputError: A joint passes a limit; the message names joint, position and limit.
    """
    lower = np.minimum(model.position_lower, start.q) - ROUNDING
    upper = np.maximum(model.position_upper, start.q) + ROUNDING
    for index, joint in np.argwhere((points.q < lower) | (points.q > upper))[:1]:
        raise InputError(f"trajectory: point {index}, {_limit_message(model, joint, points.q[index, joint])}")
    lowest, highest, _ = trajectory.extremes()
    for (joint,) in np.argwhere((lowest < lower) | (highest > upper))[:1]:
        reached = lowest[joint] if lowest[joint] < lower[joint] else highest[joint]
        raise InputError(
            f"trajectory: between its points, {_limit_message(model, joint, reached)}; give more points, more time or "
            "lower velocities"
        )


def excessive_speeds(model: RobotModel, trajectory: JointTrajectory) -> list[str]:
    """Return warnings about joints that would exceed their velocity limits."""
    speed, limit = trajectory.extremes()[2], model.velocity_limit
    return [
        f"joint '{model.joint_names[joint]}' would have to move at {speed[joint]:.4g}, its limit is {limit[joint]:.4g}"
        for joint in np.flatnonzero(speed > limit * SPEED_TOLERANCE)
    ]


def within_speed_limits(model: RobotModel, points: Points, start: JointReference, start_time: float, origin: float
                        ) -> tuple[JointTrajectory, float]:
    """Return the fastest motion through points, at most as fast as requested, within the velocity limits.

    Args:
        model: The robot.
        points: The requested points.
        start: Where the motion begins.
        start_time: When it begins [s].
        origin: Zero of the points' times [s].

    Returns:
        The motion, and the factor by which the points' times were stretched.

    Raises:
        InputError: No stretching helps, because a joint is too fast already at the start.
    """
    factor = 1.0
    for _ in range(_ROUNDS):
        trajectory = JointTrajectory(start, start_time, points.stretched(factor), origin)
        excess = float((trajectory.extremes()[2] / model.velocity_limit).max())
        if excess <= SPEED_TOLERANCE:
            return trajectory, factor
        factor *= excess
    raise InputError(f"trajectory: {excessive_speeds(model, trajectory)[0]}, however long the motion takes; begin at "
                     "rest")


def _limit_message(model: RobotModel, joint: int, position: float) -> str:
    lower, upper = model.position_lower[joint], model.position_upper[joint]
    return (
        f"joint '{model.joint_names[joint]}': position {position:.6g} is outside its limits, "
        f"{lower:.6g} to {upper:.6g}"
    )
