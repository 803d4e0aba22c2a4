# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""State of the actuators, and energies, after some steps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.compile import clip, greater, greater_equal, where
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.robot_dynamics import Dynamics
from robodyn_ros.simulation.elastic_joints import spring_deflection, spring_energy, spring_torque
from robodyn_ros.simulation.motion import drive_damping, ideal_effort, shaft_friction, viscous
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.plant_state import MotorSide, PlantCommand, PlantReport, PlantState
from robodyn_ros.simulation.presliding import bristle_energy, on_joints


class ActuatorState(NamedTuple):
    """State of the actuators at the end of a step; every array has shape (n,)."""

    voltage: Array  # voltage at the motor's terminals; NaN for an ideal source [V]
    current: Array  # armature current; NaN for an ideal source [A]
    motor_torque: Array  # generated torque, before rotor inertia and gear; NaN for an ideal source [N m]
    joint_effort: Array  # effort of the drive on the joint [N m or N]
    friction_effort: Array  # friction of joint, gear and brake on the joint [N m or N]
    temperature: Array  # temperature of the winding; NaN if it is not modelled [degrees Celsius]
    voltage_saturated: NDArray[np.bool_]  # whether the voltage limit of the amplifier is active
    current_saturated: NDArray[np.bool_]  # whether the limit of current or torque is active
    effort_saturated: NDArray[np.bool_]  # whether the effort limit of the joint is active


class Energy(NamedTuple):
    """Stored energy, and work and losses since the last reset or new state [J].

    kinetic + potential + magnetic + presliding + elastic changes by drive_work + external_work - viscous_loss -
    friction_loss - stop_loss - winding_heat, except for the error of the integrator.
    """

    kinetic: float  # kinetic energy of links and rotors
    potential: float  # potential energy of the links; 0 with their centre of mass at the height of the base's origin
    magnetic: float  # energy of the motors' inductances and magnets
    presliding: float  # energy of the springs that dry friction bends
    elastic: float  # energy of the springs between motors and links
    drive_work: float  # work that motors take from their supply, and that ideal sources do
    external_work: float  # work of external wrenches
    viscous_loss: float  # loss to viscous friction of joints and motors' shafts, and to damping by drives
    friction_loss: float  # loss to dry friction and brakes
    stop_loss: float  # loss at stops
    winding_heat: float  # loss in the motors' resistances


def report(plant: PlantModel, state: PlantState, command: PlantCommand, voltage: NDArray[Any],
           friction: NDArray[Any], impulse: NDArray[Any], motor_impulse: NDArray[Any],
           bristle_impulse: NDArray[Any] | None = None) -> PlantReport:
    """Compute the report at the end of a step; can be compiled.

    Args:
        plant: The simulated model.
        state: State after the step.
        command: The commands.
        voltage: Voltage demanded from the amplifiers, within their limits, shape (n,) [V].
        friction: Greatest impulse of dry friction, shape (n,) [N m s or N s].
        impulse: Impulse of friction and stops, shape (n,) [N m s or N s].
        motor_impulse: Impulse of the dry friction of coupled motors, shape (coupled,) [N m s or N s].
        bristle_impulse: Impulse of dry friction that bends before joints slide, shape (N, m) of `friction.Bristles`
            [N m s or N s]; None: no bristles.
    """
    actuators, step, v, current = plant.actuators, plant.step, state.v, state.current
    motion = plant.joined(v, state.motor_side.v)
    seen = plant.reflected_to_motors(motion)
    damping = drive_damping(plant, command, seen)
    regulated = actuators.motors.motor.voltage(current, actuators.motors.gear.motor_motion(seen))
    dry, of_drive = clip(impulse, -friction, friction), plant.split(np.zeros(plant.n), damping)
    voltage = voltage.astype(np.result_type(voltage, state.loops.voltage))
    voltage[actuators.current_loops.joints] = state.loops.voltage
    bent = 0.0 if bristle_impulse is None else on_joints(plant.bristles, bristle_impulse, plant.n) / step
    cogging = actuators.cogging_effort(plant.reflected_to_motors(plant.joined(state.q, state.motor_side.q)))
    return PlantReport(
        voltage=np.where(actuators.is_motor, where(state.saturation, regulated, voltage), 0.0),
        current=current,
        effort=(ideal_effort(plant, command) + actuators.effort_from_current(current) - damping * seen
                + plant.per_joint(plant.limits.on_joints(cogging))),
        friction=(plant.per_joint(dry / step - (viscous(plant, command, seen) - of_drive) * motion
                                  + plant.limits.sliding.T @ (motor_impulse / step)) + shaft_friction(plant, v) + bent),
        stop=((impulse - dry) / step)[:plant.n],
        voltage_saturated=np.where(actuators.is_motor & np.isfinite(actuators.limits.voltage_limit),
                                   greater_equal(abs(voltage), actuators.limits.voltage_limit), 0.0),
        current_saturated=abs(state.saturation),
        effort_saturated=where(command.by_voltage, 0.0, greater(abs(command.effort), plant.model.effort_limit)))


