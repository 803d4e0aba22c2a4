# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The springs of elastic joints, as far as laws know them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.description.model import Array


class JointSprings(NamedTuple):
    """Springs between the motors of joints and their links [Spong].

    Attributes:
        stiffness: K, infinite for rigid joints, shape (n,) [N m/rad or N/m].
        motor_inertia: B at the outputs of the gears, 0 for rigid joints, shape (n,) [kg m^2 or kg].
        damping: D beside the springs, 0 for rigid joints, shape (n,) [N m s/rad or N s/m].
    """

    stiffness: Array
    motor_inertia: Array
    damping: Array

    @property
    def is_elastic(self) -> NDArray[np.bool_]:
        """Which joints have a spring, shape (n,)."""
        return np.isfinite(self.stiffness)
