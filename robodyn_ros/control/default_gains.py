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

A law that compensates gravity does so late: its efforts act tau = (N + 1/2) T after the measurement, in the mean over a
period, and g(q - tau v) is about g(q) - tau (dg/dq) v. The last term is a damping, which is negative where gravity
pulls the robot away from a posture, and can be more than the damping that a joint of little inertia may have. Viscous
friction D is compensated late, too: D (v - tau a) takes its damping away and leaves an inertia of tau D in its place.
Where motions grow by that, a law evaluates its model ahead: gravity at q + tau v, and friction at v + tau a for the
acceleration a that it asks for; see `model_lead`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.base.fields import declare
from robodyn_ros.base.timing import LoopTiming
from robodyn_ros.control.gains.elastic_arm import ElasticArm, MotorFeedback
from robodyn_ros.control.gains.sampled_loop import (
    CHECKED_CONFIGURATIONS,
    MIN_GROWTH,
    delayed_loop,
    differences,
    largest_stable_damping,
    oscillation_growth,
    sampled_arm,
    with_longer_periods,
)
from robodyn_ros.description.model import Array, read_only
from robodyn_ros.robot import Robot

NATURAL_FREQUENCY = 60.0
"""Natural frequency of a joint at its largest inertia, where nothing else limits its stiffness [rad/s]."""

SATURATION_ERROR = 0.1
"""Position error at which the stiffness asks for the effort limit of a joint [rad or m]."""

MIN_DAMPING_RATIO = 0.4
"""Damping ratio of a joint at its largest inertia, if the smallest inertia limits the damping."""

TASK_FREQUENCY = 150.0
"""Natural frequency of the lightest motion of the tip link under task-space springs, at the default timing [rad/s]."""

MARGIN = 0.4
"""Share of the stable damping that default gains use."""

_STIFFNESS_SHARE = 0.3  # of the stable ratio K / D, 1 / (delay + 1/2) per period, with one more period of delay
_IMMOBILE = 1e-12
"""Mobility of a tip link, that of 1e12 kg, below which it counts as rounding [1/kg or 1/(kg m^2)]."""

_SHARES_ON_SPRINGS = (0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.08)  # of the damping, tried where an arm swings
_MARGIN_ON_SPRINGS = 1.5  # factor of all gains with which it does not swing then

_SAMPLES = 64
_STILL = 1e-3
"""Rate of growth of motions that neither grow nor decay, by rounding [1/s]."""
_LONGEST_EXACT_DELAY = 3  # of the exact check of late efforts [control periods], whose time grows with its cube

Gains = Callable[[Robot], tuple[Array, Array]]
"""Stiffness and damping of a robot's joints, shape (n,) each. For laws without the mass matrix, the stiffness may be a
matrix in each sampled posture, shape (S, n, n), and the damping differ there, shape (S, n)."""


def damping_rate(timing: LoopTiming) -> Any:
    """Greatest eigenvalue of M^-1 D of default gains [1/s]; the timing may be traced.

    It is `MARGIN` times the stability bound of a robot whose damping efforts D v are held over a period and delayed.
    """
    return MARGIN * largest_stable_damping(timing.delay) / timing.period


def stiffness_rate(timing: LoopTiming) -> float:
    """Greatest ratio of stiffness to damping of default gains [1/s]; delayed stiffness reduces the damping.

    With the damping of `damping_rate` the loop is stable for one more period of delay, and for twice the gains.
    """
    return _STIFFNESS_SHARE / ((timing.delay + 1.5) * timing.period)


def slowed(value: float, order: int, damping: float) -> Callable[[Robot], float]:
    """Default gain of a law that computes accelerations: a value, reduced if the timing of the loop demands it.

    Args:
        value: The gain for a fast loop.
        order: How often it is "per second": 1 for K_v, 2 for K_p, 3 for K_i; all poles slow down alike.
        damping: K_v of the same law, by which it is stable or not [1/s].
    """
    def default(robot: Robot) -> float:
        return float(value * min(1.0, damping_rate(robot.timing) / damping) ** order)

    default.__doc__ = f"{value:g}, or what the period and the delay allow"
    return default


