# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Test motion within the limits of any robot, and a start that is offset from it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from robodyn_ros.base.errors import InputError
from robodyn_ros.control.contract.controller import JointReference
from robodyn_ros.control.references.joint_trajectory import JointTrajectory, Points
from robodyn_ros.control.references.quintic import PEAK_SPEED
from robodyn_ros.control.references.tip_reference import TipReference
from robodyn_ros.description.model import Array
from robodyn_ros.kinematics.quaternions import quaternion_by_largest_element
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.plant import default_position
from robodyn_ros.simulation.rollout import ClosedLoop
from robodyn_ros.simulation.scenario import Scenario

REST_TIME = 0.3
"""How long the end of a motion is held [s]."""

_ANGLE, _DISTANCE = 0.5, 0.1  # [rad, m]
_ANGLE_OFFSET, _DISTANCE_OFFSET = 0.05, 0.01  # [rad, m]
_SHARE = 0.4  # of the range between limits, of the way to one, and of a velocity limit
_MIN_DURATION = 0.3  # [s]


def excursion(robot: Robot) -> JointTrajectory:
    """The motion through `excursion_points`, from the default position."""
    rest = np.zeros(robot.n)
    return JointTrajectory(JointReference(default_position(robot), rest, rest), 0.0, excursion_points(robot))


def excursion_points(robot: Robot, slower: float = 1.0, times: int = 1) -> Points:
    """From the default position to one side, to the other, and back; neighbouring joints move in opposite directions.

    Each joint moves 0.5 rad (0.1 m) to either side, at most 0.4 of its range, about the default position or as near to
    it as the limits allow. Its speed stays below 0.4 of the velocity limit, and each third takes 0.3 s or more.

    Args:
        robot: The robot.
        slower: Factor on the time.
        times: Number of repetitions.
    """
    model, start = robot.model, default_position(robot)
    lower, upper = model.position_lower, model.position_upper
    size = np.minimum(_by_kind(robot, _ANGLE, _DISTANCE), _SHARE * (upper - lower))
    middle = np.clip(start, lower + size, upper - size)
    swing = size * np.where(np.arange(robot.n) % 2, -1.0, 1.0)
    goals = np.array([middle + swing, middle - swing, start])
    distances = np.abs(np.diff(np.vstack([start, goals]), axis=0))
    limits: Array = np.array([joint.limits.velocity for joint in model.leaders])
    needed = PEAK_SPEED * (distances / (_SHARE * np.where(limits > 0.0, limits, np.inf))).max(axis=1)
    durations = slower * np.maximum(_MIN_DURATION, needed)
    return Points.from_arrays(np.cumsum(np.tile(durations, times)), np.tile(goals, (times, 1)))


def offset_start(robot: Robot, q: Array) -> Array:
    """Positions 0.05 rad (0.01 m) away from given ones, towards the farther limit of each joint.

    A start beside the reference shows how fast an error decays; a start on a smooth reference does not.

    Args:
        robot: The robot.
        q: Joint positions, shape (n,) [rad or m].
    """
    below, above = q - robot.model.position_lower, robot.model.position_upper - q
    distance = np.minimum(_by_kind(robot, _ANGLE_OFFSET, _DISTANCE_OFFSET), _SHARE * np.maximum(below, above))
    alternating = np.arange(robot.n) % 2 == 0
    return q + np.where((above > below) | ((above == below) & alternating), distance, -distance)


def tracking_scenario(loop: ClosedLoop, motion: JointTrajectory, rest: float = REST_TIME, *, on_motion: bool = False,
                  **noise: Any) -> Scenario:
    """Scenario in which a law follows a joint motion, or the tip link's poses in it, from an offset start.

    Args:
        loop: The law and the robot.
        motion: Motion of the joints.
        rest: How long the end of the motion is held [s].
        on_motion: Whether the robot starts on the motion, without an offset.
        **noise: As for `Scenario.sample`: standard deviations, seed, signals.

    Raises:
        InputError: The law follows neither joints nor poses; or as for `Scenario.sample`.
    """
    robot, follows = loop.robot, loop.controller.follows
    if follows not in (JointReference, TipReference):
        raise InputError(f"expected a law that follows joints or poses, received {type(loop.controller).__name__}")
    start = motion.sample(0.0).q
    scenario = loop.scenario([motion] if follows is JointReference else [], motion.end_time + rest,
                             q=start if on_motion else offset_start(robot, start), **noise)
    if follows is JointReference:
        return scenario
    return replace(scenario, references=tip_references(robot, motion, scenario.clocks[:, 0]))


def tip_references(robot: Robot, motion: JointTrajectory, times: Array) -> TipReference:
    """Tip references by forward kinematics of a joint motion, hence reachable.

    Args:
        robot: The robot.
        motion: Motion of its joints.
        times: Shape (K,) [s].

    Returns:
        Each array with an axis of K times before its own.
    """
    q, v, a = (np.stack(field) for field in zip(*(motion.sample(time) for time in times.tolist()), strict=True))
    batch = robot.dynamics().batch
    poses, jacobians, rates = batch.forward_kinematics(q), batch.jacobian(q), batch.jacobian_derivative(q, v)
    twist = np.einsum("kij,kj->ki", jacobians, v)
    acceleration = np.einsum("kij,kj->ki", jacobians, a) + np.einsum("kij,kj->ki", rates, v)
    quaternions = np.array([quaternion_by_largest_element(pose[:3, :3]) for pose in poses])
    return TipReference(poses[:, :3, 3], quaternions, twist, acceleration, q, v, a)


def _by_kind(robot: Robot, revolute: float, prismatic: float) -> Array:
    return np.array([prismatic if joint.kind == "prismatic" else revolute for joint in robot.model.leaders])
