# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Impacts of robots with springs: joints that would drift past a stop in the first half of a step.

Such a joint has hit the stop. An inelastic impact gives it the velocity with which it reaches the stop in the middle of
the step, where the forces of the step hold it. The impulses J of all stops that are hit satisfy

    M(q) (v+ - v) = J,    (lower - q) / (h/2) <= v+ <= (upper - q) / (h/2),    J (v + v+) / 2 <= 0 for each joint,

so that no stop adds energy. Positions change through velocities only, so that the energy of springs stays balanced.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.compile import greater, less
from robodyn_ros.simulation.joint_constraints import NEGATIVE, Problem, pivot_step
from robodyn_ros.simulation.motion import inertia
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.plant_state import PlantState

_TOLERANCE = 1e-9  # [rad/s or m/s]


class Impact(NamedTuple):
    """An impact, and the current round of its solution."""

    problem: Problem  # M v+ = M v + impulses of stops
    contact_mode: NDArray[Any]  # modes for the next round, as in `joint_constraints`, shape (n + m,)
    velocity: NDArray[Any]  # v+ of links and motors, shape (n + m,) [rad/s or m/s]
    impulse: NDArray[Any]  # J, shape (n + m,) [N m s or N s]
    rounds: Any  # number of rounds so far
    moved: Any  # positive if the next modes differ, 0 if the solution is consistent


def meets_stop(plant: PlantModel, state: PlantState) -> Any:
    """Return a positive number if a joint would drift past a stop in the first half of a step, else 0."""
    limits, v = plant.limits, plant.elastic.velocity(state)
    slowest, fastest = _reach(plant, state)
    met = [*less(v, slowest - _TOLERANCE)[np.isfinite(limits.lower)],
           *greater(v, fastest + _TOLERANCE)[np.isfinite(limits.upper)]]
    return sum(met, np.float64(0.0))


def impact(plant: PlantModel, state: PlantState) -> Impact:
    """Set up the problem of an impact; the first guess is that no stop is hit."""
    motion, none = plant.elastic.velocity(state), np.zeros(plant.n + len(plant.elastic))
    matrix, of_motors = inertia(plant, state.q), np.zeros(plant.n)
    problem = Problem(matrix, matrix @ motion, none, *_reach(plant, state), of_motors, of_motors,
                      np.zeros(len(plant.sliding_motors)))
    return Impact(problem, np.full(len(none), float(NEGATIVE)), motion, none, np.float64(0.0), np.float64(1.0))


def impact_round(plant: PlantModel, met: Impact) -> Impact:
    """Solve for one choice of the stops that are hit, and choose again."""
    done = pivot_step(plant.limits, met.problem, met.contact_mode, np.zeros(plant.n),
                      np.zeros(len(plant.sliding_motors)), met.rounds)
    return Impact(met.problem, done.contact_mode, done.velocity, done.impulse, met.rounds + 1.0, done.moved)


def after_impact(plant: PlantModel, state: PlantState, met: Impact) -> PlantState:
    """Return the state after an impact."""
    n, motion = plant.n, plant.elastic.velocity(state)
    lost = plant.elastic.per_joint(met.impulse * (0.5 * (motion + met.velocity)))
    energies = state.energies._replace(stop_loss=state.energies.stop_loss - lost)
    return state._replace(v=met.velocity[:n], energies=energies,
                          motor_side=state.motor_side._replace(v=met.velocity[n:]))


def _reach(plant: PlantModel, state: PlantState) -> tuple[NDArray[Any], NDArray[Any]]:
    """Velocities with which joints come to their lower and upper stops in the middle of a step, shape (n + m,) each."""
    return plant.limits.reach(plant.elastic.position(state), plant.step - plant.drift)
