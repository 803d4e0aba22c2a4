# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The semi-implicit Euler method, implicit in damping and motors; its functions can be compiled.

    (M(q) + h D) v' = M(q) v + h (tau - b(q, v)) + impulses of motors, friction and stops,    q' = q + h v'

Velocities of the links are followed by those of the motors of elastic joints; see `transmission` for the springs.

The method is of order 1: the energy error of a freely swinging robot over a given time is proportional to h. For
constant M and no damping it is the symplectic Euler method [HairerLubichWanner], whose energy error does not grow with
time. It is stable for any damping, back-EMF and inductance.

Its velocities belong to the middle of the previous step. With springs, this would matter: a fast spring moves far in
half a step, and its energy would depend on the step. Therefore robots with springs drift first (`acting_state`),

    q_mid = q + h/2 v,    the equation above at q_mid,    q' = q_mid + h/2 v',

which is the same method with velocities and positions of one instant, [HairerLubichWanner] VI.3 (the leapfrog). A joint
that would drift past a stop hits it: see `impact`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.regulated_current import regulated_step
from robodyn_ros.compile import clip
from robodyn_ros.dynamics.second_moment_newton_euler import inverse_dynamics
from robodyn_ros.simulation.integrator import IntegrationMethod
from robodyn_ros.simulation.joint_constraints import ConstraintSolution, Problem
from robodyn_ros.simulation.joint_drives import joint_drives
from robodyn_ros.simulation.motion import (
    drive_end,
    inertia,
    loop_demand,
    rotor_momentum,
    shaft_damping,
    shaft_losses,
    viscous,
    with_motor_diagonal,
)
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.plant_part import Losses, PlantParts
from robodyn_ros.simulation.plant_state import EnergySums, MotorSide, PlantCommand, PlantState

RESOLVED_RATE = 2.5
"""h w^2 up to which steps are not divided [1/s]: 50 rad/s at steps of 1 ms."""


class SemiImplicitEuler(IntegrationMethod):
    """The method of this module."""

    is_implicit = True
    mujoco = "EULER"

    def resolved_speed(self, step: float) -> float:
        """Return the sum of angular speeds up to which steps are not divided [rad/s]."""
        return float(np.sqrt(RESOLVED_RATE / step))

    def acting_state(self, plant: PlantModel, state: PlantState) -> PlantState:
        """Return the state at which forces act: with positions in the middle of the step if the plant drifts first."""
        if not plant.drifts_first:
            return state
        motion, position = plant.elastic.velocity(state), plant.elastic.position(state)
        q = clip(position + (plant.step - plant.drift) * motion, plant.limits.lower, plant.limits.upper)
        return state._replace(q=q[:plant.n], motor_side=state.motor_side._replace(q=q[plant.n:]))

    def problem(self, plant: PlantModel, state: PlantState, command: PlantCommand
                ) -> tuple[Problem, NDArray[Any], NDArray[Any]]:
        """Set up the problem of the velocity after the step: [Yamamoto] (6.16) with (6.1), (6.17) without inductance.

        Args:
            plant: The simulated model.
            state: State before the step; the state of `acting_state` if the plant drifts first.
            command: The commands.

        Returns:
            The problem; the motor voltages, shape (n,) [V]; and the friction that bends bristles.
        """
        q, v, step = state.q, state.v, plant.step
        drives, springs = joint_drives(plant, state, command), len(plant.elastic)
        position, nothing = plant.elastic.joined(q, state.motor_side.q), np.zeros(springs)
        # M v - h b in one recursion: -h times the effort that stops the bodies within the step.
        efforts = inverse_dynamics(plant.model, q, v, -v / step)
        tau = drives.effort + plant.elastic.joined(command.external, nothing)
        coupled = with_motor_diagonal(plant, shaft_damping(plant), nothing)
        slowest, fastest = plant.limits.reach(position, plant.drift)
        posed = Problem(
            matrix=inertia(plant, q) + np.diag(step * drives.viscous) + step * coupled,
            momentum=step * (tau - plant.elastic.joined(efforts, nothing)) + plant.elastic.joined(
                rotor_momentum(plant, v), plant.actuators.reflected_inertia[plant.elastic.joints] * state.motor_side.v),
            friction=step * drives.friction,
            slowest=slowest,
            fastest=fastest,
            drive=step * drives.motor_effort,
            drive_damping=step * drives.motor_damping,
            motor_friction=step * drives.motor_friction,
        )
        for part in plant.parts:
            posed = part.add_linear(state, posed)
        return posed, drives.voltage, drives.bristle_friction

    def first_modes(self, state: PlantState, problem: Problem) -> tuple[NDArray[Any], NDArray[Any]]:
        """First guess for the modes of friction and stops, and of the motors: those of the previous step."""
        return state.contact_mode, state.saturation

    def integrate(self, plant: PlantModel, state: PlantState, command: PlantCommand, voltage: NDArray[Any],
                  solution: ConstraintSolution, results: PlantParts) -> PlantState:
        """Return the state after the step, except for that of the parts.

        Work is impulse times the mean of the velocities before and after, like the change of kinetic energy by an
        impulse.

        Args:
            plant: The simulated model.
            state: As for `problem`.
            command: The commands; their external efforts include the contacts.
            voltage: Voltages of `problem`.
            solution: Solution of the problem.
            results: Results of the parts.
        """
        n, step, actuators, before, velocity = plant.n, plant.step, plant.actuators, state.energies, solution.velocity
        motion, position = plant.elastic.velocity(state), plant.elastic.position(state)
        middle, v, at_motors = 0.5 * (motion + velocity), velocity[:n], plant.elastic.at_motors(velocity)
        drives = drive_end(plant, state, command, voltage, at_motors)
        electrical = actuators.circuits.electrical_step(drives.voltage, state.current, at_motors, solution.saturation,
                                                        step)
        electrical, loops = regulated_step(actuators, electrical, loop_demand(plant, state, *drives.line),
                                           plant.elastic.at_motors(motion), at_motors, solution.saturation, step)
        dry, effort = solution.friction_part, drives.sources(plant)
        work = np.where(actuators.is_motor, electrical.work, step * effort * plant.elastic.at_motors(middle))
        damping = viscous(plant, command, plant.elastic.at_motors(motion))
        losses = Losses(before.viscous_loss + plant.elastic.per_joint(step * damping * velocity * middle)
                        + step * shaft_losses(plant, v, middle[:n]), plant.elastic.per_joint(-dry * middle))
        for part, result in zip(plant.parts, results, strict=True):
            losses = part.add_losses(losses, state, result, velocity)
        moved = clip(position + plant.drift * velocity, plant.limits.lower, plant.limits.upper)
        return PlantState(
            q=moved[:n],
            v=v,
            current=electrical.current,
            temperature=actuators.winding.next_temperature(state.temperature, electrical.heat, step,
                                                           actuators.has_heat),
            contact_mode=solution.contact_mode,
            saturation=solution.saturation,
            energies=EnergySums(
                drive_work=before.drive_work + work,
                external_work=before.external_work + step * command.external * middle[:n],
                viscous_loss=losses.viscous,
                winding_heat=before.winding_heat + electrical.heat,
                friction_loss=(before.friction_loss + losses.friction
                               - plant.friction_work(solution.motor_impulse, middle)),
                stop_loss=before.stop_loss - plant.elastic.per_joint((solution.impulse - dry) * middle)),
            presliding=state.presliding,
            loops=loops,
            drives=drives.state,
            motor_side=MotorSide(moved[n:], velocity[n:]))


METHOD = SemiImplicitEuler()
