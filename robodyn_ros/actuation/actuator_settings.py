# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The sections ``actuator`` and ``transmission`` of a joint in YAML files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from robodyn_ros.actuation.current_loop import DRIVES, CurrentLoopSettings, DriveData
from robodyn_ros.actuation.drive_limits import DriveLimits
from robodyn_ros.actuation.drive_losses import DriveLosses
from robodyn_ros.actuation.motor_catalogue import MotorData
from robodyn_ros.actuation.transmission import Transmission
from robodyn_ros.actuation.winding_heat import WindingHeat
from robodyn_ros.base.errors import InputError
from robodyn_ros.base.fields import Unit, declare, declare_as, declared, section

_LOSSES, _LIMITS, _SPRING, _HEAT = map(declared, (DriveLosses, DriveLimits, Transmission, WindingHeat))


@dataclass(frozen=True)
class ActuatorSettings:
    """A motor with gear and amplifier."""

    motor: str | Mapping[str, Any] = declare(
        kind=object, description="Name in the catalogue, path of a file, or the data of the motor as a mapping")
    gear_ratio: float | None = declare(
        None, unit=Unit("-", "rad/m"), not_zero=True,
        description="Motor turns per joint turn, or motor angle per metre; negative where the motor turns the other "
        "way; none: of the gear of the motor's data, or else of the transmission of the robot's description; not for "
        "coupled joints")
    gear_efficiency: float | None = declare_as(_LOSSES["efficiency"])
    gear_static_loss: float = declare_as(_LOSSES["static_loss"])
    gear_inertia: float = declare(0.0, unit="kg m^2", minimum=0.0, description="Inertia of the gear at the motor's "
                                  "shaft, beside that of the rotor")
    gear_loss_velocity: float = declare_as(_LOSSES["loss_velocity"])
    motor_damping: float = declare_as(_LOSSES["motor_damping"])
    motor_friction: float | None = declare_as(_LOSSES["motor_friction"])
    inductance: bool = declare(True, description="Whether the inductance of the motor is modelled")
    voltage_limit: float | None = declare_as(_LIMITS["voltage_limit"])
    current_limit: float | None = declare_as(_LIMITS["current_limit"])
    torque_limit: float | None = declare_as(_LIMITS["torque_limit"])
    thermal: bool = declare(True, description="Whether the winding warms up, if the data of the motor include a "
                            "thermal model")
    temperature_effects: bool = declare(False, description="Whether resistance and torque constant follow the "
                                        "temperature of the winding; the data of the motor need a thermal model and "
                                        "`torque_constant_coefficient`")
    derating_start: float | None = declare_as(_HEAT["derating_start"])
    derating_end: float | None = declare_as(_HEAT["derating_end"])
    current_loop: Any = declare(None, kind=object, description="Current loop of the drive, a section; none: efforts "
                                "are converted to voltages")
    cogging: Any = declare(None, kind=object, description="Cogging torque at the motor's shaft; a list of harmonics")
    torque_ripple: Any = declare(None, kind=object, description="Change of the torque constant with the angle of the "
                                 "motor; a list of harmonics")
    ambient_temperature: float = declare_as(_HEAT["ambient_temperature"])


@dataclass(frozen=True)
class TransmissionSettings:
    """The spring between drive and link of an elastic joint; docs/plant.md has the model."""

    stiffness: float = declare_as(_SPRING["stiffness"])
    damping: float = declare_as(_SPRING["spring_damping"])
    backlash: float = declare_as(_SPRING["backlash"])
    encoder: str = declare("link", choices=("link", "motor"), description="Side of the spring that the joint's encoder "
                           "measures: link; or motor, by its position divided by the gear ratio")
    inertia: float | None = declare_as(_SPRING["source_inertia"])


def check_temperatures(place: str, found: ActuatorSettings, motor: MotorData, warms: bool) -> None:
    """Check that temperature effects and derating have a thermal model and consistent values."""
    start, end = found.derating_start, found.derating_end
    if (start is None) is not (end is None):
        raise InputError(f"{place}: expected derating_start and derating_end, received one of them; give both")
    if (found.temperature_effects or start is not None) and not warms:
        raise InputError(f"{place}: temperature_effects and derating: expected a motor with thermal_resistance and "
                         f"thermal_time_constant, and `thermal` not false, received '{motor.name}' without")
    if found.temperature_effects and motor.torque_constant_coefficient is None:
        raise InputError(f"{place}: temperature_effects: expected torque_constant_coefficient in the data of motor "
                         f"'{motor.name}', received none; give that of its magnets")
    if start is not None and end is not None:
        if not start < end:
            raise InputError(f"{place}: derating_end: expected more than derating_start, {start:g}, received "
                             f"{end:g}")
        if found.current_limit is None and found.torque_limit is None:
            raise InputError(f"{place}: derating: expected current_limit or torque_limit, which it lowers, "
                             "received neither")


def drive_of(place: str, found: ActuatorSettings) -> tuple[CurrentLoopSettings, DriveData | None]:
    """Return the settings of an actuator's current loop, and the drive of the catalogue that they name."""
    loop = section(CurrentLoopSettings, place, found.current_loop)
    return loop, DRIVES.load(loop.drive, f"{place}: drive") if loop.drive else None


def peak_current(place: str, found: ActuatorSettings) -> float | None:
    """Return the greatest current of the drive of an actuator's current loop; None without one."""
    drive = None if found.current_loop is None else drive_of(f"{place}: current_loop", found)[1]
    return None if drive is None else drive.peak_current
