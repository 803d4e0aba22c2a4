# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The spring with backlash between drive and link of an elastic joint."""

from __future__ import annotations

from dataclasses import MISSING, dataclass

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.joint_values import is_limit, joint_value
from robodyn_ros.base.checks import constants
from robodyn_ros.base.fields import DAMPING, POSITION, STIFFNESS, Unit
from robodyn_ros.description.model import Array

INERTIA = Unit("kg m^2", "kg")


@dataclass(frozen=True, eq=False)
class Transmission:
    """Springs of the joints; every array has shape (n,). docs/friction-and-elastic-joints.md has the model."""

    stiffness: Array = joint_value(
        np.inf, yaml=MISSING, unit=STIFFNESS, minimum=0.0, above=True, maximum=1e12, quantity="transmission.stiffness",
        only="is_elastic", description="Stiffness between the output of the gear and the link")
    spring_damping: Array = joint_value(
        0.0, unit=DAMPING, minimum=0.0, quantity="transmission.damping", only="is_elastic",
        description="Damping of this spring")
    backlash: Array = joint_value(
        0.0, unit=POSITION, minimum=0.0, maximum=1.0, quantity="transmission.backlash", only="is_elastic",
        description="Total width of the dead zone, at the link")
    motor_encoder: NDArray[np.bool_] = joint_value(
        False,
        description="Whether the joint is measured on the motor's side of this spring, at the output of the gear")
    source_inertia: Array = joint_value(
        0.0, yaml=None, unit=INERTIA, minimum=0.0, above=True, quantity="transmission.inertia",
        only="is_elastic",
        description="Inertia on the motor's side, at the output of the gear, of a joint without an actuator; none: "
        "`armature` of the robot's description")

    @property
    def is_elastic(self) -> NDArray[np.bool_]:
        """Whether there is a spring, shape (n,)."""
        return is_limit(self.stiffness)

    @property
    def has_backlash(self) -> NDArray[np.bool_]:
        """Whether the spring has a dead zone, shape (n,)."""
        return self.is_elastic & (constants(self.backlash, traced=1.0) > 0.0)
