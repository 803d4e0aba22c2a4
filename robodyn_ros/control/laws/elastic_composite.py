# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Composite law for elastic joints: computed torque for the slow motion, damping for the fast motion of the springs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robodyn_ros.control.contract.controller import JointReference, Law, State
from robodyn_ros.control.contract.parameters import DAMPING, derived, per_joint
from robodyn_ros.control.contract.terms import Terms, model_terms
from robodyn_ros.control.default_gains import MARGIN, Postures, slowed, viscous_friction
from robodyn_ros.control.gains.elastic_arm import MotorFeedback
from robodyn_ros.control.gains.elastic_joints import (
    ElasticJoints,
    described_inertia,
    inertia_of_links,
    spring_stiffness,
)
from robodyn_ros.control.gains.sampled_loop import largest_stable_damping
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.robot_dynamics import Dynamics
from robodyn_ros.robot import Robot

_DAMPING_RATIO = 0.5  # of the springs, if the control period allows it


def spring_damping(robot: Robot) -> Array:
    """Half of the critical damping of the springs, or what the period and the delay allow.

    B e'' + K_f e' + K (1 + B/M) e = 0 is the fast motion of a spring e = theta - q.

    Returns:
        Shape (n,) [N m s/rad or N s/m].
    """
    motor, spring = described_inertia(robot), spring_stiffness(robot)
    wanted = 2.0 * _DAMPING_RATIO * np.sqrt(spring * motor * (1.0 + motor / inertia_of_links(robot)))
    return np.minimum(wanted, MARGIN * largest_stable_damping(robot.timing.delay) / robot.timing.period * motor)


@dataclass(frozen=True, eq=False)
class ElasticCompositeParameters(ElasticJoints):
    """Gains of `ElasticComposite`, and data of its elastic joints.

    Attributes:
        p: K_p, shape (n,) [1/s^2].
        d: K_v, shape (n,) [1/s].
        fast_damping: K_f, shape (n,) [N m s/rad or N s/m].
        friction: D, shape (n,) [N m s/rad or N s/m].
        added_inertia: Motor inertia missing from the description's mass matrix, shape (n,) [kg m^2 or kg].
    """

    p: Array = per_joint(slowed(400.0, 2, 40.0), unit="1/s^2", minimum=0.0,
                         description="Acceleration per position error of the link, K_p")
    d: Array = per_joint(slowed(40.0, 1, 40.0), unit="1/s", minimum=0.0,
                         description="Acceleration per velocity error of the link, K_v")
    fast_damping: Array = per_joint(spring_damping, unit=DAMPING, minimum=0.0,
                                    description="Effort per velocity of the spring, K_f")
    friction: Array = per_joint(viscous_friction, unit=DAMPING, minimum=0.0,
                                description="Viscous friction of the model, D")
    added_inertia: Array = derived(lambda robot, complete: complete.beyond_description(robot))
    gains = (("p", "d"), ("fast_damping",))

    def beyond_description(self, robot: Robot) -> Array:
        """Return the motor inertia missing from the description's mass matrix, shape (n,)."""
        return np.where(self.is_rigid, 0.0, self.motor_inertia - robot.model.armature)

    def feedback(self, robot: Robot, postures: Postures) -> MotorFeedback:
        """As in `ElasticJoints`."""
        nothing, damping = np.zeros((robot.n, robot.n)), np.diag(self.fast_damping)
        inertia = postures.inertia + np.diag(self.beyond_description(robot))
        return MotorFeedback(nothing, postures.gravity - inertia * self.p, -damping, damping - inertia * self.d)


class ElasticComposite(Law[ElasticCompositeParameters, JointReference, None]):
    """tau = (M + B) a* + h + g + D v + K_f (v - theta'), with a* = a_d + K_v (v_d - v) + K_p (q_d - q).

    By singular perturbation [Spong], an arm with stiff springs has a slow motion, that of a rigid arm of inertia M + B,
    and a fast motion of the springs about it. The first terms are computed torque for the slow motion. The last term
    damps the fast one, and vanishes when the springs rest. The gains must be so low that the two motions separate; this
    is checked. M, h and g are evaluated at the link positions q; theta are the motor positions.
    """

    senses = ("motor_v",)
    for_elastic_joints = True

    @staticmethod
    def law(dynamics: Dynamics, parameters: ElasticCompositeParameters, state: State, reference: JointReference
            ) -> Terms:
        """As in `Law`; uses no memory."""
        a = reference.a + parameters.d * (reference.v - state.v) + parameters.p * (reference.q - state.q)
        model = model_terms(dynamics, state.q, state.v, a, lambda: {
            "inertia": reference.a, "feedback": a - reference.a})
        slow = model + Terms(inertia=parameters.added_inertia * a) + Terms(friction=parameters.friction * state.v)
        return slow + Terms(damping=parameters.fast_damping * (state.v - state.motor_v))
