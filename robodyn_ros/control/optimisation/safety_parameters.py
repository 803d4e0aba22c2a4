# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Parameters of the safety filter, and the limits computed from them for a robot."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from robodyn_ros.base.errors import InputError
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
from robodyn_ros.control.default_gains import coulomb_friction, damping_rate, sampled_positions, viscous_friction
from robodyn_ros.control.optimisation.safety_limits import manipulability
from robodyn_ros.control.optimisation.safety_margins import (
    UNLIMITED,
    DeclaredErrors,
    braking,
    efforts_to_brake,
    error_margins,
    finite_effort_limit,
)
from robodyn_ros.description.model import Array
from robodyn_ros.robot import Robot

NO_SPEED_LIMIT = 1000.0
"""A tip speed limit of this or more means no limit [m/s]."""

MAX_DELAY = 50
"""Greatest delay of the loop over which the filter predicts [control periods]."""

_RATE_BY_PERIOD = 0.1  # k T
_TINY = 1e-12


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


def _number_groups(text: str, name: str, form: str) -> tuple[tuple[float, ...], ...]:
    """Return the groups of numbers in a text, separated by semicolons."""
    count = len(form.split())
    try:
        groups = tuple(tuple(map(float, group.split())) for group in text.split(";") if group.strip())
    except ValueError:
        groups = ((),)
    if any(len(group) != count or not np.isfinite(group).all() for group in groups):
        raise InputError(f"{name}: expected '{form}', several divided by semicolons, received {text!r}")
    return groups


def half_space(text: str, name: str) -> tuple[float, ...]:
    """Return unit normal and distance (n, d) of n^T p >= d from the text of one plane; empty: none.

    Raises:
        InputError: The text has another form, or names several planes.
    """
    found = _planes(text, name)
    if len(found) > 1:
        raise InputError(f"{name}: expected one plane, received {len(found)}")
    return found[0] if found else ()


def _planes(text: str, name: str) -> list[tuple[float, ...]]:
    found = []
    for *normal, distance in _number_groups(text, name, "nx ny nz d"):
        length = float(np.linalg.norm(normal))
        if length < _TINY:
            raise InputError(f"{name}: expected a normal other than 0, received {text!r}")
        found.append((*(each / length for each in normal), distance / length))
    return found


def _half_spaces(robot: Robot, complete: Any) -> tuple[tuple[float, ...], ...]:
    """Return normals and distances (n, d) of n^T p >= d, for the planes and the sides of the box."""
    found = _planes(complete.safety_planes, "safety_planes")
    boxes = _number_groups(complete.safety_box, "safety_box", "x_min y_min z_min x_max y_max z_max")
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
    found = _number_groups(complete.safety_spheres, "safety_spheres", "x y z radius")
    if any(sphere[3] <= 0.0 for sphere in found):
        raise InputError(f"safety_spheres: expected radii above 0, received {complete.safety_spheres!r}")
    return found


def _position_limits(robot: Robot, complete: Any) -> Array:
    """Return lower and upper position limits within the margins, shape (2, n)."""
    errors = error_margins(robot, complete).position
    margin = complete.safety_margin + errors
    lower = np.maximum(robot.position_lower, -UNLIMITED) + margin
    upper = np.minimum(robot.position_upper, UNLIMITED) - margin
    for joint, low, high, own in zip(robot.joint_names, lower, upper, errors, strict=True):
        if not low <= high:
            raise InputError(f"safety_margin of '{joint}': the margins leave no room between the position limits; "
                             f"lower it{_errors_note(own)}")
    return np.array([lower, upper])


def _errors_note(margin: float) -> str:
    return f", or the declared errors, for which {margin:.3g} is kept" if margin else ""


def velocity_limits(robot: Robot, complete: Any) -> Array:
    """Return the velocity limits within the margins, shape (n,)."""
    errors = error_margins(robot, complete).velocity
    speeds = complete.safety_speed * np.minimum(robot.velocity_limit, UNLIMITED)
    if (short := errors > speeds).any():
        joint = int(np.argmax(short))
        raise InputError(f"safety_speed: '{robot.joint_names[joint]}' may move at {speeds[joint]:.3g}, and declared "
                         f"errors of the model take {errors[joint]:.3g} of it; declare smaller errors, or lower "
                         "safety_rate")
    return speeds - errors


