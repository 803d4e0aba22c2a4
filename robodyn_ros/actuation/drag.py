# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Dry friction that grows with the square of the velocity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.actuation.friction import FrictionModel
from robodyn_ros.base.checks import constants
from robodyn_ros.base.fields import DAMPING, EFFORT, declare
from robodyn_ros.description.model import Array, RobotModel


@dataclass(frozen=True)
class DragSettings:
    """Numbers of a joint in a YAML file."""

    viscous: float = declare(0.0, unit=DAMPING, minimum=0.0, description="Viscous friction")
    dry: float = declare(0.0, unit=EFFORT, minimum=0.0, description="Dry friction at rest")
    drag: float = declare(0.0, minimum=0.0, description="Rise of the dry friction with the square of the velocity")


@dataclass(frozen=True, eq=False)
class Drag(FrictionModel):
    """level(v) = F + c v^2; every array has shape (n,)."""

    name = "drag"
    Settings = DragSettings

    viscous: Array
    dry: Array
    drag: Array

    @classmethod
    def from_settings(cls, _model: RobotModel, settings: Sequence[DragSettings], _where: str) -> Self:
        """As in `FrictionModel`."""
        return cls(*np.array([(joint.viscous, joint.dry, joint.drag) for joint in settings]).T)

    def level(self, v: NDArray[Any]) -> NDArray[Any]:
        """As in `FrictionModel`."""
        return self.dry + self.drag * v * v

    @property
    def has_dry(self) -> NDArray[np.bool_]:
        """As in `FrictionModel`."""
        found: NDArray[np.bool_] = constants(self.dry + self.drag, traced=1.0) > 0.0
        return found

    def scaled(self, factor: ArrayLike) -> Self:
        """As in `FrictionModel`."""
        share = np.asarray(factor)
        return replace(self, viscous=share * self.viscous, dry=share * self.dry, drag=share * self.drag)
