# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""PID control of independent joints, with anti-windup."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from robodyn_ros.base.checks import MAX_MAGNITUDE
from robodyn_ros.control.contract.controller import JointReference, Law, State
from robodyn_ros.control.contract.parameters import EFFORT, Unit, per_joint
from robodyn_ros.control.contract.terms import Terms
from robodyn_ros.control.default_gains import joint_gains
from robodyn_ros.control.laws.pd import PD, PDParameters
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.robot_dynamics import Dynamics
from robodyn_ros.robot import Robot

INTEGRAL_SHARE = 0.1
"""Default K_i as a share of K_p^2 / K_v."""


def default_integral(robot: Robot) -> Array:
    """Default K_i = 0.1 K_p^2 / K_v, shape (n,) [N m/(rad s) or N/(m s)].

    An independent joint of inertia M is stable if M K_i < K_p K_v. With this K_i, that requires a damping ratio
    K_v / (2 sqrt(M K_p)) above 0.16. The default gains give 0.4 or more, which leaves a margin for coupling between
    joints and for a heavier robot.
    """
    p, d = joint_gains(robot)
    return np.divide(INTEGRAL_SHARE * p**2, d, out=np.zeros(robot.n), where=d > 0.0)


def default_limit(robot: Robot) -> Array:
    """The effort limits, 1e9 where there is none, shape (n,) [N m or N]."""
    return np.minimum(robot.model.effort_limit, MAX_MAGNITUDE)


@dataclass(frozen=True, eq=False)
class PIDParameters(PDParameters):
    """Gains of `PID`; p and d as in `PD`.

    Attributes:
        i: K_i, shape (n,) [N m/(rad s) or N/(m s)].
        i_clamp: Greatest effort of the integral, shape (n,) [N m or N].
        effort_limit: Effort beyond which the integral does not push, shape (n,) [N m or N].
    """

    i: Array = per_joint(
        default_integral, unit=Unit("N m/(rad s)", "N/(m s)"), minimum=0.0,
        description="Effort per integral of the position error, K_i",
    )
    i_clamp: Array = per_joint(
        default_limit, unit=EFFORT, minimum=0.0, description="Greatest effort of the integral"
    )
    effort_limit: Array = per_joint(
        default_limit, unit=EFFORT, minimum=0.0,
        description="Effort beyond which the integral does not push (anti-windup)",
    )


class PIDMemory(NamedTuple):
    """Memory of `PID`.

    Attributes:
        effort: K_i times the integral, so that a change of K_i causes no step, shape (n,) [N m or N].
    """

    effort: Array


class PID(Law[PIDParameters, JointReference, PIDMemory]):
    """tau = K_p e + K_v e' + K_i (integral of e), e = q_d - q, independent joints, no model of the robot.

    [Yamamoto] (6.28) as a torque, and with K_v acting on e' as in `PD`. The book prints q - q_d for q_d - q there and
    before (6.29), and omits K_i in (6.32): see docs/errata.md, which also states the assumptions of (6.27) to (6.33).
    Stable gains leave no offset under gravity, (6.33); `steady_state.closed_loop_poles` computes whether they are
    stable.

    Anti-windup by conditional integration: the integral grows only while the total effort stays within the limit. It
    may always shrink, and is never reset.
    """

    @staticmethod
    def law(
        dynamics: Dynamics, parameters: PIDParameters, state: State, reference: JointReference, memory: PIDMemory
    ) -> tuple[Terms, PIDMemory]:
        """As in `Law`; uses no dynamics."""
        pd, integral = PD.law(dynamics, parameters, state, reference).effort, memory.effort
        change = parameters.i * (reference.q - state.q) * state.period
        upwards = np.maximum(parameters.effort_limit - (pd + integral), 0.0)
        downwards = np.maximum(parameters.effort_limit + (pd + integral), 0.0)
        integral = np.clip(integral + np.clip(change, -downwards, upwards), -parameters.i_clamp, parameters.i_clamp)
        return Terms(feedback=pd, integral=integral), PIDMemory(integral)

    def initial_memory(self, state: State) -> PIDMemory:
        """No integral yet."""
        return PIDMemory(np.zeros(len(state.q)))
