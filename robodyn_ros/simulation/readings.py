# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Motions at encoders and motors, and energies, after some steps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.dynamics.robot_dynamics import Dynamics
from robodyn_ros.simulation.motion import source_effort
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.plant_state import MotorSide, PlantState


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
    of_motors = plant.actuators.circuits.effort_from_current(state.current)
    return readings_at_motors(plant, state, source_effort(plant, state, plant.command(effort)) + of_motors)


def readings_at_motors(plant: PlantModel, state: PlantState, drive: NDArray[Any]) -> MotorReadings:
    """Like :func:`read_motor_side`, from the efforts of the drives, shape (n,) [N m or N]."""
    torque = plant.elastic.torque(state.q, state.v, state.motor_side).whole
    return MotorReadings(*_motor_motion(plant, state.q, state.v, state.motor_side),
                         np.where(plant.actuators.is_elastic, plant.elastic.spread(torque), drive))


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
    return (plant.elastic.at_motors(plant.elastic.joined(q, motor_side.q)),
            plant.elastic.at_motors(plant.elastic.joined(v, motor_side.v)))


def energy(plant: PlantModel, dynamics: Dynamics, state: PlantState) -> Energy:
    """Compute the energies.

    Args:
        plant: The simulated model.
        dynamics: Dynamics of its rigid bodies.
        state: The state.
    """
    q, v, motor_v = state.q, state.v, state.motor_side.v
    inertia = dynamics.mass_matrix(q) + plant.actuators.rotor_inertia
    of_motors = 0.5 * (plant.elastic.inertia * motor_v) @ motor_v
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
    actuators, at_motors = plant.actuators, plant.elastic.at_motors(plant.elastic.position(state))
    magnetic = float((actuators.circuits.magnetic_energy(state.current) + actuators.cogging_energy(at_motors)).sum())
    elastic, presliding = (float(part.energy(state).sum()) for part in (plant.parts.elastic, plant.parts.presliding))
    return Energy(kinetic, potential, magnetic, presliding, elastic, **sums)
