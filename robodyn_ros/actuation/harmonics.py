# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Torques of a motor that are periodic in its angle: cogging, and ripple of the torque constant, as harmonics.

Cogging is a torque sum A sin(k theta + phi) at the shaft, with or without current. It derives from the energy
sum A / k cos(k theta + phi) of magnets and slots, so a full turn takes no work [Hanselman]. Ripple changes the torque
constant K and the back-EMF constant alike, K (1 + sum r sin(k theta + phi)), so that the shaft receives the power
K w i_M of the circuit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.dc_motor import DCMotor
from robodyn_ros.base.checks import constants
from robodyn_ros.base.errors import InputError, shown
from robodyn_ros.base.fields import declare, section
from robodyn_ros.compile import greater, where
from robodyn_ros.description.model import Array

MAX_HARMONICS = 16

_SMALL = 1e-4  # angle below which sin(x) / x equals 1 - x^2 / 6 to the last bit


@dataclass(frozen=True)
class HarmonicSettings:
    """One harmonic of the motor's angle."""

    order: int = declare(kind=int, minimum=1, maximum=10_000, description="Periods in a turn of the motor")
    amplitude: float = declare(minimum=-1e3, maximum=1e3, description="Amplitude; of cogging in N m at the shaft, of "
                               "torque ripple as a share of the torque constant")
    phase: float = declare(0.0, unit="rad", minimum=-1e3, maximum=1e3, description="Phase at the motor's angle 0")


@dataclass(frozen=True, eq=False)
class Harmonics:
    """Sum of amplitude sin(order theta + phase) over K harmonics, for n motors."""

    order: Array  # periods in a turn, shape (K, n); 0 for motors with fewer harmonics
    amplitude: Array  # amplitudes, shape (K, n)
    phase: Array  # phases, shape (K, n) [rad]

    @classmethod
    def none(cls) -> Self:
        """Return no harmonics, for any number of motors."""
        return cls(*np.zeros((3, 0, 1)))

    @classmethod
    def from_settings(cls, motors: Sequence[Sequence[HarmonicSettings]]) -> Self:
        """Return the harmonics of n motors, from a list for each motor."""
        most = max(map(len, motors), default=0)
        absent = HarmonicSettings(0, 0.0)
        rows = [[*each, *[absent] * (most - len(each))] for each in motors]
        columns = np.array([[(one.order, one.amplitude, one.phase) for one in row] for row in rows], dtype=np.float64)
        return cls(*np.moveaxis(columns.reshape(len(motors), most, 3), (2, 1), (0, 1)))

    @property
    def greatest(self) -> Array:
        """Sum of the amplitudes' magnitudes, shape (n,)."""
        return np.sum(np.abs(self.amplitude), axis=0)

    def check(self, motor: DCMotor, is_motor: NDArray[np.bool_], step: float, joint_names: Sequence[str]) -> None:
        """Check that a step resolves the fastest oscillation of a rotor in these harmonics as its cogging torque.

        Args:
            motor: The n motors.
            is_motor: Which joints have one, shape (n,).
            step: h [s].
            joint_names: Names of the joints.

        Raises:
            InputError: It does not.
        """
        inertia = constants(motor.rotor_inertia, traced=np.inf)
        stiffness = np.sum(np.abs(constants(self.order * self.amplitude, traced=0.0)), axis=0)
        rates = np.sqrt(np.where(is_motor & (inertia > 0.0), stiffness, 0.0) / np.where(inertia > 0.0, inertia, 1.0))
        fastest = int(np.argmax(rates))
        if step * rates[fastest] > 1.0:
            raise InputError(f"cogging of the motor at '{joint_names[fastest]}': its rotor oscillates at up to "
                             f"{rates[fastest] / (2.0 * np.pi):.4g} Hz in it: expected a step of at most "
                             f"{1.0 / rates[fastest]:.3g} s, received {step:g} s")

    def scaled(self, factor: NDArray[Any]) -> Self:
        """Return the harmonics with amplitudes times factors; these may be traced, shape (n,)."""
        return replace(self, amplitude=factor * self.amplitude)

    def mean(self, angle: NDArray[Any], turned: NDArray[Any] | None = None) -> NDArray[Any] | float:
        """Return the mean over a range of angles; 0 without harmonics.

        A fast motor passes several harmonics in a step. It gets their mean, so that the motion does not depend on the
        choice of the step.

        Args:
            angle: theta in the middle of the range, shape (n,), may be traced [rad].
            turned: Length of the range, shape (n,), may be traced [rad]; None: 0.
        """
        total: NDArray[Any] | float = 0.0
        for order, amplitude, phase in zip(self.order, self.amplitude, self.phase, strict=True):
            value = amplitude * np.sin(order * angle + phase)
            if turned is None:
                total = total + value
                continue
            half = 0.5 * order * turned
            turns = greater(abs(half), _SMALL)
            share = where(turns, np.sin(half) / where(turns, half, 1.0), 1.0 - half * half / 6.0)
            total = total + value * share
        return total

    def integral(self, angle: NDArray[Any]) -> NDArray[Any] | float:
        """Return the sum of -amplitude / order cos(order theta + phase), shape (n,); 0 without harmonics."""
        total: NDArray[Any] | float = 0.0
        for order, amplitude, phase in zip(self.order, self.amplitude, self.phase, strict=True):
            total = total - amplitude / np.where(order > 0.0, order, 1.0) * np.cos(order * angle + phase)
        return total


def harmonic_settings(where_: str, values: Any) -> tuple[HarmonicSettings, ...]:
    """Read a list of harmonics.

    Args:
        where_: Source of the values, for messages.
        values: A list of sections, or None.

    Raises:
        InputError: The values are no list, too many, or a section is not valid.
    """
    if values is None:
        return ()
    if not isinstance(values, list) or len(values) > MAX_HARMONICS:
        raise InputError(f"{where_}: expected a list of up to {MAX_HARMONICS} sections with order, amplitude and "
                         f"phase, received {shown(values)}")
    return tuple(section(HarmonicSettings, f"{where_}: {index}", each) for index, each in enumerate(values))
