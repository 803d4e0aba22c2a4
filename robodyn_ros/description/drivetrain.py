# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The drivetrains of the joints as dynamics and laws see them: rotors, friction and springs."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.base.common_fields import PARTS_OF_DRIVETRAINS
from robodyn_ros.base.errors import InputError, unknown


class JointSprings(NamedTuple):
    """Springs between the motors of joints and their links [Spong]."""

    stiffness: NDArray[np.float64]  # K, infinite for rigid joints, shape (n,) [N m/rad or N/m]
    motor_inertia: NDArray[np.float64]  # B at the outputs of the gears, 0 for rigid joints, shape (n,) [kg m^2 or kg]
    damping: NDArray[np.float64]  # D parallel to the springs, 0 for rigid joints, shape (n,) [N m s/rad or N s/m]

    @classmethod
    def of_rigid_joints(cls, n: int) -> JointSprings:
        """None at all, for n joints."""
        return cls(np.full(n, np.inf), np.zeros(n), np.zeros(n))

    @property
    def is_elastic(self) -> NDArray[np.bool_]:
        """Which joints have a spring, shape (n,)."""
        return np.isfinite(self.stiffness)


class Drivetrain(NamedTuple):
    """The contribution of motors, gears and bearings to the dynamics of the links.

    Attributes:
        rotor_inertia: Inertia of the rotors at the outputs of their gears, shape (n,) [kg m^2 or kg].
        coupling: B, positions of the gears' outputs per joint position, shape (n, n); None for the unit matrix.
        viscous: Viscous friction of joints and motors, shape (n,) [N m s/rad or N s/m].
        dry: Greatest dry friction at rest of joints and motors, shape (n,) [N m or N].
        springs: Springs between motors and links; None: all joints are rigid, or the springs are unknown.
    """

    rotor_inertia: NDArray[np.float64]
    coupling: NDArray[np.float64] | None
    viscous: NDArray[np.float64]
    dry: NDArray[np.float64]
    springs: JointSprings | None

    def without(self, parts: Collection[str]) -> Drivetrain:
        """Return the drivetrain without some of `PARTS_OF_DRIVETRAINS`.

        Raises:
            InputError: A name is not among them.
        """
        for part in parts:
            if part not in PARTS_OF_DRIVETRAINS:
                raise InputError(unknown("part of a drivetrain", part, PARTS_OF_DRIVETRAINS))
        nothing = np.zeros(len(self.rotor_inertia))
        found = self
        if "rotors" in parts:
            found = found._replace(rotor_inertia=nothing, coupling=None)
        if "friction" in parts:
            found = found._replace(viscous=nothing, dry=nothing)
        return found._replace(springs=None) if "springs" in parts else found
