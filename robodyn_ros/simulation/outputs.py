# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Outputs of the plant: values of every joint at the end of a step, each declared once, with its formula.

From a declaration follow the report that steps compute, `SimulatedRobot.actuator_state`, the message ActuatorStates,
the series of a recording, the fields and the function ``read`` of a robot in C, and the tables in docs/plant.md. To
add an output, declare it here, run ``python tools/parameter_tables.py``, and build robodyn_interfaces.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.base.fields import EFFORT, Unit
from robodyn_ros.compile import clip, greater, greater_equal, where
from robodyn_ros.description.model import Array
from robodyn_ros.simulation.motion import drive_damping, shaft_friction, source_effort, viscous
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.plant_part import PlantParts
from robodyn_ros.simulation.plant_state import Described, PlantCommand, PlantState


@dataclass(frozen=True, eq=False)
class StepEnd:
    """End of a step, from which outputs are computed; arrays may be traced.

    Attributes:
        plant: The simulated model, with the motor constants of the state.
        state: State after the step.
        command: The commands.
        demanded: Voltages demanded from the amplifiers without current loops, within their limits, shape (n,) [V].
        friction: Greatest impulse of dry friction, shape (n + m,) [N m s or N s].
        impulse: Impulse of friction and stops, shape (n + m,) [N m s or N s].
        motor_impulse: Impulse of the dry friction of coupled motors, shape (coupled,) [N m s or N s].
        results: Results of the parts.
    """

    plant: PlantModel
    state: PlantState
    command: PlantCommand
    demanded: NDArray[Any]
    friction: NDArray[Any]
    impulse: NDArray[Any]
    motor_impulse: NDArray[Any]
    results: PlantParts

    @cached_property
    def motion(self) -> NDArray[Any]:
        """Velocities of links and motors, shape (n + m,) [rad/s or m/s]."""
        return self.plant.elastic.velocity(self.state)

    @cached_property
    def seen(self) -> NDArray[Any]:
        """Velocities at the motors, shape (n,) [rad/s or m/s]."""
        return self.plant.elastic.at_motors(self.motion)

    @cached_property
    def damping(self) -> NDArray[Any]:
        """Damping by the drives, shape (n,) [N m s/rad or N s/m]."""
        return drive_damping(self.plant, self.command, self.seen)

    @cached_property
    def voltage(self) -> NDArray[Any]:
        """Voltages demanded from the amplifiers, shape (n,) [V]."""
        loops = self.state.loops
        voltage = self.demanded.astype(np.result_type(self.demanded, loops.voltage))
        voltage[self.plant.actuators.current_loops.joints] = loops.voltage
        return voltage


def _voltage(end: StepEnd) -> NDArray[Any]:
    motors = end.plant.actuators.motors
    regulated = motors.motor.voltage(end.state.current, motors.gear.motor_motion(end.seen))
    return where(end.state.saturation, regulated, end.voltage)


def _joint_effort(end: StepEnd) -> NDArray[Any]:
    plant, state, actuators = end.plant, end.state, end.plant.actuators
    cogging = actuators.cogging_effort(plant.elastic.at_motors(plant.elastic.position(state)))
    of_motors = actuators.circuits.effort_from_current(state.current)
    return (source_effort(plant, state, end.command) + of_motors - end.damping * end.seen
            + plant.elastic.per_joint(plant.limits.on_joints(cogging)))


def _friction_effort(end: StepEnd) -> NDArray[Any]:
    plant, step = end.plant, end.plant.step
    dry, of_drive = clip(end.impulse, -end.friction, end.friction), plant.elastic.split(np.zeros(plant.n), end.damping)
    effort = (plant.elastic.per_joint(dry / step - (viscous(plant, end.command, end.seen) - of_drive) * end.motion
                                      + plant.limits.sliding.T @ (end.motor_impulse / step))
              + shaft_friction(plant, end.state.v))
    for part, result in zip(plant.parts, end.results, strict=True):
        effort = effort + part.friction_effort(result)
    return effort


