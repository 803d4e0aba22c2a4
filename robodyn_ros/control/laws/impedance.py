# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Impedance control: the tip yields to a push like a spring, with dampers at the joints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from robodyn_ros.control import default_gains
from robodyn_ros.control.contract.controller import Law, State
from robodyn_ros.control.contract.parameters import DAMPING, derived, per_joint, scalar
from robodyn_ros.control.contract.terms import Terms
from robodyn_ros.control.default_gains import task_gains
from robodyn_ros.control.laws.gravity_compensation import light_damping
from robodyn_ros.control.laws.singularity import (
    DEFAULT_SHARE,
    singularity_damping,
    singularity_thresholds,
    solve_damped,
)
from robodyn_ros.control.laws.task_space import (
    SpringParameters,
    by_part,
    effort_beside,
    task_errors,
)
from robodyn_ros.control.references.tip_reference import TipReference
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.robot_dynamics import Dynamics
from robodyn_ros.robot import Robot

SOFTNESS = 0.25
"""Default stiffness, as a share of that of `TaskSpacePD`."""

MAX_DAMPING = 2.0
"""Greatest damping relative to `PD`, whose damping is 1/2.5 of the bound of a sampled loop."""


def _soft(part: str) -> Any:
    def stiffness(robot: Robot) -> float:
        return SOFTNESS * float(getattr(task_gains(robot), part))

    return stiffness


def _gains(robot: Robot) -> tuple[Array, Array]:
    """Return the default stiffness and damping of the joints in all sampled postures, shapes (S, n, n) and (S, n)."""
    felt = default_gains.tip_stiffness(robot, _soft("translation")(robot), _soft("rotation")(robot))
    wanted = 2.0 * np.sqrt(np.diagonal(default_gains.sampled_mass_matrices(robot) * felt, axis1=1, axis2=2))
    return felt, light_damping(robot) + np.minimum(wanted, MAX_DAMPING * default_gains.damping(robot))


@dataclass(frozen=True, eq=False)
class ImpedanceParameters(SpringParameters):
    """Stiffness and damping of `Impedance`.

    Attributes:
        translation: K of translations [N/m].
        rotation: K of rotations [N m/rad].
        damping_ratio: zeta.
        d: Damping independent of the stiffness, shape (n,) [N m s/rad or N s/m].
        singularity: As in `AccelerationParameters`.
        lead: See `default_gains.model_lead` [s].
        thresholds: As in `AccelerationParameters`.
        most_damping: Greatest damping added for the stiffness, shape (n,) [N m s/rad or N s/m].
    """

    translation: float = scalar(
        _soft("translation"), unit="N/m", minimum=0.0, description="Force per displacement, K"
    )
    rotation: float = scalar(
        _soft("rotation"), unit="N m/rad", minimum=0.0, description="Torque per rotation, K"
    )
    damping_ratio: float = scalar(
        1.0, minimum=0.0, maximum=2.0, description="Damping ratio of each joint for the stiffness that it feels"
    )
    d: Array = per_joint(
        light_damping, unit=DAMPING, minimum=0.0, description="Effort per velocity error that is always there"
    )
    singularity: float = scalar(
        DEFAULT_SHARE, minimum=1e-6,
        description="Distance from singular positions, over its median, below which the joints' desired velocities are "
        "damped",
    )
    lead: float = default_gains.model_lead(_gains)
    thresholds: Array = derived(
        lambda robot, complete: singularity_thresholds(robot, complete.rows, complete.singularity, with_inertia=False)
    )
    most_damping: Array = derived(lambda robot, _: MAX_DAMPING * default_gains.damping(robot))


class Impedance(Law[ImpedanceParameters, TipReference, None]):
    """tau = J^T K (r_d - r) + (D + diag(2 zeta sqrt(M_ii (J^T K J)_ii))) (J^+ r'_d - v) + g(q + lead v).

    Impedance control [Hogan] without inertia shaping, so that no force sensor is needed: a slow push f moves the tip by
    K^-1 f. Each joint has a damper of damping ratio zeta for the stiffness at the joint. A damper at the tip would have
    to be weak enough for the lightest tip motion, and would then hardly damp the heaviest. While the reference rests,
    only springs and dampers act on the robot, so that it is stable against every passive environment. The stiffness is
    along the axes of the base, one for translations and one for rotations. Near singular positions J^+ is damped, see
    `laws.singularity`. Joints outside the tip link's chain, such as those of a gripper, have their own springs and
    dampers.
    """

    @staticmethod
    def law(
        dynamics: Dynamics, parameters: ImpedanceParameters, state: State, reference: TipReference
    ) -> Terms:
        """As in `Law`; needs no memory."""
        rows, q = parameters.rows, state.q
        errors = task_errors(dynamics, rows, state, reference)
        jacobian = errors.jacobian
        stiffness = by_part(rows, parameters.translation, parameters.rotation)
        felt = stiffness @ jacobian**2
        wanted = 2.0 * parameters.damping_ratio * np.sqrt(dynamics.mass_matrix(q).diagonal() * felt)
        damping = parameters.d + np.minimum(wanted, parameters.most_damping)
        square, thresholds = jacobian @ jacobian.T, parameters.thresholds
        singular = singularity_damping(square, thresholds)
        v_d = jacobian.T @ solve_damped(square, thresholds, singular, reference.twist[rows])
        spring = jacobian.T @ (stiffness * errors.pose)
        spring = spring + effort_beside(parameters, state, reference)
        return Terms(spring=spring, damping=damping * (v_d - state.v),
                     gravity=dynamics.gravity(q + parameters.lead * state.v))
