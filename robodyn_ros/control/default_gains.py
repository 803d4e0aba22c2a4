# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Default gains from the mass matrix and the effort limits of the robot, for the period and delay of its control loop.

The gains keep two shares of the stability bound of `sampled_loop`: `MARGIN` of the damping, and a stiffness so small
beside the damping that one more period of delay is stable too. Viscous friction, which only helps, is not counted on.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.control.sampled_loop import most_damping
from robodyn_ros.description.model import Array, read_only
from robodyn_ros.robot import Robot
from robodyn_ros.timing import LoopTiming

NATURAL_FREQUENCY = 60.0
"""Natural frequency of a joint at its largest inertia, where nothing else limits its stiffness [rad/s]."""

SATURATION_ERROR = 0.1
"""Position error at which the stiffness asks for the effort limit of a joint [rad or m]."""

LEAST_DAMPING_RATIO = 0.4
"""Damping ratio of a joint at its largest inertia, if its smallest inertia forbids more damping."""

TASK_FREQUENCY = 150.0
"""Natural frequency of the lightest motion of the tip link under task-space springs, at the default timing [rad/s]."""

MARGIN = 0.4
"""Share of the stable damping that default gains use."""

_STIFFNESS_SHARE = 0.3  # of the stable ratio K / D, 1 / (delay + 1/2) per period, with one more period of delay
_IMMOBILE = 1e-12
"""Acceleration of a tip link per force, that of 1e12 kg, below which it is rounding [1/kg or 1/(kg m^2)]."""

_SAMPLES = 64


def damping_rate(timing: LoopTiming) -> Any:
    """Greatest eigenvalue of M^-1 D that default gains have [1/s]; of numbers that may be traced.

    It is `MARGIN` of the bound at which a robot that is damped by D, held over a period and delayed, is unstable.
    """
    return MARGIN * most_damping(timing.delay) / timing.period


def stiffness_rate(timing: LoopTiming) -> float:
    """Greatest ratio of stiffness and damping that default gains have [1/s]: delayed stiffness takes from the damping.

    With the damping of `damping_rate` the loop is stable for one more period of delay, and for twice the gains.
    """
    return _STIFFNESS_SHARE / ((timing.delay + 1.5) * timing.period)


def slowed(value: float, order: int, damping: float) -> Callable[[Robot], float]:
    """Default of a gain of a law that computes accelerations: a value, slower where the timing of the loop demands it.

    Args:
        value: The gain where nothing demands less.
        order: How often it is "per second": 1 for K_v, 2 for K_p, 3 for K_i; all poles slow down alike.
        damping: K_v of the same law, by which it is stable or not [1/s].
    """
    def default(robot: Robot) -> float:
        return float(value * min(1.0, damping_rate(robot.timing) / damping) ** order)

    default.__doc__ = f"{value:g}, or what the period and the delay allow"
    return default


def viscous_friction(robot: Robot) -> Array:
    """Viscous friction from the URDF, shape (n,) [N m s/rad or N s/m]; the default of model-based laws."""
    return robot.model.damping


def coulomb_friction(robot: Robot) -> Array:
    """Coulomb friction from the URDF, shape (n,) [N m or N]."""
    return robot.model.friction


def largest_inertia(robot: Robot) -> Array:
    """Largest M_ii of each joint over random configurations, shape (n,) [kg m^2 or kg]."""
    return np.diagonal(sampled_mass_matrices(robot), axis1=1, axis2=2).max(axis=0)


class TaskGains(NamedTuple):
    """Gains of a law in task space.

    Attributes:
        translation: Stiffness of translations [N/m].
        rotation: Stiffness of rotations [N m/rad].
        damping: At the joints, shape (n,) [N m s/rad or N s/m].
    """

    translation: float
    rotation: float
    damping: Array


