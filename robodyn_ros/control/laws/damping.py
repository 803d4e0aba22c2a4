# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Damping: the safe controller; it only takes energy out of the robot."""

from __future__ import annotations

from dataclasses import dataclass

from robodyn_ros.control import default_gains
from robodyn_ros.control.contract.controller import Law, State
from robodyn_ros.control.contract.parameters import DAMPING, Parameters, per_joint
from robodyn_ros.control.contract.terms import Terms
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.robot_dynamics import Dynamics


@dataclass(frozen=True, eq=False)
class DampingParameters(Parameters):
    """Gains of `Damping`; by default those of `PD`.

    Attributes:
        d: Shape (n,) [N m s/rad or N s/m].
    """

    d: Array = per_joint(
        default_gains.damping, unit=DAMPING, minimum=0.0, description="Braking effort per velocity"
    )


class Damping(Law[DampingParameters, None, None]):
    """tau = -D v: the joints sink slowly under gravity.

    It does no work on the robot (tau . v <= 0) and uses no model, no memory and no reference. So it cannot fail, and is
    the default safe controller.
    """

    @staticmethod
    def law(
        dynamics: Dynamics, parameters: DampingParameters, state: State, reference: None
    ) -> Terms:
        """As in `Law`; uses neither dynamics nor reference nor memory."""
        return Terms(damping=-parameters.d * state.v)
