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
"""Softness of contradicting limits, in squares of their decelerations over the cost of `braking`: joint limits give way
least, then box, planes and spheres, then the distance from singularities, and most the speed of the tip."""

_RETURN_SPEED = 0.25  # greatest speed of the tip on its way back from beyond a sphere or plane [m/s]
_SINGULARITY_BRAKING = 2.0  # deceleration of the share of manipulability [1/s^2]
_TINY = 1e-12
_EFFORT_ROUNDING = 1e-9  # effect of rounding on efforts, as a share of the effort limits
_STICKING_SPEED = 1e-9  # below it, a joint with dry friction sticks [rad/s or m/s]
_TRANSVERSE_SHARE = 0.15  # share of the tip's speed limit left across the direction in which the law accelerates it


class ExpectedMotion(NamedTuple):
    """Predicted state and dynamics at the time when the efforts of a tick act.

    Attributes:
        state: The predicted state.
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
    """Estimate the model error, and predict the state over the delay of the loop.

    d' = K (M (v' - v'_model) - d), the momentum observer of [DeLuca] over a control period; [Alan] uses such an
    estimate in a control barrier function. d is clipped to the effort limits, because impacts are not model errors.
    v'_model belongs to the efforts that acted during the period: with a delay, those of an earlier tick. The efforts
    that have not acted yet predict the state from the measured one.

    Args:
        dynamics: Of the robot.
        parameters: With the filter's fields.
        state: The measured state.
        memory: Has ``disturbance``, ``v`` and ``acceleration`` of the last tick, as in `FilterMemory`.
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
    """Return `FilterMemory.acceleration` for the next tick: the newest first."""
    return np.concatenate([acceleration[None], memory.acceleration[:-1]])


class LawMotion(NamedTuple):
    """Predicted motion under a law's efforts over the next control period.

    Attributes:
        effort: Efforts within the limits, shape (n,) [N m or N].
        sliding: Accelerations without dry friction, shape (n,) [rad/s^2 or m/s^2].
        acceleration: Accelerations with dry friction, shape (n,) [rad/s^2 or m/s^2].
        multipliers: Multipliers of the dry friction program, shape (n,); (0,) without dry friction.
    """

    effort: Array
    sliding: Array
    acceleration: Array
    multipliers: Array


def law_motion(parameters: Any, motion: ExpectedMotion, effort: Array, warm: Array) -> LawMotion:
    """Predict the motion under efforts, with the dry friction of the simulated robot.

    A sliding joint has its full friction f, against its velocity at the end of the period; a sticking joint has the
    friction that holds it [Stewart]. Hence f minimises the kinetic energy at the end, within its bounds.

    Args:
        parameters: With the filter's fields.
        motion: Prediction of the model.
        effort: Efforts within the limits, shape (n,) [N m or N].
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
    """Efforts that a tick applies, and the predicted acceleration.

    Attributes:
        effort: Shape (n,) [N m or N].
        acceleration: Shape (n,) [rad/s^2 or m/s^2].
    """

    effort: Array
    acceleration: Array


def applied_effort(parameters: Any, motion: ExpectedMotion, law: LawMotion, change: Array) -> AppliedEffort:
    """Compensate the change of dry friction that a change of the law's efforts causes.

    Dry friction changes its sign with the velocity of the joint. A joint with a changed effort gets the acceleration
    that the change would cause under unchanged friction: its effort compensates the friction of the new motion. The
    other joints keep the law's efforts, and their friction follows the motion of the changed joints. With declared
    model errors, the sign of the new velocity is uncertain, and compensation of the wrong sign would add to the
    friction; so none is made.

    Args:
        parameters: With the filter's fields.
        motion: Prediction of the model.
        law: The motion under the law's efforts.
        change: Change of the law's efforts, shape (n,) [N m or N].
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
    both = found.x  # friction plus effort change
    slides = np.abs(after) * parameters.safety_period > _STICKING_SPEED
    friction = np.where(is_changed, np.where(slides, -np.sign(after) * most, np.clip(both, -most, most)), both)
    effort = np.clip(law.effort + (both - friction), -limit, limit)
    return AppliedEffort(effort, law.sliding + motion.inverse @ (effort - law.effort + friction))


def limit_names(robot: Robot, parameters: Any) -> tuple[str, ...]:
    """Return the names of the rows of the filter's program."""
    names = [f"{joint}.motion" for joint in robot.joint_names]
    names += ["tip_speed", "tip_speed_across0", "tip_speed_across1"] * parameters.safety_limits_speed
    names += [f"plane{place}" for place in range(len(parameters.safety_half_spaces))]
    names += [f"sphere{place}" for place in range(len(parameters.safety_obstacles))]
    return (*names, *(["singularity"] * parameters.safety_avoids_singularities))


