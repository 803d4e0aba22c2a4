# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""One step by the semi-implicit Euler method, implicit in damping and motors, as functions that can be compiled.

    (M(q) + h D) v' = M(q) v + h (tau - b(q, v)) + impulses of motors, friction and stops,    q' = q + h v'

The method is of order 1: the energy error of a freely swinging robot over a given time is proportional to h. For
constant M and no damping it is the symplectic Euler method [HairerLubichWanner], whose energy error does not grow with
time. It is stable for any damping, back-EMF and inductance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.compile import clip
from robodyn_ros.dynamics.second_moment_newton_euler import inverse_dynamics
from robodyn_ros.simulation.joint_constraints import Problem, friction_part
from robodyn_ros.simulation.joint_drives import joint_drives
from robodyn_ros.simulation.motion import ideal_effort, inertia, viscous
from robodyn_ros.simulation.plant_model import CommandRow, PlantModel, StateRow


def problem(plant: PlantModel, state: NDArray[Any], command: NDArray[Any]) -> tuple[Problem, NDArray[Any]]:
    """Pose the problem of the velocity after the step: [Yamamoto] (6.16) with (6.1), (6.17) without inductance.

    Args:
        plant: The simulated model.
        state: Shape (len(StateRow), n).
        command: Shape (len(CommandRow), n).

    Returns:
        The problem; and the motors' voltages, shape (n,) [V].
    """
    q, v, step = state[StateRow.POSITION], state[StateRow.VELOCITY], plant.step
    drives = joint_drives(plant, state, command)
    # M v - h b in one recursion: -h times the effort that would stop the bodies within the step.
    efforts = inverse_dynamics(plant.model, q, v, -v / step)
    tau = drives.effort + command[CommandRow.EXTERNAL]
    posed = Problem(
        matrix=inertia(plant, q) + np.diag(step * drives.viscous),
        momentum=step * (tau - efforts) + plant.actuators.reflected_inertia * v,
        friction=step * drives.friction,
        slowest=np.where(np.isfinite(plant.limits.lower), (plant.limits.lower - q) / step, -np.inf),
        fastest=np.where(np.isfinite(plant.limits.upper), (plant.limits.upper - q) / step, np.inf),
        drive=step * drives.motor_effort,
        drive_damping=step * drives.motor_damping,
    )
    return posed, drives.voltage


def commit(plant: PlantModel, state: NDArray[Any], command: NDArray[Any], friction: NDArray[Any], voltage: NDArray[Any],
           velocity: NDArray[Any], impulse: NDArray[Any], contact_mode: NDArray[Any], saturation: NDArray[Any]
           ) -> NDArray[Any]:
    """Return the state after the step.

    Work is impulse times the mean of the velocities before and after, as the change of kinetic energy by an impulse.

    Args:
        plant: The simulated model.
        state: Before the step, shape (len(StateRow), n).
        command: Shape (len(CommandRow), n).
        friction: Of :func:`problem`.
        voltage: Likewise.
        velocity: Its solution, shape (n,).
        impulse: Of friction and stops, shape (n,).
        contact_mode: Choice to begin the next step with, shape (n,).
        saturation: Likewise.

    Returns:
        Shape (len(StateRow), n).
    """
    q, v, step, actuators = state[StateRow.POSITION], state[StateRow.VELOCITY], plant.step, plant.actuators
    middle = 0.5 * (v + velocity)
    electrical = actuators.electrical_step(voltage, state[StateRow.CURRENT], velocity, saturation, step)
    dry = friction_part(friction, impulse)
    work = np.where(actuators.is_motor, electrical.work, step * ideal_effort(plant, command) * middle)
    return np.stack([
        clip(q + step * velocity, plant.limits.lower, plant.limits.upper),
        velocity,
        electrical.current,
        actuators.next_temperature(state[StateRow.TEMPERATURE], electrical.heat, step),
        contact_mode,
        saturation,
        state[StateRow.DRIVE_WORK] + work,
        state[StateRow.EXTERNAL_WORK] + step * command[CommandRow.EXTERNAL] * middle,
        state[StateRow.VISCOUS_LOSS] + step * viscous(plant, command, v) * velocity * middle,
        state[StateRow.WINDING_HEAT] + electrical.heat,
        state[StateRow.FRICTION_LOSS] - dry * middle,
        state[StateRow.STOP_LOSS] - (impulse - dry) * middle,
    ])
