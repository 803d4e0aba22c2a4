# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Dry friction whose rise towards rest decays exponentially with the speed: the model of Tustin [Armstrong]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.friction import Friction
from robodyn_ros.base.checks import constants
from robodyn_ros.compile import minimum

_NO_RISE = 500.0  # the decay is 0 beyond this exponent


@dataclass(frozen=True, eq=False)
class TustinFriction(Friction):
    """Friction of every joint with level(v) = F_c + (F_s - F_c) exp(-|v| / v_s); values as in `Friction`."""

    name: ClassVar[str] = "tustin"

    def level(self, v: NDArray[Any]) -> NDArray[Any]:
        """Return the greatest dry friction, shape (n,) [N m or N], at velocities, shape (n,) [rad/s or m/s]."""
        rise = self.rise * np.exp(-minimum(abs(v) / self.stribeck_velocity, _NO_RISE))
        return np.where(constants(self.rise, traced=1.0) > 0.0, self.coulomb + rise, self.coulomb)
