# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""PD control of independent joints with gravity compensation."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from robodyn_ros.control.contract.controller import JointReference, Law, State
from robodyn_ros.control.contract.terms import Terms
from robodyn_ros.control.default_gains import joint_gains, model_lead
from robodyn_ros.control.laws.pd import PD, PDParameters
from robodyn_ros.dynamics.robot_dynamics import Dynamics


@dataclass(frozen=True, eq=False)
class PDGravityParameters(PDParameters):
    """Gains of `PDGravity`; p and d as in `PD`.

    Attributes:
        lead: See `default_gains.model_lead` [s].
    """

    _: KW_ONLY
    lead: float = model_lead(joint_gains)


class PDGravity(Law[PDGravityParameters, JointReference, None]):
    """tau = K_p (q_d - q) + K_v (v_d - v) + g(q + lead v).

    [Yamamoto] (6.34), as a torque. With an exact model there is no offset. For a constant q_d the robot is stable from
    any state, for any positive gains; ``robodyn_ros.textbook.lyapunov`` has the Lyapunov function.
    """

    @staticmethod
    def law(
        dynamics: Dynamics, parameters: PDGravityParameters, state: State, reference: JointReference
    ) -> Terms:
        """As in `Law`; uses no memory."""
        ahead = state.q + parameters.lead * state.v
        return PD.law(dynamics, parameters, state, reference) + Terms(gravity=dynamics.gravity(ahead))
