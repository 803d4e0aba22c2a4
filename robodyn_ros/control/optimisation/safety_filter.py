# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A safety filter around any law: the efforts nearest to the law's that keep the robot within its limits.

A limit is a distance h(q) >= 0. A control barrier function of second order, [XiaoBelta] (Definition 7), keeps it by a
bound on its second derivative: with a speed s(h) at which the robot may approach,

    psi = h' + s(h) >= 0  is kept by  psi' + k psi = h'' + s'(h) h' + k (h' + s(h)) >= 0.

s is the speed from which a deceleration a stops the robot just before the limit, k h close to it (`approach`). Over a
control period T the joints gain T q'' of speed, viscous friction taken implicitly as the simulated robot does,

    q'' = (M + T D)^-1 (tau + d - h(q, v) - D v + f),

so that the bound is linear in the efforts, and each tick solves a quadratic program with the compiled model,

    minimise  (q'' - q''_law)^T (M + T D) (q'' - q''_law) ,

Gauss' principle of least constraint: a limit of a joint acts on that joint as a stop would, and the others move as the
law has them move. d is what the model lacks, as an observer of the momentum measures it (`expected_motion`), f is dry
friction (`law_motion`, `applied_effort`). Effort limits always hold: q''_law is under the law's efforts within them.
Where the others contradict them or each other, they give way by a slack, those of less `YIELDING` last. Where no limit
is near, the law's efforts stay as they are, bit for bit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from inspect import signature
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.base.common_fields import FILTERS
from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import derivative_at
from robodyn_ros.control.contract.compiled_law import initial_memory, memory_numbers
from robodyn_ros.control.contract.controller import JointReference, Law
from robodyn_ros.control.contract.parameters import (
    DAMPING,
    EFFORT,
    POSITION,
    Parameters,
    Unit,
    derived,
    per_joint,
    scalar,
)
from robodyn_ros.control.contract.state import State
from robodyn_ros.control.default_gains import (
    coulomb_friction,
    damping_rate,
    largest_inertia,
    sampled_mass_matrices,
    sampled_positions,
    viscous_friction,
)
from robodyn_ros.control.optimisation import qp
from robodyn_ros.control.optimisation.safety_drawing import active_limits, with_limits
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.regressor import inertial_parameters
from robodyn_ros.dynamics.robot_dynamics import InlineDynamics
from robodyn_ros.robot import Robot

SUFFIX = FILTERS["safety"]
"""What the name of a controller ends in whose efforts are filtered."""

NO_SPEED = 1000.0
"""Tip speed from which on there is no limit [m/s]."""

MOST_DELAY = 50
"""Greatest delay of the loop over which the filter predicts [control periods]."""

_UNLIMITED = 1e6
_WEAKEST, _STRONGEST = 0.1, 20.0  # decelerations [rad/s^2 or m/s^2]
_BRAKING_SHARE = 0.5  # share of the effort left beside gravity that a joint may take to brake
_TOGETHER_SHARE = 0.75  # likewise where all joints brake at once, each in the direction that is worst for another one
_RETURN_SPEED = 0.25  # most speed of the tip on its way out of a sphere, or back before a plane [m/s]
_SINGULARITY_BRAKING = 2.0  # deceleration of the share of manipulability [1/s^2]
_RATE_BY_PERIOD = 0.1  # k T
_TINY = 1e-12
_SAME = 1e-9  # share of the effort limits by which rounding may change efforts
_STICKS = 1e-9  # speed below which a joint with dry friction sticks [rad/s or m/s]
_ACROSS = 0.15  # share of the speed of the tip that it may have across the direction in which the law accelerates it


YIELDING = {"joints": 1e-6, "workspace": 1e-3, "singularity": 1e-2, "tip_speed": 1e-1}
"""How far limits give way where not all can hold, in squares of their decelerations over the cost of `braking`: joints
less than box, planes and spheres, these less than the distance from singularities, and this less than the speed of the
tip."""


def braking(robot: Robot) -> Array:
    """By half of the effort beside gravity, or less for all joints at once, shape (n,) [rad/s^2 or m/s^2].

    That of a joint at its largest inertia, between 0.1 and 20; in all joints at once, in the worst directions, three
    quarters of the efforts beside gravity.
    """
    _, room = _efforts_to_brake(robot, np.zeros(robot.n))
    alone = np.clip(_BRAKING_SHARE * room.min(axis=0) / largest_inertia(robot), _WEAKEST, _STRONGEST)
    needed, room = _efforts_to_brake(robot, alone)
    together = (room / np.maximum(needed, _TINY)).min()
    return np.maximum(alone * min(1.0, _TOGETHER_SHARE * together), _WEAKEST)


def _effort_limit(robot: Robot) -> Array:
    """Effort limits, `_UNLIMITED` where there is none, shape (n,) [N m or N]."""
    return np.where(robot.effort_limit > 0.0, np.minimum(robot.effort_limit, _UNLIMITED), _UNLIMITED)


def _efforts_to_brake(robot: Robot, decelerations: Array, errors: DeclaredErrors | None = None
                      ) -> tuple[Array, Array]:
    """Efforts that all joints need to brake at once, in the worst directions, and those left beside gravity.

    Args:
        robot: The robot.
        decelerations: Of the joints, shape (n,) [rad/s^2 or m/s^2].
        errors: Of the model; None: none.

    Returns:
        Each at random positions, shape (64, n) [N m or N]; what is left is negative where gravity exceeds the limit.
    """
    mass = np.abs(sampled_mass_matrices(robot))
    gravity = np.abs(robot.dynamics().batch.gravity(sampled_positions(robot)))
    if errors is not None:
        payload = _payload(robot, errors.payload)
        mass = (1.0 + errors.mass) * mass + np.abs(payload.mass)
        gravity = (1.0 + errors.mass) * gravity + np.abs(payload.gravity)
    return mass @ decelerations, _effort_limit(robot) - gravity


class DeclaredErrors(NamedTuple):
    """By how much the robot may differ from the filter's model, as its parameters declare it.

    Attributes:
        mass: Share of the mass and inertia of each link.
        payload: Greatest point mass at the tip link [kg].
        friction: Share of the effort limits that unknown friction has at full speed.
    """

    mass: float
    payload: float
    friction: float

    @classmethod
    def from_parameters(cls, complete: Any) -> DeclaredErrors:
        """Those of complete parameters."""
        return cls(complete.safety_mass_error, complete.safety_payload, complete.safety_friction_error)


class Payload(NamedTuple):
    """What a load at the tip link adds at `sampled_positions`: to M, shape (64, n, n), and to gravity, (64, n)."""

    mass: Array
    gravity: Array


def _payload(robot: Robot, mass: float) -> Payload:
    jacobians = robot.dynamics().batch.jacobian(sampled_positions(robot))[:, :3]
    return Payload(mass * np.swapaxes(jacobians, 1, 2) @ jacobians, -mass * robot.model.gravity @ jacobians)


def _mass_matrices_of_links(robot: Robot) -> Array:
    """The part of each link in M at `sampled_positions`, shape (links, 64, n, n)."""
    q, n, regressor = sampled_positions(robot), robot.n, robot.dynamics().batch.regressor
    rest, inertias = np.zeros_like(q), inertial_parameters(robot.model).reshape(-1, 10)
    by_acceleration = np.stack([regressor(q, rest, np.tile(unit, (len(q), 1))) - regressor(q, rest, rest)
                                for unit in np.eye(n)], axis=-1)
    return np.einsum("kilpj,lp->lkij", by_acceleration.reshape(len(q), n, -1, 10, n), inertias)


class ErrorMargins(NamedTuple):
    """How far declared errors take the robot beyond the limits that its model keeps, see `error_margins`.

    Attributes:
        position: Shape (n,) [rad or m].
        velocity: Shape (n,) [rad/s or m/s].
        tip_position: [m].
        tip_speed: [m/s].
    """

    position: Array
    velocity: Array
    tip_position: float
    tip_speed: float


def error_margins(robot: Robot, complete: Any) -> ErrorMargins:
    """How far declared errors of mass, payload and friction take the robot, with the period and delay of its loop.

    The filter lets an acceleration jump by 2 k v_max at most. Links that are lighter by a share r answer with
    x = r / (1 - r) sum_l |M^-1 M_l| 2 k v_max more, until the observer knows it after tau = T / s + N T, s being its
    share of a tick and N the delay in periods. A payload makes M + P of M; the observer then is slower by the ratio of
    both, and x is half of |(M + P)^-1 P| 2 k v_max in a motion that settles, or that of its weight at a start. Viscous
    friction D_f that the model lacks is T D_f of P; where it is less than the model's, T D_f is missing as a lighter
    link is. The speed errs by the response to x exp(-t / tau) of the filter's own rate k, at most x tau (k tau)^(k tau
    / (1 - k tau)), and the position by 1 / (e k) of that. D_f brakes less and less near a limit, which the observer
    follows: that adds a D_f tau / (M k^2) to the position.

    Args:
        robot: The robot.
        complete: Parameters of the filter.
    """
    errors, n = DeclaredErrors.from_parameters(complete), robot.n
    if not any(errors):
        return ErrorMargins(np.zeros(n), np.zeros(n), 0.0, 0.0)
    timing, k = robot.timing, complete.safety_rate
    share = 1.0 - np.exp(-complete.safety_observer * timing.period)
    if not share > 0.0:
        raise InputError("safety_observer: expected a rate above 0 with declared errors of the model, received 0")
    tau = timing.period / share + timing.delay * timing.period
    speeds = np.minimum(robot.velocity_limit, _UNLIMITED)
    damping = errors.friction * _effort_limit(robot) / speeds
    mass = sampled_mass_matrices(robot) + np.diag(timing.period * complete.safety_friction)
    inverses = np.linalg.inv(mass)
    jump = np.minimum(2.0 * k * speeds, np.abs(inverses) @ (2.0 * _effort_limit(robot)))[:, :, None]
    lighter = np.abs(inverses * timing.period * np.minimum(damping, complete.safety_friction)) @ jump
    if errors.mass:
        lighter = lighter + errors.mass / (1.0 - errors.mass) * sum(
            np.abs(inverses @ of_link) @ jump for of_link in _mass_matrices_of_links(robot))
    payload = _payload(robot, errors.payload)
    more = payload.mass + np.diag(timing.period * damping)
    loaded, mobility = np.linalg.inv(mass + more), np.diagonal(inverses, axis1=1, axis2=2)
    slower = mobility / np.diagonal(loaded, axis1=1, axis2=2)
    answer = np.maximum(0.5 * np.abs(loaded @ more) @ jump, np.abs(loaded @ payload.gravity[:, :, None]))
    velocity = lighter[:, :, 0] * _decayed(k, tau) + answer[:, :, 0] * _decayed(k, tau * slower)
    position = velocity / (np.e * k) + complete.safety_braking * damping * mobility * tau / k**2
    sizes = np.linalg.norm(robot.dynamics().batch.jacobian(sampled_positions(robot))[:, :3], axis=1)
    return ErrorMargins(position.max(axis=0), velocity.max(axis=0), float((sizes * position).sum(axis=1).max()),
                        float((sizes * velocity).sum(axis=1).max()))


def _decayed(k: float, tau: Any) -> Any:
    """Greatest response of x' = -k x + exp(-t / tau), [s]."""
    ratio = np.where(np.abs(k * tau - 1.0) < 1e-6, 1.0 + 1e-6, k * tau)
    return tau * ratio ** (ratio / (1.0 - ratio))


def observer_rate(robot: Robot) -> float:
    """400, or what the period and the delay allow."""
    return min(400.0, damping_rate(robot.timing))


def rate(robot: Robot) -> float:
    """40, or what the period and the delay allow.

    Within a period a velocity v changes by k T (v_max - v) at most, with the inertia and the friction of its beginning.
    Where it turns around, the error grows with the square of that share.
    """
    return min(40.0, _RATE_BY_PERIOD / robot.timing.period, 0.25 * damping_rate(robot.timing))


def position_margin(robot: Robot) -> Array:
    """1 % of the range, at most 0.05 rad or m, shape (n,)."""
    return np.minimum(0.01 * (robot.position_upper - robot.position_lower), 0.05)


def _numbers(text: str, name: str, form: str) -> tuple[tuple[float, ...], ...]:
    """Groups of numbers in a text, divided by semicolons.

    Raises:
        InputError: A group has another form.
    """
    count = len(form.split())
    try:
        groups = tuple(tuple(map(float, group.split())) for group in text.split(";") if group.strip())
    except ValueError:
        groups = ((),)
    if any(len(group) != count or not np.isfinite(group).all() for group in groups):
        raise InputError(f"{name}: expected '{form}', several divided by semicolons, received {text!r}")
    return groups


def half_space(text: str, name: str) -> tuple[float, ...]:
    """Normal of length 1 and distance (n, d) of n^T p >= d, from the text of one plane; empty: none.

    Raises:
        InputError: The text has another form, or there are several.
    """
    found = _planes(text, name)
    if len(found) > 1:
        raise InputError(f"{name}: expected one plane, received {len(found)}")
    return found[0] if found else ()


def _planes(text: str, name: str) -> list[tuple[float, ...]]:
    found = []
    for *normal, distance in _numbers(text, name, "nx ny nz d"):
        length = float(np.linalg.norm(normal))
        if length < _TINY:
            raise InputError(f"{name}: expected a normal other than 0, received {text!r}")
        found.append((*(each / length for each in normal), distance / length))
    return found


def _half_spaces(robot: Robot, complete: Any) -> tuple[tuple[float, ...], ...]:
    """Normals and distances (n, d) of n^T p >= d: of the planes, and of the sides of the box."""
    found = _planes(complete.safety_planes, "safety_planes")
    boxes = _numbers(complete.safety_box, "safety_box", "x_min y_min z_min x_max y_max z_max")
    if len(boxes) > 1:
        raise InputError(f"safety_box: expected one box, received {len(boxes)}")
    for box in boxes:
        for axis in range(3):
            if not box[axis] < box[axis + 3]:
                raise InputError(f"safety_box: expected a minimum below the maximum along {'xyz'[axis]}, received "
                                 f"{box[axis]:g} and {box[axis + 3]:g}")
            unit = [float(axis == each) for each in range(3)]
            found += [(*unit, box[axis]), (*(-each for each in unit), -box[axis + 3])]
    _check_room(found, complete.safety_tip_margin)
    return tuple(found)


def _check_room(half_spaces: list[tuple[float, ...]], margin: float) -> None:
    """Refuse half-spaces that face each other and leave no room between their margins."""
    for one, other in combinations(half_spaces, 2):
        room = -one[3] - other[3] - 2.0 * margin
        if np.dot(one[:3], other[:3]) < -1.0 + _TINY and room < 0.0:
            first, second = (" ".join(f"{number:g}" for number in each) for each in (one, other))
            raise InputError(f"safety_planes, safety_box: the planes or sides of the box '{first}' and '{second}' "
                             f"leave no room between their margins of {margin:g} m (safety_tip_margin): "
                             f"{-room:.3g} m lack; move one or lower the margin")


def _spheres(robot: Robot, complete: Any) -> tuple[tuple[float, ...], ...]:
    found = _numbers(complete.safety_spheres, "safety_spheres", "x y z radius")
    if any(sphere[3] <= 0.0 for sphere in found):
        raise InputError(f"safety_spheres: expected radii above 0, received {complete.safety_spheres!r}")
    return found


def _position_limits(robot: Robot, complete: Any) -> Array:
    """Lower and upper positions within the margins, shape (2, n)."""
    errors = error_margins(robot, complete).position
    margin = complete.safety_margin + errors
    lower = np.maximum(robot.position_lower, -_UNLIMITED) + margin
    upper = np.minimum(robot.position_upper, _UNLIMITED) - margin
    for joint, low, high, own in zip(robot.joint_names, lower, upper, errors, strict=True):
        if not low <= high:
            raise InputError(f"safety_margin of '{joint}': the margins leave no room between the position limits; "
                             f"lower it{_of_errors(own)}")
    return np.array([lower, upper])


def _of_errors(margin: float) -> str:
    return f", or the declared errors, for which {margin:.3g} is kept" if margin else ""


def velocity_limits(robot: Robot, complete: Any) -> Array:
    """Velocity limits within the margins, shape (n,)."""
    errors = error_margins(robot, complete).velocity
    speeds = complete.safety_speed * np.minimum(robot.velocity_limit, _UNLIMITED)
    if (short := errors > speeds).any():
        joint = int(np.argmax(short))
        raise InputError(f"safety_speed: '{robot.joint_names[joint]}' may move at {speeds[joint]:.3g}, and declared "
                         f"errors of the model take {errors[joint]:.3g} of it; declare smaller errors, or lower "
                         "safety_rate")
    return speeds - errors


def _tip_speed(robot: Robot, complete: Any) -> float:
    """Speed of the tip within its margin [m/s]."""
    if complete.safety_tip_speed >= NO_SPEED:
        return NO_SPEED
    speed, error = complete.safety_speed * complete.safety_tip_speed, error_margins(robot, complete).tip_speed
    if error > speed:
        raise InputError(f"safety_tip_speed: the tip may move at {speed:.3g} m/s, and declared errors of the model "
                         f"take {error:.3g} of it; declare smaller errors, or lower safety_rate")
    return speed - error


def _effort_limits(robot: Robot, complete: Any) -> Array:
    """Effort limits, which suffice to hold the robot and to brake it, shape (n,)."""
    errors = DeclaredErrors.from_parameters(complete)
    needed, room = _efforts_to_brake(robot, complete.safety_braking, errors)
    loaded = f" with a payload of {errors.payload:g} kg" * bool(errors.payload)
    if (room <= 0.0).any():
        sample, joint = np.unravel_index(np.argmin(room), room.shape)
        limit = _effort_limit(robot)[joint]
        raise InputError(f"safety filter: '{robot.joint_names[joint]}' cannot hold the robot{loaded}: gravity takes "
                         f"{limit - room[sample, joint]:.3g} at some positions, and its effort limit is {limit:.3g}; "
                         "a robot that cannot brake keeps no limit")
    if (short := needed > room * (1.0 + 1e-9)).any():
        sample, joint = np.argwhere(short)[0]
        raise InputError(f"safety_braking: where all joints brake at once, '{robot.joint_names[joint]}' needs an "
                         f"effort of {needed[sample, joint]:.3g} at some positions{loaded}, and has "
                         f"{room[sample, joint]:.3g} beside gravity; lower safety_braking of all joints to "
                         f"{(room / np.maximum(needed, _TINY)).min():.2g} times its values")
    return _effort_limit(robot)


def _delay(robot: Robot, _: Any) -> int:
    """Delay of the loop [control periods]."""
    if robot.timing.delay > MOST_DELAY:
        raise InputError(f"safety filter: expected a delay of at most {MOST_DELAY} control periods, received "
                         f"{robot.timing.delay}; give delay_compensation, or a longer period")
    return robot.timing.delay


def _tip_chain(robot: Robot, _: Any) -> tuple[int, ...]:
    """Joints that move the tip link."""
    return tuple(np.flatnonzero(robot.model.moves(robot.tip_link)).tolist())


def _greatest_manipulability(robot: Robot, complete: Any) -> Array:
    """Over random positions."""
    if not complete.safety_singularity > 0.0:
        return np.ones(())
    joints = _tip_chain(robot, complete)
    found = max(manipulability(jacobian, joints) for jacobian in robot.dynamics().batch.jacobian(
        sampled_positions(robot)))
    if not found > _TINY:
        raise InputError("safety_singularity: the robot is singular everywhere: its joints cannot move the tip link "
                         "independently; leave it 0")
    return np.asarray(found)


@dataclass(frozen=True, eq=False)
class SafetyParameters(Parameters):
    """Parameters of the filter, beside those of the law.

    Attributes:
        safety_rate: k [1/s].
        safety_braking: a of the joints, shape (n,) [rad/s^2 or m/s^2].
        safety_margin: Shape (n,) [rad or m].
        safety_speed: Share of the velocity limits.
        safety_friction: D, shape (n,) [N m s/rad or N s/m].
        safety_coulomb: Greatest f, shape (n,) [N m or N].
        safety_mass_error: As in `DeclaredErrors`.
        safety_payload: Likewise [kg].
        safety_friction_error: Likewise.
        safety_tip_speed: [m/s].
        safety_tip_braking: a of the tip [m/s^2].
        safety_tip_margin: [m].
        safety_singularity: Share of the greatest manipulability.
        safety_observer: Rate at which d follows [1/s].
        safety_box: In the base frame [m].
        safety_planes: Likewise.
        safety_spheres: Likewise.
        safety_positions: Position limits within the margins, shape (2, n).
        safety_velocities: Velocity limits, shape (n,) [rad/s or m/s].
        safety_efforts: Effort limits, shape (n,) [N m or N].
        safety_half_spaces: Normal and distance of planes and of sides of the box.
        safety_obstacles: Centre and radius of spheres.
        safety_tip_limit: Speed of the tip within its margin [m/s].
        safety_tip_distance: Distance between tip and obstacles [m].
        safety_period: T [s].
        safety_delay: Delay of the loop [control periods].
        safety_slides: Whether the model has dry friction.
        safety_reverses_friction: Whether efforts make up for dry friction that changes its sign, `applied_effort`.
        safety_limits_speed: Whether the tip speed is limited.
        safety_avoids_singularities: Whether the manipulability is bounded.
        safety_tip_joints: Places of the joints that move the tip link.
        safety_manipulability: The greatest one over random positions.
    """

    safety_rate: float = scalar(rate, unit="1/s", minimum=0.01, maximum=1000.0,
                                description="Speed per distance at which the filter lets the robot approach a close "
                                "limit, and rate at which it corrects a speed")
    safety_braking: Array = per_joint(braking, unit=Unit("rad/s^2", "m/s^2"), minimum=0.001, maximum=100000.0,
                                      description="Deceleration with which the filter counts before a limit")
    safety_margin: Array = per_joint(position_margin, unit=POSITION, minimum=0.0, maximum=10.0,
                                     description="Distance that the filter keeps from the position limits")
    safety_speed: float = scalar(0.95, minimum=0.0, maximum=1.0,
                                 description="Share of the velocity limits and of the tip speed that the filter allows")
    safety_friction: Array = per_joint(viscous_friction, unit=DAMPING, minimum=0.0,
                                       description="Viscous friction of the filter's model")
    safety_coulomb: Array = per_joint(coulomb_friction, unit=EFFORT, minimum=0.0,
                                      description="Dry friction of the filter's model")
    safety_mass_error: float = scalar(0.0, minimum=0.0, maximum=0.9, description="Share by which mass and inertia of "
                                      "each link may differ from the model; adds to the margins")
    safety_payload: float = scalar(0.0, unit="kg", minimum=0.0, maximum=1000.0, description="Greatest unknown load at "
                                   "the tip link; adds to the margins")
    safety_friction_error: float = scalar(0.0, minimum=0.0, maximum=1.0, description="Unknown friction at full speed, "
                                          "as a share of the effort limits; adds to the margins")
    safety_observer: float = scalar(observer_rate, unit="1/s", minimum=0.0, maximum=10000.0,
                                    description="Rate at which the filter learns what its model lacks; 0: it trusts "
                                    "the model")
    safety_tip_speed: float = scalar(NO_SPEED, unit="m/s", minimum=1e-3, maximum=NO_SPEED, structural=True,
                                     description=f"Speed of the tip that the filter allows; {NO_SPEED:g}: any")
    safety_tip_braking: float = scalar(2.0, unit="m/s^2", minimum=0.001, maximum=1000.0,
                                       description="Deceleration of the tip with which the filter counts")
    safety_tip_margin: float = scalar(0.01, unit="m", minimum=0.0, maximum=10.0,
                                      description="Distance that the filter keeps between the tip and box, planes and "
                                      "spheres")
    safety_singularity: float = scalar(0.0, minimum=0.0, maximum=0.9, structural=True,
                                       description="Least manipulability of the tip, as a share of the greatest over "
                                       "random positions; 0: any")
    safety_box: str = scalar("", structural=True, unit="m", description="Box that the tip stays in, in the base frame: "
                             "x_min y_min z_min x_max y_max z_max; empty: none")
    safety_planes: str = scalar("", structural=True, description="Planes before which the tip stays, in the base "
                                "frame, n p >= d: nx ny nz d; several divided by semicolons")
    safety_spheres: str = scalar("", structural=True, unit="m", description="Spheres that the tip stays out of, in the "
                                 "base frame: x y z radius; several divided by semicolons")
    safety_efforts: Array = derived(_effort_limits)
    safety_positions: Array = derived(_position_limits)
    safety_velocities: Array = derived(velocity_limits)
    safety_half_spaces: tuple[tuple[float, ...], ...] = derived(_half_spaces, structural=True)
    safety_obstacles: tuple[tuple[float, ...], ...] = derived(_spheres, structural=True)
    safety_tip_limit: Array = derived(_tip_speed)
    safety_tip_distance: Array = derived(
        lambda robot, complete: complete.safety_tip_margin + error_margins(robot, complete).tip_position)
    safety_period: Array = derived(lambda robot, _: robot.timing.period)
    safety_delay: int = derived(_delay, structural=True)
    safety_slides: bool = derived(lambda _, complete: bool((complete.safety_coulomb > 0.0).any()), structural=True)
    safety_reverses_friction: bool = derived(
        lambda _, complete: bool((complete.safety_coulomb > 0.0).any())
        and not any(DeclaredErrors.from_parameters(complete)), structural=True)
    safety_limits_speed: bool = derived(lambda _, complete: bool(complete.safety_tip_speed < NO_SPEED), structural=True)
    safety_avoids_singularities: bool = derived(lambda _, complete: bool(complete.safety_singularity > 0.0),
                                                structural=True)
    safety_tip_joints: tuple[int, ...] = derived(_tip_chain, structural=True)
    safety_manipulability: Array = derived(_greatest_manipulability)


class Filtering(NamedTuple):
    """Memory of a filtered law.

    Attributes:
        law: The law's own memory; None: it has none.
        multipliers: Of the last program: of the limits of `limit_names`, and of the efforts, shape (m + n,). Other than
            0 where a limit changes the efforts.
        slack: By how much each limit of `limit_names` gives way, shape (m,) [rad/s^2, m/s^2, 1/s^2].
        status: Of `robodyn_ros.control.optimisation.qp`, shape (1,).
        correction: Filtered efforts less the law's, shape (n,) [N m or N].
        disturbance: d, shape (n,) [N m or N].
        v: Velocities of the last tick, shape (n,) [rad/s or m/s].
        acceleration: That the model alone, without d, expects of the efforts of the last ticks, of the last tick first,
            shape (1 + delay, n) [rad/s^2 or m/s^2].
        friction: `LawMotion.multipliers`.
    """

    law: Any
    multipliers: Array
    slack: Array
    status: Array
    correction: Array
    disturbance: Array
    v: Array
    acceleration: Array
    friction: Array


def limit_names(robot: Robot, parameters: Any) -> tuple[str, ...]:
    """Names of the rows of the filter's program."""
    names = [f"{joint}.motion" for joint in robot.joint_names]
    names += ["tip_speed", "tip_speed_across0", "tip_speed_across1"] * parameters.safety_limits_speed
    names += [f"plane{place}" for place in range(len(parameters.safety_half_spaces))]
    names += [f"sphere{place}" for place in range(len(parameters.safety_obstacles))]
    return (*names, *(["singularity"] * parameters.safety_avoids_singularities))


def model_names(joints: tuple[str, ...], parameters: Any) -> tuple[str, ...]:
    """Names of ``disturbance``, ``v``, ``acceleration`` and ``friction`` of `Filtering`."""
    delayed = (f".{count}_periods_ago" * bool(count) for count in range(1 + parameters.safety_delay))
    fields = ("disturbance", "velocity", *(f"acceleration{ago}" for ago in delayed),
              *["friction"] * parameters.safety_slides)
    return tuple(f"{joint}.{field}" for field in fields for joint in joints)


def approach(distance: Any, rate: Any, deceleration: Any, most: Any = np.inf) -> tuple[Any, Any]:
    """Speed s(h) at which a limit at a distance may be approached, and its slope s'(h).

    sqrt(2 a (h - h_0 / 2)), from which the deceleration stops at h_0 / 2, and below h_0 = a / k^2 its tangent, k h. An
    odd function: beyond the limit, the robot returns as it approached, and no faster than ``most``.

    Args:
        distance: h, negative beyond the limit.
        rate: k.
        deceleration: a.
        most: Greatest speed of the way back.
    """
    close, size = deceleration / rate**2, np.abs(distance)
    fast = np.sqrt(2.0 * deceleration * np.maximum(size - 0.5 * close, 0.5 * close))
    speed = np.where(size > close, np.sign(distance) * fast, rate * distance)
    slope = np.where(size > close, deceleration / fast, rate)
    return np.maximum(speed, -most), np.where(speed < -most, 0.0, slope)


def manipulability(jacobian: Array, joints: tuple[int, ...]) -> Any:
    """Manipulability sqrt(det(J J^T)) [Yoshikawa] of the tip link, 0 where it is singular.

    J has the rows of translations alone where the arm has three joints or fewer. Where it has more rows than joints,
    the determinant is that of J^T J.

    Args:
        jacobian: Shape (6, n).
        joints: Places of those that move the tip link.
    """
    own = jacobian[:3 if len(joints) <= 3 else 6][:, list(joints)]
    return np.sqrt(np.maximum(np.linalg.det(own @ own.T if len(own) <= len(joints) else own.T @ own), _TINY**2))


def check_start(robot: Robot, parameters: Any, state: State) -> None:
    """Refuse a start from which the tip would first have to return: behind a plane, in a sphere, near a singularity.

    Raises:
        InputError: It is there; the message tells how far.
    """
    position = robot.dynamics().forward_kinematics(state.q)[:3, 3]
    distances = {f"plane or side of the box '{' '.join(f'{number:g}' for number in plane)}'":
                 np.dot(plane[:3], position) - plane[3] for plane in parameters.safety_half_spaces}
    distances |= {f"sphere '{' '.join(f'{number:g}' for number in sphere)}'":
                  np.linalg.norm(position - sphere[:3]) - sphere[3] for sphere in parameters.safety_obstacles}
    for name, distance in distances.items():
        if distance < 0.0:
            raise InputError(f"safety filter: the tip, at {' '.join(f'{each:.3f}' for each in position)}, is "
                             f"{-distance:.3f} m beyond the {name}; move the robot or the limit")
    if parameters.safety_avoids_singularities:
        share = (manipulability(robot.dynamics().jacobian(state.q), parameters.safety_tip_joints)
                 / parameters.safety_manipulability)
        if share < parameters.safety_singularity:
            raise InputError(f"safety filter: the manipulability is {share:.3g} of the greatest, expected "
                             f"{parameters.safety_singularity:g} or more (safety_singularity); move the robot away "
                             "from the singular position or lower the limit")


def joint_bounds(parameters: Any, state: State) -> tuple[Array, Array]:
    """Least and greatest accelerations of the joints within their limits, each of shape (n,) [rad/s^2 or m/s^2]."""
    k, (least, most) = parameters.safety_rate, parameters.safety_positions

    def greatest(distance: Array, v: Array) -> Array:
        speed, slope = approach(distance, k, parameters.safety_braking, 0.5 * parameters.safety_velocities)
        return np.minimum(k * (speed - v) - slope * v, k * (parameters.safety_velocities - v))

    return -greatest(state.q - least, -state.v), greatest(most - state.q, state.v)


class ExpectedMotion(NamedTuple):
    """What the model knows of the instant at which the efforts of a tick act.

    Attributes:
        state: The state then.
        mass_matrix: M + T D, shape (n, n).
        inverse: Its inverse, shape (n, n).
        disturbance: d, shape (n,) [N m or N].
        bias: h(q, v) + D v, shape (n,) [N m or N].
    """

    state: State
    mass_matrix: Array
    inverse: Array
    disturbance: Array
    bias: Array


def expected_motion(dynamics: Any, parameters: Any, state: State, memory: Any) -> ExpectedMotion:
    """Observe what the model lacks, and predict the state over the delay of the loop.

    d' = K (M (v' - v'_model) - d), the momentum observer of [DeLuca] over a control period; [Alan] uses such an
    estimate in a control barrier function. No more than the effort limits: impacts are none of the model's errors. The
    efforts that the model answers are those that acted meanwhile, which a delay took from an earlier tick; those still
    on their way move the measured state on.

    Args:
        dynamics: Of the robot.
        parameters: As of the filter.
        state: The measured state.
        memory: Has ``disturbance``, ``v`` and ``acceleration`` of the last tick, as `Filtering`.
    """
    period, damping, limits = parameters.safety_period, parameters.safety_friction, parameters.safety_efforts
    mass_matrix = dynamics.mass_matrix(state.q) + np.diag(period * damping)
    share = 1.0 - np.exp(-parameters.safety_observer * state.period)
    change = (state.v - memory.v) / np.maximum(state.period, 1e-6)
    lacks = mass_matrix @ (change - memory.acceleration[-1])
    disturbance = np.clip(memory.disturbance + share * (lacks - memory.disturbance), -limits, limits)
    inverse = np.linalg.inv(mass_matrix)
    if parameters.safety_delay:
        unknown, q, v = inverse @ disturbance, state.q, state.v
        for acceleration in memory.acceleration[-2::-1]:
            v = v + period * (acceleration + unknown)
            q = q + period * v
        state = state._replace(q=q, v=v)
        mass_matrix = dynamics.mass_matrix(q) + np.diag(period * damping)
        inverse = np.linalg.inv(mass_matrix)
    return ExpectedMotion(state, mass_matrix, inverse, disturbance, dynamics.bias(state.q, state.v) + damping * state.v)


def remembered(memory: Any, acceleration: Array) -> Array:
    """`Filtering.acceleration` of the next tick: the newest first."""
    return np.concatenate([acceleration[None], memory.acceleration[:-1]])


class LawMotion(NamedTuple):
    """What the model expects of a law's efforts over the next control period.

    Attributes:
        effort: Within the limits, shape (n,) [N m or N].
        sliding: Accelerations without dry friction, shape (n,) [rad/s^2 or m/s^2].
        acceleration: With it, shape (n,) [rad/s^2 or m/s^2].
        multipliers: Of the program of dry friction, shape (n,); (0,) without dry friction.
    """

    effort: Array
    sliding: Array
    acceleration: Array
    multipliers: Array


def law_motion(parameters: Any, motion: ExpectedMotion, effort: Array, warm: Array) -> LawMotion:
    """The motion under efforts, with dry friction as the simulated robot has it.

    Joints that slide have all of their friction f, against their velocity at the end of the period; those that stick
    what holds them, [Stewart]: f minimises the kinetic energy then, within its bounds.

    Args:
        parameters: As of the filter.
        motion: Of the model.
        effort: Within the limits, shape (n,) [N m or N].
        warm: `LawMotion.multipliers` of similar efforts.
    """
    sliding = motion.inverse @ (effort + motion.disturbance - motion.bias)
    if not parameters.safety_slides:
        return LawMotion(effort, sliding, sliding, np.zeros(0))
    most = parameters.safety_coulomb
    found = qp.solve(motion.inverse, motion.state.v / parameters.safety_period + sliding, x_lower=-most, x_upper=most,
                     warm=warm)
    return LawMotion(effort, sliding, sliding + motion.inverse @ found.x, found.multipliers)


class AppliedEffort(NamedTuple):
    """Efforts that a tick applies, and what the model expects of them.

    Attributes:
        effort: Shape (n,) [N m or N].
        acceleration: Shape (n,) [rad/s^2 or m/s^2].
    """

    effort: Array
    acceleration: Array


def applied_effort(parameters: Any, motion: ExpectedMotion, law: LawMotion, change: Array) -> AppliedEffort:
    """Efforts that move the joints as a change of the law's efforts would if dry friction stayed as under the law's.

    Dry friction changes its sign with the velocity of the joint. A joint with a changed effort gets the acceleration of
    that change: its effort makes up for the friction of the new motion. The other joints keep the law's efforts, and
    their friction is what the simulated robot has beside joints that move so. With declared errors of the model, the
    sign of the new velocity is not sure, and friction stays as under the law's efforts: of the wrong sign, the effort
    would add to it.

    Args:
        parameters: As of the filter.
        motion: Of the model.
        law: The motion under the law's efforts.
        change: Of these, shape (n,) [N m or N].
    """
    limit, acceleration = parameters.safety_efforts, law.acceleration + motion.inverse @ change
    if not parameters.safety_reverses_friction:
        return AppliedEffort(np.clip(law.effort + change, -limit, limit), acceleration)
    most, before = parameters.safety_coulomb, motion.state.v / parameters.safety_period
    after = before + acceleration
    is_changed = np.abs(change) > _SAME * limit
    found = qp.solve(motion.inverse, before + law.sliding - np.where(is_changed, after, 0.0),
                     x_lower=np.where(is_changed, -np.inf, -most), x_upper=np.where(is_changed, np.inf, most),
                     warm=law.multipliers)
    both = found.x  # friction, and the changes of efforts
    slides = np.abs(after) * parameters.safety_period > _STICKS
    friction = np.where(is_changed, np.where(slides, -np.sign(after) * most, np.clip(both, -most, most)), both)
    effort = np.clip(law.effort + (both - friction), -limit, limit)
    return AppliedEffort(effort, law.sliding + motion.inverse @ (effort - law.effort + friction))


class LimitRows(NamedTuple):
    """Limits lower <= A x <= upper of efforts x.

    Attributes:
        matrix: A, shape (m, n).
        lower: Shape (m,); infinite where there is no limit.
        upper: Likewise.
        yielding: Of `qp.solve`, shape (m,).
    """

    matrix: Array
    lower: Array
    upper: Array
    yielding: Array


def limit_rows(dynamics: Any, parameters: Any, motion: ExpectedMotion, free: Array, response: Array, joints: list[int]
               ) -> LimitRows:
    """Limits of some joints and of the tip, as limits of further efforts x.

    Args:
        dynamics: Of the robot.
        parameters: As of the filter.
        motion: Of the model.
        free: Accelerations without x, shape (n,) [rad/s^2 or m/s^2].
        response: Accelerations by x, shape (n, number of efforts).
        joints: Places of the joints.
    """
    braking, state = parameters.safety_braking, motion.state
    cost = braking @ (motion.mass_matrix @ braking)
    lower, upper = joint_bounds(parameters, state)
    yielding = YIELDING["joints"] * braking**2
    rows = [LimitRows(response[joints], (lower - free)[joints], (upper - free)[joints], yielding[joints])]
    for row in tip_rows(dynamics, parameters, state, free):
        reached = row.gradient @ free
        rows.append(LimitRows((row.gradient @ response)[None], np.stack([row.lower - reached]),
                         np.stack([row.upper - reached]), np.stack([row.yielding])))
    found = LimitRows(*(np.concatenate(each) for each in zip(*rows, strict=True)))
    return found._replace(yielding=found.yielding / cost)


class Row(NamedTuple):
    """A limit of the tip, lower <= a^T q'' <= upper.

    Attributes:
        gradient: a, shape (n,).
        lower: Least value.
        upper: Greatest value; infinite: any.
        yielding: Of `YIELDING`, times the square of a deceleration.
    """

    gradient: Any
    lower: Any
    upper: Any
    yielding: Any


def tip_rows(dynamics: Any, parameters: Any, state: State, free: Array) -> list[Row]:
    """The limits of the tip; ``free`` are the accelerations without the filter."""
    rows: list[Row] = []
    k, margin = parameters.safety_rate, parameters.safety_tip_distance
    workspace, of_speed = (YIELDING[kind] * parameters.safety_tip_braking**2 for kind in ("workspace", "tip_speed"))

    def least(h: Any, speed: Any, deceleration: Any, back: float) -> Any:
        allowed, slope = approach(h, k, deceleration, back)
        return -slope * speed - k * (speed + allowed)

    def add(h: Any, speed: Any, direction: Array, turning: Any) -> None:
        bound = least(h - margin, speed, parameters.safety_tip_braking, _RETURN_SPEED) - direction @ drift - turning
        rows.append(Row(direction @ jacobian, bound, np.inf, workspace))

    if parameters.safety_limits_speed or parameters.safety_half_spaces or parameters.safety_obstacles:
        position = dynamics.forward_kinematics(state.q)[:3, 3]
        jacobian = dynamics.jacobian(state.q)[:3]
        drift = dynamics.jacobian_derivative(state.q, state.v)[:3] @ state.v
        velocity = jacobian @ state.v
    if parameters.safety_limits_speed:
        axes, most = speed_box(velocity, velocity + (jacobian @ free + drift) / k, parameters.safety_tip_limit)
        for axis, own in zip(axes, most, strict=True):
            speed, turning = axis @ velocity, axis @ drift
            rows.append(Row(axis @ jacobian, -k * (own + speed) - turning, k * (own - speed) - turning, of_speed))
    for *normal, distance in parameters.safety_half_spaces:
        direction = np.array(normal)
        add(direction @ position - distance, direction @ velocity, direction, 0.0)
    for *centre, radius in parameters.safety_obstacles:
        offset = position - np.array(centre)
        length = np.sqrt(offset @ offset + _TINY)
        direction = offset / length
        speed = direction @ velocity
        add(length - radius, speed, direction, (velocity @ velocity - speed * speed) / length)
    if parameters.safety_avoids_singularities:
        share, slope, turning = manipulability_motion(dynamics, parameters, state)
        bound = least(share - parameters.safety_singularity, slope @ state.v, _SINGULARITY_BRAKING, 1.0) - turning
        rows.append(Row(slope, bound, np.inf, YIELDING["singularity"] * _SINGULARITY_BRAKING**2))
    return rows


def speed_box(velocity: Array, target: Array, most: Any) -> tuple[list[Array], list[Any]]:
    """A box within the sphere of the velocities that the tip may have: orthogonal axes and half of its sides.

    Velocities v and w in the sphere leave (1 - k T) v + k T w in it, which is the velocity after a period of the
    acceleration k (w - v): the box holds w, whatever the period is. The first axis points to the velocity to which the
    law leads, the second across it to the present one, which it leaves room for.

    Args:
        velocity: Of the tip, shape (3,) [m/s].
        target: w of the law, shape (3,) [m/s].
        most: Radius of the sphere [m/s].
    """
    ahead = target / np.sqrt(target @ target + _TINY)
    x, y, z = ahead
    side = np.where(z < 0.0, -1.0, 1.0)
    across = np.array([1.0 - x * x / (1.0 + np.abs(z)), -x * y / (1.0 + np.abs(z)), -side * x])  # orthogonal to it
    aside = velocity - (ahead @ velocity) * ahead
    second = aside + 1e-6 * most * across
    second = second / np.sqrt(second @ second + _TINY**2)
    sideways = np.clip(np.sqrt(aside @ aside + _TINY**2), _ACROSS * most, 0.9 * most)
    along = np.sqrt((1.0 - _ACROSS**2) * most**2 - sideways**2)
    return [ahead, second, np.cross(ahead, second)], [along, sideways, _ACROSS * most]


def manipulability_motion(dynamics: Any, parameters: Any, state: State) -> tuple[Any, Array, Any]:
    """Share w of the greatest manipulability, its gradient, shape (n,), and w'' less what accelerations cause."""
    kinematics = InlineDynamics(dynamics.model)  # also of floats, since the derivative traces it

    def size(q: Array) -> Any:
        return manipulability(kinematics.jacobian(q), parameters.safety_tip_joints)

    def speed(q: Array, v: Array) -> Any:
        return derivative_at(size, (q,)) @ v

    found = size(state.q), derivative_at(size, (state.q,)), derivative_at(speed, (state.q, state.v)) @ state.v
    share, slope, turning = (each / parameters.safety_manipulability for each in found)
    return share, slope, turning


def within_positions(parameters: Any, reference: JointReference) -> JointReference:
    """A reference whose joints rest at their limits where it is beyond them.

    A law that feeds the error of a limited joint to the others, as the mass matrix of a computed torque does, would
    take these away from their goals.
    """
    least, most = parameters.safety_positions
    q = np.clip(reference.q, least, most)
    return JointReference(q, *(np.where(q == reference.q, each, 0.0) for each in (reference.v, reference.a)))


def filtered_effort(dynamics: Any, parameters: Any, state: State, effort: Array, memory: Filtering
                    ) -> tuple[Array, Filtering]:
    """The efforts nearest to a law's that keep the limits, shape (n,) [N m or N], and the memory without the law's."""
    limits = parameters.safety_efforts
    motion = expected_motion(dynamics, parameters, state, memory)
    law = law_motion(parameters, motion, np.clip(effort, -limits, limits), memory.friction)
    rows = limit_rows(dynamics, parameters, motion, law.acceleration, motion.inverse, list(range(len(limits))))
    found = qp.solve(motion.inverse, np.zeros(len(limits)), rows.matrix, rows.lower, rows.upper, -limits - law.effort,
                     limits - law.effort, yielding=rows.yielding, warm=memory.multipliers)
    change = rows.matrix @ found.x
    slack = np.maximum(np.maximum(rows.lower - change, change - rows.upper), 0.0)
    safe, acceleration = applied_effort(parameters, motion, law, found.x)
    return safe, Filtering(None, found.multipliers, slack, np.stack([found.status]), safe - effort, motion.disturbance,
                           state.v, remembered(memory, acceleration - motion.inverse @ motion.disturbance),
                           law.multipliers)


def filter_memory(robot: Robot, parameters: Any, state: State, law: Any) -> Filtering:
    """The memory before the first tick, with that of the law."""
    m, n = len(limit_names(robot, parameters)), robot.n
    return Filtering(law, np.zeros(m + n), np.zeros(m), np.zeros(1), np.zeros(n), np.zeros(n), np.array(state.v),
                     np.zeros((1 + parameters.safety_delay, n)), np.zeros(n * parameters.safety_slides))


def filter_memory_names(robot: Robot, parameters: Any) -> tuple[str, ...]:
    """Names of all numbers of `Filtering` but the law's."""
    joints, limits = robot.joint_names, limit_names(robot, parameters)
    names = [*limits, *(f"{joint}.effort" for joint in joints), *(f"{limit}.slack" for limit in limits), "status",
             *(f"{joint}.correction" for joint in joints), *model_names(joints, parameters)]
    return tuple(f"safety.{name}" for name in names)


@cache
def filtered(law_class: type[Law[Any, Any, Any]]) -> type[Law[Any, Any, Any]]:
    """The class of a law whose efforts are filtered; always the same class for a law.

    Args:
        law_class: The law's class.

    Raises:
        InputError: It is no `Law`, which the filter needs to be compiled with it.
    """
    if not issubclass(law_class, Law):
        raise InputError(f"{law_class.__name__}: expected a Law for the safety filter, received a Controller, which "
                         "cannot be compiled")
    own, takes_memory = law_class.law, len(signature(law_class.law).parameters) > 4

    own_parameters = () if law_class.Parameters is Parameters else (law_class.Parameters,)

    class FilteredParameters(*own_parameters, SafetyParameters):  # type: ignore[misc]
        """Parameters of the law and of its filter."""

        def __reduce__(self) -> Any:
            values = {item.name: getattr(self, item.name) for item in dataclasses.fields(self)}
            return _parameters_of, (law_class, values)

    class Filtered(law_class):  # type: ignore[misc, valid-type]
        __doc__ = (f"`{law_class.__name__}` within the limits of the robot, "
                   "see `robodyn_ros.control.optimisation.safety_filter`.")
        Parameters = dataclass(frozen=True, eq=False)(FilteredParameters)

        Drawing = with_limits(law_class.Drawing)

        def draw(self, state: State) -> Any:
            multipliers = self.memory.multipliers
            inner = {} if law_class.Drawing is None else super().draw(state)._asdict()
            return self.Drawing(**inner, **active_limits(self.robot, self.parameters, state, multipliers))

        def initial_memory(self, state: State) -> Filtering:
            return filter_memory(self.robot, self.parameters, state, super().initial_memory(state))

        def check_start(self, state: State) -> None:
            check_start(self.robot, self.parameters, state)
            super().check_start(state)

        def memory_names(self) -> tuple[str, ...]:
            first = initial_memory(self, State(0.0, 0.0, np.zeros(self.robot.n), np.zeros(self.robot.n)))
            count = 0 if first.law is None else memory_numbers(first.law).size
            inner = super().memory_names() or tuple(f"memory{place}" for place in range(count))
            return (*inner, *filter_memory_names(self.robot, self.parameters))

        @staticmethod
        def law(dynamics: Any, parameters: Any, state: State, reference: Any, memory: Filtering) -> Any:
            if isinstance(reference, JointReference):
                reference = within_positions(parameters, reference)
            if takes_memory:
                effort, after = own(dynamics, parameters, state, reference,
                                    np.zeros(0) if memory.law is None else memory.law)
                after = None if memory.law is None else after
            else:
                effort, after = own(dynamics, parameters, state, reference), None
            effort = np.asarray(effort)
            safe, found = filtered_effort(dynamics, parameters, state, effort, memory)
            return safe, found._replace(law=after)

    FilteredParameters.__module__, Filtered.__module__ = law_class.Parameters.__module__, law_class.__module__
    FilteredParameters.__qualname__ = f"{law_class.Parameters.__qualname__}{SUFFIX}"
    Filtered.__qualname__ = f"{law_class.__qualname__}{SUFFIX}"
    Filtered.__name__ = f"{law_class.__name__}{SUFFIX}"
    return Filtered


def _parameters_of(law_class: type[Law[Any, Any, Any]], values: dict[str, Any]) -> Parameters:
    """Parameters of a filtered law that were pickled."""
    make: Callable[..., Parameters] = filtered(law_class).Parameters
    return make(**values)
