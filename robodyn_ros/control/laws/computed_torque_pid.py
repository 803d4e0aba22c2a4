# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Computed torque with an integral: model errors leave no offset."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np

from robodyn_ros.control.contract.controller import JointReference, Law, State
from robodyn_ros.control.contract.parameters import EFFORT, Unit, per_joint
from robodyn_ros.control.contract.terms import Terms
from robodyn_ros.control.default_gains import model_lead, slowed, slowed_gains
from robodyn_ros.control.laws.computed_torque import ComputedTorqueParameters, computed_torque
from robodyn_ros.control.laws.pid import default_limit
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.robot_dynamics import Dynamics


@dataclass(frozen=True, eq=False)
class ComputedTorquePIDParameters(ComputedTorqueParameters):
    """Gains of `ComputedTorquePID`; by default a double pole at -20/s, as in `ComputedTorque`, and one at -5/s.

    Attributes:
        i: K_i, shape (n,) [1/s^3].
        i_clamp: Greatest acceleration of the integral, shape (n,) [rad/s^2 or m/s^2].
        effort_limit: Effort beyond which the integral does not grow, shape (n,) [N m or N].
    """

    p: Array = per_joint(
        slowed(600.0, 2, 45.0), unit="1/s^2", minimum=0.0, description="Acceleration per position error, K_p"
    )
    d: Array = per_joint(
        slowed(45.0, 1, 45.0), unit="1/s", minimum=0.0, description="Acceleration per velocity error, K_v"
    )
    i: Array = per_joint(
        slowed(2000.0, 3, 45.0), unit="1/s^3", minimum=0.0,
        description="Acceleration per integral of the position error, K_i"
    )
    i_clamp: Array = per_joint(
        100.0, unit=Unit("rad/s^2", "m/s^2"), minimum=0.0, description="Greatest acceleration of the integral"
    )
    effort_limit: Array = per_joint(
        default_limit, unit=EFFORT, minimum=0.0,
        description="Effort beyond which the integral does not grow (anti-windup)",
    )
    _: KW_ONLY
    lead: float = model_lead(slowed_gains(600.0, 45.0), by_mass=True)


class IntegralMemory(NamedTuple):
    """Memory of `ComputedTorquePID`.

    Attributes:
        acceleration: K_i times the integral, so that a change of K_i causes no step, shape (n,) [rad/s^2 or m/s^2].
    """

    acceleration: Array


class ComputedTorquePID(Law[ComputedTorquePIDParameters, JointReference, IntegralMemory]):
    """tau = M(q) a* + h(q, v) + g(q) + D v with a* = a_d + K_v e' + K_p e + K_i (integral of e), e = q_d - q.

    [Yamamoto] 6.7 calls computed torque "a PD (PID) controller with robot dynamics compensation"; this is (6.41) and
    (6.42) with the integral of (6.28). With an exact model e''' + K_v e'' + K_p e' + K_i e = 0, stable if
    K_i < K_p K_v; with a wrong one, constant disturbances leave no offset.

    Anti-windup by conditional integration: while a joint's effort exceeds its limit in either direction, its integral
    does not grow.
    """

    @staticmethod
    def law(
        dynamics: Dynamics, parameters: ComputedTorquePIDParameters, state: State,
        reference: JointReference, memory: IntegralMemory
    ) -> tuple[Terms, IntegralMemory]:
        """As in `Law`."""
        past = memory.acceleration
        effort = computed_torque(dynamics, parameters, state, reference._replace(a=reference.a + past),
                                 lambda: {"inertia": reference.a, "integral": past})
        change = parameters.i * (reference.q - state.q) * state.period
        stuck = (abs(effort.effort) > parameters.effort_limit) & (past * change >= 0.0)
        integral = np.clip(past + np.where(stuck, 0.0, change), -parameters.i_clamp, parameters.i_clamp)
        return effort, IntegralMemory(integral)

    def initial_memory(self, state: State) -> IntegralMemory:
        """No integral yet."""
        return IntegralMemory(np.zeros(len(state.q)))
