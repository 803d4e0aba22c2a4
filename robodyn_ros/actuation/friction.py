# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Friction in the joints: viscous, Coulomb, Stribeck."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.checks import NOT_NEGATIVE, POSITIVE, as_joint_array, as_joint_arrays, constants
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.errors import InputError

_RANGES = {"viscous": NOT_NEGATIVE, "coulomb": NOT_NEGATIVE, "static": NOT_NEGATIVE, "stribeck_velocity": POSITIVE}


@dataclass(frozen=True, eq=False)
class Friction:
    """Friction of every joint: the viscous part D dq/dt, and the greatest dry friction.

        level(v) = F_c + (F_s - F_c) exp(-(v / v_s)^2)

    is the Coulomb friction F_c with Stribeck's rise to the breakaway friction F_s at rest [Armstrong]. The dry friction
    of a sliding joint has this level and opposes the motion. The dry friction of a resting joint holds the joint, up to
    the level. Each value is one number for all joints, or has shape (n,); in the instance all have shape (n,).

    Attributes:
        viscous: D [N m s/rad or N s/m].
        coulomb: F_c [N m or N].
        static: F_s, not below F_c; None for F_c: no Stribeck effect [N m or N].
        stribeck_velocity: v_s, at which the rise has fallen to 1/e [rad/s or m/s].

    Raises:
        InputError: A value is negative (or zero, for v_s), not finite, F_s is below F_c, or the lengths differ.
    """

    viscous: Array
    coulomb: Array
    static: Array = None  # type: ignore[assignment]  # an array once the instance is made
    stribeck_velocity: Array = 0.01  # type: ignore[assignment]

    def __post_init__(self) -> None:
        """Check the values and give all of them one shape."""
        values = dict(vars(self))
        if self.static is None:
            values["static"] = self.coulomb
        for name, array in as_joint_arrays("Friction", values, _RANGES).items():
            object.__setattr__(self, name, array)
        if (constants(self.rise, traced=0.0) < 0.0).any():
            raise InputError(f"Friction.static: expected breakaway friction not below the Coulomb friction "
                             f"{self.coulomb.tolist()}, received {self.static.tolist()}")

    @classmethod
    def from_model(cls, model: RobotModel) -> Self:
        """Return the viscous and Coulomb friction of a robot description."""
        return cls(model.damping, model.friction)

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.viscous)

    @property
    def rise(self) -> Array:
        """F_s - F_c, shape (n,) [N m or N]."""
        return self.static - self.coulomb

    def level(self, v: NDArray[Any]) -> NDArray[Any]:
        """Return the greatest dry friction, shape (n,) [N m or N].

        Args:
            v: Joint velocities, shape (n,), may be traced [rad/s or m/s].
        """
        rise = self.rise * np.exp(-((v / self.stribeck_velocity) ** 2))
        return np.where(constants(self.rise, traced=1.0) > 0.0, self.coulomb + rise, self.coulomb)

    def scaled(self, factor: ArrayLike) -> Friction:
        """Return all friction times a factor.

        Args:
            factor: A number, or one for each joint, shape (n,).

        Raises:
            InputError: A factor is negative or not finite, or the shape differs.
        """
        factors = as_joint_array(factor, self.n, NOT_NEGATIVE, "Friction.scaled: factor")
        return Friction(factors * self.viscous, factors * self.coulomb, factors * self.static, self.stribeck_velocity)
