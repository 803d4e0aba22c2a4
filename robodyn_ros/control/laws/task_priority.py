# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Tasks in priority levels within limits: one quadratic program per level computes the efforts at every tick.

The tasks are accelerations of the tip link, and below them those of the posture, a_0. Let x be the chain's efforts in
addition to those of the posture, tau = M a_0 + h + g + D v + x. Then the joints accelerate by a_0 + M^-1 x. A program
is

    minimise    1/2 x^T M^-1 x + 1/2 s^T W^-1 s
    subject to  J M^-1 x + s = r''* - J' v - J a_0,  and limits of x and M^-1 x,

with the slack s of the tasks, one soft row each ([Arnström]). Without an active limit its solution is that of
operational space control, x = J^T (J M^-1 J^T + W)^-1 (r''* - J' v - J a_0), [Khatib]. W = (1 / weight + mu) S has the
damping mu near singular positions of `laws.singularity`. With a weight of 1e6 the tip has priority over the posture to
one part in 1e6; a higher weight would leave fewer digits for the efforts. With several levels, each program keeps the
results of the levels before it as equations [Escande]. Each program has n variables, for any number of levels; a single
program for all levels would need a weight of 1e12 for the second level.

In a transfer (`control.contract.transfer`) from efforts tau(0-), the programs begin at the accelerations of efforts
with the offset, and their tasks are what is missing from there on:

    a_0(t) + s(t / T) M^-1 d,    d = tau(0-) - tau(0) at a_0 and x = 0,
    J M^-1 x = r(t) - s(t / T) r(0),    r = r''* - J' v - J a_0.

So the first efforts are tau(0-), except where a limit forbids it, and all limits hold meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from robodyn_ros.base.errors import InputError
from robodyn_ros.control.contract.controller import Law, State
from robodyn_ros.control.contract.parameters import derived, scalar
from robodyn_ros.control.contract.terms import TRANSFER, Terms, bias_terms
from robodyn_ros.control.contract.transfer import Transfer, decayed, no_transfer
from robodyn_ros.control.laws.operational_space import OperationalSpaceParameters
from robodyn_ros.control.laws.singularity import singularity_damping, singularity_thresholds, solve_damped
from robodyn_ros.control.laws.task_space import AXES, axis_rows, task_axes, task_errors, tip_acceleration
from robodyn_ros.control.optimisation import qp
from robodyn_ros.control.optimisation.safety_filter import check_start, model_names, transfer_names
from robodyn_ros.control.optimisation.safety_limits import (
    YIELDING,
    ExpectedMotion,
    LimitRows,
    expected_motion,
    joint_bounds,
    law_motion,
    limit_names,
    with_newest,
)
from robodyn_ros.control.optimisation.safety_limits import limit_rows as rows_of_filter
from robodyn_ros.control.optimisation.safety_parameters import SafetyParameters, half_space
from robodyn_ros.control.references.tip_reference import TipReference
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.robot_dynamics import Dynamics
from robodyn_ros.robot import Robot

NO_FORCE_LIMIT = 1e6
"""A force limit of this or more means no limit [N]."""

_SMALLEST_NORMAL = 1e-3  # of a surface's normal along the axes


def _translations(parameters: Any) -> list[int]:
    """Return the controlled translation rows of the Jacobian."""
    return [row for row in parameters.rows if row < 3]


def _level_thresholds(robot: Robot, complete: Any) -> Array:
    """Return for each level the thresholds of its axes and of earlier levels, 0 for later ones, shape (levels, m)."""
    thresholds = np.zeros((len(complete.levels), len(complete.rows)))
    places = list[int]()
    for level, own in zip(thresholds, complete.levels, strict=True):
        places = sorted([*places, *own])
        rows = [complete.rows[place] for place in places]
        level[places] = singularity_thresholds(robot, rows, complete.singularity, with_inertia=True)
    return thresholds


def _force_thresholds(robot: Robot, complete: Any) -> Array:
    rows = _translations(complete)
    return singularity_thresholds(robot, rows, complete.singularity, with_inertia=True) if rows else np.zeros(0)


def _surface(robot: Robot, complete: Any) -> tuple[float, ...]:
    """Return normal and distance of the surface; empty: none."""
    found = half_space(complete.contact_plane, "contact_plane")
    if found and np.linalg.norm(np.array(found)[_translations(complete)]) < _SMALLEST_NORMAL:
        raise InputError(f"contact_plane: expected a normal along the axes '{complete.axes}', received "
                         f"{complete.contact_plane!r}")
    return found


@dataclass(frozen=True, eq=False)
class TaskPriorityParameters(OperationalSpaceParameters, SafetyParameters):
    """Tasks, levels and limits of `TaskPriority`; the limits of joints and tip are those of the safety filter.

    Attributes:
        axes: Some of `AXES`, separated by spaces, in levels separated by semicolons.
        weight: Weight of the tip's tasks relative to the posture.
        effort_share: Share of the effort limits.
        tip_force: Greatest force of the tip along each controlled translation [N].
        contact_plane: Plane of a surface, in the base frame.
        contact_distance: [m].
        contact_force: Greatest normal force on the surface [N].
        contact_friction: Coefficient of friction.
        safety_friction: `friction`.
        level_thresholds: As `thresholds`, for each level, shape (levels, m).
        force_thresholds: As `thresholds`, for the controlled translations.
        surface: Return normal and distance of the surface; empty: none.
        limits_force: Whether the force of the tip is limited.
        limits_slip: Whether the tip's force stays in the cone of friction.
    """

    axes: str = scalar(
        task_axes, structural=True, description="Axes of the base that are controlled, some of x y z rx ry rz; "
        "semicolons divide them into levels, of which those before go first")
    weight: float = scalar(
        1e6, minimum=1e-3, maximum=1e8, description="Weight of the axes over the posture; from 1e6 on they go first")
    effort_share: float = scalar(
        1.0, minimum=1e-3, maximum=1.0, description="Share of the effort limits that the law uses")
    tip_force: float = scalar(
        NO_FORCE_LIMIT, unit="N", minimum=1e-3, maximum=NO_FORCE_LIMIT, structural=True,
        description="Greatest force of the tip on what holds it, along each of the axes x y z that are controlled; "
        f"{NO_FORCE_LIMIT:g}: any")
    contact_plane: str = scalar(
        "", structural=True, description="Surface that the tip touches, in the base frame, n p = d with n towards the "
        "robot: nx ny nz d; empty: none")
    contact_distance: float = scalar(
        0.005, unit="m", minimum=0.0, maximum=1.0,
        description="Distance between tip and surface below which its force is limited")
    contact_force: float = scalar(
        20.0, unit="N", minimum=1e-3, maximum=NO_FORCE_LIMIT, description="Greatest normal force on the surface")
    contact_friction: float = scalar(
        0.0, minimum=0.0, maximum=10.0, structural=True, description="Coefficient of friction in whose cone the force "
        "on the surface stays while the reference is there, so that the tip does not slip; 0: any force")
    safety_friction: Array = derived(lambda _, complete: complete.friction)
    level_thresholds: Array = derived(_level_thresholds)
    force_thresholds: Array = derived(_force_thresholds)
    surface: tuple[float, ...] = derived(_surface, structural=True)
    limits_force: bool = derived(lambda _, complete: bool(complete.tip_force < NO_FORCE_LIMIT), structural=True)
    limits_slip: bool = derived(
        lambda _, complete: bool(complete.contact_plane.strip() and complete.contact_friction > 0.0), structural=True)

    def for_robot(self, robot: Robot) -> Self:
        """As in `TaskSpaceParameters`.

        Raises:
            InputError: As there; the chain has more joints than a program may have variables; or a force is limited
                but no translation controlled.
        """
        complete = super().for_robot(robot)
        if len(complete.safety_tip_joints) > qp.LARGEST[0]:
            raise InputError(f"task_priority: expected at most {qp.LARGEST[0]} joints that move '{robot.tip_link}', "
                             f"received {len(complete.safety_tip_joints)}")
        if complete.limits_force and not _translations(complete):
            raise InputError(f"tip_force: expected a translation among the axes, received '{complete.axes}'")
        return complete

    @property
    def rows(self) -> list[int]:
        """Controlled rows of the Jacobian, of all levels."""
        return axis_rows(self.axes.replace(";", " "), self.axes)

    @property
    def levels(self) -> list[list[int]]:
        """For each level the indices of its axes in `rows`."""
        rows = self.rows
        return [[rows.index(row) for row in axis_rows(level, self.axes)] for level in self.axes.split(";")]


class PriorityMemory(NamedTuple):
    """Memory of `TaskPriority`.

    Attributes:
        q: Posture at activation, shape (n,) [rad or m].
        multipliers: Multipliers of the programs, level by level: limits as in `limit_row_names`, axes, efforts. Nonzero
            for active limits.
        status: Worst status of the programs, see `robodyn_ros.control.optimisation.qp`, shape (1,).
        slack: Violation of each limit in `limit_row_names` [rad/s^2, m/s^2, 1/s^2, N], then missing accelerations of
            the tip, shape (rows + m,) [m/s^2, rad/s^2].
        disturbance: As in `safety_filter.FilterMemory`, like the next fields.
        v: Likewise.
        acceleration: Likewise.
        friction: Likewise.
        task_offset: Offset of the tasks in a transfer, shape (m,) [m/s^2, rad/s^2].
        transfer: From the efforts of the law before.
    """

    q: Array
    multipliers: Array
    status: Array
    slack: Array
    disturbance: Array
    v: Array
    acceleration: Array
    friction: Array
    task_offset: Array
    transfer: Transfer


class TaskPriority(Law[TaskPriorityParameters, TipReference, PriorityMemory]):
    """Operational space within limits, see `robodyn_ros.control.laws.task_priority`.

    r''* and a_0 are those of `OperationalSpace`; without active limits the efforts are the same. Effort limits always
    hold. Motion limits that contradict them or each other are violated as little as possible in least squares, with
    priority over the tasks (the first level of [Escande]). Joints outside the tip link's chain follow the reference's
    joint positions, with the nearest acceleration within their limits.
    """

    @staticmethod
    def law(
        dynamics: Dynamics, parameters: TaskPriorityParameters, state: State, reference: TipReference,
        memory: PriorityMemory,
    ) -> tuple[Terms, PriorityMemory]:
        """As in `Law`."""
        q, v, chain = state.q, state.v, list(parameters.safety_tip_joints)
        limit = parameters.effort_share * parameters.safety_efforts
        errors = task_errors(dynamics, parameters.rows, state, reference)
        mass_matrix = dynamics.mass_matrix(q)
        inverse = np.linalg.inv(mass_matrix[np.ix_(chain, chain)])
        by_effort = errors.jacobian[:, chain] @ inverse
        mobility = by_effort @ errors.jacobian[:, chain].T
        dampings = _dampings(parameters, mobility)
        a = parameters.posture_acceleration(state, memory.q, dampings[-1], reference)
        drift = dynamics.jacobian_derivative(q, v)[parameters.rows] @ v
        missing = tip_acceleration(parameters, errors, reference) - drift - errors.jacobian @ a
        motion = expected_motion(dynamics, parameters, state, memory)
        bias = bias_terms(dynamics, q + parameters.lead * v, v) + Terms(friction=parameters.friction * v)
        offset, transfer = decayed(memory.transfer, mass_matrix @ a + bias.effort, state.period)
        tasks_before = memory.transfer._replace(offset=np.where(memory.transfer.elapsed < 0.0, 0.0, memory.task_offset))
        task_offset, tasks_after = decayed(tasks_before, missing, state.period)
        a, missing = a + np.linalg.inv(mass_matrix) @ offset, missing + task_offset
        without_tip = Terms(posture=mass_matrix @ within_limits(parameters, motion, a)) + bias
        effort = without_tip.effort
        posture = law_motion(parameters, motion, effort, memory.friction)
        free = posture.acceleration
        by_tasks = np.eye(len(q))  # efforts of all joints by x that do not move the joints outside the chain
        if len(chain) < len(q):
            by_tasks = mass_matrix[:, chain] @ inverse
        limits = limit_rows(dynamics, parameters, motion, reference, a, free, motion.inverse @ by_tasks, inverse)
        bounds = (-limit - effort)[chain], (limit - effort)[chain]

        x, lower, upper, size = np.zeros(len(chain)), limits.lower, limits.upper, len(memory.multipliers)
        size //= len(parameters.levels)
        multipliers, status = list[Array](), np.asarray(qp.OPTIMAL)
        for number, places in enumerate(parameters.levels):
            tasks = _task_rows(parameters, number, missing, by_effort @ x)
            own = np.array([float(place in places) for place in range(len(missing))])
            softness = own * (1.0 / parameters.weight + dampings[number]) * parameters.level_thresholds[number]
            found = qp.solve(
                inverse, np.zeros(len(chain)), np.concatenate([limits.matrix, by_effort]),
                np.concatenate([lower, tasks[0]]), np.concatenate([upper, tasks[1]]), *bounds,
                softness=np.concatenate([np.zeros(len(lower)), softness]),
                yielding=np.concatenate([limits.yielding, parameters.level_thresholds[number]]),
                warm=memory.multipliers[number * size : (number + 1) * size])
            x, status = found.x, np.maximum(status, found.status)
            multipliers.append(found.multipliers)
            reached = limits.matrix @ x
            lower, upper = np.minimum(limits.lower, reached), np.maximum(limits.upper, reached)  # for the next levels
        slack = np.concatenate([limits.lower - lower + upper - limits.upper, missing - by_effort @ x])
        changed = np.clip(effort + by_tasks @ x, -limit, limit)
        expected = free + motion.inverse @ (changed - effort - motion.disturbance)

        def parts() -> dict[str, Array]:
            inner = without_tip.parts()
            return inner | {"posture": inner["posture"] - offset, "task": changed - effort, TRANSFER: offset}

        return Terms.split(changed, parts), PriorityMemory(
            memory.q, np.concatenate(multipliers), np.stack([status]), slack, motion.disturbance, v,
            with_newest(memory, expected), posture.multipliers, tasks_after.offset, transfer)

    def initial_memory(self, state: State) -> PriorityMemory:
        """The posture to keep is the present one."""
        own, n = self.parameters, self.robot.n
        rows = len(limit_row_names(self.robot, own)) + len(own.rows)
        multipliers = np.zeros(len(own.levels) * (rows + len(own.safety_tip_joints)))
        return PriorityMemory(state.q.copy(), multipliers, np.zeros(1), np.zeros(rows), np.zeros(n), np.array(state.v),
                              np.zeros((1 + own.safety_delay, n)), np.zeros(n * own.safety_slides),
                              np.zeros(len(own.rows)), no_transfer(n))

    def memory_names(self) -> tuple[str, ...]:
        """As in `Law`."""
        own, joints = self.parameters, self.robot.joint_names
        rows = [*limit_row_names(self.robot, own), *(f"{AXES[row]}.task" for row in own.rows)]
        names = [*rows, *(f"{joints[k]}.effort" for k in own.safety_tip_joints)]
        levels = [f"level{number}.{name}" for number in range(1, len(own.levels) + 1) for name in names]
        return (*(f"{joint}.posture" for joint in joints), *(names if len(own.levels) == 1 else levels), "status",
                *(f"{row}.slack" for row in rows), *model_names(joints, own),
                *(f"{AXES[row]}.transfer" for row in own.rows), *transfer_names(joints))

    def check_start(self, state: State) -> None:
        """Refuse a start with the tip beyond a limit of its position."""
        check_start(self.robot, self.parameters, state)


def _dampings(parameters: TaskPriorityParameters, mobility: Array) -> list[Any]:
    """Return mu for each level, for its and all earlier axes together, which may be singular although each is not."""
    places, dampings = list[int](), list[Any]()
    for number, own in enumerate(parameters.levels):
        places = sorted([*places, *own])
        thresholds = parameters.level_thresholds[number][places]
        dampings.append(singularity_damping(mobility[np.ix_(places, places)], thresholds))
    return dampings


def _task_rows(parameters: TaskPriorityParameters, number: int, missing: Array, reached: Array) -> tuple[Array, Array]:
    """Return bounds of the axis rows in a level's program: results of earlier levels, its own tasks, or none."""
    lower, upper = list[Any](), list[Any]()
    before = [place for level in parameters.levels[:number] for place in level]
    for place in range(len(parameters.rows)):
        known = place in before or place in parameters.levels[number]
        value = reached[place] if place in before else missing[place]
        lower.append(value if known else -np.inf)
        upper.append(value if known else np.inf)
    return np.stack(lower), np.stack(upper)


def limit_row_names(robot: Robot, parameters: TaskPriorityParameters) -> tuple[str, ...]:
    """Return the names of the rows of `limit_rows`."""
    joints, of_filter = robot.joint_names, limit_names(robot, parameters)
    names = [of_filter[k] for k in parameters.safety_tip_joints]
    names += of_filter[len(joints):]
    names += [f"tip_force.{AXES[row]}" for row in _translations(parameters) if parameters.limits_force]
    names += ["contact.normal"] * bool(parameters.surface)
    return (*names, *(f"contact.friction{place}" for place in range(4 * parameters.limits_slip)))


def within_limits(parameters: TaskPriorityParameters, motion: ExpectedMotion, a: Array) -> Array:
    """Clip the accelerations of joints outside the chain to their limits, shape (n,)."""
    others = np.setdiff1d(np.arange(len(a)), parameters.safety_tip_joints)
    result = np.array(a)
    if len(others):
        lower, upper = joint_bounds(parameters, motion.state)
        unknown = motion.inverse @ motion.disturbance
        result[others] = np.clip(a + unknown, lower, upper)[others] - unknown[others]
    return result


def limit_rows(dynamics: Any, parameters: TaskPriorityParameters, motion: ExpectedMotion, reference: TipReference,
               a: Array, free: Array, response: Array, inverse: Any) -> LimitRows:
    """Return the safety filter's limits of joints and tip, and the limits of the tip's force.

    Args:
        dynamics: The robot's dynamics.
        parameters: In force.
        motion: Of the model.
        reference: The reference.
        a: a_0, shape (n,).
        free: Accelerations for x = 0, shape (n,).
        response: Accelerations per effort in x, shape (n, c).
        inverse: M^-1 of the chain, shape (c, c).
    """
    braking = parameters.safety_braking
    cost = braking @ (motion.mass_matrix @ braking)
    rows = [rows_of_filter(dynamics, parameters, motion, free, response, list(parameters.safety_tip_joints))]
    for force, least, most in _force_rows(dynamics, parameters, motion.state, reference, a, inverse):
        yielding = YIELDING["workspace"] / cost * parameters.contact_force**2
        rows.append(LimitRows(force[None, :], *(np.stack([each]) for each in (least, most, yielding))))
    return LimitRows(*(np.concatenate(each) for each in zip(*rows, strict=True)))


def _force_rows(dynamics: Any, parameters: TaskPriorityParameters, state: State, reference: TipReference, a: Array,
                inverse: Any) -> Iterator[tuple[Array, Any, Any]]:
    """Yield rows and bounds of the force f that the tip exerts on what holds it in place: f = Lambda (J a + J' v).

    The friction cone is approximated by a pyramid inside it [DelPrete]: |t f| <= friction / sqrt(2) (-n f).
    """
    if not (parameters.limits_force or parameters.surface):
        return
    axes, chain = _translations(parameters), list(parameters.safety_tip_joints)
    jacobian = dynamics.jacobian(state.q)[axes]
    free = jacobian @ a + dynamics.jacobian_derivative(state.q, state.v)[axes] @ state.v
    by_effort = jacobian[:, chain] @ inverse
    mobility = by_effort @ jacobian[:, chain].T
    damping = singularity_damping(mobility, parameters.force_thresholds)
    held = solve_damped(mobility, parameters.force_thresholds, damping, np.concatenate([by_effort, free[:, None]], 1))
    force, offset = held[:, :-1], held[:, -1]
    if parameters.limits_force:
        for row, known in zip(force, offset, strict=True):
            yield row, -parameters.tip_force - known, parameters.tip_force - known
    if parameters.surface:
        whole = np.array(parameters.surface[:3])
        normal, distance = whole[axes], parameters.surface[3]
        near = whole @ dynamics.forward_kinematics(state.q)[:3, 3] - distance
        most = np.where(near <= parameters.contact_distance, parameters.contact_force, np.inf)
        yield normal @ force, -most - normal @ offset, np.inf
        if parameters.limits_slip:
            wanted = np.maximum(near, whole @ reference.position - distance)
            tangent = np.cross(whole, np.eye(3)[np.argmin(np.abs(whole))])
            tangent = tangent / np.linalg.norm(tangent)
            inner = parameters.contact_friction / np.sqrt(2.0)
            for direction in (tangent, -tangent, np.cross(whole, tangent), -np.cross(whole, tangent)):
                edge = inner * normal + direction[axes]
                none = np.where(wanted <= parameters.contact_distance, 0.0, np.inf)
                yield edge @ force, -np.inf, none - edge @ offset
