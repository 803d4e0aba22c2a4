# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Resolved acceleration: from a tip acceleration, the law computes joint accelerations and efforts."""

from __future__ import annotations

from robodyn_ros.control.contract.controller import Law, State
from robodyn_ros.control.contract.terms import Terms, model_terms
from robodyn_ros.control.laws.singularity import singularity_damping, solve_damped
from robodyn_ros.control.laws.task_space import (
    AccelerationParameters,
    Posture,
    task_errors,
    tip_acceleration,
)
from robodyn_ros.control.references.tip_reference import TipReference
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.robot_dynamics import Dynamics


class ResolvedAcceleration(Law[AccelerationParameters, TipReference, Posture]):
    """tau = M(q) a* + h(q, v) + g(q) + D v, a* = J^+ (r''* - J' v) + (1 - J^+ J) a_posture.

    [Yamamoto] (6.48) with r''* = r''_d + K_v (r'_d - r') + K_p (r_d - r), (6.49). Away from singular positions J^+ is
    the book's J^-1, or the pseudo-inverse for more joints than axes. There the error obeys (6.46) along every axis (for
    rotations, if the error is small). Near singular positions J^+ is damped, see `laws.singularity`, so that efforts
    stay bounded at the cost of accuracy. Joints that the axes leave free return to the posture at activation, with
    a_posture = K_pp (q_0 - q) - K_pv v. Joints outside the tip link's chain follow the reference's joint positions.
    """

    @staticmethod
    def law(
        dynamics: Dynamics, parameters: AccelerationParameters, state: State, reference: TipReference,
        memory: Posture
    ) -> tuple[Terms, Posture]:
        """As in `Law`."""
        rows, q, v = parameters.rows, state.q, state.v
        errors = task_errors(dynamics, rows, state, reference)
        jacobian = errors.jacobian
        square = jacobian @ jacobian.T
        damping = singularity_damping(square, parameters.thresholds)
        posture = parameters.posture_acceleration(state, memory.q, damping, reference)
        drift = dynamics.jacobian_derivative(q, v)[rows] @ v
        missing = tip_acceleration(parameters, errors, reference) - drift - jacobian @ posture
        a = posture + jacobian.T @ solve_damped(square, parameters.thresholds, damping, missing)

        def parts() -> dict[str, Array]:
            by_tip = jacobian.T @ solve_damped(square, parameters.thresholds, damping, jacobian @ posture)
            return {"task": a - posture + by_tip, "posture": posture - by_tip}

        effort = model_terms(dynamics, q + parameters.lead * v, v, a, parts)
        return effort + Terms(friction=parameters.friction * (v + parameters.lead * a)), memory

    def initial_memory(self, state: State) -> Posture:
        """Keep the present posture."""
        return Posture(state.q.copy())
