"""What a controller sees of the joints: encoders with a resolution, noise, a delay, and velocities made of positions.

At the beginning, ``position, velocity = sensors.restart(plant.q, plant.v)``; then, once per control period,
``position, velocity = sensors.measure(plant.q, plant.v)``.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, fields
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import NOT_NEGATIVE, Range, as_joint_array, as_number
from robodyn_ros.description.model import Array


class VelocitySource(StrEnum):
    """Where velocities come from."""

    SENSOR = "sensor"
    """A sensor of its own, a tachometer: the velocity itself, with ``velocity_noise``."""
    POSITION = "position"
    """Differences of measured positions over one control period: what most drives do."""


@dataclass(frozen=True)
class Sensing:
    """How the joints are measured. Figures per joint are a number, the same for all joints, or have shape (n,).

    Attributes:
        position_resolution: Step of the encoder, per joint [rad or m]; 0: none.
        position_noise: Standard deviation of the Gaussian noise that is added before the encoder rounds, per joint
            [rad or m].
        velocity_noise: Standard deviation of the noise of a velocity sensor, per joint [rad/s or m/s].
        velocity_source: Where velocities come from.
        velocity_filter: Time constant of a first-order low-pass filter on velocities [s]; 0: none.
        delay: Control periods by which everything is seen late.
    """

    position_resolution: ArrayLike = 0.0
    position_noise: ArrayLike = 0.0
    velocity_noise: ArrayLike = 0.0
    velocity_source: VelocitySource = VelocitySource.SENSOR
    velocity_filter: float = 0.0
    delay: int = 0

    @property
    def exact(self) -> bool:
        """Whether positions and velocities are seen as they are."""
        return all(not np.any(getattr(self, field.name)) for field in fields(self) if field.name != "velocity_source"
                   ) and self.velocity_source is VelocitySource.SENSOR


class Sensors:
    """Measures joints once per control period.

    A position gets its noise, then is rounded to the encoder's steps; a velocity is the sensor's, or the difference of
    two such positions, then is filtered; then both wait for the delay. The filter is the exact solution of
    T dy/dt = x - y for an input x that is constant over a period.

    Args:
        sensing: How.
        n: Number of joints.
        period: Control period [s].
        seed: Seed of the noise: the same seed and the same motion give the same measurements, to the last bit. Or
            the generator of the noise itself.

    Raises:
        InputError: A figure is negative, not finite, or of a wrong length.
    """

    def __init__(self, sensing: Sensing, n: int, period: float, seed: int | np.random.Generator = 0) -> None:
        self._resolution, self._position_noise, self._velocity_noise = (
            as_joint_array(getattr(sensing, name), n, NOT_NEGATIVE, f"sensing: {name}")
            for name in ("position_resolution", "position_noise", "velocity_noise"))
        as_number(sensing.velocity_filter, Range(0.0, unit="s"), "sensing: velocity_filter")
        as_number(sensing.delay, Range(0.0, unit="control periods"), "sensing: delay")
        self._period = period
        self._rounds = self._resolution > 0.0
        self._differentiates = sensing.velocity_source is VelocitySource.POSITION
        self._share = -np.expm1(-period / sensing.velocity_filter) if sensing.velocity_filter else 1.0
        self._random = np.random.default_rng(seed)
        self._line: deque[tuple[Array, Array]] = deque(maxlen=sensing.delay + 1)
        self.restart(np.zeros(n), np.zeros(n))

    def restart(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Measure a state that the joints did not come to by moving; what was seen before is forgotten.

        Args:
            q: Joint positions, shape (n,) [rad or m].
            v: Joint velocities, shape (n,) [rad/s or m/s].

        Returns:
            Positions and velocities as seen, shape (n,) each. The noise goes on where it was.
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
            Positions and velocities as seen, shape (n,) each.
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
        steps = np.divide(position, self._resolution, out=np.zeros_like(position), where=self._rounds)
        return np.where(self._rounds, np.rint(steps) * self._resolution, position)

    def _disturb(self, values: Array, deviation: Array) -> Array:
        if not deviation.any():
            return values
        return values + deviation * self._random.standard_normal(len(values))