@dataclass(frozen=True, kw_only=True)
class Output(Described):
    """Declaration of an output.

    Attributes:
        value: Its formula, shape (n,).
        only: Attribute of `JointActuators` that selects the joints that have it; it is NaN for the others. Empty: all.
        missing: Name of these others, for the documents.
        of_state: Whether it is a function of the state alone, so that it is known before the first step; else it is 0
            there.
        is_flag: Whether it is 1 or 0, true or false in messages.
    """

    value: Callable[[StepEnd], NDArray[Any]]
    only: str = ""
    missing: str = ""
    of_state: bool = False
    is_flag: bool = False

    def masked(self, end: StepEnd, value: NDArray[Any]) -> NDArray[Any]:
        """Return values with NaN for the joints that do not have them, shape (n,)."""
        return np.where(getattr(end.plant.actuators, self.only), value, np.nan) if self.only else value


def output(value: Callable[[StepEnd], Any], description: str, unit: str | Unit = "", **options: Any) -> Any:
    """Declare a field of `ActuatorState`; arguments as in `Output`."""
    return Output(description, unit, value=value, **options)


def _of_motors(value: Callable[[StepEnd], Any], description: str, unit: str, **options: Any) -> Any:
    return output(value, description, unit, only="is_motor", missing="driven by effort", **options)


class ActuatorState(NamedTuple):
    """The outputs at the end of a step; every array has shape (n,), and may be traced."""

    voltage: Array = _of_motors(_voltage, "Voltage at the motor's terminals", "V")
    current: Array = _of_motors(lambda end: end.state.current, "Current through the armature", "A", of_state=True)
    motor_torque: Array = _of_motors(
        lambda end: end.plant.actuators.motors.motor.torque_constant * end.state.current,
        "Torque of the motor, before rotor inertia and gear train", "N m", of_state=True)
    joint_effort: Array = output(_joint_effort, "Effort of the drive on the joint", EFFORT)
    friction_effort: Array = output(_friction_effort, "Effort of friction and brake on the joint", EFFORT)
    temperature: Array = output(lambda end: end.state.temperature, "Temperature of the winding", "degrees Celsius",
                                only="has_heat", missing="not modelled", of_state=True)
    voltage_saturated: NDArray[Any] = output(
        lambda end: np.where(end.plant.actuators.is_motor & np.isfinite(end.plant.actuators.limits.voltage_limit),
                             greater_equal(abs(end.voltage), end.plant.actuators.limits.voltage_limit), 0.0),
        "Whether the voltage limit of the amplifier is active", is_flag=True)
    current_saturated: NDArray[Any] = output(
        lambda end: abs(end.state.saturation), "Whether the limit of current or torque is active", is_flag=True)
    effort_saturated: NDArray[Any] = output(
        lambda end: where(end.command.by_voltage, 0.0, greater(abs(end.command.effort), end.plant.model.effort_limit)),
        "Whether the effort limit of the joint is active", is_flag=True)


OUTPUTS: dict[str, Output] = ActuatorState._field_defaults
"""The declarations by name."""


def report(end: StepEnd) -> ActuatorState:
    """Compute the outputs at the end of a step; flags are 1 or 0."""
    return ActuatorState(*(own.masked(end, own.value(end)) for own in OUTPUTS.values()))


def report_at_rest(plant: PlantModel, state: PlantState) -> ActuatorState:
    """Return the outputs before the first step: those of the state, and 0 for the others."""
    nothing, none = np.zeros(plant.n), np.zeros(plant.n + len(plant.elastic))
    end = StepEnd(plant.at_state(state.temperature, state.q, state.v, state.motor_side), state,
                  plant.command(nothing), nothing, none, none, np.zeros(len(plant.sliding_motors)),
                  PlantParts(*(part.example()[2] for part in plant.parts)))
    return ActuatorState(*(own.masked(end, own.value(end) if own.of_state else nothing) for own in OUTPUTS.values()))


def read_outputs(reported: ActuatorState) -> ActuatorState:
    """Return copies of the outputs of a report, with flags as booleans."""
    read: list[Any] = [values > 0.0 if own.is_flag else np.array(values)
                       for values, own in zip(reported, OUTPUTS.values(), strict=True)]
    return ActuatorState(*read)
