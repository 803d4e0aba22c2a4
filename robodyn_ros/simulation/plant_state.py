# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""State, commands and report of the simulated robot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.current_loop import CurrentLoopState
from robodyn_ros.actuation.drive_loop import DriveCommand, DriveLoopState
from robodyn_ros.base.fields import DAMPING, EFFORT, POSITION, VELOCITY, Field, Unit


@dataclass(frozen=True)
class Described:
    """Declaration of a field of a record, from which documents and exported code take its meaning.

    It is the field's default in its class, where `_field_defaults` finds it; every instance has all values.
    """

    description: str  # meaning, without unit and full stop
    unit: str | Unit = ""  # empty: none

    @property
    def text(self) -> str:
        """The meaning with its unit, and a full stop."""
        return Field("", None, self.description, self.unit).text


def described(description: str, unit: str | Unit = "") -> Any:
    """Declare a field of a record; arguments as in `Described`."""
    return Described(description, unit)


class EnergySums(NamedTuple):
    """Work and losses since the start, shape (n,) each [J]; see `readings.Energy`."""

    drive_work: NDArray[Any]
    external_work: NDArray[Any]
    viscous_loss: NDArray[Any]
    winding_heat: NDArray[Any]
    friction_loss: NDArray[Any]
    stop_loss: NDArray[Any]


class MotorSide(NamedTuple):
    """Motors of elastic joints, shape (m,) each, in the order of `PlantModel.elastic`."""

    q: NDArray[Any] = described("Positions of the motors of elastic joints, at the outputs of their gears; equal to "
                                "the joint position while the spring is relaxed", POSITION)
    v: NDArray[Any] = described("Velocities of these motors", VELOCITY)


class Presliding(NamedTuple):
    """State of the bristles; each array has shape (N, m) of `friction.Bristles`."""

    deflection: NDArray[Any] = described("Deflections of the bristles", POSITION)
    mode: NDArray[Any] = described("Modes that the next step tries first: 0 for a bristle that holds, 1 or -1 for one "
                                   "that slips and pushes that way")


class PlantState(NamedTuple):
    """State of the simulated robot; each array has shape (n,), and may be traced.

    Plants store it as one array of numbers, see `compile.records`. A new field may be an array or a record of any
    shape, empty for robots without such a part; q and v stay first. :meth:`PlantModel.state` creates it.
    """

    q: NDArray[Any] = described("Joint positions", POSITION)
    v: NDArray[Any] = described("Joint velocities", VELOCITY)
    current: NDArray[Any] = described("Armature currents of the motors", "A")
    temperature: NDArray[Any] = described("Temperatures of the motors' windings", "degrees Celsius")
    contact_mode: NDArray[Any] = described(
        "Modes of friction and stops that the next step tries first; those of joints, then of motors of elastic joints")
    saturation: NDArray[Any] = described(
        "Modes of the motors that the next step tries first: 1 or -1 at the limit of their current, else 0")
    energies: EnergySums = described("Work and losses since the start")
    presliding: Presliding = described("Bristles of the dry friction")
    loops: CurrentLoopState = described("Current loops of the drives")
    drives: DriveLoopState = described("Drives that close a loop of position, velocity or stiffness")
    motor_side: MotorSide = described("Motors of elastic joints")

    def without_energies(self) -> Self:
        """The state with work and losses reset to 0."""
        return self._replace(energies=EnergySums(*np.zeros((6, len(self.q)))))


class PlantCommand(NamedTuple):
    """Commands during a step; each array has shape (n,), and may be traced."""

    effort: NDArray[Any] = described("Commanded efforts", EFFORT)
    voltage: NDArray[Any] = described("Commanded voltages of the motors", "V")
    by_voltage: NDArray[Any] = described("1: the voltage is the command of the joint; 0: the effort")
    damping: NDArray[Any] = described("Damping by the drive", DAMPING)
    brake: NDArray[Any] = described("Dry friction of the brake, infinite for a brake that always holds", EFFORT)
    external: NDArray[Any] = described("Efforts of external wrenches: the transpose of the Jacobian times the wrench",
                                       EFFORT)
    drives: DriveCommand = described("Commands of the drives that close a loop")

    @classmethod
    def from_effort(cls, effort: NDArray[Any], drives: DriveCommand | None = None) -> Self:
        """Efforts only: no voltages, damping, brakes and wrenches; ``drives`` is needed where some close a loop."""
        own = DriveCommand(*np.zeros((4, 0))) if drives is None else drives
        return cls(*(effort, *np.zeros((5, len(effort))), own))
