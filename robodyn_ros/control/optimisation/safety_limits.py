# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The motion that the safety filter's model predicts, and the limits as bounds of its accelerations."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.compile import derivative_at
from robodyn_ros.control.contract.state import State
from robodyn_ros.control.optimisation import qp
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.robot_dynamics import InlineDynamics
from robodyn_ros.robot import Robot

YIELDING = {"joints": 1e-6, "workspace": 1e-3, "singularity": 1e-2, "tip_speed": 1e-1}
"""How far limits give way where not all can hold, in squares of their decelerations over the cost of `braking`: joints
less than box, planes and spheres, these less than the distance from singularities, and this less than the speed of the
tip."""

_RETURN_SPEED = 0.25  # most speed of the tip on its way out of a sphere, or back before a plane [m/s]
_SINGULARITY_BRAKING = 2.0  # deceleration of the share of manipulability [1/s^2]
_TINY = 1e-12
_EFFORT_ROUNDING = 1e-9  # share of the effort limits by which rounding may change efforts
_STICKING_SPEED = 1e-9  # speed below which a joint with dry friction sticks [rad/s or m/s]
_TRANSVERSE_SHARE = 0.15  # share of the tip's speed limit left across the direction in which the law accelerates it


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
        memory: Has ``disturbance``, ``v`` and ``acceleration`` of the last tick, as `FilterMemory`.
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


def with_newest(memory: Any, acceleration: Array) -> Array:
    """`FilterMemory.acceleration` of the next tick: the newest first."""
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
    is_changed = np.abs(change) > _EFFORT_ROUNDING * limit
    found = qp.solve(motion.inverse, before + law.sliding - np.where(is_changed, after, 0.0),
                     x_lower=np.where(is_changed, -np.inf, -most), x_upper=np.where(is_changed, np.inf, most),
                     warm=law.multipliers)
    both = found.x  # friction, and the changes of efforts
    slides = np.abs(after) * parameters.safety_period > _STICKING_SPEED
    friction = np.where(is_changed, np.where(slides, -np.sign(after) * most, np.clip(both, -most, most)), both)
    effort = np.clip(law.effort + (both - friction), -limit, limit)
    return AppliedEffort(effort, law.sliding + motion.inverse @ (effort - law.effort + friction))


def limit_names(robot: Robot, parameters: Any) -> tuple[str, ...]:
    """Names of the rows of the filter's program."""
    names = [f"{joint}.motion" for joint in robot.joint_names]
    names += ["tip_speed", "tip_speed_across0", "tip_speed_across1"] * parameters.safety_limits_speed
    names += [f"plane{place}" for place in range(len(parameters.safety_half_spaces))]
    names += [f"sphere{place}" for place in range(len(parameters.safety_obstacles))]
    return (*names, *(["singularity"] * parameters.safety_avoids_singularities))


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


def joint_bounds(parameters: Any, state: State) -> tuple[Array, Array]:
    """Least and greatest accelerations of the joints within their limits, each of shape (n,) [rad/s^2 or m/s^2]."""
    k, (least, most) = parameters.safety_rate, parameters.safety_positions

    def greatest(distance: Array, v: Array) -> Array:
        speed, slope = approach(distance, k, parameters.safety_braking, 0.5 * parameters.safety_velocities)
        return np.minimum(k * (speed - v) - slope * v, k * (parameters.safety_velocities - v))

    return -greatest(state.q - least, -state.v), greatest(most - state.q, state.v)


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


class TipLimit(NamedTuple):
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


def tip_rows(dynamics: Any, parameters: Any, state: State, free: Array) -> list[TipLimit]:
    """The limits of the tip; ``free`` are the accelerations without the filter."""
    rows: list[TipLimit] = []
    k, margin = parameters.safety_rate, parameters.safety_tip_distance
    workspace, of_speed = (YIELDING[kind] * parameters.safety_tip_braking**2 for kind in ("workspace", "tip_speed"))

    def least(h: Any, speed: Any, deceleration: Any, back: float) -> Any:
        allowed, slope = approach(h, k, deceleration, back)
        return -slope * speed - k * (speed + allowed)

    def add(h: Any, speed: Any, direction: Array, turning: Any) -> None:
        bound = least(h - margin, speed, parameters.safety_tip_braking, _RETURN_SPEED) - direction @ drift - turning
        rows.append(TipLimit(direction @ jacobian, bound, np.inf, workspace))

    if parameters.safety_limits_speed or parameters.safety_half_spaces or parameters.safety_obstacles:
        position = dynamics.forward_kinematics(state.q)[:3, 3]
        jacobian = dynamics.jacobian(state.q)[:3]
        drift = dynamics.jacobian_derivative(state.q, state.v)[:3] @ state.v
        velocity = jacobian @ state.v
    if parameters.safety_limits_speed:
        axes, most = speed_box(velocity, velocity + (jacobian @ free + drift) / k, parameters.safety_tip_limit)
        for axis, own in zip(axes, most, strict=True):
            speed, turning = axis @ velocity, axis @ drift
            rows.append(TipLimit(axis @ jacobian, -k * (own + speed) - turning, k * (own - speed) - turning, of_speed))
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
        rows.append(TipLimit(slope, bound, np.inf, YIELDING["singularity"] * _SINGULARITY_BRAKING**2))
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
    sideways = np.clip(np.sqrt(aside @ aside + _TINY**2), _TRANSVERSE_SHARE * most, 0.9 * most)
    along = np.sqrt((1.0 - _TRANSVERSE_SHARE**2) * most**2 - sideways**2)
    return [ahead, second, np.cross(ahead, second)], [along, sideways, _TRANSVERSE_SHARE * most]


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
