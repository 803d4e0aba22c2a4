# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Hybrid position and force control: a wrench along some axes, a motion along the remaining ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from robodyn_ros.base.errors import InputError
from robodyn_ros.control.contract.controller import Law, State
from robodyn_ros.control.contract.parameters import scalar
from robodyn_ros.control.contract.terms import Terms
from robodyn_ros.control.default_gains import slowed
from robodyn_ros.control.laws.operational_space import OperationalSpaceParameters, operational_space_effort
from robodyn_ros.control.laws.task_space import (
    AXES,
    axis_rows,
    task_axes,
    task_errors,
    tip_acceleration,
)
from robodyn_ros.control.references.tip_reference import ForceReference
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.robot_dynamics import Dynamics
from robodyn_ros.robot import Robot


def last_translation(robot: Robot) -> str:
    """The last of x, y, z along which the robot can move its tip link; its first axis if there is none."""
    axes = task_axes(robot).split()
    return [axis for axis in axes if axis in AXES[:3] or axis == axes[0]][-1]


@dataclass(frozen=True, eq=False)
class ForceParameters(OperationalSpaceParameters):
    """Gains of `Force`.

    Attributes:
        force_axes: Axes along which the wrench is controlled, some of `axes`, with spaces between.
        force_i: Wrench per integral of its error, K_f [1/s].
        force_i_clamp: Greatest force or torque of the integral [N or N m].
        force_d: Braking acceleration per velocity along these axes [1/s].
    """

    force_axes: str = scalar(
        last_translation, structural=True, description="Axes along which the wrench is controlled, some of axes"
    )
    force_i: float = scalar(5.0, unit="1/s", minimum=0.0, description="Wrench per integral of its error, K_f")
    force_i_clamp: float = scalar(
        20.0, unit="N", minimum=0.0, description="Greatest force (or torque, in N m) of the integral"
    )
    force_d: float = scalar(
        slowed(40.0, 1, 40.0), unit="1/s", minimum=0.0,
        description="Braking acceleration per velocity along these axes"
    )

    def for_robot(self, robot: Robot) -> Self:
        """As in `TaskSpaceParameters`.

        Raises:
            InputError: As there, or `force_axes` are not some of `axes`.
        """
        complete = super().for_robot(robot)
        if not set(axis_rows(complete.force_axes)) <= set(complete.rows):
            raise InputError(f"force_axes: expected some of the axes {complete.axes!r}, received "
                             f"{complete.force_axes!r}")
        return complete


class ForceMemory(NamedTuple):
    """Memory of `Force`.

    Attributes:
        posture: Posture at activation, shape (n,) [rad or m].
        integral: Integral of the wrench error along each controlled axis, shape (m,) [N, N m].
    """

    posture: Array
    integral: Array


class Force(Law[ForceParameters, ForceReference, ForceMemory]):
    """tau = J^T (Lambda r''* + S (f_d + K_f (integral of f_d - f)) + eta) + posture.

    The hybrid control of [Khatib], case (e) in the list of [Yamamoto] 6.2, in operational space (`OperationalSpace`). S
    selects the force axes. Along them r''* only brakes, r''* = -K_fv r', and the reference's wrench is added. With an
    exact model the tip exerts this wrench even if it is not measured; a measured wrench lets an integral remove the
    remaining error. Along the other axes r''* is that of (6.49).

    The reference's wrench is exerted by the tip link on the environment; it has the opposite sign of
    `State.wrench_tip`. Without contact the tip moves along the axes of force until it meets something, at a speed f /
    (Lambda K_fv).
    """

    @staticmethod
    def law(
        dynamics: Dynamics, parameters: ForceParameters, state: State, reference: ForceReference,
        memory: ForceMemory
    ) -> tuple[Terms, ForceMemory]:
        """As in `Law`."""
        rows = parameters.rows
        posture, integral = memory.posture, memory.integral
        selected = axis_rows(parameters.force_axes)
        pushes = np.array([1.0 if row in selected else 0.0 for row in rows])
        errors = task_errors(dynamics, rows, state, reference)
        moving = tip_acceleration(parameters, errors, reference)
        braking = -parameters.force_d * (errors.jacobian @ state.v)
        wanted = (1.0 - pushes) * moving + pushes * braking
        wrench = reference.wrench[rows]
        effort = operational_space_effort(dynamics, parameters, state, errors.jacobian, wanted, posture, reference)
        effort = effort + Terms(force=errors.jacobian.T @ (pushes * (wrench + integral)))
        measured = -state.wrench_tip[rows]
        left = np.where(np.isnan(measured), 0.0, wrench - measured)  # NaN if not measured
        limit = parameters.force_i_clamp
        integral = np.clip(integral + pushes * parameters.force_i * state.period * left, -limit, limit)
        return effort, ForceMemory(posture, integral)

    def initial_memory(self, state: State) -> ForceMemory:
        """Keep the present posture; the integral is 0."""
        return ForceMemory(state.q.copy(), np.zeros(len(self.parameters.rows)))