def slowed_gains(p: float, d: float) -> Gains:
    """Return the stiffness and damping, per inertia, of a law whose K_p and K_v are `slowed` [1/s^2, 1/s]."""
    return lambda robot: (np.full(robot.n, slowed(p, 2, d)(robot)), np.full(robot.n, slowed(d, 1, d)(robot)))


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
    """Stiffness and damping of independent joints, as high as inertias, effort limits, loop and springs allow.

    They are those of `rigid_joint_gains`, unless an arm swings on its springs with them: a law that closes its loop
    over springs feeds this motion by the velocities of the links. Then they are the greatest share s of the damping,
    and s^2 of the stiffness, whose 1.5-fold does not swing the arm, its gravity compensated or not. Springs without
    damping swing with any share, so that none is taken.

    Returns:
        Stiffness [N m/rad or N/m] and damping [N m s/rad or N s/m], each of shape (n,).
    """
    stiffness, damping = rigid_joint_gains(robot)
    if robot.springs is None:
        return stiffness, damping
    inertia, slope = (matrices[:CHECKED_CONFIGURATIONS] for matrices in sampled_postures(robot))
    period, delay = with_longer_periods(robot.timing, _LONGEST_EXACT_DELAY)
    arm = ElasticArm.from_robot(robot.model, period, delay, robot.springs, inertia, slope, robot.model.damping)
    none = np.zeros((robot.n, robot.n))

    def swings(share: float, times: float) -> bool:
        p, d = times * share**2 * np.diag(stiffness), times * share * np.diag(damping)
        gains = (arm.gain(MotorFeedback(none, gravity - p, none, np.broadcast_to(-d, slope.shape)))
                 for gravity in (0.0 * slope, slope))
        return any(oscillation_growth(arm.transition, arm.response, gain, delay) > MIN_GROWTH * period
                   for gain in gains)

    share = 1.0
    if swings(1.0, 1.0):
        share = next((share for share in _SHARES_ON_SPRINGS if not swings(share, _MARGIN_ON_SPRINGS)), 1.0)
    return read_only(share**2 * stiffness), read_only(share * damping)


