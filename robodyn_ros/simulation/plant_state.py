# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""State, commands and report of the simulated robot."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.current_loop import CurrentLoopState
from robodyn_ros.simulation.presliding import Presliding


class EnergySums(NamedTuple):
    """Work and losses since the start, shape (n,) each [J]; see `readings.Energy`."""

    drive_work: NDArray[Any]
    external_work: NDArray[Any]
    viscous_loss: NDArray[Any]
    winding_heat: NDArray[Any]
    friction_loss: NDArray[Any]
    stop_loss: NDArray[Any]


class MotorSide(NamedTuple):
    """Motors of elastic joints at the outputs of their gears, shape (m,) each, in the order of `PlantModel.elastic`.

    Attributes:
        q: Positions; equal to the joint position while the spring is relaxed [rad or m].
        v: Velocities [rad/s or m/s].
    """

    q: NDArray[Any]
    v: NDArray[Any]


class PlantState(NamedTuple):
    """State of the simulated robot; each array has shape (n,), and may be traced.

    Plants store it as one array of numbers, see `compile.records`. A new field may be an array or a record of any
    shape, empty for robots without such a part; q and v stay first. :meth:`PlantModel.state` creates it.

    Attributes:
        q: Joint positions [rad or m].
        v: Joint velocities [rad/s or m/s].
        current: Armature currents of the motors [A].
        temperature: Temperatures of their windings [degrees Celsius].
        contact_mode: Modes of friction and stops that the next step tries first, see `joint_constraints`; joints, then
            motors of elastic joints, shape (n + m,).
        saturation: Modes of the motors that it tries first: 1 or -1 at the limit of their current, else 0.
        energies: Work and losses since the start.
        presliding: Bristles of the dry friction.
        loops: Current loops of the drives.
        motor_side: Motors of elastic joints.
    """

    q: NDArray[Any]
    v: NDArray[Any]
    current: NDArray[Any]
    temperature: NDArray[Any]
    contact_mode: NDArray[Any]
    saturation: NDArray[Any]
    energies: EnergySums
    presliding: Presliding
    loops: CurrentLoopState
    motor_side: MotorSide

    def without_energies(self) -> Self:
        """The state with work and losses reset to 0."""
        return self._replace(energies=EnergySums(*np.zeros((6, len(self.q)))))


class PlantCommand(NamedTuple):
    """Commands during a step; each array has shape (n,), and may be traced.

    Attributes:
        effort: Commanded effort [N m or N].
        voltage: Commanded voltage [V].
        by_voltage: 1: the voltage is the command; 0: the effort.
        damping: Damping by the drive [N m s/rad or N s/m].
        brake: Dry friction of the brake, infinite for a brake that always holds [N m or N].
        external: Effort of external wrenches [N m or N].
    """

    effort: NDArray[Any]
    voltage: NDArray[Any]
    by_voltage: NDArray[Any]
    damping: NDArray[Any]
    brake: NDArray[Any]
    external: NDArray[Any]

    @classmethod
    def from_effort(cls, effort: NDArray[Any]) -> Self:
        """Efforts only: no voltages, damping, brakes and wrenches."""
        return cls(effort, *np.zeros((5, len(effort))))


class PlantReport(NamedTuple):
    """Voltages, currents and efforts at the end of a step; each array has shape (n,), and may be traced.

    A new field may be an array or a record of any shape; :meth:`PlantModel.report_at_rest` creates it.

    Attributes:
        voltage: Voltage at the motor's terminals [V].
        current: Armature current [A].
        effort: Effort of the drive on the joint: gamma tau_0 of a motor, and the damping by the drive [N m or N].
        friction: Viscous and dry friction of joint, gear and brake on the joint [N m or N].
        stop: Effort of the stops on the joint [N m or N].
        voltage_saturated: 1 where the voltage limit of the amplifier is active, else 0.
        current_saturated: 1 where the limit of current or torque is active, else 0.
        effort_saturated: 1 where the effort limit of the joint is active, else 0.
    """

    voltage: NDArray[Any]
    current: NDArray[Any]
    effort: NDArray[Any]
    friction: NDArray[Any]
    stop: NDArray[Any]
    voltage_saturated: NDArray[Any]
    current_saturated: NDArray[Any]
    effort_saturated: NDArray[Any]
