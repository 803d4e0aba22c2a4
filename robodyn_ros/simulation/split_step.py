# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Split steps of the other methods: first the smooth motion, then the impulses of friction and stops.

The smooth motion ends at (q', v'). Impulses J of friction and stops change this to

    M(q) (v'' - v') = J,    q'' = q' + c h (v'' - v'),

with c = 1/2 for a method of order 2 or more (an impulse spread over the step), and c = 0 for the explicit Euler method,
whose positions do not depend on the new velocity. Friction and stops act at the ends of steps only; with them, every
method is of order 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.joint_actuators import is_limit
from robodyn_ros.compile import clip, equal, greater_equal, less_equal, where
from robodyn_ros.simulation.joint_constraints import LOWER, STICKING, UPPER, Problem, friction_part
from robodyn_ros.simulation.motion import STATE_ROWS, SmoothRow, demand, derivative, inertia
from robodyn_ros.simulation.plant_model import CommandRow, Integrator, PlantModel, StateRow


def smooth_step(plant: PlantModel, state: NDArray[Any], command: NDArray[Any]) -> NDArray[Any]:
    """Integrate the smooth motion over a step by the explicit Euler or the Runge-Kutta method.

    Args:
        plant: The simulated model.
        state: Shape (len(StateRow), n).
        command: Shape (len(CommandRow), n).

    Returns:
        x at the end, shape (len(SmoothRow), n).
    """
    asked = demand(plant, command, state[StateRow.VELOCITY])

    def rate(x: NDArray[Any]) -> NDArray[Any]:
        return derivative(plant, x, asked, command)

    x, step = state[list(STATE_ROWS)], plant.step
    k1 = rate(x)
    if plant.integrator is Integrator.EXPLICIT_EULER:
        return x + step * k1
    k2 = rate(x + 0.5 * step * k1)  # the classical method of order 4, [HairerLubichWanner] II.1
    k3 = rate(x + 0.5 * step * k2)
    k4 = rate(x + step * k3)
    return x + step / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)


def problem(plant: PlantModel, state: NDArray[Any], command: NDArray[Any], x: NDArray[Any]
            ) -> tuple[Problem, NDArray[Any]]:
    """Pose the problem of friction and stops after the smooth motion.

    A joint at a stop after the smooth motion cannot continue in that direction.

    Args:
        plant: The simulated model.
        state: Shape (len(StateRow), n).
        command: Shape (len(CommandRow), n).
        x: End of the smooth motion, shape (len(SmoothRow), n).

    Returns:
        The problem; and the motors' voltages, shape (n,) [V].
    """
    v, actuators = state[StateRow.VELOCITY], plant.actuators
    voltage = demand(plant, command, v).voltage
    motor = actuators.effort_of(actuators.instant_current(voltage, state[StateRow.CURRENT], v))
    level = plant.friction.level(v) + actuators.gear_friction(motor) + command[CommandRow.BRAKE]
    mass, nothing = inertia(plant, state[StateRow.POSITION]), np.zeros(plant.n)
    posed = Problem(
        matrix=mass,
        momentum=mass @ x[SmoothRow.VELOCITY],
        friction=plant.step * level,
        slowest=where(less_equal(x[SmoothRow.POSITION], plant.limits.lower), 0.0, -np.inf),
        fastest=where(greater_equal(x[SmoothRow.POSITION], plant.limits.upper), 0.0, np.inf),
        drive=nothing,
        drive_damping=nothing,
    )
    return posed, voltage


def commit(plant: PlantModel, state: NDArray[Any], x: NDArray[Any], friction: NDArray[Any], voltage: NDArray[Any],
           velocity: NDArray[Any], impulse: NDArray[Any], contact_mode: NDArray[Any]) -> NDArray[Any]:
    """The state after the step, shape (len(StateRow), n).

    Arguments are those of :func:`problem` and ``semi_implicit_euler.commit``.
    """
    actuators, step, v = plant.actuators, plant.step, state[StateRow.VELOCITY]
    share = 0.0 if plant.integrator is Integrator.EXPLICIT_EULER else 0.5
    corrected = x[SmoothRow.POSITION] + share * step * (velocity - x[SmoothRow.VELOCITY])
    # A joint at a stop, or at rest, is exactly there in spite of the error of the method.
    lower, upper = plant.limits.lower, plant.limits.upper
    at_stop = where(equal(contact_mode, LOWER), lower, where(equal(contact_mode, UPPER), upper, corrected))
    resting = equal(contact_mode, STICKING) * equal(v, 0.0)
    q = where(resting, state[StateRow.POSITION], clip(at_stop, lower, upper))
    current = actuators.instant_current(voltage, x[SmoothRow.CURRENT], velocity)
    heat = x[SmoothRow.WINDING_HEAT] - state[StateRow.WINDING_HEAT]
    dry, middle = friction_part(friction, impulse), 0.5 * (x[SmoothRow.VELOCITY] + velocity)
    limit = actuators.greatest_current
    saturation = np.where(is_limit(limit), greater_equal(abs(current), limit), 0.0)
    return np.stack([
        q,
        velocity,
        current,
        actuators.next_temperature(state[StateRow.TEMPERATURE], heat, step),
        contact_mode,
        saturation,
        x[SmoothRow.DRIVE_WORK],
        x[SmoothRow.EXTERNAL_WORK],
        x[SmoothRow.VISCOUS_LOSS],
        x[SmoothRow.WINDING_HEAT],
        state[StateRow.FRICTION_LOSS] - dry * middle,
        state[StateRow.STOP_LOSS] - (impulse - dry) * middle,
    ])
