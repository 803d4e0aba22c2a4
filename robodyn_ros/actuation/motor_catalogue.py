# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Motors by name: config/motors/ has one file for each, with the data of its data sheet."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from robodyn_ros.actuation.yaml_fields import number, section
from robodyn_ros.bounded_files import expand, is_file, read_yaml
from robodyn_ros.errors import InputError, suggest
from robodyn_ros.resources import share_directory


@dataclass(frozen=True)
class MotorFigures:
    """Data of a DC motor, or of a brushless motor with its commutation as an equivalent DC motor, in SI units.

    Attributes:
        name: Manufacturer and type.
        source: Source of the data.
        nominal_voltage: [V].
        resistance: R_M, between the terminals [ohm].
        torque_constant: K_M [N m/A].
        rotor_inertia: J_M [kg m^2].
        inductance: L_M, between the terminals [H].
        back_emf_constant: K_e; None for K_M [V s/rad].
        continuous_current: Greatest permanent current [A].
        thermal_resistance: From winding to ambient: winding to housing and housing to ambient [K/W].
        thermal_time_constant: Of the winding [s].
        winding_temperature_limit: [degrees Celsius].
    """

    name: str
    source: str
    nominal_voltage: float = number(above=True)
    resistance: float = number(above=True)
    torque_constant: float = number(above=True)
    rotor_inertia: float = number()
    inductance: float = number(0.0)
    back_emf_constant: float | None = number(None)
    continuous_current: float | None = number(None, above=True)
    thermal_resistance: float | None = number(None, above=True)
    thermal_time_constant: float | None = number(None, above=True)
    winding_temperature_limit: float | None = number(None)


def motor_names() -> tuple[str, ...]:
    """Return the sorted names of the motors in the catalogue."""
    return tuple(sorted(path.stem for path in _folder().glob("*.yaml")))


def load_motor(name: str, where: str = "motor") -> MotorFigures:
    """Load the data of a motor.

    Args:
        name: Name in the catalogue, or path of a file like those in config/motors/.
        where: Place of the name, for messages.

    Raises:
        InputError: There is no such motor, or its file is not valid.
    """
    path = _folder() / f"{name}.yaml" if name in motor_names() else expand(name)
    if not is_file(path):
        raise InputError(f"{where}: unknown motor '{name}': {suggest(name, motor_names())}; or give the path of a file")
    return section(MotorFigures, str(path), read_yaml(path))


def _folder() -> Path:
    return share_directory() / "config" / "motors"
