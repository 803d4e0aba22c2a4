# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Decides whether a goal trajectory succeeds: close enough on the way and at the end, and in time.

The rules are the same as in joint_trajectory_controller of ros2_controllers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.base.fields import Field
from robodyn_ros.control.references.joint_trajectory import JointTrajectory
from robodyn_ros.control.runtime.tick import Tick
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.kinematics.turns import shortest


class StateTolerance(NamedTuple):
    """Greatest distances between two states; infinity: any distance.

    Attributes:
        q: Of joint positions, shape (n,) [rad or m].
        v: Of joint velocities, shape (n,) [rad/s or m/s].
    """

    q: Array
    v: Array

    @property
    def enforced(self) -> bool:
        """Whether any distance is limited."""
        return bool(np.isfinite(self.q).any() or np.isfinite(self.v).any())


class Tolerances(NamedTuple):
    """Tolerances of a goal.

    Attributes:
        path: Between reference and robot during the trajectory.
        goal: Between the last point, at rest, and the robot after the end of the trajectory.
        goal_time: Time after the end within which the robot must be within `goal` [s]; infinity: any.
    """

    path: StateTolerance
    goal: StateTolerance
    goal_time: float


def constraint_parameters(model: RobotModel) -> Iterator[Field]:
    """Return the parameters of the default tolerances, which a goal may override; 0: no limit."""
    yield Field("constraints.goal_time", 0.0, "Time after the end of a trajectory within which its goal must be "
                "reached; 0: any", unit="s", minimum=0.0, maximum=3600.0)
    yield Field("constraints.stopped_velocity_tolerance", 0.01, "Velocity below which a joint is at rest at its goal; "
                "0: any", unit="rad/s or m/s", minimum=0.0, maximum=1e5)
    for joint in model.leaders:
        yield Field(f"constraints.{joint.name}.trajectory", 0.0, "Greatest distance from the reference while a goal's "
                    "trajectory is under way; 0: any", unit=joint.unit, minimum=0.0, maximum=1e6)
        yield Field(f"constraints.{joint.name}.goal", 0.0, "Greatest distance from the goal at which it is reached; 0: "
                    "any", unit=joint.unit, minimum=0.0, maximum=1e6)


class Verdict(Enum):
    """How a goal ended."""

    REACHED = "reached"
    PATH_VIOLATED = "path tolerance violated"
    GOAL_VIOLATED = "goal tolerance violated"


class TrajectoryGoal:
    """Checks at each tick how a trajectory is followed.

    Args:
        trajectory: The current trajectory.
        tolerances: Tolerances of the goal.
        joint_names: The robot's joints, for messages.
        angles: Whether a joint's position is an angle, shape (n,).
    """

    def __init__(self, trajectory: JointTrajectory, tolerances: Tolerances, joint_names: Sequence[str],
                 angles: NDArray[np.bool_]) -> None:
        self.trajectory = trajectory
        self._tolerances = tolerances
        self._joint_names, self._angles = joint_names, angles
        self._path = tolerances.path if tolerances.path.enforced else None
        self._last_q = trajectory.sample(trajectory.end_time).q

    def judge(self, tick: Tick) -> tuple[Verdict, str] | None:
        """Return how the goal ended, with an explanation; None before its end."""
        state, trajectory = tick.state, self.trajectory
        late = tick.time - trajectory.end_time
        if late < 0.0:
            if self._path is None or tick.reference is None or tick.time < trajectory.start_time:
                return None
            excess = self._excess(self._path, tick.reference.q - state.q, tick.reference.v - state.v)
            return (Verdict.PATH_VIOLATED, excess) if excess else None
        excess = self._excess(self._tolerances.goal, shortest(self._last_q - state.q, self._angles), -state.v)
        if not excess:
            return Verdict.REACHED, f"reached {late:.3g} s after the end of the trajectory"
        if late > self._tolerances.goal_time:
            return Verdict.GOAL_VIOLATED, f"{late:.3g} s after the end of the trajectory, {excess}"
        return None

    def _excess(self, tolerance: StateTolerance, error_q: Array, error_v: Array) -> str:
        """Return the worst error beyond its tolerance, in words; empty if there is none."""
        for quantity, error, limit in (("position", error_q, tolerance.q), ("velocity", error_v, tolerance.v)):
            beyond = np.abs(error) - limit
            joint = int(beyond.argmax())
            if beyond[joint] > 0.0:
                return (f"joint '{self._joint_names[joint]}': the error of its {quantity} is {error[joint]:.4g}, "
                        f"its tolerance {limit[joint]:.4g}")
        return ""
