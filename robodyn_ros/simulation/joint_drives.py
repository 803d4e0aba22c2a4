# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Efforts of drives and friction in one step, before the equation of motion; the same for every engine."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.motor_circuits import EffortLine
from robodyn_ros.actuation.regulated_current import regulated_line
from robodyn_ros.simulation.motion import demand, drive_line, drive_response, loop_demand, viscous
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.plant_state import PlantCommand, PlantState


class JointDrives(NamedTuple):
    """Efforts in one step that do not depend on the rigid bodies.

    Arrays of links, then of the motors of elastic joints, have shape (n + m,).

    Attributes:
        effort: Effort of ideal sources and cogging on the joints, shape (n + m,) [N m or N].
        motor_effort: Effort of motors at their gears' outputs at velocity 0, before the current limit, shape (n,) [N m
            or N]; and what the efforts of ideal sources change by, where their drive closes a loop.
        motor_damping: Decrease of this effort per velocity of the output, shape (n,) [N m s/rad or N s/m].
        viscous: Viscous friction of joints, shafts of uncoupled motors and damping drives, shape (n + m,) [N m s/rad or
            N s/m].
        friction: Greatest dry friction of joints, uncoupled motors and gears, and brakes, shape (n + m,) [N m or N].
        voltage: Motor voltages, shape (n,) [V].
        motor_friction: Greatest dry friction of coupled motors and their gears, at the outputs, shape (coupled,) [N m
            or N].
        bristle_friction: Greatest dry friction that bends bristles, not part of ``friction``, shape (m,) of
            `friction.Bristles` [N m or N].
    """

    effort: NDArray[Any]
    motor_effort: NDArray[Any]
    motor_damping: NDArray[Any]
    viscous: NDArray[Any]
    friction: NDArray[Any]
    voltage: NDArray[Any]
    motor_friction: NDArray[Any]
    bristle_friction: NDArray[Any] = np.zeros(0)


def joint_drives(plant: PlantModel, state: PlantState, command: PlantCommand) -> JointDrives:
    """Return the efforts of drives and friction in a step that begins in a state.

    Args:
        plant: The simulated model.
        state: The state.
        command: The commands.
    """
    actuators, motion = plant.actuators, plant.elastic.velocity(state)
    seen = plant.elastic.at_motors(motion)
    command, slope = drive_line(plant, state, command)
    requested = demand(plant, command, seen)
    line = actuators.circuits.effort_line(requested.voltage, state.current, plant.step)
    if slope is not None:
        falls = slope * drive_response(plant, command, seen)
        line = EffortLine(line.effort - falls * seen, line.damping - falls)
    line = regulated_line(actuators, line, loop_demand(plant, state, command, slope), seen, plant.step)
    speed, nothing = plant.limits.output_velocity(motion), np.zeros(plant.n)
    bending = plant.parts.presliding.bristles.joints
    at_start = actuators.circuits.limited_effort(line.effort - line.damping * speed)
    at_motors = plant.elastic.at_motors(plant.elastic.position(state))
    cogging = actuators.cogging_effort(at_motors, plant.step * seen)
    losses = actuators.gear_friction(at_start + cogging, speed)
    dry = plant.elastic.split(plant.friction.level(state.v), np.where(actuators.is_coupled, 0.0, losses))
    rigid = dry.copy()
    rigid[bending] = 0.0
    effort = plant.elastic.split(nothing, requested.effort) + plant.limits.on_joints(cogging)
    return JointDrives(effort, line.effort, line.damping, viscous(plant, command, seen),
                       rigid + plant.elastic.split(nothing, command.brake), requested.voltage,
                       losses[plant.sliding_motors], dry[bending])
