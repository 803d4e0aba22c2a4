# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""What laws of elastic joints know of them, and whether a joint under such a law comes to rest when it is sampled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.control.default_gains import largest_inertia
from robodyn_ros.control.parameters import DAMPING, STIFFNESS, Parameters, Unit, per_joint
from robodyn_ros.control.sampled_loop import matrix_exponential
from robodyn_ros.description.drivetrain import JointSprings
from robodyn_ros.description.model import Array
from robodyn_ros.errors import InputError
from robodyn_ros.robot import Robot
from robodyn_ros.timing import LoopTiming

RIGID = 1e9
"""Stiffness from which on a joint counts as rigid [N m/rad or N/m]."""

_AT_REST = 1.0 + 1e-8  # spectral radius of a joint that comes to rest, up to rounding
_ASSUMED_INERTIA = 0.1  # of motors of which nothing is known [kg m^2 or kg]


def spring_stiffness(robot: Robot) -> Array:
    """Stiffness of the robot's springs, 10⁹ of rigid joints; shape (n,) [N m/rad or N/m]."""
    return np.full(robot.n, RIGID) if robot.springs is None else np.minimum(robot.springs.stiffness, RIGID)


def described_inertia(robot: Robot) -> Array:
    """Inertia of the motor behind the robot's spring, or else `armature`, or else 0.1; shape (n,) [kg m^2 or kg]."""
    known = robot.model.armature if robot.springs is None else robot.springs.motor_inertia
    return np.where(known > 0.0, known, _ASSUMED_INERTIA)


def known_damping(robot: Robot) -> Array:
    """Damping beside the robot's springs, 0 where it is not known; shape (n,) [N m s/rad or N s/m]."""
    return np.zeros(robot.n) if robot.springs is None else robot.springs.damping


def inertia_of_links(robot: Robot) -> Array:
    """Largest inertia of each link, its motor left out where it is behind a spring; shape (n,) [kg m^2 or kg]."""
    behind = np.ones(robot.n, dtype=bool) if robot.springs is None else robot.springs.is_elastic
    return largest_inertia(robot) - np.where(behind, robot.model.armature, 0.0)


@dataclass(frozen=True, eq=False)
class ElasticJoints(Parameters):
    """The joints that a law is for.

    Attributes:
        joint_stiffness: K of the springs between motors and links, shape (n,) [N m/rad or N/m].
        motor_inertia: B of the motors at the outputs of their gears, shape (n,) [kg m^2 or kg].
        joint_damping: D beside the springs, shape (n,) [N m s/rad or N s/m].
    """

    joint_stiffness: Array = per_joint(spring_stiffness, unit=STIFFNESS, minimum=1e-6, maximum=RIGID, structural=True,
                                       description="Stiffness between motor and link")
    motor_inertia: Array = per_joint(described_inertia, unit=Unit("kg m^2", "kg"), minimum=1e-9, structural=True,
                                     description="Inertia of the motor at the output of its gear")
    joint_damping: Array = per_joint(known_damping, unit=DAMPING, minimum=0.0, structural=True,
                                     description="Damping between motor and link")

    @property
    def is_rigid(self) -> NDArray[np.bool_]:
        """Which joints have no spring, so that motor and link are one; shape (n,)."""
        return self.joint_stiffness >= RIGID

    @property
    def springs(self) -> JointSprings:
        """The springs, those of rigid joints infinite."""
        return JointSprings(np.where(self.is_rigid, np.inf, self.joint_stiffness),
                            np.where(self.is_rigid, 0.0, self.motor_inertia),
                            np.where(self.is_rigid, 0.0, self.joint_damping))

    def for_robot(self, robot: Robot) -> Self:
        """As in `Parameters`.

        Raises:
            InputError: As there, or all joints are rigid.
        """
        complete = super().for_robot(robot)
        if complete.is_rigid.all():
            raise InputError(f"joint_stiffness: expected elastic joints, received '{robot.name}', all of whose joints "
                             "are rigid as far as is known; give the file that has their springs (--actuators, or the "
                             "parameter actuators of the node controller), or joint_stiffness")
        return complete


class MotorFeedback(NamedTuple):
    """Efforts of the motors for positions and velocities of motors and links; each matrix has shape (n, n).

    Attributes:
        motor_q: For the positions of the motors [N m/rad or N/m].
        link_q: For those of the links.
        motor_v: For the velocities of the motors [N m s/rad or N s/m].
        link_v: For those of the links.
    """

    motor_q: Array
    link_q: Array
    motor_v: Array
    link_v: Array


def comes_to_rest(timing: LoopTiming, links: Array, joints: JointSprings, feedback: MotorFeedback) -> bool:
    """Whether elastic joints come to rest under feedback; arguments as `sampled_radius`."""
    return sampled_radius(timing, links, joints, feedback) <= _AT_REST


def sampled_radius(timing: LoopTiming, links: Array, joints: JointSprings, feedback: MotorFeedback) -> float:
    """Return the spectral radius of elastic joints under feedback, from one control period to the next.

        M q'' = T,    B theta'' = u - T,    T = K (theta - q) + D (theta' - q')    [Spong], without gravity

    with u held over a period. Motor and link of a rigid joint are one.

    Args:
        timing: Of the loop.
        links: M, mass matrix of the links, shape (n, n).
        joints: K, which is infinite for a rigid joint, B and D.
        feedback: Of the law.
    """
    n, elastic = len(links), np.flatnonzero(joints.is_elastic)
    size = n + len(elastic)  # positions of the links, then those of the motors of elastic joints
    bends, of_motors, of_links = np.zeros((len(elastic), size)), np.eye(n, size), np.eye(n, size)
    bends[:, n:], bends[np.arange(len(elastic)), elastic] = np.eye(len(elastic)), -1.0
    of_motors[elastic] += bends
    inertia = np.zeros((size, size))
    inertia[:n, :n], inertia[n:, n:] = links, np.diag(joints.motor_inertia[elastic])
    motion = np.zeros((2 * size + n, 2 * size + n))  # of positions, velocities and u
    motion[:size, size:2 * size] = np.eye(size)
    for columns, values in ((slice(0, size), joints.stiffness), (slice(size, 2 * size), joints.damping)):
        motion[size:2 * size, columns] -= np.linalg.solve(inertia, bends.T @ (values[elastic, None] * bends))
    motion[size:2 * size, 2 * size:] = np.linalg.solve(inertia, of_motors.T)
    sampled = matrix_exponential((timing.period * motion)[None])[0]
    gain = np.hstack([feedback.motor_q @ of_motors + feedback.link_q @ of_links,
                      feedback.motor_v @ of_motors + feedback.link_v @ of_links])
    states, response = 2 * size, sampled[:2 * size, 2 * size:]
    loop = np.zeros((states + timing.delay * n, states + timing.delay * n))  # with efforts on their way, the last first
    loop[:states, :states] = sampled[:states, :states]
    if timing.delay:
        loop[:states, -n:], loop[states:states + n, :states] = response, gain
        loop[states + n:, states:-n] = np.eye((timing.delay - 1) * n)
    else:
        loop += response @ gain
    return float(np.abs(np.linalg.eigvals(loop)).max())


def greatest_share(stable: Callable[[float], bool]) -> float:
    """Return the greatest share, from 0 to 1, of gains or the like at which `stable` holds."""
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if stable(middle) else (low, middle)
    return low
