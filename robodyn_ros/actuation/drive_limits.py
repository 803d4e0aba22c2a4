# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Limits of amplifiers and motors: of voltage, current and torque."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.joint_values import is_limit, joint_value, within
from robodyn_ros.compile import minimum
from robodyn_ros.description.model import Array


@dataclass(frozen=True, eq=False)
class DriveLimits:
    """Limits of the drives; every array has shape (n,), infinity means no limit."""

    voltage_limit: Array = joint_value(
        np.inf, yaml=None, unit="V", minimum=0.0, above=True, quantity="motor.voltage_limit",
        description="Voltage limit of the amplifier; none: the motor's nominal voltage")
    current_limit: Array = joint_value(
        np.inf, yaml=None, unit="A", minimum=0.0, above=True, quantity="motor.current_limit",
        description="Current limit of the amplifier; none: no limit")
    torque_limit: Array = joint_value(
        np.inf, yaml=None, unit="N m", minimum=0.0, above=True, quantity="motor.torque_limit",
        description="Torque limit of the motor's shaft; none: no limit")
    derating: Array = joint_value(
        1.0, minimum=0.0, maximum=1.0,
        description="Remaining share of the limits of current and torque, see `WindingHeat`")

    def on_voltage(self, voltage: NDArray[Any]) -> NDArray[Any]:
        """Limit voltages, shape (n,) [V]."""
        return within(voltage, self.voltage_limit)

    def greatest_current(self, torque_constant: Array, is_motor: NDArray[np.bool_]) -> Array:
        """Return the greatest current within the limits of current and torque, infinite without limits, shape (n,) [A].

        Torque is limited by limiting the current.

        Args:
            torque_constant: K_M, shape (n,) [N m/A].
            is_motor: Which joints have a motor, shape (n,); ideal sources have no limit of current.
        """
        limited = is_limit(self.torque_limit)
        by_torque = np.where(limited, self.torque_limit, 1.0) / torque_constant
        limit = minimum(self.current_limit, np.where(limited, by_torque, np.inf))
        full = np.where(is_motor, limit, np.inf)
        limited = is_limit(full)
        return np.where(limited, np.where(limited, full, 0.0) * self.derating, np.inf)
