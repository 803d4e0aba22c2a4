# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A force and torque sensor between a link and its tool: bias, drift, noise, delay, weight of the tool, and tare."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from robodyn_ros.checks import Range, as_floats, as_number
from robodyn_ros.description.model import Array
from robodyn_ros.kinematics.twists import cross


@dataclass(frozen=True, eq=False)
class ForceTorqueSensing:
    """Settings of the sensor. Arrays are of force and torque in the axes of the sensor.

    Attributes:
        force_noise: Standard deviation of each force [N].
        torque_noise: Standard deviation of each torque [N m].
        bias: Constant error, shape (6,) [N, N m].
        drift: Rate at which the error grows since the start, shape (6,) [N/s, N m/s].
        delay: Delay of the measurements [control periods].
        tool_mass: Mass that the sensor carries [kg].
        tool_center_of_mass: Its centre of mass in the frame of the sensor, shape (3,) [m].

    Raises:
        InputError: A value is not finite, negative where it cannot be, or of a wrong length.
    """

    force_noise: float = 0.0
    torque_noise: float = 0.0
    bias: Array = field(default_factory=lambda: np.zeros(6))
    drift: Array = field(default_factory=lambda: np.zeros(6))
    delay: int = 0
    tool_mass: float = 0.0
    tool_center_of_mass: Array = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self) -> None:
        """Check the values."""
        for name, unit in (("force_noise", "N"), ("torque_noise", "N m"), ("delay", "control periods"),
                           ("tool_mass", "kg")):
            as_number(getattr(self, name), Range(0.0, unit=unit), f"force and torque sensor: {name}")
        for name, length in (("bias", 6), ("drift", 6), ("tool_center_of_mass", 3)):
            checked = as_floats(getattr(self, name), (length,), f"force and torque sensor: {name}")
            object.__setattr__(self, name, checked)


class ForceTorqueSensor:
    """Measures once per control period.

    Args:
        sensing: Settings.
        period: Control period [s].
        random: Source of the noise.

    Attributes:
        reading: (force, torque) that surroundings and gravity exert on the tool, about the origin and in the axes of
            the sensor, after all errors, shape (6,) [N, N m]; never altered, only replaced.
    """

    def __init__(self, sensing: ForceTorqueSensing, period: float, random: np.random.Generator) -> None:
        self.sensing = sensing
        self._period, self._random = period, random
        self._periods = 0
        self._zero = np.zeros(6)
        self._without_noise = np.zeros(6)
        self._line: deque[Array] = deque(maxlen=sensing.delay + 1)
        self.reading: Array = np.zeros(6)

    def continue_from(self, other: ForceTorqueSensor) -> None:
        """Take over time, tare and measurements of a sensor with other settings."""
        self._periods, self._zero, self._without_noise = other._periods, other._zero, other._without_noise
        self._line.extend(other._line)
        self.reading = other.reading

    def restart(self) -> None:
        """Forget delayed measurements, after a jump of the joints."""
        self._line.clear()

    def measure(self, wrench: Array, rotation: Array, gravity: Array) -> Array:
        """Measure at the end of a control period, and return `reading`.

        Args:
            wrench: (force, torque) of the surroundings on the tool, about the sensor's origin in base axes, shape (6,)
                [N, N m].
            rotation: Axes of the sensor in base axes, shape (3, 3).
            gravity: Gravitational acceleration in base axes, shape (3,) [m/s^2].
        """
        self._periods += 1
        how = self.sensing
        local = np.concatenate([rotation.T @ wrench[:3], rotation.T @ wrench[3:]])
        local = local + tool_weight(how.tool_mass, how.tool_center_of_mass, rotation, gravity)
        self._without_noise = local + how.bias + self._periods * self._period * how.drift
        reading = self._without_noise - self._zero
        if how.force_noise or how.torque_noise:
            deviations = np.repeat([how.force_noise, how.torque_noise], 3)
            reading = reading + deviations * self._random.standard_normal(6)
        self._line.append(reading)
        self.reading = self._line[0]
        return self.reading

    def tare(self) -> None:
        """Make the present wrench the zero of later measurements, as the mean of many readings would."""
        self._zero = self._without_noise


def tool_weight(mass: float, center: Array, rotation: Array, gravity: Array) -> Array:
    """Return the weight of a tool as (force, torque) in the axes of the frame that carries it, shape (6,) [N, N m].

    Args:
        mass: Of the tool [kg].
        center: Its centre of mass in that frame, shape (3,) [m].
        rotation: Axes of the frame in base axes, shape (3, 3).
        gravity: Gravitational acceleration in base axes, shape (3,) [m/s^2].
    """
    force = mass * (rotation.T @ gravity)
    return np.concatenate([force, cross(center, force)])
