# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Joint impedance: the robot yields to a push like springs and dampers at its joints."""

from __future__ import annotations

from dataclasses import dataclass

from robodyn_ros.control import default_gains
from robodyn_ros.control.contract.controller import JointReference, Law, State
from robodyn_ros.control.contract.parameters import DAMPING, STIFFNESS, Parameters, per_joint
from robodyn_ros.control.contract.terms import Terms
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.robot_dynamics import Dynamics
from robodyn_ros.robot import Robot


def soft_stiffness(robot: Robot) -> Array:
    """A quarter of the stiffness of `PD`, shape (n,) [N m/rad or N/m]."""
    return 0.25 * default_gains.stiffness(robot)


def soft_damping(robot: Robot) -> Array:
    """Half of the damping of `PD`, for the same damping ratio, shape (n,) [N m s/rad or N s/m]."""
    return 0.5 * default_gains.damping(robot)


@dataclass(frozen=True, eq=False)
class JointImpedanceParameters(Parameters):
    """Stiffness and damping of `JointImpedance`; by default half the natural frequency of `PD` and its damping ratio.

    Attributes:
        stiffness: K, shape (n,) [N m/rad or N/m].
        damping: D, shape (n,) [N m s/rad or N s/m].
        lead: See `default_gains.model_lead` [s].
    """

    stiffness: Array = per_joint(
        soft_stiffness, unit=STIFFNESS, minimum=0.0, description="Effort per deflection, K"
    )
    damping: Array = per_joint(
        soft_damping, unit=DAMPING, minimum=0.0, description="Effort per velocity of the deflection, D"
    )
    lead: float = default_gains.model_lead(lambda robot: (soft_stiffness(robot), soft_damping(robot)))


class JointImpedance(Law[JointImpedanceParameters, JointReference, None]):
    """tau = M(q) a_d + C(q, v) v_d + g(q) + K (q_d - q) + D (v_d - v).

    [PadenPanja]'s PD+. The environment, pushing with efforts tau_e, feels M(q) e'' + (C(q, v) + D) e' + K e = -tau_e,
    e = q_d - q: springs K and dampers D on the robot's own inertia. The inertia is not shaped, so no force sensor is
    needed. Since dM/dt - 2 C is skew-symmetric, e'^T M e' / 2 + e^T K e / 2 falls by e'^T D e' along every motion, and
    against any passive environment the robot is stable. C is the matrix of Christoffel symbols, [LynchPark] (9.87).
    """

    @staticmethod
    def law(
        dynamics: Dynamics, parameters: JointImpedanceParameters, state: State,
        reference: JointReference
    ) -> Terms:
        """As in `Law`; uses no memory."""
        q, v = state.q, state.v
        ahead = q + parameters.lead * v
        return Terms(inertia=dynamics.mass_matrix(ahead) @ reference.a,
                     coriolis=dynamics.coriolis_matrix(ahead, v) @ reference.v,
                     gravity=dynamics.gravity(ahead),
                     feedback=parameters.stiffness * (reference.q - q) + parameters.damping * (reference.v - v))
