# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Split steps of the explicit and adaptive methods: smooth motion first, then impulses of friction and stops.

The smooth motion ends at (q', v'). Impulses J of friction and stops change this to

    M(q) (v'' - v') = J,    q'' = q' + c h (v'' - v'),

with c = 1/2 for a method of order 2 or more (an impulse spread over the step), and c = 0 for the explicit Euler method,
in which positions do not depend on the new velocity. Friction and stops act at the ends of steps only, so every method
is of order 1 with them.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.joint_values import is_limit
from robodyn_ros.compile import clip, equal, greater_equal, less_equal, where
from robodyn_ros.simulation.integrator import IntegrationMethod
from robodyn_ros.simulation.joint_constraints import (
    LOWER,
    STICKING,
    UPPER,
    ConstraintSolution,
    Problem,
    within_reach,
)
from robodyn_ros.simulation.motion import SmoothState, demand, inertia
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.plant_part import PlantParts
from robodyn_ros.simulation.plant_state import EnergySums, MotorSide, PlantCommand, PlantState


class SplitStep(IntegrationMethod):
    """A method that integrates the smooth motion first.

    Attributes:
        share: c, see above.
    """

    share: ClassVar[float] = 0.5

    def problem(self, plant: PlantModel, state: PlantState, command: PlantCommand, x: SmoothState
                ) -> tuple[Problem, NDArray[Any], NDArray[Any]]:
        """Set up the problem of friction and stops after the smooth motion.

        A joint at a stop after the smooth motion cannot continue in that direction.

        Args:
            plant: The simulated model.
            state: State before the step.
            command: The commands.
            x: End of the smooth motion.

        Returns:
            The problem; the motor voltages, shape (n,) [V]; and no friction that bends bristles.
        """
        actuators, limits = plant.actuators, plant.limits
        motion = plant.elastic.velocity(state)
        seen = plant.elastic.at_motors(motion)
        voltage = demand(plant, command, seen).voltage
        flowing = actuators.circuits.instant_current(voltage, state.current, seen)
        losses = actuators.gear_friction(actuators.circuits.output_effort_from_current(flowing),
                                         limits.output_velocity(motion))
        level = plant.elastic.split(plant.friction.level(state.v), np.where(actuators.is_coupled, 0.0, losses),
                                    command.brake)
        mass, nothing, position = inertia(plant, state.q), np.zeros(plant.n), plant.elastic.joined(x.q, x.motor_q)
        posed = Problem(
            matrix=mass,
            momentum=mass @ plant.elastic.joined(x.v, x.motor_v),
            friction=plant.step * level,
            slowest=np.where(np.isfinite(limits.lower), where(less_equal(position, limits.lower), 0.0, -np.inf),
                             -np.inf),
            fastest=np.where(np.isfinite(limits.upper), where(greater_equal(position, limits.upper), 0.0, np.inf),
                             np.inf),
            drive=nothing,
            drive_damping=nothing,
            motor_friction=plant.step * losses[plant.sliding_motors],
        )
        return posed, voltage, np.zeros(0)

    def first_modes(self, state: PlantState, problem: Problem) -> tuple[NDArray[Any], NDArray[Any]]:
        """First guess for the modes of friction and stops, and of the motors."""
        return within_reach(state.contact_mode, problem), np.zeros(len(state.q))

    def integrate(self, plant: PlantModel, state: PlantState, command: PlantCommand, voltage: NDArray[Any],
                  solution: ConstraintSolution, _results: PlantParts, x: SmoothState) -> PlantState:
        """Return the state after the step.

        Args:
            plant: The simulated model.
            state: State before the step.
            command: The commands; their work is in ``x``.
            voltage: Voltages of `problem`.
            solution: Solution of the problem.
            x: End of the smooth motion.
        """
        actuators, step, velocity, mode = plant.actuators, plant.step, solution.velocity, solution.contact_mode
        n, motion = plant.n, plant.elastic.joined(x.v, x.motor_v)
        corrected = plant.elastic.joined(x.q, x.motor_q) + self.share * step * (velocity - motion)
        before = plant.elastic.position(state)
        # Place joints at stops, or at rest, exactly, without the error of the method.
        lower, upper = plant.limits.lower, plant.limits.upper
        at_stop = where(equal(mode, LOWER), lower, where(equal(mode, UPPER), upper, corrected))
        resting = equal(mode, STICKING) * equal(plant.elastic.velocity(state), 0.0)
        q = where(resting, before, clip(at_stop, lower, upper))
        current = actuators.circuits.instant_current(voltage, x.current, plant.elastic.at_motors(velocity))
        heat = x.winding_heat - state.energies.winding_heat
        dry, middle, limit = solution.friction_part, 0.5 * (motion + velocity), actuators.circuits.greatest_current
        return PlantState(
            q=q[:n],
            v=velocity[:n],
            current=current,
            temperature=actuators.winding.next_temperature(state.temperature, heat, step, actuators.has_heat),
            contact_mode=mode,
            saturation=np.where(is_limit(limit), greater_equal(abs(current), limit), 0.0),
            energies=EnergySums(
                x.drive_work, x.external_work, x.viscous_loss, x.winding_heat,
                friction_loss=(state.energies.friction_loss - plant.elastic.per_joint(dry * middle)
                               - plant.friction_work(solution.motor_impulse, middle)),
                stop_loss=state.energies.stop_loss - plant.elastic.per_joint((solution.impulse - dry) * middle)),
            presliding=state.presliding,
            loops=state.loops,
            drives=state.drives,
            motor_side=MotorSide(q[n:], velocity[n:]))
