# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Drivers of arms by name: config/drivers/ has one file for each, from its manual.

A driver takes efforts once per control period, delays them, limits their rate, and adds its own compensation. It also
defines the meaning of `effort` in joint states.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from robodyn_ros.actuation.catalogue import Catalogue
from robodyn_ros.base.checks import NOT_NEGATIVE, as_joint_array
from robodyn_ros.base.errors import InputError
from robodyn_ros.base.fields import EFFORT, Range, declare
from robodyn_ros.description.model import Array

GENERIC = "generic"
"""The driver that passes efforts on unchanged."""

MAX_DELAY = 64
"""Greatest delay of commands [control periods]."""


class EffortReport(StrEnum):
    """Meaning of ``effort`` in joint states."""

    DRIVE_TORQUE = "drive_torque"
    """Effort of the drive, before the friction of joint and gear."""
    JOINT_TORQUE = "joint_torque"
    """Reading of a sensor behind the gear: effort of the drive minus friction."""
    TORQUE_WITHOUT_GRAVITY = "torque_without_gravity"
    """Effort of the drive minus the gravity that the driver compensates."""
    MOTOR_CURRENT = "motor_current"
    """Current of the motor [A]."""
    NONE = "none"
    """The field is empty."""


@dataclass(frozen=True)
class DriverProfile:
    """A driver.

    A value per joint is one number for all joints, or a list from the base on; its last number applies to all further
    joints.
    """

    name: str = declare(kind=str, description="Arm and interface")
    source: str = declare(kind=str, description="Documents that say so")
    rate: float | None = declare(None, unit="Hz", minimum=1.0, maximum=1e5, description="Rate at which it takes "
                                 "commands, and hence the control rate; none: any")
    delay: int = declare(0, unit="control periods", minimum=0, maximum=MAX_DELAY, description="Delay of commands")
    compensates_gravity: bool = declare(False, description="Whether it adds the gravity of the robot as described")
    viscous_compensation: Any = declare(0.0, kind=object, description="Share of the viscous friction that it adds")
    coulomb_compensation: Any = declare(0.0, kind=object, description="Share of the dry friction that it adds")
    effort_resolution: Any = declare(0.0, kind=object, unit=EFFORT, description="Step to which it rounds commands, as "
                                     "a bus has them in per mille of the rated torque (CiA 402, object 6071h); 0: "
                                     "none")
    effort_rate: Any = declare(None, kind=object, unit=f"{EFFORT.revolute}/s or {EFFORT.prismatic}/s",
                               description="Greatest rate of commands; none: no limit")
    effort: str = declare(str(EffortReport.DRIVE_TORQUE), choices=tuple(map(str, EffortReport)),
                          description="Meaning of the effort in joint states")
    torque_per_current: Any = declare(None, kind=object, unit="N m/A or N/A", description="Effort of a joint per motor "
                                      "current, for effort `motor_current` of joints without a motor")

    def per_joint(self, field: str, n: int) -> Array:
        """Return the values of a field for n joints, shape (n,).

        Raises:
            InputError: The values are no numbers, or out of their range.
        """
        allowed = _RANGES[field]
        array = as_joint_array(getattr(self, field), None, allowed, f"driver '{self.name}': {field}")
        if not array.size:
            raise InputError(f"driver '{self.name}': {field}: expected {allowed}, or a list of them, received []")
        spread = np.full(n, array[-1])
        spread[:len(array)] = array[:n]
        return spread

    @property
    def compensates_friction(self) -> bool:
        """Whether it compensates friction at any joint."""
        return any(np.any(getattr(self, field)) for field in ("viscous_compensation", "coulomb_compensation"))

    @property
    def changes_commands(self) -> bool:
        """Whether the efforts of the drives differ from the commands."""
        return bool(self.delay or self.compensates_gravity or self.compensates_friction
                    or np.any(self.effort_resolution) or self.effort_rate is not None)

    def check_rate(self, rate: float, where: str) -> None:
        """Check the control rate.

        Args:
            rate: Control periods per second [Hz].
            where: Source of the rate, for the message.

        Raises:
            InputError: The driver has another rate.
        """
        if self.rate is not None and abs(rate - self.rate) > 1e-6 * self.rate:
            raise InputError(f"{where}: expected {self.rate:g} Hz, that is a period of {1.0 / self.rate:g} s, at which "
                             f"the driver '{self.name}' takes commands, received {rate:g} Hz; give this rate, or a "
                             "driver file with another `rate`")


_SHARE, _POSITIVE = Range(0.0, 1.0), Range(0.0, above=True)
_RANGES = {"viscous_compensation": _SHARE, "coulomb_compensation": _SHARE, "effort_resolution": NOT_NEGATIVE,
           "effort_rate": _POSITIVE, "torque_per_current": _POSITIVE}


def _check(profile: DriverProfile) -> None:
    for field in _RANGES:
        if getattr(profile, field) is not None:
            profile.per_joint(field, 1)


DRIVERS = Catalogue("drivers", "driver", DriverProfile, _check)