def _tip_speed(robot: Robot, complete: Any) -> float:
    """Return the tip speed limit within its margin [m/s]."""
    if complete.safety_tip_speed >= NO_SPEED_LIMIT:
        return NO_SPEED_LIMIT
    speed, error = complete.safety_speed * complete.safety_tip_speed, error_margins(robot, complete).tip_speed
    if error > speed:
        raise InputError(f"safety_tip_speed: the tip may move at {speed:.3g} m/s, and declared errors of the model "
                         f"take {error:.3g} of it; declare smaller errors, or lower safety_rate")
    return speed - error


def _effort_limits(robot: Robot, complete: Any) -> Array:
    """Return the effort limits, after a check that they can hold and brake the robot, shape (n,)."""
    errors = DeclaredErrors.from_parameters(complete)
    needed, room = efforts_to_brake(robot, complete.safety_braking, errors)
    loaded = f" with a payload of {errors.payload:g} kg" * bool(errors.payload)
    if (room <= 0.0).any():
        sample, joint = np.unravel_index(np.argmin(room), room.shape)
        limit = finite_effort_limit(robot)[joint]
        raise InputError(f"safety filter: '{robot.joint_names[joint]}' cannot hold the robot{loaded}: gravity takes "
                         f"{limit - room[sample, joint]:.3g} at some positions, and its effort limit is {limit:.3g}; "
                         "a robot that cannot brake keeps no limit")
    if (short := needed > room * (1.0 + 1e-9)).any():
        sample, joint = np.argwhere(short)[0]
        raise InputError(f"safety_braking: where all joints brake at once, '{robot.joint_names[joint]}' needs an "
                         f"effort of {needed[sample, joint]:.3g} at some positions{loaded}, and has "
                         f"{room[sample, joint]:.3g} beside gravity; lower safety_braking of all joints to "
                         f"{(room / np.maximum(needed, _TINY)).min():.2g} times its values")
    return finite_effort_limit(robot)


def _delay(robot: Robot, _: Any) -> int:
    """Delay of the loop [control periods]."""
    if robot.timing.delay > MAX_DELAY:
        raise InputError(f"safety filter: expected a delay of at most {MAX_DELAY} control periods, received "
                         f"{robot.timing.delay}; give delay_compensation, or a longer period")
    return robot.timing.delay


def _tip_chain(robot: Robot, _: Any) -> tuple[int, ...]:
    """Return the indices of the joints that move the tip link."""
    return tuple(np.flatnonzero(robot.model.moves(robot.tip_link)).tolist())


def _greatest_manipulability(robot: Robot, complete: Any) -> Array:
    """Return the greatest manipulability over random positions."""
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
    """Parameters of the filter, in addition to those of the law.

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
        safety_observer: Rate of the estimate d [1/s].
        safety_box: In the base frame [m].
        safety_planes: In the base frame.
        safety_spheres: In the base frame [m].
        safety_positions: Position limits within the margins, shape (2, n).
        safety_velocities: Velocity limits, shape (n,) [rad/s or m/s].
        safety_efforts: Effort limits, shape (n,) [N m or N].
        safety_half_spaces: Normal and distance of planes and of sides of the box.
        safety_obstacles: Centre and radius of spheres.
        safety_tip_limit: Return the tip speed limit within its margin [m/s].
        safety_tip_distance: Distance between tip and obstacles [m].
        safety_period: T [s].
        safety_delay: Delay of the loop [control periods].
        safety_slides: Whether the model has dry friction.
        safety_reverses_friction: Whether efforts compensate dry friction that changes its sign, see `applied_effort`.
        safety_limits_speed: Whether the tip speed is limited.
        safety_avoids_singularities: Whether the manipulability is bounded.
        safety_tip_joints: Indices of the joints that move the tip link.
        safety_manipulability: Greatest manipulability over random positions.
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
    safety_tip_speed: float = scalar(NO_SPEED_LIMIT, unit="m/s", minimum=1e-3, maximum=NO_SPEED_LIMIT, structural=True,
                                     description=f"Speed of the tip that the filter allows; {NO_SPEED_LIMIT:g}: any")
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
    safety_limits_speed: bool = derived(lambda _, complete: bool(complete.safety_tip_speed < NO_SPEED_LIMIT),
                                        structural=True)
    safety_avoids_singularities: bool = derived(lambda _, complete: bool(complete.safety_singularity > 0.0),
                                                structural=True)
    safety_tip_joints: tuple[int, ...] = derived(_tip_chain, structural=True)
    safety_manipulability: Array = derived(_greatest_manipulability)
