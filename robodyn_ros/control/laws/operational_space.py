# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Operational-space control: the dynamics of the tip link, decoupled along the controlled axes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robodyn_ros.control.contract.controller import Law, State
from robodyn_ros.control.contract.parameters import derived
from robodyn_ros.control.contract.terms import Terms, bias_terms
from robodyn_ros.control.laws.singularity import singularity_damping, singularity_thresholds, solve_damped
from robodyn_ros.control.laws.task_space import (
    AccelerationParameters,
    Posture,
    task_errors,
    tip_acceleration,
)
from robodyn_ros.control.references.tip_reference import ForceReference, TipReference
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.factorization import solve_mass
from robodyn_ros.dynamics.robot_dynamics import Dynamics


@dataclass(frozen=True, eq=False)
class OperationalSpaceParameters(AccelerationParameters):
    """Gains of `OperationalSpace`.

    Attributes:
        thresholds: Diagonal of S of `singularity_damping` for J M^-1 J^T, shape (m,).
    """

    thresholds: Array = derived(
        lambda robot, complete: singularity_thresholds(robot, complete.rows, complete.singularity, with_inertia=True)
    )


class OperationalSpace(Law[OperationalSpaceParameters, TipReference, Posture]):
    """tau = J^T F + (1 - J^T J^+T) tau_0, F = Lambda r''* + eta, r''* = r''_d + K_v (r'_d - r') + K_p (r_d - r).

    [LynchPark] 9.6, (9.97) to (9.99), for any number of joints [Khatib]. Lambda = (J M^-1 J^T)^-1 and eta are inertia
    and bias at the tip, J^+ = M^-1 J^T Lambda is the dynamically consistent inverse. Through it
    tau_0 = M (K_pp (q_0 - q) - K_pv v) + h + g + D v keeps the posture q_0 without accelerating the tip. Near singular
    positions Lambda is damped, see `laws.singularity`. Joints outside the tip link's chain, such as those of a gripper,
    follow the reference's joint positions; hence Lambda uses only the chain's M.
    """

    @staticmethod
    def law(
        dynamics: Dynamics, parameters: OperationalSpaceParameters, state: State, reference: TipReference,
        memory: Posture,
    ) -> tuple[Terms, Posture]:
        """As in `Law`."""
        errors = task_errors(dynamics, parameters.rows, state, reference)
        wanted = tip_acceleration(parameters, errors, reference)
        jacobian = errors.jacobian
        return operational_space_effort(dynamics, parameters, state, jacobian, wanted, memory.q, reference), memory

    def initial_memory(self, state: State) -> Posture:
        """Keep the present posture."""
        return Posture(state.q.copy())


def operational_space_effort(
    dynamics: Dynamics, parameters: OperationalSpaceParameters, state: State, jacobian: Array, wanted: Array,
    posture: Array, reference: TipReference | ForceReference,
) -> Terms:
    """Return efforts that accelerate the tip link as given, and keep a posture in the remaining freedom.

    J^T (Lambda r''* + eta) + (1 - J^T J^+T) tau_0 with tau_0 = M a_0 + b and the terms of `dynamics.task_space` equals
    J^T Lambda (r''* - J' v - J a_0) + M a_0 + b for every Lambda. So one linear solution suffices.

    Args:
        dynamics: The robot's dynamics.
        parameters: Gains.
        state: The measured state.
        jacobian: J, shape (m, n).
        wanted: r''*, shape (m,).
        posture: q_0, shape (n,) [rad or m].
        reference: Reference of the joints outside the chain.

    Returns:
        The efforts, with the terms task, posture, coriolis, gravity and friction.
    """
    q, v = state.q, state.v
    mass_matrix = dynamics.mass_matrix(q)
    chain = [k for k in range(len(q)) if k not in parameters.beside]
    response = solve_mass(mass_matrix[np.ix_(chain, chain)], jacobian[:, chain].T)
    mobility = jacobian[:, chain] @ response
    damping = singularity_damping(mobility, parameters.thresholds)
    a = parameters.posture_acceleration(state, posture, damping, reference)
    drift = dynamics.jacobian_derivative(q, v)[parameters.rows] @ v
    missing, of_tip = wanted - drift, jacobian @ a

    def by_tip(acceleration: Array) -> tuple[Array, Array]:
        wrench = solve_damped(mobility, parameters.thresholds, damping, acceleration)
        effort, by_wrench = jacobian.T @ wrench, response @ wrench
        for k in parameters.beside:  # they would be accelerated with the chain
            effort[k] = mass_matrix[k, chain] @ by_wrench
        return effort, by_wrench

    effort, by_wrench = by_tip(missing - of_tip)
    of_posture = mass_matrix @ a

    def parts() -> dict[str, Array]:
        posture = of_posture - by_tip(of_tip)[0]
        return {"task": effort + of_posture - posture, "posture": posture}

    terms = Terms.split(effort + of_posture, parts) + bias_terms(dynamics, q + parameters.lead * v, v)
    for place, k in enumerate(chain):
        a[k] = a[k] + by_wrench[place]
    return terms + Terms(friction=parameters.friction * (v + parameters.lead * a))
