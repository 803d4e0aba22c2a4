# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Gravity compensation: the robot floats and can be guided by hand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robodyn_ros.control import default_gains
from robodyn_ros.control.contract.controller import Law, State
from robodyn_ros.control.contract.parameters import DAMPING, Parameters, per_joint
from robodyn_ros.control.contract.terms import Terms
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.robot_dynamics import Dynamics
from robodyn_ros.robot import Robot

SHARE = 0.02
"""Default damping as a share of that of `PD`."""


def light_damping(robot: Robot) -> Array:
    """2 % of the damping of `PD`, shape (n,) [N m s/rad or N s/m]: a hand hardly feels it, yet the robot stops."""
    return SHARE * default_gains.damping(robot)


@dataclass(frozen=True, eq=False)
class GravityCompensationParameters(Parameters):
    """Gains of `GravityCompensation`.

    Attributes:
        d: D, shape (n,) [N m s/rad or N s/m].
        lead: See `default_gains.model_lead` [s].
    """

    d: Array = per_joint(light_damping, unit=DAMPING, minimum=0.0, description="Braking effort per velocity, D")
    lead: float = default_gains.model_lead(lambda robot: (np.zeros(robot.n), light_damping(robot)))


class GravityCompensation(Law[GravityCompensationParameters, None, None]):
    """tau = g(q + lead v) - D v: [Yamamoto] (6.34) without the position feedback.

    The robot stays where it is and yields to a push. With an exact model, its kinetic energy changes only by -v^T D v
    and by the work of the push.
    """

    @staticmethod
    def law(
        dynamics: Dynamics, parameters: GravityCompensationParameters, state: State, reference: None
    ) -> Terms:
        """As in `Law`; uses neither reference nor memory."""
        gravity = dynamics.gravity(state.q + parameters.lead * state.v)
        return Terms(gravity=gravity, damping=-parameters.d * state.v)
