# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Fuzzy gain scheduling: three rules choose stiffness and damping of a joint by its distance from the goal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robodyn_ros.control.contract.controller import JointReference, Law, State
from robodyn_ros.control.contract.parameters import EFFORT, per_joint, scalar
from robodyn_ros.control.contract.terms import Terms
from robodyn_ros.control.laws.pd_gravity import PDGravityParameters
from robodyn_ros.control.laws.pid import default_limit
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.robot_dynamics import Dynamics

CENTERS = (0.0, 2.0, 8.0)
"""Centres of small, medium and large: position feedback K_p |e| over the effort limit."""


@dataclass(frozen=True, eq=False)
class FuzzyParameters(PDGravityParameters):
    """Rules of `Fuzzy`: shares of p and d for small, medium and large errors; p, d and lead as in `PDGravity`.

    Attributes:
        effort_limit: Scale of the errors, shape (n,) [N m or N].
        p_small: Share of K_p at small errors.
        p_medium: Share of K_p at medium errors.
        p_large: Share of K_p at large errors.
        d_small: Share of K_v at small errors.
        d_medium: Share of K_v at medium errors.
        d_large: Share of K_v at large errors.
    """

    effort_limit: Array = per_joint(
        default_limit, unit=EFFORT, minimum=1e-9,
        description="Effort whose shares divide the errors into small, medium and large ones"
    )
    p_small: float = scalar(2.0, minimum=0.0, maximum=2.0, description="Share of K_p at small errors")
    p_medium: float = scalar(1.5, minimum=0.0, maximum=2.0, description="Share of K_p at medium errors")
    p_large: float = scalar(1.0, minimum=0.0, maximum=2.0, description="Share of K_p at large errors")
    d_small: float = scalar(1.4, minimum=0.0, maximum=2.0, description="Share of K_v at small errors")
    d_medium: float = scalar(1.0, minimum=0.0, maximum=2.0, description="Share of K_v at medium errors")
    d_large: float = scalar(1.4, minimum=0.0, maximum=2.0, description="Share of K_v at large errors")


class Fuzzy(Law[FuzzyParameters, JointReference, None]):
    """tau = sum over the rules of w_r(z) (K_p,r e + K_v,r e') + g(q + lead v), independent joints, e = q_d - q.

    Rules of Takagi and Sugeno [TakagiSugeno]: "if z is small (medium, large), then PD with these gains", for
    z = K_p |e| / effort limit, the share of the limit that position feedback asks for. The memberships w_r are
    triangles at `CENTERS` that add up to 1, so the gains are interpolated between the rules.

    Near its goal, a joint has twice the stiffness and sqrt(2) times the damping of `PD`, hence the same damping ratio.
    Far from the goal these gains would brake too late: with a = limit / M, a joint can stop from the speed sqrt(2 a e),
    but PD lets it move at e K_p / K_v. So at large errors the stiffness is that of `PD`, and the damping stays high.
    """

    @staticmethod
    def law(
        dynamics: Dynamics, parameters: FuzzyParameters, state: State, reference: JointReference
    ) -> Terms:
        """As in `Law`; uses no memory."""
        e, e_dot = reference.q - state.q, reference.v - state.v
        small, medium, large = memberships(parameters.p * abs(e) / parameters.effort_limit)
        p = small * parameters.p_small + medium * parameters.p_medium + large * parameters.p_large
        d = small * parameters.d_small + medium * parameters.d_medium + large * parameters.d_large
        return Terms(feedback=p * parameters.p * e + d * parameters.d * e_dot,
                     gravity=dynamics.gravity(state.q + parameters.lead * state.v))


def memberships(z: Array) -> tuple[Array, Array, Array]:
    """Memberships of z in small, medium and large: from 0 to 1, with sum 1; each of shape (n,)."""
    to_medium = np.clip((z - CENTERS[0]) / (CENTERS[1] - CENTERS[0]), 0.0, 1.0)
    to_large = np.clip((z - CENTERS[1]) / (CENTERS[2] - CENTERS[1]), 0.0, 1.0)
    return np.asarray(1.0 - to_medium), to_medium - to_large, to_large