@lru_cache(maxsize=8)
def rigid_joint_gains(robot: Robot) -> tuple[Array, Array]:
    """Stiffness and damping of independent joints, as high as inertias, effort limits, period and delay allow.

    The goal is `NATURAL_FREQUENCY` at the largest inertia of a joint, M_ii with the other joints held, or as much
    stiffness as `SATURATION_ERROR` allows, with critical damping. The smallest inertia of a joint, 1 / (M^-1)_ii with
    the other joints free, limits its damping to `damping_rate`, and its stiffness by `MIN_DAMPING_RATIO`. The fastest
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
                                   (alone / (2.0 * MIN_DAMPING_RATIO)) ** 2 / largest])
    damping = np.minimum(2.0 * np.sqrt(stiffness * largest), alone)
    coupled = np.linalg.eigvals(inverses * damping).real.max()  # of M^-1 D [1/s]
    share = min(1.0, fastest / coupled) if coupled > 0 else 1.0
    damping *= share
    return read_only(np.minimum(share**2 * stiffness, stiffness_rate(robot.timing) * damping)), read_only(damping)


def tip_stiffness(robot: Robot, translation: float, rotation: float) -> Array:
    """Return J^T K J, the stiffness of the joints by springs at the tip, in all sampled postures, shape (S, n, n).

    Args:
        robot: The robot.
        translation: Of the springs [N/m].
        rotation: Likewise [N m/rad].
    """
    jacobians = robot.dynamics().batch.jacobian(sampled_positions(robot))
    return np.swapaxes(jacobians, 1, 2) @ (np.repeat([translation, rotation], 3)[:, None] * jacobians)


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


def model_lead(gains: Gains, *, by_mass: bool = False) -> Any:
    """Declare the parameter ``lead``: how far ahead of the measured positions a law evaluates its model.

    The default is 0 if no motion grows in any posture under the law's default gains without it, otherwise tau.

    Args:
        gains: The law's default stiffness and damping.
        by_mass: Whether the law multiplies them with the mass matrix and compensates viscous friction.
    """
    def default(robot: Robot) -> float:
        return _lead(robot, gains, by_mass)

    default.__doc__ = "0, or where the late model would let motions grow, the delay and half a period"
    return declare(default, unit="s", minimum=0.0, maximum=10.0, kind=float,  # with it, a given value needs no default
                   description="Time by which the model is evaluated ahead of the measured positions")


@lru_cache(maxsize=32)
def _lead(robot: Robot, gains: Gains, by_mass: bool) -> float:
    if not robot.n:
        return 0.0
    p, d = gains(robot)
    if is_well_damped(robot, p, d, by_mass) or late_growth(robot, p, d, by_mass) <= _STILL:
        return 0.0
    return robot.timing.latency


def is_well_damped(robot: Robot, p: Array, d: Array, by_mass: bool) -> bool:
    """Whether damping remains in all postures even if lateness took twice as much of it.

    A quick sufficient test for motions that decay; arguments as for `late_growth`.
    """
    inertia, gravity = sampled_postures(robot)
    late, friction = 2.0 * robot.timing.latency, np.diag(robot.model.damping) * by_mass
    stiffness, damping = _gain_matrices(inertia if by_mass else np.eye(robot.n), p, d)
    left = damping - late * (stiffness - gravity)
    slow = inertia - 2.0 * late * friction if friction.any() else np.zeros((1, 1, 1))
    return min(_least_eigenvalue(left), _least_eigenvalue(slow)) >= 0.0


def _gain_matrices(through: Array, p: Array, d: Array) -> tuple[Array, Array]:
    """Return `Gains` as matrices at the joints, each of shape (n, n) or (S, n, n)."""
    return p if p.ndim == 3 else through * p, through * d[..., None, :]


def _least_eigenvalue(matrices: Array) -> float:
    """Least eigenvalue of the symmetric parts of matrices, shape (S, n, n)."""
    return float(np.linalg.eigvalsh(0.5 * (matrices + np.swapaxes(matrices, 1, 2)))[:, 0].min())


def late_growth(robot: Robot, p: Array, d: Array, by_mass: bool = False, lead: float = 0.0) -> float:
    """Return the greatest rate at which a motion grows in any sampled posture under a law that compensates gravity.

    Args:
        robot: The robot, with the timing of its loop.
        p: Stiffness of the joints, see `Gains`.
        d: Their damping, likewise.
        by_mass: As for `model_lead`.
        lead: Time by which the law evaluates its model ahead [s].

    Returns:
        [1/s]; negative if all motions decay.
    """
    postures = sampled_postures(robot)
    period, delay = with_longer_periods(robot.timing, _LONGEST_EXACT_DELAY)
    feedback = late_feedback(postures, p, d, robot.model.damping if by_mass else None, lead)
    loop = delayed_loop(*sampled_arm(*postures, robot.model.damping, period), feedback, delay)
    return float(np.log(np.abs(np.linalg.eigvals(loop)).max()) / period)


def late_feedback(postures: Postures, p: Array, d: Array, friction: Array | None, lead: float) -> Array:
    """Return the efforts by positions and velocities of a law that compensates gravity, at rest, shape (S, n, 2n).

    Args:
        postures: Of the arm.
        p: Stiffness of the joints, see `Gains`.
        d: Their damping, likewise.
        friction: Viscous friction compensated by a law that multiplies its gains with the mass matrix, shape (n,);
            None: the law does neither.
        lead: Time by which the law evaluates its model ahead [s].
    """
    inertia, gravity = postures
    known = np.diag(np.zeros(inertia.shape[1]) if friction is None else friction)
    stiffness, damping = _gain_matrices(np.eye(len(known)) if friction is None else inertia + lead * known, p, d)
    return np.concatenate([gravity - stiffness, lead * gravity + known - damping], axis=2)


class Postures(NamedTuple):
    """An arm in sampled postures.

    Attributes:
        inertia: Mass matrices with `armature`, shape (S, n, n).
        gravity: Derivatives of the gravity efforts by the positions, symmetric, shape (S, n, n).
    """

    inertia: Array
    gravity: Array


@lru_cache(maxsize=8)
def sampled_postures(robot: Robot) -> Postures:
    """Return the arm in the postures of `sampled_positions`."""
    slopes = differences(robot.dynamics().batch.gravity, sampled_positions(robot))
    return Postures(sampled_mass_matrices(robot), 0.5 * (slopes + np.swapaxes(slopes, 1, 2)))


def sampled_positions(robot: Robot) -> Array:
    """Random joint positions within the limits and ±pi, the same at every call, shape (64, n) [rad or m]."""
    model = robot.model
    lower, upper = np.maximum(model.position_lower, -np.pi), np.minimum(model.position_upper, np.pi)
    rng = np.random.default_rng(0)
    return rng.uniform(np.minimum(lower, upper), np.maximum(lower, upper), (_SAMPLES, robot.n))


def checked_positions(robot: Robot) -> Array:
    """Those of `sampled_positions` at which loops are checked, shape (16, n) [rad or m]."""
    return sampled_positions(robot)[:CHECKED_CONFIGURATIONS]


def sampled_mass_matrices(robot: Robot) -> Array:
    """M at `sampled_positions`, shape (64, n, n)."""
    robot.check_accelerations()  # the gains need its inverse
    return robot.dynamics().batch.mass_matrix(sampled_positions(robot))
