# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Options of every loader of a URDF: from a file or text, as a model or a `Robot`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from robodyn_ros.description.model import Array


class LoadOptions(TypedDict, total=False):
    """Keyword arguments of the loaders of URDF.

    Attributes:
        strict: Whether physically implausible values that can be computed are errors instead of warnings; default
            False.
        gravity: Gravitational acceleration in base axes, shape (3,) [m/s^2]; default `STANDARD_GRAVITY`.
        tip_link: Name of the link used where none is named; default None, the tool frame of the longest arm, see
            `default_tip.default_tip`.
        hold_massless: Whether joints that move no inertia become fixed if the robot has any inertia; False keeps all
            joints, for kinematics; default True.
    """

    strict: bool
    gravity: Sequence[float] | Array
    tip_link: str | None
    hold_massless: bool
