# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""PD control of independent joints with gravity compensation."""

from __future__ import annotations

from robodyn_ros.control.controller import JointReference, Law, State
from robodyn_ros.control.laws.pd import PD, PDParameters
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.robot_dynamics import Dynamics


class PDGravity(Law[PDParameters, JointReference, None]):
    """tau = K_p (q_d - q) + K_v (v_d - v) + g(q).

    [Yamamoto] (6.34), as a torque. With an exact model there is no offset, and towards a resting q_d the robot is
    stable from any state, for any positive gains: ``robodyn_ros.textbook.lyapunov`` has the Lyapunov function.
    """

    @staticmethod
    def law(
        dynamics: Dynamics, parameters: PDParameters, state: State, reference: JointReference
    ) -> Array:
        """As in `Law`; uses no memory."""
        return PD.law(dynamics, parameters, state, reference) + dynamics.gravity(state.q)
