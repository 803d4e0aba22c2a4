# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Joint sensors: encoders with a resolution, noise, a delay, and velocities from differences of positions.

First ``position, velocity = sensors.restart(plant.q, plant.v)``; then, once per control period,
``position, velocity = sensors.measure(plant.q, plant.v)``.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.base.checks import as_joint_array, as_number
from robodyn_ros.base.common_fields import POSITION_NOISE, VELOCITY_NOISE
from robodyn_ros.base.fields import POSITION, declare, declare_as, declared
from robodyn_ros.compile import equal, minimum, where
from robodyn_ros.description.model import Array

MAX_DELAY = 64
"""Greatest delay in rollouts that vary it [control periods]."""


class VelocitySource(StrEnum):
    """Sources of velocities."""

    SENSOR = "sensor"
    """A tachometer: the velocity itself with ``velocity_noise``."""
    POSITION = "position"
    """Differences of measured positions over one control period, as in most drives."""


@dataclass(frozen=True)
class Sensing:
    """Settings of the sensors; a value per joint is one number for all joints, or has shape (n,)."""

    position_resolution: ArrayLike = declare(
        0.0, unit=POSITION, minimum=0.0, maximum=10.0, per_joint=True, description="Step of the encoders; 0: none")
    position_noise: ArrayLike = declare_as(POSITION_NOISE.renamed("position_noise", default=0.0, per_joint=True))
    velocity_noise: ArrayLike = declare_as(VELOCITY_NOISE.renamed("velocity_noise", default=0.0, per_joint=True))
    velocity_source: VelocitySource = declare(
        VelocitySource.SENSOR, kind=str, choices=tuple(map(str, VelocitySource)),
        description="sensor: velocities are measured; position: they are differences of measured positions")
    velocity_filter: float = declare(
        0.0, unit="s", minimum=0.0, maximum=10.0,
        description="Time constant of the first-order low-pass filter on velocities; 0: none")
    delay: int = declare(0, unit="control periods", minimum=0, maximum=1000, description="Delay of all measurements")

    @property
    def exact(self) -> bool:
        """Whether positions and velocities are measured exactly."""
        return all(not np.any(getattr(self, field.name)) for field in fields(self) if field.name != "velocity_source"
                   ) and self.velocity_source is VelocitySource.SENSOR


class Sensors:
    """Measures joints once per control period.

    Noise is added to positions, which are then rounded to the steps of the encoder. Velocities come from a sensor or
    from differences of such positions, and are filtered. Both are delayed. The filter solves T dy/dt = x - y exactly
    for an input x that is constant over a period.

    Args:
        sensing: Settings of the sensors.
        n: Number of joints.
        period: Control period [s].
        seed: Seed of the noise, or its generator. The same seed and the same motion give the same measurements, to
            the last bit.

    Raises:
        InputError: A value is negative, not finite, or of a wrong length.
    """

    def __init__(self, sensing: Sensing, n: int, period: float, seed: int | np.random.Generator = 0) -> None:
        self._resolution, self._position_noise, self._velocity_noise = (
            as_joint_array(getattr(sensing, name), n, declared(Sensing)[name].range, f"sensing: {name}")
            for name in ("position_resolution", "position_noise", "velocity_noise"))
        for name in ("velocity_filter", "delay"):
            as_number(getattr(sensing, name), declared(Sensing)[name].range, f"sensing: {name}")
        self._period = period
        self._rounds = self._resolution > 0.0
        self._differentiates = sensing.velocity_source is VelocitySource.POSITION
        self._share = -np.expm1(-period / sensing.velocity_filter) if sensing.velocity_filter else 1.0
        self._random = np.random.default_rng(seed)
        self._line: deque[tuple[Array, Array]] = deque(maxlen=sensing.delay + 1)
        self.restart(np.zeros(n), np.zeros(n))

    def restart(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Measure a state after a jump of the joints, without past measurements.

        Args:
            q: Joint positions, shape (n,) [rad or m].
            v: Joint velocities, shape (n,) [rad/s or m/s].

        Returns:
            Measured positions and velocities, shape (n,) each; the noise sequence continues.
        """
        self._position, self._velocity = self._encode(q), v
        self._line.clear()
        self._line.append((self._position, self._velocity))
        return self._line[0]

    def measure(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Measure the joints at the end of a control period.

        Args:
            q: Joint positions, shape (n,) [rad or m].
            v: Joint velocities, shape (n,) [rad/s or m/s].

        Returns:
            Measured positions and velocities, shape (n,) each.
        """
        position = self._encode(q)
        if self._differentiates:
            velocity = (position - self._position) / self._period
        else:
            velocity = self._disturb(v, self._velocity_noise)
        if self._share < 1.0:
            velocity = self._velocity + self._share * (velocity - self._velocity)
        self._position, self._velocity = position, velocity
        self._line.append((position, self._velocity))
        return self._line[0]

    def _encode(self, q: Array) -> Array:
        position = self._disturb(q, self._position_noise)
        if not self._rounds.any():
            return position
        return encoded(position, self._resolution)

    def _disturb(self, values: Array, deviation: Array) -> Array:
        if not deviation.any():
            return values
        return values + deviation * self._random.standard_normal(len(values))


def encoded(position: NDArray[Any], resolution: NDArray[Any]) -> NDArray[Any]:
    """Return positions rounded to the steps of the encoders; both may be traced.

    Args:
        position: Shape (n,) [rad or m].
        resolution: Step, 0 for none, shape (n,) [rad or m].
    """
    steps = np.rint(position / where(resolution, resolution, 1.0))
    return where(resolution, steps * resolution, position)


def delayed(measured: NDArray[Any], line: NDArray[Any], taken: Any, delay: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the delayed measurement, and the new delay line; all arguments may be traced.

    While there are fewer measurements than the delay, the first one is returned.

    Args:
        measured: The present measurement.
        line: The D measurements before it, newest first, shape (D, *shape of the measurement).
        taken: Number of measurements before this one.
        delay: A whole number from 0 to D [control periods].
    """
    lag, result = minimum(delay, taken), measured
    for periods, earlier in enumerate(line, 1):
        result = where(equal(lag, float(periods)), earlier, result)
    return result, np.concatenate([measured[None], line])[:len(line)]