class MotorReadings(NamedTuple):
    """`State.motor_q`, `motor_v` and `joint_torque`; each array has shape (n,).

    Attributes:
        motor_q: Positions of the motors at the outputs of their gears; of the links for rigid joints [rad or m].
        motor_v: Their velocities [rad/s or m/s].
        joint_torque: Reading of a sensor between motor and link; for rigid joints the effort of the drive [N m or N].
    """

    motor_q: NDArray[Any]
    motor_v: NDArray[Any]
    joint_torque: NDArray[Any]


def read_motor_side(plant: PlantModel, state: PlantState, effort: NDArray[Any]) -> MotorReadings:
    """Read the sensors of the motors' side; can be compiled.

    Args:
        plant: The simulated model.
        state: State at the end of a step.
        effort: Commanded effort in this step, within the limits, shape (n,) [N m or N].
    """
    torque = ideal_effort(plant, PlantCommand.from_effort(effort)) + plant.actuators.effort_from_current(state.current)
    return readings_at_motors(plant, state, torque)


def readings_at_motors(plant: PlantModel, state: PlantState, drive: NDArray[Any]) -> MotorReadings:
    """Like :func:`read_motor_side`, from the efforts of the drives, shape (n,) [N m or N]."""
    torque = spring_torque(plant, spring_deflection(plant, state)).whole
    return MotorReadings(*_motor_motion(plant, state.q, state.v, state.motor_side),
                         np.where(plant.actuators.is_elastic, plant.at_elastic(torque), drive))


def actuator_state(plant: PlantModel, state: PlantState, reported: PlantReport) -> ActuatorState:
    """Return the state of the actuators from the report.

    Args:
        plant: The simulated model.
        state: State at the end of the step.
        reported: Result of :func:`report`.
    """
    actuators = plant.at_state(state.temperature, state.q, state.v, state.motor_side).actuators

    def of_motor(values: Array) -> Array:
        return np.where(actuators.is_motor, values, np.nan)

    return ActuatorState(
        voltage=of_motor(reported.voltage),
        current=of_motor(reported.current),
        motor_torque=of_motor(actuators.motors.motor.torque_constant * reported.current),
        joint_effort=reported.effort.copy(),
        friction_effort=reported.friction.copy(),
        temperature=np.where(actuators.has_heat, state.temperature, np.nan),
        voltage_saturated=reported.voltage_saturated > 0.0,
        current_saturated=reported.current_saturated > 0.0,
        effort_saturated=reported.effort_saturated > 0.0,
    )


def encoder_motion(plant: PlantModel, q: NDArray[Any], v: NDArray[Any], motor_side: MotorSide
                   ) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return positions and velocities at the encoders, on the side that the actuators declare, shape (n,) each.

    Args:
        plant: The simulated model.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
        motor_side: Motors of elastic joints.
    """
    at_motor = plant.measured_at_motors
    if at_motor is None:
        return q, v
    motor_q, motor_v = _motor_motion(plant, q, v, motor_side)
    return np.where(at_motor, motor_q, q), np.where(at_motor, motor_v, v)


def _motor_motion(plant: PlantModel, q: NDArray[Any], v: NDArray[Any], motor_side: MotorSide
                  ) -> tuple[NDArray[Any], NDArray[Any]]:
    return (plant.reflected_to_motors(plant.joined(q, motor_side.q)),
            plant.reflected_to_motors(plant.joined(v, motor_side.v)))


def energy(plant: PlantModel, dynamics: Dynamics, state: PlantState) -> Energy:
    """Compute the energies.

    Args:
        plant: The simulated model.
        dynamics: Dynamics of its rigid bodies.
        state: The state.
    """
    q, v, motor_v = state.q, state.v, state.motor_side.v
    inertia = dynamics.mass_matrix(q) + plant.actuators.rotor_inertia
    of_motors = 0.5 * (plant.actuators.reflected_inertia[plant.elastic] * motor_v) @ motor_v
    return summed_energy(plant, state, float(0.5 * v @ inertia @ v + of_motors), float(dynamics.potential_energy(q)))


def summed_energy(plant: PlantModel, state: PlantState, kinetic: float, potential: float) -> Energy:
    """Return the energies, given those of the rigid bodies.

    Args:
        plant: The simulated model.
        state: The state.
        kinetic: Kinetic energy of links and rotors [J].
        potential: Potential energy of the links [J].
    """
    sums = {name: float(np.sum(each)) for name, each in state.energies._asdict().items()}
    actuators, at_motors = plant.actuators, plant.reflected_to_motors(plant.joined(state.q, state.motor_side.q))
    magnetic = float((actuators.magnetic_energy(state.current) + actuators.cogging_energy(at_motors)).sum())
    presliding = float(bristle_energy(plant.bristles, state.presliding, plant.n).sum())
    return Energy(kinetic, potential, magnetic, presliding, float(spring_energy(plant, state).sum()), **sums)
