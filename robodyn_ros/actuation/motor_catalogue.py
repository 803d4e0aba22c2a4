# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Motors, and servos with a gear, by name: config/motors/ has one file for each, from its data sheet."""

from __future__ import annotations

from dataclasses import dataclass

from robodyn_ros.actuation.catalogue import Catalogue
from robodyn_ros.actuation.winding_heat import WindingHeat
from robodyn_ros.base.fields import declare, declare_as, declared

_HEAT = declared(WindingHeat)


@dataclass(frozen=True)
class MotorData:
    """Data of a DC motor, or of a brushless motor with its commutation as an equivalent DC motor, in SI units."""

    name: str = declare(kind=str, description="Manufacturer and type")
    source: str = declare(kind=str, description="Source of the data")
    nominal_voltage: float = declare(unit="V", minimum=0.0, above=True, description="Nominal voltage")
    resistance: float = declare(unit="ohm", minimum=0.0, above=True, description="Resistance R_M of the armature, "
                                "between the terminals")
    torque_constant: float = declare(unit="N m/A", minimum=0.0, above=True, description="Torque constant K_M")
    rotor_inertia: float = declare(unit="kg m^2", minimum=0.0, description="Rotor inertia J_M")
    inductance: float = declare(0.0, unit="H", minimum=0.0, description="Inductance L_M, between the terminals")
    back_emf_constant: float | None = declare(None, unit="V s/rad", minimum=0.0, description="Back-EMF constant K_e; "
                                              "none: K_M")
    continuous_current: float | None = declare(None, unit="A", minimum=0.0, above=True,
                                               description="Greatest permanent current")
    thermal_resistance: float | None = declare_as(_HEAT["thermal_resistance"])
    thermal_time_constant: float | None = declare_as(_HEAT["thermal_time_constant"])
    resistance_coefficient: float = declare_as(_HEAT["resistance_coefficient"])
    torque_constant_coefficient: float | None = declare_as(_HEAT["torque_constant_coefficient"])
    gear_ratio: float | None = declare(None, not_zero=True, description="Ratio of a gear that is part of it, as of a "
                                       "servo; the actuator's `gear_ratio` replaces it; none: it has no gear")
    gear_efficiency: float = declare(1.0, minimum=0.0, above=True, maximum=1.0, description="Efficiency of this gear; "
                                     "the actuator's replaces it")
    motor_friction: float = declare(0.0, unit="N m", minimum=0.0, description="Coulomb friction of motor and gear at "
                                    "the motor's shaft; the actuator's replaces it")
    winding_temperature_limit: float | None = declare(None, unit="degrees Celsius", minimum=0.0,
                                                      description="Greatest temperature of the winding")


MOTORS = Catalogue("motors", "motor", MotorData)
