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
from dataclasses import dataclass

import numpy as np

from robodyn_ros.base.checks import as_floats, as_number
from robodyn_ros.base.fields import declare, declared
from robodyn_ros.description.model import Array
from robodyn_ros.kinematics.twists import cross


@dataclass(frozen=True, eq=False)
class ForceTorqueSensing:
    """Settings of the sensor; arrays hold force and torque in the axes of the sensor.

    Raises:
        InputError: A value is not finite, out of its range, or of a wrong length.
    """

    force_noise: float = declare(0.0, unit="N", minimum=0.0, maximum=1e4,
                                 description="Standard deviation of the noise of each force")
    torque_noise: float = declare(0.0, unit="N m", minimum=0.0, maximum=1e4,
                                  description="Standard deviation of the noise of each torque")
    bias: Array = declare([0.0] * 6, length=6, unit="N, N m", minimum=-1e4, maximum=1e4,
                          description="Constant error of force and torque")
    drift: Array = declare([0.0] * 6, length=6, unit="N/s, N m/s", minimum=-1e4, maximum=1e4,
                           description="Rate at which the error of force and torque grows")
    delay: int = declare(0, unit="control periods", minimum=0, maximum=1000, description="Delay of force and torque")
    tool_mass: float = declare(0.0, unit="kg", minimum=0.0, maximum=1e5,
                               description="Mass that the sensor carries besides the payload")
    tool_center_of_mass: Array = declare([0.0] * 3, length=3, unit="m", minimum=-100.0, maximum=100.0,
                                         description="Its centre of mass in the frame of the sensor")

    def __post_init__(self) -> None:
        """Check the values."""
        for name, own in declared(type(self)).items():
            where, value = f"force and torque sensor: {name}", getattr(self, name)
            if isinstance(own.default, list):
                object.__setattr__(self, name, as_floats(value, (len(own.default),), where))
            else:
                as_number(value, own.range, where)


class ForceTorqueSensor:
    """Measures once per control period.

    Args:
        sensing: Settings.
        period: Control period [s].
        random: Source of the noise.

    Attributes:
        reading: Measured (force, torque) of surroundings and gravity on the tool, about the origin and in the axes of
            the sensor, shape (6,) [N, N m]; never altered, only replaced.
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
            wrench: (force, torque) of the surroundings on the tool, about the sensor's origin, in base axes, shape (6,)
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
        """Subtract the present wrench, without noise, from later measurements."""
        self._zero = self._without_noise


def tool_weight(mass: float, center: Array, rotation: Array, gravity: Array) -> Array:
    """Return the weight of a tool as (force, torque) in the frame that carries it, shape (6,) [N, N m].

    Args:
        mass: Mass of the tool [kg].
        center: Its centre of mass in that frame, shape (3,) [m].
        rotation: Axes of the frame in base axes, shape (3, 3).
        gravity: Gravitational acceleration in base axes, shape (3,) [m/s^2].
    """
    force = mass * (rotation.T @ gravity)
    return np.concatenate([force, cross(center, force)])
