# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A safety filter around any law: it changes the law's efforts as little as keeps the robot within its limits.

A limit is a distance h(q) >= 0. A control barrier function of second order, [XiaoBelta] (Definition 7), keeps it by a
bound on its second derivative: with a speed s(h) at which the robot may approach,

    psi = h' + s(h) >= 0  is kept by  psi' + k psi = h'' + s'(h) h' + k (h' + s(h)) >= 0.

s is the speed from which a deceleration a stops the robot just before the limit; close to the limit it is k h
(`approach`). Over a control period T the joints gain the speed T q'', with implicit viscous friction as in the
simulated robot,

    q'' = (M + T D)^-1 (tau + d - h(q, v) - D v + f),

so that the bound is linear in the efforts, and each tick solves a quadratic program with the compiled model,

    minimise  (q'' - q''_law)^T (M + T D) (q'' - q''_law) ,

Gauss' principle of least constraint: a joint limit acts on its joint like a mechanical stop, and the other joints move
as under the law. d is the model error, measured by a momentum observer (`expected_motion`); f is dry friction
(`law_motion`, `applied_effort`). Effort limits always hold: q''_law results from the law's efforts clipped to them.
Limits that contradict these or each other give way by a slack, those with the least `YIELDING` last. If no limit is
near, the law's efforts are unchanged, bit for bit.
"""

from __future__ import annotations

from collections import namedtuple
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.base.errors import InputError
from robodyn_ros.control.contract.compiled_law import initial_memory, memory_numbers
from robodyn_ros.control.contract.controller import JointReference, Law
from robodyn_ros.control.contract.law_drawings import DrawnShape, declare_drawing, drawn_fields
from robodyn_ros.control.contract.state import State
from robodyn_ros.control.contract.terms import TRANSFER, Terms, as_terms
from robodyn_ros.control.contract.transfer import Transfer, no_transfer, transferred
from robodyn_ros.control.contract.wrapped_law import check_law, finish, takes_memory
from robodyn_ros.control.optimisation import qp
from robodyn_ros.control.optimisation.safety_limits import (
    applied_effort,
    expected_motion,
    law_motion,
    limit_names,
    limit_rows,
    manipulability,
    with_newest,
)
from robodyn_ros.control.optimisation.safety_parameters import SafetyParameters
from robodyn_ros.description.model import Array
from robodyn_ros.robot import Robot

SUFFIX = "+safety"
"""Suffix of the name of a filtered controller."""

_LENGTH = 0.15  # of an arrow [m]
_ACTIVE = 1e-9  # a limit whose multiplier exceeds this changes the efforts


class FilterMemory(NamedTuple):
    """Memory of a filtered law.

    Attributes:
        law: Memory of the law itself; None: it has none.
        multipliers: Multipliers of the last program: limits as in `limit_names`, then efforts, shape (m + n,). Nonzero:
            the limit changes the efforts.
        slack: Violation of each limit in `limit_names`, shape (m,) [rad/s^2, m/s^2, 1/s^2].
        status: Status of the program, see `robodyn_ros.control.optimisation.qp`, shape (1,).
        correction: Filtered efforts minus those of law and transfer, shape (n,) [N m or N].
        disturbance: d, shape (n,) [N m or N].
        v: Velocities of the last tick, shape (n,) [rad/s or m/s].
        acceleration: Accelerations that the model without d predicts for the efforts of the last ticks, newest first,
            shape (1 + delay, n) [rad/s^2 or m/s^2].
        friction: `LawMotion.multipliers`.
        transfer: From the efforts of the law before; the filter gets their sum with those of the law.
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
    transfer: Transfer


def model_names(joints: tuple[str, ...], parameters: Any) -> tuple[str, ...]:
    """Names of ``disturbance``, ``v``, ``acceleration`` and ``friction`` of `FilterMemory`."""
    delayed = (f".{count}_periods_ago" * bool(count) for count in range(1 + parameters.safety_delay))
    fields = ("disturbance", "velocity", *(f"acceleration{ago}" for ago in delayed),
              *["friction"] * parameters.safety_slides)
    return tuple(f"{joint}.{field}" for field in fields for joint in joints)


def transfer_names(joints: tuple[str, ...]) -> tuple[str, ...]:
    """Names of the numbers of a `Transfer`."""
    return (*(f"{joint}.transfer" for joint in joints), "transfer_elapsed", "transfer_duration")


def check_start(robot: Robot, parameters: Any, state: State) -> None:
    """Refuse a start beyond a limit of the tip: behind a plane, in a sphere, or near a singularity.

    Raises:
        InputError: The start is beyond a limit; the message says how far.
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


def within_positions(parameters: Any, reference: JointReference) -> JointReference:
    """Clip a reference to the position limits; a clipped joint rests at its limit.

    Otherwise a law that couples joints, as computed torque does by the mass matrix, would drive the other joints away
    from their goals by the error of a limited joint.
    """
    least, most = parameters.safety_positions
    q = np.clip(reference.q, least, most)
    return JointReference(q, *(np.where(q == reference.q, each, 0.0) for each in (reference.v, reference.a)))


def filtered_effort(dynamics: Any, parameters: Any, state: State, effort: Array, memory: FilterMemory
                    ) -> tuple[Array, FilterMemory]:
    """Return the efforts nearest to a law's within the limits, shape (n,) [N m or N], and the filter's own memory."""
    limits = parameters.safety_efforts
    effort, transfer = transferred(memory.transfer, effort, limits, state.period)
    motion = expected_motion(dynamics, parameters, state, memory)
    law = law_motion(parameters, motion, np.clip(effort, -limits, limits), memory.friction)
    rows = limit_rows(dynamics, parameters, motion, law.acceleration, motion.inverse, list(range(len(limits))))
    found = qp.solve(motion.inverse, np.zeros(len(limits)), rows.matrix, rows.lower, rows.upper, -limits - law.effort,
                     limits - law.effort, yielding=rows.yielding, warm=memory.multipliers)
    change = rows.matrix @ found.x
    slack = np.maximum(np.maximum(rows.lower - change, change - rows.upper), 0.0)
    safe, acceleration = applied_effort(parameters, motion, law, found.x)
    accelerations = with_newest(memory, acceleration - motion.inverse @ motion.disturbance)
    return safe, FilterMemory(None, found.multipliers, slack, np.stack([found.status]), safe - effort,
                              motion.disturbance, state.v, accelerations, law.multipliers, transfer)


def filtered_terms(parameters: Any, state: State, terms: Terms, safe: Array, memory: FilterMemory, after: FilterMemory
                   ) -> Terms:
    """Return the result of `filtered_effort` with the terms of the law, ``transfer`` and ``filter``."""
    def parts() -> dict[str, Array]:
        passed, _ = transferred(memory.transfer, terms.effort, parameters.safety_efforts, state.period)
        return (terms + Terms(filter=after.correction)).parts() | {TRANSFER: passed - terms.effort}

    return Terms.split(safe, parts)


def filter_memory(robot: Robot, parameters: Any, state: State, law: Any) -> FilterMemory:
    """Return the memory before the first tick, including the law's."""
    m, n = len(limit_names(robot, parameters)), robot.n
    return FilterMemory(law, np.zeros(m + n), np.zeros(m), np.zeros(1), np.zeros(n), np.zeros(n), np.array(state.v),
                        np.zeros((1 + parameters.safety_delay, n)), np.zeros(n * parameters.safety_slides),
                        no_transfer(n))


def filter_memory_names(robot: Robot, parameters: Any) -> tuple[str, ...]:
    """Return the names of all numbers of `FilterMemory`, except the law's."""
    joints, limits = robot.joint_names, limit_names(robot, parameters)
    names = [*limits, *(f"{joint}.effort" for joint in joints), *(f"{limit}.slack" for limit in limits), "status",
             *(f"{joint}.correction" for joint in joints), *model_names(joints, parameters),
             *transfer_names(joints)]
    return tuple(f"safety.{name}" for name in names)


@cache
def filtered(law_class: type[Law[Any, Any, Any]]) -> type[Law[Any, Any, Any]]:
    """Return the filtered class of a law; always the same class for the same law.

    Args:
        law_class: The law's class.

    Raises:
        InputError: It is not a `Law`, which can be compiled with the filter.
    """
    check_law(law_class, "the safety filter")
    own, has_memory = law_class.law, takes_memory(law_class)

    class Filtered(law_class):  # type: ignore[misc, valid-type]
        __doc__ = (f"`{law_class.__name__}` within the limits of the robot, "
                   "see `robodyn_ros.control.optimisation.safety_filter`.")

        Drawing = with_limits(law_class.Drawing)

        def draw(self, state: State) -> Any:
            multipliers = self.memory.multipliers
            inner = {} if law_class.Drawing is None else super().draw(state)._asdict()
            return self.Drawing(**inner, **active_limits(self.robot, self.parameters, state, multipliers))

        def initial_memory(self, state: State) -> FilterMemory:
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
        def law(dynamics: Any, parameters: Any, state: State, reference: Any, memory: FilterMemory) -> Any:
            if isinstance(reference, JointReference):
                reference = within_positions(parameters, reference)
            if has_memory:
                effort, after = own(dynamics, parameters, state, reference,
                                    np.zeros(0) if memory.law is None else memory.law)
                after = None if memory.law is None else after
            else:
                effort, after = own(dynamics, parameters, state, reference), None
            terms = as_terms(effort)
            safe, found = filtered_effort(dynamics, parameters, state, terms.effort, memory)
            return filtered_terms(parameters, state, terms, safe, memory, found), found._replace(law=after)

    return finish(Filtered, filtered, SUFFIX, SafetyParameters)


class ActiveLimits(NamedTuple):
    """Limits that change the efforts."""

    safety_joints: Array = declare_drawing(
        DrawnShape.ARROWS, "Joints whose limits of position and velocity act: their axes", (0.9, 0.1, 0.1))
    safety_tip: Array = declare_drawing(
        DrawnShape.ARROWS, "Planes and spheres that hold the tip off: their normals", (0.9, 0.1, 0.6))


def with_limits(record: Any) -> Any:
    """Return a drawing class with the fields of another one, or of None, followed by those of `ActiveLimits`."""
    fields = {**drawn_fields(record), **drawn_fields(ActiveLimits)}
    return namedtuple("Drawing", fields, defaults=fields.values())  # noqa: PYI024 - its fields are not known here


def active_limits(robot: Robot, parameters: Any, state: State, multipliers: Array) -> dict[str, Array]:
    """Return the fields of `ActiveLimits`.

    Args:
        robot: The robot.
        parameters: Of the filtered law.
        state: The measured state.
        multipliers: Of the limits, as in `FilterMemory`.
    """
    dynamics = robot.dynamics()
    axes = []
    for index, joint in enumerate(robot.model.leaders):
        if abs(multipliers[index]) > _ACTIVE:
            pose = dynamics.forward_kinematics(state.q, joint.link)
            axes.append([pose[:3, 3], pose[:3, 3] + _LENGTH * pose[:3, :3] @ joint.axis])
    tip = dynamics.forward_kinematics(state.q)[:3, 3]
    first = robot.n + 3 * bool(parameters.safety_limits_speed)
    normals = [np.array(plane[:3]) for plane in parameters.safety_half_spaces]
    normals += [tip - np.array(sphere[:3]) for sphere in parameters.safety_obstacles]
    held = [[tip, tip + _LENGTH * normal / max(float(np.linalg.norm(normal)), 1e-9)]
            for index, normal in enumerate(normals) if abs(multipliers[first + index]) > _ACTIVE]
    return {"safety_joints": np.reshape(axes, (-1, 2, 3)), "safety_tip": np.reshape(held, (-1, 2, 3))}
