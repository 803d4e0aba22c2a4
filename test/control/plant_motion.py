# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A law on the simulated robot, tick by tick: states and efforts."""

from typing import NamedTuple

import numpy as np

from robodyn_ros import Robot
from robodyn_ros.control import JointReference, State, TipReference
from robodyn_ros.control.laws.task_space import axis_rows, pose_error, task_axes
from robodyn_ros.control.references.joint_trajectory import JointTrajectory, Points
from robodyn_ros.control.references.reference import SOURCES
from robodyn_ros.control.references.tip_trajectory import TipTrajectory
from robodyn_ros.dynamics.regressor import inertial_parameters, with_inertial_parameters
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.plant import Plant


def run(robot, controller, q_d, duration, q=None, v=None, step=1e-3):
    """Positions, velocities and efforts within the limits, shape (m, n) each; held at q_d, where it starts by default.

    One control period is one step of the plant.
    """
    plant, rest = Plant(robot, step), np.zeros(robot.n)
    plant.set_state(q_d if q is None else q, v)
    reference = JointReference(np.asarray(q_d), rest, rest)
    controller.activate(State(0.0, 0.0, plant.q, plant.v))
    rows = []
    for k in range(round(duration / step)):
        state = State(plant.time, step if k else 0.0, plant.q, plant.v)
        plant.advance(Drive(controller.update(state, reference), rest, rest))
        rows.append((state.q, state.v, plant.effort))
    return (np.array(column) for column in zip(*rows, strict=True))


class Motion(NamedTuple):
    """Record of a motion, one row per tick: times, positions, velocities, efforts within the limits, references."""

    time: np.ndarray
    q: np.ndarray
    v: np.ndarray
    effort: np.ndarray
    references: list

    @property
    def error(self):
        """References' positions less those reached, shape (m, n)."""
        return np.array([reference.q for reference in self.references]) - self.q


def follow(robot, controller, sample, duration, q, v=None, step=1e-3, push=None):
    """A motion of the plant of a robot, which need not be the one that the controller was made for.

    The reference is ``sample(time)``, the wrench on the tip ``push(time, q, v)``, measured by the controller.
    """
    plant, rest = Plant(robot, step), np.zeros(robot.n)
    plant.set_state(q, v)
    controller.activate(State(0.0, 0.0, plant.q, plant.v))
    rows, references = [], []
    for k in range(round(duration / step)):
        wrench = np.full(6, np.nan) if push is None else push(k * step, plant.q, plant.v)
        if push is not None:
            plant.set_wrench_tip(wrench)
        state = State(k * step, step if k else 0.0, plant.q, plant.v, wrench)
        reference = None if sample is None else sample(k * step)
        if hasattr(reference, "twist") and not reference.q.size:  # of the tip link alone
            reference = reference._replace(q=np.asarray(q), v=rest, a=rest)
        plant.advance(Drive(controller.update(state, reference), rest, rest))
        rows.append((state.time, state.q, state.v, plant.effort))
        references.append(reference)
    return Motion(*(np.array(column) for column in zip(*rows, strict=True)), references)


def heavier(robot, share=0.2):
    """The same robot with all masses and inertias greater by a share, which a wrong model does not contain."""
    return Robot(with_inertial_parameters(robot.model, (1.0 + share) * inertial_parameters(robot.model)))


def middle(robot, reach=1.0):
    """A position away from the limits and from stretched arms, and a range about it, each of shape (n,)."""
    lower, upper = np.maximum(robot.model.position_lower, -reach), np.minimum(robot.model.position_upper, reach)
    return lower + 0.6 * (upper - lower), 0.25 * (upper - lower)


def there_and_back(robot, duration=2.0, share=1.0):
    """A joint trajectory from `middle` away and back to rest there."""
    q, reach = middle(robot)
    rest = np.zeros(robot.n)
    away = q - share * reach * np.where(np.arange(robot.n) % 2, -1.0, 1.0)
    points = Points.from_arrays([0.5 * duration, duration], [away, q], [rest, rest], [rest, rest])
    return JointTrajectory(JointReference(q, rest, rest), 0.0, points)


def error_with_wrong_model(robot, law):
    """Root mean square error there and back [rad or m] of a law that does not know how heavy the robot is."""
    trajectory = there_and_back(robot)
    motion = follow(heavier(robot), law(robot), trajectory.sample, 2.5, trajectory.sample(0.0).q, step=2e-3)
    return np.sqrt(np.mean(motion.error ** 2))


BENT = {"planar_2r": (0.4, 1.4), "scara": (0.3, 1.2, 0.2, 0.1), "arm6": (0.3, -1.0, 1.2, 0.2, 0.9, 0.1),
        "arm7": (0.2, -0.5, 0.1, -2.0, 0.1, 1.7, 0.6)}
"""Joint positions of the shipped robots from which the tip link can move in all directions."""


def tip_circle(robot, q, radius=0.08, duration=2.0):
    """A circle of the tip link from joint positions and back to them, in a plane that the robot can move in."""
    start = SOURCES[TipReference](robot, q).sample(0.0)
    axis, toward = (np.eye(3)[1], np.eye(3)[2]) if "y" not in task_axes(robot) else (np.eye(3)[2], np.eye(3)[1])
    return TipTrajectory.circle(start, 0.0, duration, start.position - radius * toward, axis)


def tip_errors(robot, motion):
    """Pose errors along the robot's axes, shape (ticks, m) [m, rad]."""
    rows, pose = axis_rows(task_axes(robot)), robot.dynamics().forward_kinematics
    return np.array([pose_error(pose(q), reference)[rows]
                     for q, reference in zip(motion.q, motion.references, strict=True)])


def jumps(robot, controller, count=4, duration=2.5):
    """Mean over random jumps of the goal: integral of |e| over the sum of the jumps [s], and greatest overshoot."""
    areas, overshoots, rest = [], [], np.zeros(robot.n)
    lower, upper = np.maximum(robot.model.position_lower, -1.5), np.minimum(robot.model.position_upper, 1.5)
    for seed in range(count):
        start, goal = lower + np.random.default_rng(seed).uniform(0.1, 0.9, (2, robot.n)) * (upper - lower)
        motion = follow(robot, controller, lambda _, q=goal: JointReference(q, rest, rest), duration, start, step=2e-3)
        error = goal - motion.q
        areas.append(2e-3 * np.abs(error).sum() / np.abs(goal - start).sum())
        overshoots.append(np.maximum(-error * np.sign(goal - start), 0.0).max())
    return np.mean(areas), np.mean(overshoots)
