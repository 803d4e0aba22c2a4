# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Temperature of a motor's winding, and what depends on it: resistance, torque constant, and the drive's limits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.dc_motor import DCMotor
from robodyn_ros.actuation.joint_values import is_limit, joint_value
from robodyn_ros.base.checks import constants
from robodyn_ros.compile import clip, maximum
from robodyn_ros.description.model import Array

AMBIENT_TEMPERATURE = 25.0
"""Temperature at which data sheets rate motors [degrees Celsius]."""

COPPER = 1.0 / (235.0 + 25.0)
"""Relative rise of the resistance of copper per kelvin above 25 degrees Celsius [1/K], IEC 60034-1."""

MIN_SHARE = 0.05
"""Least share of resistance and torque constant at any temperature; linear laws have no meaning below."""


@dataclass(frozen=True, eq=False)
class WindingHeat:
    """Thermal model of the windings; every array has shape (n,). A thermal resistance of 0 means none.

    The coefficients are relative to `AMBIENT_TEMPERATURE`.
    """

    thermal_resistance: Array = joint_value(
        0.0, yaml=None, unit="K/W", minimum=0.0, above=True, quantity="motor.thermal_resistance", only="has_heat",
        description="Thermal resistance from winding to housing, and from housing to ambient")
    thermal_time_constant: Array = joint_value(
        1.0, yaml=None, unit="s", minimum=0.0, above=True, quantity="motor.thermal_time_constant", only="has_heat",
        description="Time constant of the winding")
    ambient_temperature: Array = joint_value(
        AMBIENT_TEMPERATURE, unit="degrees Celsius", minimum=-273.15, description="Temperature of the surroundings")
    resistance_coefficient: Array = joint_value(
        0.0, yaml=COPPER, unit="1/K", minimum=0.0, maximum=0.01, quantity="motor.resistance_coefficient",
        only="has_heat",
        description="Rise of the resistance with the temperature, relative to that at 25 degrees Celsius")
    torque_constant_coefficient: Array = joint_value(
        0.0, yaml=None, unit="1/K", minimum=-0.01, maximum=0.0, quantity="motor.torque_constant_coefficient",
        only="has_heat",
        description="Change of the torque constant with the temperature, relative to that at 25 degrees Celsius, by "
        "the magnets: neodymium -0.0012, samarium-cobalt -0.0003, ferrite -0.002")
    derating_start: Array = joint_value(
        np.inf, yaml=None, unit="degrees Celsius", minimum=-273.15, maximum=1000.0, quantity="motor.derating_start",
        only="derates", description="Temperature of the winding from which the amplifier lowers the limits of current "
        "and torque, linearly; none: never")
    derating_end: Array = joint_value(
        np.inf, yaml=None, unit="degrees Celsius", minimum=-273.15, maximum=1000.0, quantity="motor.derating_end",
        only="derates", description="Temperature of the winding at which these limits are 0")

    @property
    def is_modelled(self) -> NDArray[np.bool_]:
        """Whether a winding warms up, shape (n,)."""
        found: NDArray[np.bool_] = constants(self.thermal_resistance, traced=1.0) > 0.0
        return found

    @property
    def derates(self) -> NDArray[np.bool_]:
        """Whether limits fall with the temperature, shape (n,)."""
        return is_limit(self.derating_start)

    @property
    def changes_motor(self) -> NDArray[np.bool_]:
        """Whether resistance or torque constant depend on the temperature, shape (n,)."""
        return ((constants(self.resistance_coefficient, traced=1.0) != 0.0)
                | (constants(self.torque_constant_coefficient, traced=1.0) != 0.0))

    def warm_motor(self, motor: DCMotor, temperature: NDArray[Any], warms: NDArray[np.bool_]) -> DCMotor:
        """Return motors at a temperature: R_M = R_25 (1 + alpha (T - 25)), and K_M and K_e likewise.

        The magnets are assumed as warm as the winding.

        Args:
            motor: The motors at `AMBIENT_TEMPERATURE`.
            temperature: Temperatures of the windings, may be traced, shape (n,) [degrees Celsius].
            warms: Which motors have a thermal model, shape (n,).
        """
        rise = temperature - AMBIENT_TEMPERATURE
        resistance, constant = (
            np.where(warms & (constants(own, traced=1.0) != 0.0), 1.0 + own * rise, 1.0)
            for own in (self.resistance_coefficient, self.torque_constant_coefficient))
        return replace(motor, resistance=motor.resistance * maximum(resistance, MIN_SHARE),
                       torque_constant=motor.torque_constant * maximum(constant, MIN_SHARE),
                       back_emf_constant=motor.back_emf_constant * maximum(constant, MIN_SHARE))

    def limit_share(self, temperature: NDArray[Any], derates: NDArray[np.bool_]) -> NDArray[Any]:
        """Return the remaining share of the limits, which fall linearly from ``derating_start`` to ``derating_end``.

        Args:
            temperature: Temperatures of the windings, may be traced, shape (n,) [degrees Celsius].
            derates: Which limits fall, shape (n,).
        """
        start, end = np.where(derates, self.derating_start, 0.0), np.where(derates, self.derating_end, 1.0)
        return np.where(derates, clip((end - temperature) / (end - start), 0.0, 1.0), 1.0)

    def next_temperature(self, temperature: NDArray[Any], heat: NDArray[Any], step: float, warms: NDArray[np.bool_]
                         ) -> NDArray[Any]:
        """Return the winding temperatures after a step: T_th dT/dt = T_ambient + R_th P - T at constant power.

        Args:
            temperature: Temperatures at the beginning, shape (n,) [degrees Celsius].
            heat: Heat in the windings during the step, shape (n,) [J].
            step: h [s].
            warms: Which motors have a thermal model, shape (n,).

        Returns:
            Temperatures at the end, shape (n,) [degrees Celsius]; unchanged without a thermal model.
        """
        left = np.array([np.exp(-step / constant) for constant in self.thermal_time_constant])  # some may be traced
        settled = self.ambient_temperature + self.thermal_resistance * heat / step
        return np.where(warms, settled + left * (temperature - settled), temperature)