def approach(distance: Any, rate: Any, deceleration: Any, most: Any = np.inf) -> tuple[Any, Any]:
    """Return the permitted approach speed s(h) at a distance from a limit, and its slope s'(h).

    s = sqrt(2 a (h - h_0 / 2)), from which the deceleration a stops at h_0 / 2; below h_0 = a / k^2 its tangent, k h. s
    is odd: beyond the limit, the robot returns as it approached, at most at the speed ``most``.

    Args:
        distance: h, negative beyond the limit.
        rate: k.
        deceleration: a.
        most: Greatest speed of the return.
    """
    close, size = deceleration / rate**2, np.abs(distance)
    fast = np.sqrt(2.0 * deceleration * np.maximum(size - 0.5 * close, 0.5 * close))
    speed = np.where(size > close, np.sign(distance) * fast, rate * distance)
    slope = np.where(size > close, deceleration / fast, rate)
    return np.maximum(speed, -most), np.where(speed < -most, 0.0, slope)


def manipulability(jacobian: Array, joints: tuple[int, ...]) -> Any:
    """Manipulability sqrt(det(J J^T)) [Yoshikawa] of the tip link, 0 where it is singular.

    For three joints or fewer, J has only the rows of translations. If J has more rows than columns, the determinant is
    that of J^T J.

    Args:
        jacobian: Shape (6, n).
        joints: Indices of the joints that move the tip link.
    """
    own = jacobian[:3 if len(joints) <= 3 else 6][:, list(joints)]
    return np.sqrt(np.maximum(np.linalg.det(own @ own.T if len(own) <= len(joints) else own.T @ own), _TINY**2))


def joint_bounds(parameters: Any, state: State) -> tuple[Array, Array]:
    """Return lower and upper bounds of the joint accelerations, each of shape (n,) [rad/s^2 or m/s^2]."""
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
        upper: Shape (m,); infinite where there is no limit.
        yielding: As for `qp.solve`, shape (m,).
    """

    matrix: Array
    lower: Array
    upper: Array
    yielding: Array


def limit_rows(dynamics: Any, parameters: Any, motion: ExpectedMotion, free: Array, response: Array, joints: list[int]
               ) -> LimitRows:
    """Return limits of joints and tip as limits of additional efforts x.

    Args:
        dynamics: Of the robot.
        parameters: With the filter's fields.
        motion: Prediction of the model.
        free: Accelerations without x, shape (n,) [rad/s^2 or m/s^2].
        response: Accelerations per effort in x, shape (n, number of efforts).
        joints: Indices of the joints.
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
        lower: Lower bound.
        upper: Upper bound; infinite: none.
        yielding: `YIELDING` times a squared deceleration.
    """

    gradient: Any
    lower: Any
    upper: Any
    yielding: Any


def tip_rows(dynamics: Any, parameters: Any, state: State, free: Array) -> list[TipLimit]:
    """Return the limits of the tip; ``free``: accelerations without the filter."""
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
    """Return a box within the sphere of permitted tip velocities: orthogonal axes and half lengths of its sides.

    If v and w are in the sphere, so is (1 - k T) v + k T w, the velocity after a period T with the acceleration k (w -
    v). Hence the box bounds w, for any period. The first axis points along the law's target velocity, the second one
    towards the present velocity, across the first, and leaves room for it.

    Args:
        velocity: Velocity of the tip, shape (3,) [m/s].
        target: The law's w, shape (3,) [m/s].
        most: Radius of the sphere [m/s].
    """
    ahead = target / np.sqrt(target @ target + _TINY)
    x, y, z = ahead
    side = np.where(z < 0.0, -1.0, 1.0)
    across = np.array([1.0 - x * x / (1.0 + np.abs(z)), -x * y / (1.0 + np.abs(z)), -side * x])  # orthogonal to ahead
    aside = velocity - (ahead @ velocity) * ahead
    second = aside + 1e-6 * most * across
    second = second / np.sqrt(second @ second + _TINY**2)
    sideways = np.clip(np.sqrt(aside @ aside + _TINY**2), _TRANSVERSE_SHARE * most, 0.9 * most)
    along = np.sqrt((1.0 - _TRANSVERSE_SHARE**2) * most**2 - sideways**2)
    return [ahead, second, np.cross(ahead, second)], [along, sideways, _TRANSVERSE_SHARE * most]


def manipulability_motion(dynamics: Any, parameters: Any, state: State) -> tuple[Any, Array, Any]:
    """Return the share w of the greatest manipulability, its gradient, shape (n,), and w'' without accelerations."""
    kinematics = InlineDynamics(dynamics.model)  # for floats, too: the derivative traces it

    def size(q: Array) -> Any:
        return manipulability(kinematics.jacobian(q), parameters.safety_tip_joints)

    def speed(q: Array, v: Array) -> Any:
        return derivative_at(size, (q,)) @ v

    found = size(state.q), derivative_at(size, (state.q,)), derivative_at(speed, (state.q, state.v)) @ state.v
    share, slope, turning = (each / parameters.safety_manipulability for each in found)
    return share, slope, turning