@lru_cache(maxsize=8)
def joint_gains(robot: Robot) -> tuple[Array, Array]:
    """Stiffness and damping of independent joints, as high as inertias, effort limits, period and delay allow.

    Wanted is `NATURAL_FREQUENCY` at the largest inertia of a joint, M_ii with the other joints held, or as much
    stiffness as `SATURATION_ERROR` allows, damped critically. The smallest inertia of a joint, 1 / (M^-1)_ii with the
    other joints free, limits its damping to `damping_rate`, and its stiffness by `LEAST_DAMPING_RATIO`. The fastest
    motion of the coupled joints slows all joints down alike, to the same rate. Last, the stiffness is limited by
    `stiffness_rate`. Both inertias are extremes over random configurations within the limits.

    Returns:
        Stiffness [N m/rad or N/m] and damping [N m s/rad or N s/m], each of shape (n,).
    """
    mass_matrices = sampled_mass_matrices(robot)
    inverses = np.linalg.inv(mass_matrices)
    largest = np.diagonal(mass_matrices, axis1=1, axis2=2).max(axis=0)
    smallest = (1.0 / np.diagonal(inverses, axis1=1, axis2=2)).min(axis=0)
    fastest = damping_rate(robot.timing)
    alone = fastest * smallest
    stiffness = np.minimum.reduce([NATURAL_FREQUENCY**2 * largest, robot.model.effort_limit / SATURATION_ERROR,
                                   (alone / (2.0 * LEAST_DAMPING_RATIO)) ** 2 / largest])
    damping = np.minimum(2.0 * np.sqrt(stiffness * largest), alone)
    coupled = np.linalg.eigvals(inverses * damping).real.max()  # of M^-1 D [1/s]
    share = min(1.0, fastest / coupled) if coupled > 0 else 1.0
    damping *= share
    return read_only(np.minimum(share**2 * stiffness, stiffness_rate(robot.timing) * damping)), read_only(damping)


def stiffness(robot: Robot) -> Array:
    """Stiffness of each joint, shape (n,) [N m/rad or N/m]; see `joint_gains`."""
    return joint_gains(robot)[0]


def damping(robot: Robot) -> Array:
    """Damping of each joint, shape (n,) [N m s/rad or N s/m]; see `joint_gains`."""
    return joint_gains(robot)[1]


@lru_cache(maxsize=8)
def task_gains(robot: Robot) -> TaskGains:
    """Task-space stiffness, and damping at the joints, as high as the robot's inertias allow.

    A spring k at the tip link makes the lightest motion there, of apparent mass 1 / max eig(J M^-1 J^T), oscillate
    fastest. The stiffness gives this motion `TASK_FREQUENCY`, half of it by translation and half by rotation, or less
    in a loop that must damp more slowly than the default one; an error of 0.1 m (rad) asks for at most the effort limit
    of any joint. Each joint is damped critically for the diagonal of
    J^T K J, which is the stiffness that it feels, and at most as in `joint_gains`, for stability.
    """
    q = sampled_positions(robot)
    jacobians, mass_matrices = robot.dynamics().batch.jacobian(q), sampled_mass_matrices(robot)
    inverses = np.linalg.inv(mass_matrices)
    frequency = TASK_FREQUENCY * min(1.0, damping_rate(robot.timing) / damping_rate(LoopTiming()))
    parts = []
    for part in (jacobians[:, :3], jacobians[:, 3:]):
        mobility = np.linalg.eigvalsh(part @ inverses @ np.swapaxes(part, 1, 2))[:, -1].max()
        lever = np.linalg.norm(part, axis=1).max(axis=0)
        with np.errstate(divide="ignore"):
            saturating = float(np.min(robot.model.effort_limit / (SATURATION_ERROR * lever)))
        parts.append(min(0.5 * frequency**2 / float(mobility), saturating) if mobility > _IMMOBILE else 0.0)
    felt = parts[0] * (jacobians[:, :3] ** 2).sum(axis=1) + parts[1] * (jacobians[:, 3:] ** 2).sum(axis=1)
    critical = 2.0 * np.sqrt(felt * np.diagonal(mass_matrices, axis1=1, axis2=2)).max(axis=0)
    return TaskGains(parts[0], parts[1], read_only(np.minimum(critical, damping(robot))))


def sampled_positions(robot: Robot) -> Array:
    """Random joint positions within the limits and ±pi, the same at every call, shape (64, n) [rad or m]."""
    model = robot.model
    lower, upper = np.maximum(model.position_lower, -np.pi), np.minimum(model.position_upper, np.pi)
    rng = np.random.default_rng(0)
    return rng.uniform(np.minimum(lower, upper), np.maximum(lower, upper), (_SAMPLES, robot.n))


def sampled_mass_matrices(robot: Robot) -> Array:
    """M at `sampled_positions`, shape (64, n, n)."""
    robot.check_accelerations()  # the gains need its inverse
    return robot.dynamics().batch.mass_matrix(sampled_positions(robot))
