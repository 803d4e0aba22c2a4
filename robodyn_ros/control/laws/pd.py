# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""PD control of independent joints."""

from __future__ import annotations

from dataclasses import dataclass

from robodyn_ros.control import default_gains
from robodyn_ros.control.contract.controller import JointReference, Law, State
from robodyn_ros.control.contract.parameters import DAMPING, STIFFNESS, Parameters, per_joint
from robodyn_ros.control.contract.terms import Terms
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.robot_dynamics import Dynamics


@dataclass(frozen=True, eq=False)
class PDParameters(Parameters):
    """Gains of `PD`; by default from the robot's inertias, see `default_gains.joint_gains`.

    Attributes:
        p: K_p, shape (n,) [N m/rad or N/m].
        d: K_v, shape (n,) [N m s/rad or N s/m].
    """

    p: Array = per_joint(
        default_gains.stiffness, unit=STIFFNESS, minimum=0.0, description="Effort per position error, K_p"
    )
    d: Array = per_joint(
        default_gains.damping, unit=DAMPING, minimum=0.0, description="Effort per velocity error, K_v"
    )


class PD(Law[PDParameters, JointReference, None]):
    """tau = K_p (q_d - q) + K_v (v_d - v), independent joints, no model of the robot.

    [Yamamoto] (6.18), misprinted there with q - q_d (see docs/errata.md), as a torque. The book regulates to a constant
    q_d, so that its -K_v v is K_v (v_d - v) with v_d = 0; on a moving reference the latter does not brake the desired
    motion. Gravity leaves an offset, (6.27): here e = K_p^-1 g(q).
    """

    @staticmethod
    def law(
        dynamics: Dynamics, parameters: PDParameters, state: State, reference: JointReference
    ) -> Terms:
        """As in `Law`; uses no dynamics."""
        return Terms(feedback=parameters.p * (reference.q - state.q) + parameters.d * (reference.v - state.v))
