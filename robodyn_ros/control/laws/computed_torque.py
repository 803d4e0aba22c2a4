# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Computed torque: the model cancels the robot's dynamics, and PD feedback shapes the error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass

from robodyn_ros.control.contract.controller import JointReference, Law, State
from robodyn_ros.control.contract.parameters import DAMPING, Parameters, per_joint
from robodyn_ros.control.contract.terms import Terms, model_terms
from robodyn_ros.control.default_gains import model_lead, slowed, slowed_gains, viscous_friction
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.robot_dynamics import Dynamics


@dataclass(frozen=True, eq=False)
class ComputedTorqueParameters(Parameters):
    """Gains of `ComputedTorque`: the error obeys e'' + K_v e' + K_p e = 0; by default both poles at -20/s.

    Attributes:
        p: K_p, shape (n,) [1/s^2].
        d: K_v, shape (n,) [1/s].
        friction: D, shape (n,) [N m s/rad or N s/m].
        lead: See `default_gains.model_lead` [s].
    """

    p: Array = per_joint(
        slowed(400.0, 2, 40.0), unit="1/s^2", minimum=0.0, description="Acceleration per position error, K_p"
    )
    d: Array = per_joint(
        slowed(40.0, 1, 40.0), unit="1/s", minimum=0.0, description="Acceleration per velocity error, K_v"
    )
    friction: Array = per_joint(
        viscous_friction, unit=DAMPING, minimum=0.0, description="Viscous friction of the model, D"
    )
    _: KW_ONLY
    lead: float = model_lead(slowed_gains(400.0, 40.0), by_mass=True)


class ComputedTorque(Law[ComputedTorqueParameters, JointReference, None]):
    """tau = M(q) a* + h(q, v) + g(q) + D v with a* = a_d + K_v (v_d - v) + K_p (q_d - q).

    [Yamamoto] (6.41), (6.42). With an exact model the error obeys (6.46), e'' + K_v e' + K_p e = 0, the same in
    every configuration. If efforts act late, M, h and g are evaluated at q + lead v, and D multiplies v + lead a*.
    """

    @staticmethod
    def law(
        dynamics: Dynamics, parameters: ComputedTorqueParameters, state: State,
        reference: JointReference
    ) -> Terms:
        """As in `Law`; uses no memory."""
        return computed_torque(dynamics, parameters, state, reference, lambda: {"inertia": reference.a})


def computed_torque(dynamics: Dynamics, parameters: ComputedTorqueParameters, state: State, reference: JointReference,
                    accelerations: Callable[[], dict[str, Array]]) -> Terms:
    """Return the efforts of `ComputedTorque`.

    Args:
        dynamics: Of the robot.
        parameters: Gains.
        state: The measured state.
        reference: The reference.
        accelerations: Returns parts of the reference's acceleration by the name of their term.
    """
    a = reference.a + parameters.d * (reference.v - state.v) + parameters.p * (reference.q - state.q)
    ahead = state.q + parameters.lead * state.v
    model = model_terms(dynamics, ahead, state.v, a, lambda: {"feedback": a - reference.a} | accelerations())
    return model + Terms(friction=parameters.friction * (state.v + parameters.lead * a))
