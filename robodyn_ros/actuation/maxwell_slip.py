# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Dry friction with presliding: Maxwell slip elements with Stribeck's level, [AlBender].

Before a joint slides, its friction is a spring with hysteresis (presliding). LuGre [CanudasDeWit] has one bristle with
the state z' = v - sigma_0 |v| z / g(v). It is not used here: it creeps under small oscillating loads, forgets inner
hysteresis loops, and can create energy unless its damping falls with the velocity [BarabanovOrtega]. Parallel Maxwell
slip elements, springs k_i that slip at a share of the level g(v), hold the joint, remember inner loops, and only
dissipate. A step solves for them implicitly: each impulse falls linearly with the velocity after the step, up to its
limits, so that no stiffness is too high for the step.

The parameters are those of LuGre: stiffness sigma_0, damping sigma_1, viscous sigma_2, coulomb F_c, static F_s and
Stribeck's velocity v_s. In steady sliding, both models have the friction g(v) + sigma_2 v. In [AlBender] a slipping
element approaches its share of g(v) at a rate C; here it reaches it at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.actuation.friction import NO_BRISTLES, Bristles, Friction, FrictionSettings
from robodyn_ros.base.checks import NOT_NEGATIVE, Range, as_joint_array, constants, for_all_joints
from robodyn_ros.base.errors import InputError
from robodyn_ros.base.fields import DAMPING, STIFFNESS, declare
from robodyn_ros.description.model import Array, RobotModel

MAX_ELEMENTS = 16


@dataclass(frozen=True)
class MaxwellSlipSettings(FrictionSettings):
    """Friction of a joint with presliding; None: the value of the robot description."""

    stiffness: float | None = declare(None, unit=STIFFNESS, minimum=0.0, above=True, description="Stiffness of the dry "
                                      "friction at the start of a motion, before anything slips; none: the friction "
                                      "holds the joint where it is")
    damping: float = declare(0.0, unit=DAMPING, minimum=0.0, description="Damping of the dry friction where nothing "
                             "slips")
    elements: int = declare(4, minimum=1, maximum=MAX_ELEMENTS, description="Number of elements, the same for all "
                            "joints; 1: one spring up to the breakaway friction")


@dataclass(frozen=True, eq=False)
class MaxwellSlip(Friction):
    """Friction with the level of `Friction`, and with presliding.

    N elements have the stiffness sigma_0 / N each, and shares of the level. A joint pushed from rest follows tangents
    of Dahl's curve F_s (1 - exp(-sigma_0 x / F_s)) [Armstrong], which is also LuGre's at low speed; the tangents are at
    most F_s / (e N) above it. Each value is one number for all joints, or has shape (n,); in the instance all have
    shape (n,).

    Attributes:
        stiffness: sigma_0; infinite: friction holds the joint rigidly [N m/rad or N/m].
        damping: sigma_1, while no element slips; the elements share it equally [N m s/rad or N s/m].
        elements: N, the same for all joints.

    Raises:
        InputError: As for `Friction`, the stiffness is not positive, the damping negative, or N not a whole number from
            1 to 16.
    """

    name: ClassVar[str] = "maxwell_slip"
    Settings: ClassVar[type] = MaxwellSlipSettings

    stiffness: Array = for_all_joints(np.inf)
    damping: Array = for_all_joints(0.0)
    elements: int = 4

    def __post_init__(self) -> None:
        """Check the values."""
        super().__post_init__()
        count: Array = self.elements  # type: ignore[assignment]  # Friction has made it an array
        if (count != count[0]).any():
            raise InputError(f"MaxwellSlip.elements: expected one number for all joints, received {count.tolist()}")
        object.__setattr__(self, "elements", int(count[0]))

    @classmethod
    def from_settings(cls, model: RobotModel, settings: Sequence[FrictionSettings], where: str) -> Self:
        """As in `Friction`; joints without a stiffness take the number of elements of the other joints.

        Raises:
            InputError: As in `Friction`; or joints have different numbers of elements.
        """
        found = [each for each in settings if isinstance(each, MaxwellSlipSettings)]
        counts = sorted({each.elements for each in found if each.stiffness is not None}) or [1]
        if len(counts) > 1:
            raise InputError(f"{where}: friction: elements: expected the same number for all joints, received "
                             f"{' and '.join(map(str, counts))}")
        stiffness = np.array([np.inf if each.stiffness is None else each.stiffness for each in found])
        damping = np.array([each.damping for each in found])
        if (unused := np.isinf(stiffness) & (damping > 0.0)).any():
            raise InputError(f"{where}: joint '{model.joint_names[int(np.argmax(unused))]}': friction: damping: "
                             f"expected a stiffness beside it, received {damping[unused][0]:g} alone")
        viscous, coulomb, static, velocity = cls._levels(model, settings, where)
        return cls(viscous, coulomb, static, velocity, stiffness, damping, counts[0])

    @property
    def bristles(self) -> Bristles:
        """The elements of joints with a finite stiffness."""
        bends = np.isfinite(constants(self.stiffness, traced=1.0))
        if not bends.any():
            return NO_BRISTLES
        joints = np.flatnonzero(bends)
        parts = np.full((self.elements, len(joints)), 1.0 / self.elements)
        shares = _shares(self.elements)[:, None] * np.ones(len(joints))
        return Bristles(joints, parts * self.stiffness[joints], parts * self.damping[joints], shares)

    def scaled(self, factor: ArrayLike) -> Self:
        """Return all friction times a factor, stiffness and damping, too, so that deflections do not change."""
        factors = as_joint_array(factor, self.n, NOT_NEGATIVE, "MaxwellSlip.scaled: factor")
        bends = np.isfinite(constants(self.stiffness, traced=1.0)) & (constants(factors, traced=1.0) > 0.0)
        stiffness = np.where(bends, factors * np.where(bends, self.stiffness, 1.0), self.stiffness)
        return replace(super().scaled(factors), stiffness=stiffness, damping=factors * self.damping)

    @classmethod
    def _ranges(cls) -> dict[str, Range]:
        return super()._ranges() | {"stiffness": Range(0.0, above=True, or_infinite=True)}


def _shares(count: int) -> NDArray[np.float64]:
    """Return the shares of the level at which the elements slip, the last one first, shape (count,).

    With u = sigma_0 x / F_s, the tangent of Dahl's curve 1 - exp(-u) with slope s is 1 - g(s) + s u, where
    g(s) = s (1 - log s). Elements of stiffness sigma_0 / N follow the tangents of slopes 1, 1 - 1/N, ..., 0: an element
    slips where two tangents meet, at u = N (g(s + 1/N) - g(s)).
    """
    slopes = np.arange(count + 1) / count
    rest = np.concatenate([[0.0], slopes[1:] * (1.0 - np.log(slopes[1:]))])
    return np.diff(rest)
