# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Motions too fast for the step: divides steps and keeps the balance of energy, up to a declared speed.

A step takes the velocity products at its beginning. Its energy error is of order 1: in a second, about h w^2 of the
kinetic energy, where w is the sum of the joints' angular speeds. Beyond `resolved_speed`, bounded efforts could speed
up a robot without bound. There, steps are divided, and the velocities after each part are scaled so that the kinetic
energy balances the work of drives, gravity and wrenches and the losses. Beyond `MAX_ANGLE` the simulation ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.compile import Compute, Repeat, clip, greater, less_equal, maximum, where
from robodyn_ros.compile.program import Statement
from robodyn_ros.dynamics.energy import potential_energy
from robodyn_ros.simulation.motion import inertia
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.plant_state import PlantState
from robodyn_ros.simulation.plant_step import StepProgram, plant_computation, step_program

MAX_ANGLE = 10.0
"""h w, the sum of the angles that joints turn in a step; the simulation ends beyond it [rad]: 10,000 rad/s at 1 ms."""

PARTS = 16
"""Parts of a divided step."""

MAX_GAIN = 1.1
"""Greatest factor on the kinetic energy after a part that lost energy."""


def angular_speed_sum(plant: PlantModel, v: NDArray[Any]) -> Any:
    """Return the sum of the joints' angular speeds, weighted by the roots of their shares in the inertia [rad/s].

    The weights discount a light wrist that spins about its own axis, since it turns no other link.

    Args:
        plant: The simulated model.
        v: Joint velocities, shape (n,), may be traced [rad/s or m/s].
    """
    return sum(plant.speed_weights * abs(v), np.float64(0.0))


def resolved_speed(plant: PlantModel) -> float:
    """Return the sum of angular speeds up to which steps are not divided [rad/s]."""
    return plant.method.resolved_speed(plant.step)


def max_speed(plant: PlantModel) -> float:
    """Return the sum of angular speeds beyond which the simulation ends [rad/s]."""
    return MAX_ANGLE / plant.step


def with_divided_steps(plant: PlantModel) -> PlantModel:
    """Return the plant with the shorter steps of :func:`divided_step_program`."""
    step = plant.step / PARTS
    loops, drives = plant.actuators.current_loops.within_step(step), plant.actuators.drive_loops.within_step(step)
    return replace(plant, step=step, actuators=replace(plant.actuators, current_loops=loops, drive_loops=drives))


def divided_step_program(plant: PlantModel, varied: Sequence[str] = (), **options: Any) -> StepProgram:
    """Like `step_program`, for motions beyond `resolved_speed`: divides the step into parts that balance the energy.

    A further variable, ``peak``, keeps the greatest :func:`angular_speed_sum` of all parts [rad/s].
    """
    part = with_divided_steps(plant)
    program = step_program(part, varied, **options)

    def balance(varied_part: PlantModel, before: PlantState, after: PlantState) -> PlantState:
        # Slow motions stay unscaled: near rest, the error of a step is not small against the kinetic energy.
        is_fast = greater(angular_speed_sum(part, before.v), 0.9 * resolved_speed(plant))
        balanced = with_energy_balance(varied_part, before, after)
        return after._replace(v=where(is_fast, balanced.v, after.v), motor_side=after.motor_side._replace(
            v=where(is_fast, balanced.motor_side.v, after.motor_side.v)))

    statements = [Compute(lambda state: state, "state", "before"), *program.statements,
                  Compute(lambda v, peak: maximum(peak, angular_speed_sum(part, v)), ("state.v", "peak"), "peak"),
                  plant_computation(part, varied, balance, ("before", "state"), "state")]
    return program._replace(variables=program.variables | {"before": program.variables["state"], "peak": ()},
                            statements=(Repeat(PARTS, statements),))


def period_program(plant: PlantModel, steps: int | str, varied: Sequence[str] = (), *, divides: bool,
                   typical: Mapping[str, Any] | None = None, under_efforts: bool = True) -> StepProgram:
    """Return a control period under constant commands, as `Plant` runs it.

    Args:
        plant: The simulated model.
        steps: Number of steps, or the name of an argument.
        varied: As for `step_program`.
        divides: Whether a period that begins or ends beyond `resolved_speed` is repeated with divided steps.
        typical: Typical values of the varied quantities, for a program outside of a loop.
        under_efforts: As for `step_program`.
    """
    step = step_program(plant, varied, under_efforts=under_efforts)
    ordinary = Repeat(steps, step.statements, typical or {})
    if not divides:
        return step._replace(variables=step.variables | {"peak": ()}, statements=(ordinary,))
    divided_step, resolved = divided_step_program(plant, varied, under_efforts=under_efforts), resolved_speed(plant)

    def is_fast(before: NDArray[Any], after: NDArray[Any]) -> Any:
        slow = less_equal(angular_speed_sum(plant, before), resolved) * less_equal(angular_speed_sum(plant, after),
                                                                                   resolved)
        return 1.0 - slow  # NaN is not slow

    again: list[Statement] = [Compute(lambda start: start, "start", "state"), Repeat(steps, divided_step.statements)]
    return step._replace(
        variables=divided_step.variables | {"start": step.variables["state"], "fast": ()},
        statements=(Compute(lambda state: state, "state", "start"), ordinary,
                    Compute(is_fast, ("start.v", "state.v"), "fast"), Repeat(1, again, flag="fast", at_least=0)))


def with_energy_balance(plant: PlantModel, before: PlantState, after: PlantState) -> PlantState:
    """Return the state after a part of a step, with velocities scaled to balance the energy.

    Slow motions stay unscaled: near rest, the error of a step is not small against the kinetic energy.

    Args:
        plant: The simulated model; its step is the part.
        before: The state before the part.
        after: The state after it.
    """
    kinetic, stored = _kinetic_energy(plant, after), _stored_energy(plant, after) - _stored_energy(plant, before)
    right = _kinetic_energy(plant, before) + _supplied_energy(after) - _supplied_energy(before) - stored
    share = where(greater(kinetic, 0.0), right / where(greater(kinetic, 0.0), kinetic, 1.0), 1.0)
    factor = np.sqrt(clip(share, 0.0, MAX_GAIN))
    side = after.motor_side
    return after._replace(v=factor * after.v, motor_side=side._replace(v=factor * side.v))


def _kinetic_energy(plant: PlantModel, state: PlantState) -> Any:
    motion = plant.elastic.velocity(state)
    return 0.5 * motion @ (inertia(plant, state.q) @ motion)


def _stored_energy(plant: PlantModel, state: PlantState) -> Any:
    """Energy of the links' weights, the motors' inductances and magnets, bristles, and springs behind motors."""
    at_motors = plant.elastic.at_motors(plant.elastic.position(state))
    stored = [*plant.actuators.circuits.magnetic_energy(state.current), *plant.actuators.cogging_energy(at_motors),
              *(each for part in reversed(plant.parts) for each in part.energy(state))]
    return potential_energy(plant.model, state.q) + sum(stored, np.float64(0.0))


def _supplied_energy(state: PlantState) -> Any:
    energies = state.energies
    gained = energies.drive_work + energies.external_work - energies.viscous_loss - energies.winding_heat
    return sum(gained - energies.friction_loss - energies.stop_loss, np.float64(0.0))
