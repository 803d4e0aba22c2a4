# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The smooth motion x' = f(x) of the robot, without dry friction and stops, for explicit methods.

x is a `SmoothState`. It holds energies besides positions, velocities and currents, so that their balance is as accurate
as the motion.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.drive_loop import DriveLoopRun, DriveLoopState, DriveMotion
from robodyn_ros.actuation.joint_values import within
from robodyn_ros.actuation.regulated_current import CurrentLoopDemand
from robodyn_ros.compile import greater, where
from robodyn_ros.dynamics.factorization import solve_mass
from robodyn_ros.dynamics.mass_matrix import mass_matrix
from robodyn_ros.dynamics.second_moment_newton_euler import bias
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.plant_state import MotorSide, PlantCommand, PlantState


class SmoothState(NamedTuple):
    """x; each array has shape (n,), those of the motors of elastic joints (m,); units as in `PlantState`."""

    q: NDArray[Any]
    v: NDArray[Any]
    current: NDArray[Any]
    drive_work: NDArray[Any]
    external_work: NDArray[Any]
    viscous_loss: NDArray[Any]
    winding_heat: NDArray[Any]
    motor_q: NDArray[Any]
    motor_v: NDArray[Any]

    @classmethod
    def from_state(cls, state: PlantState) -> Self:
        """The smooth part of the plant's state."""
        return cls(state.q, state.v, state.current, *state.energies[:4], *state.motor_side)

    def moved(self, rate: SmoothState, time: float) -> SmoothState:
        """x + time x', for a rate x'."""
        return SmoothState(*(x + time * slope for x, slope in zip(self, rate, strict=True)))


class Demand(NamedTuple):
    """Demands on the actuators in a step, within their limits."""

    effort: NDArray[Any]  # effort of ideal sources; 0 for motors, shape (n,) [N m or N]
    voltage: NDArray[Any]  # voltage of motors; 0 for ideal sources, shape (n,) [V]


def demand(plant: PlantModel, command: PlantCommand, v: NDArray[Any]) -> Demand:
    """Limit the commands, and convert efforts to voltages where there is a motor, (6.12), (6.13).

    Args:
        plant: The simulated model.
        command: The commands.
        v: Velocities at the motors at the beginning of the step, shape (n,) [rad/s or m/s].
    """
    actuators = plant.actuators
    effort = within(command.effort, plant.model.effort_limit)
    wanted = where(command.by_voltage, command.voltage, actuators.circuits.wanted_voltage(effort, v))
    return Demand(ideal_effort(plant, command), np.where(actuators.is_motor, actuators.limits.on_voltage(wanted), 0.0))


def loop_demand(plant: PlantModel, state: PlantState, command: PlantCommand, slope: NDArray[Any] | None = None
                ) -> CurrentLoopDemand:
    """Return the demands on the current loops in a step that begins in a state; ``slope`` as in `DriveLine`."""
    actuators, joints = plant.actuators, plant.actuators.current_loops.joints
    wanted = actuators.circuits.wanted_current(within(command.effort, plant.model.effort_limit))
    target_slope = None if slope is None else actuators.circuits.current_slope(wanted, slope)[joints]
    return CurrentLoopDemand(wanted[joints], command.by_voltage[joints],
                             actuators.limits.on_voltage(command.voltage)[joints], state.current[joints], state.loops,
                             target_slope)


class DriveLine(NamedTuple):
    """Efforts that drives with a loop of their own ask for in a step."""

    command: PlantCommand  # commands with these efforts at the velocities before the step
    slope: NDArray[Any] | None  # change per velocity of the motors after it, shape (n,); None: there are no such drives


class DriveEnd(NamedTuple):
    """Such drives at the end of a step."""

    line: DriveLine
    effort: NDArray[Any]  # commanded efforts, with those of these drives, shape (n,) [N m or N]
    voltage: NDArray[Any]  # voltages of motors, shape (n,) [V]
    state: DriveLoopState

    def sources(self, plant: PlantModel) -> NDArray[Any]:
        """Return the efforts of ideal sources; 0 where there is a motor, shape (n,) [N m or N]."""
        if self.line.slope is None:
            return ideal_effort(plant, self.line.command)
        return np.where(plant.actuators.is_motor, 0.0, self.effort)


def drive_line(plant: PlantModel, state: PlantState, command: PlantCommand) -> DriveLine:
    """Return the efforts of drives in a step that begins in a state; others have the commanded efforts."""
    joints = plant.actuators.drive_loops.joints
    if not len(joints):
        return DriveLine(command, None)
    run = _run_drives(plant, state, command, plant.elastic.at_motors(plant.elastic.velocity(state)))
    return DriveLine(command._replace(effort=_replaced(command.effort, joints, run.mean)),
                     _replaced(np.zeros(plant.n), joints, run.slope))


def drive_end(plant: PlantModel, state: PlantState, command: PlantCommand, voltage: NDArray[Any], v: NDArray[Any]
              ) -> DriveEnd:
    """Return the drives at the end of a step; voltages as in `JointDrives`, velocities at the motors, shape (n,)."""
    line, drives = drive_line(plant, state, command), plant.actuators.drive_loops
    if line.slope is None:
        return DriveEnd(line, command.effort, voltage, state.drives)
    before, acting = plant.elastic.at_motors(plant.elastic.velocity(state)), line.command
    change = line.slope * (v - before)
    raised = change * _voltage_per_effort(plant, acting, before)
    effort = acting.effort + change
    pending = _run_drives(plant, state, command, v).pending
    return DriveEnd(line, effort, voltage + raised, DriveLoopState(effort[drives.joints], pending))


def drive_response(plant: PlantModel, command: PlantCommand, v: NDArray[Any]) -> NDArray[Any]:
    """Return the change of efforts at the gears' outputs per commanded effort, without current loops, shape (n,)."""
    by_voltage = _voltage_per_effort(plant, command, v) * plant.actuators.circuits.effort_per_voltage(plant.step)
    return np.where(plant.actuators.is_motor, by_voltage, 1.0)


def _voltage_per_effort(plant: PlantModel, command: PlantCommand, v: NDArray[Any]) -> NDArray[Any]:
    per_effort = plant.actuators.circuits.voltage_per_effort(within(command.effort, plant.model.effort_limit), v)
    return where(command.by_voltage, 0.0, per_effort)


def _run_drives(plant: PlantModel, state: PlantState, command: PlantCommand, after: NDArray[Any]) -> DriveLoopRun:
    """Run the drives to velocities at the motors after a step, shape (n,)."""
    drives, elastic = plant.actuators.drive_loops, plant.elastic
    position, velocity = elastic.at_motors(elastic.position(state)), elastic.at_motors(elastic.velocity(state))
    joints = drives.joints
    return drives.run(command.drives, command.effort[joints],
                      DriveMotion(position[joints], velocity[joints], after[joints]), state.drives,
                      plant.model.effort_limit[joints], plant.step)


def _replaced(values: NDArray[Any], joints: NDArray[np.intp], own: NDArray[Any]) -> NDArray[Any]:
    result = values.astype(np.result_type(values, own))
    result[joints] = own
    return result


def ideal_effort(plant: PlantModel, command: PlantCommand) -> NDArray[Any]:
    """Return the limited efforts of ideal sources; 0 where there is a motor, shape (n,) [N m or N]."""
    return np.where(plant.actuators.is_motor, 0.0, within(command.effort, plant.model.effort_limit))


def source_effort(plant: PlantModel, state: PlantState, command: PlantCommand) -> NDArray[Any]:
    """Return `ideal_effort` at the end of a step, with that of drives that close a loop, shape (n,) [N m or N]."""
    joints = plant.actuators.drive_loops.joints
    if not len(joints):
        return ideal_effort(plant, command)
    return np.where(plant.actuators.is_motor, 0.0, _replaced(ideal_effort(plant, command), joints, state.drives.effort))


def viscous(plant: PlantModel, command: PlantCommand, v: NDArray[Any]) -> NDArray[Any]:
    """Viscous friction D of joints, shafts of uncoupled motors and damping drives, without back-EMF [N m s/rad, N s/m].

    Args:
        plant: The simulated model.
        command: The commands.
        v: Velocities at the motors, shape (n,) [rad/s or m/s].

    Returns:
        Values of links, then of the motors of elastic joints, shape (n + m,).
    """
    shafts = np.where(plant.actuators.is_coupled, 0.0, plant.actuators.reflected_damping)
    return plant.elastic.split(plant.friction.viscous, shafts, drive_damping(plant, command, v))


def shaft_damping(plant: PlantModel) -> NDArray[Any] | float:
    """B^T D B, viscous friction of coupled motors' shafts, shape (n, n) [N m s/rad or N s/m]; 0 without them."""
    gear = plant.actuators.motors.gear
    return 0.0 if gear.coupling is None else gear.joint_matrix(plant.coupled_damping)


def shaft_friction(plant: PlantModel, v: NDArray[Any]) -> NDArray[Any] | float:
    """Return the viscous friction of coupled motors' shafts as efforts on the joints, shape (n,); 0 without them.

    Args:
        plant: The simulated model.
        v: Joint velocities, shape (n,) [rad/s or m/s].
    """
    return 0.0 if plant.actuators.motors.gear.coupling is None else -(shaft_damping(plant) @ v)


def shaft_losses(plant: PlantModel, v: NDArray[Any], other: NDArray[Any]) -> NDArray[Any] | float:
    """Return the power that viscous friction of coupled motors' shafts dissipates, shape (n,) [W]; 0 without them.

    Args:
        plant: The simulated model.
        v: Joint velocities that determine the friction, shape (n,) [rad/s or m/s].
        other: Joint velocities on which it does work, shape (n,) [rad/s or m/s].
    """
    gear = plant.actuators.motors.gear
    if gear.coupling is None:
        return 0.0
    return plant.coupled_damping * gear.output_motion(v) * gear.output_motion(other)


def drive_damping(plant: PlantModel, command: PlantCommand, v: NDArray[Any]) -> NDArray[Any]:
    """Damping by the drives, reduced to keep to the effort limits; arguments as for :func:`viscous`."""
    requested, limit = command.damping, plant.model.effort_limit
    limited = np.isfinite(limit) & (limit > 0.0)
    bound = np.where(limited, limit, 1.0)
    beyond = where(requested, greater(requested * abs(v), bound), 0.0)  # folds away if no damping is commanded
    return np.where(limited, where(beyond, bound / where(beyond, abs(v), 1.0), requested), requested)


def inertia(plant: PlantModel, q: NDArray[Any]) -> NDArray[Any]:
    """M(q) + B^T Gamma^T J_M Gamma B, (6.17), then the motors of elastic joints, shape (n + m, n + m)."""
    of_links: NDArray[Any] = mass_matrix(plant.model, q) + plant.actuators.rotor_inertia
    return np.asarray(with_motor_diagonal(plant, of_links, plant.actuators.reflected_inertia[plant.elastic.joints]))


def with_motor_diagonal(plant: PlantModel, of_links: NDArray[Any] | float, of_motors: NDArray[Any]
                        ) -> NDArray[Any] | float:
    """Extend a matrix of the links, shape (n, n), by diagonal entries of the motors of elastic joints, shape (m,)."""
    n, size = plant.n, plant.n + len(of_motors)
    if size == n or isinstance(of_links, float):
        return of_links
    matrix = np.zeros((size, size), dtype=np.result_type(of_links, of_motors))
    matrix[:n, :n], matrix[range(n, size), range(n, size)] = of_links, of_motors
    return matrix


def rotor_momentum(plant: PlantModel, v: NDArray[Any]) -> NDArray[Any]:
    """B^T Gamma^T J_M Gamma B v, without the motors of elastic joints, shape (n,) [N m s or N s]."""
    actuators = plant.actuators
    return actuators.rigid_inertia * v if actuators.motors.gear.coupling is None else actuators.rotor_inertia @ v


def derivative(plant: PlantModel, x: SmoothState, requested: Demand, command: PlantCommand) -> SmoothState:
    """f(x) under constant commands: [Yamamoto] (6.1) and (6.16), with limited currents.

    Args:
        plant: The simulated model.
        x: The state.
        requested: The demands on the actuators.
        command: The commands.

    Returns:
        x'.
    """
    n, q, v, current, external = plant.n, x.q, x.v, x.current, command.external
    motion, none = plant.elastic.joined(v, x.motor_v), np.zeros(len(plant.elastic))
    seen = plant.elastic.at_motors(motion)
    actuators, damping = plant.actuators, viscous(plant, command, seen)
    circuits = actuators.circuits
    flowing = circuits.instant_current(requested.voltage, current, seen)
    current_rate = circuits.current_rate(requested.voltage, current, seen)
    at_motors = plant.elastic.at_motors(plant.elastic.joined(q, x.motor_q))
    cogging = plant.limits.on_joints(actuators.cogging_effort(at_motors))
    motors, of_parts = MotorSide(x.motor_q, x.motor_v), shaft_friction(plant, v)
    for part in plant.parts:
        of_parts = part.add_smooth(of_parts, q, v, motors)
    drives = plant.elastic.split(np.zeros(n), requested.effort + circuits.effort_from_current(flowing))
    forces = (drives + cogging + of_parts + plant.elastic.joined(external, none)
              - plant.elastic.joined(bias(plant.model, q, v), none) - damping * motion)
    a = solve_mass(inertia(plant, q), forces)
    work = requested.effort * seen + circuits.power(flowing, current_rate, seen)
    loss = plant.elastic.per_joint(damping * motion * motion) + shaft_losses(plant, v, v)
    for part in plant.parts:
        loss = part.add_smooth_loss(loss, q, v, motors)
    return SmoothState(v, a[:n], current_rate, work, external * v, loss, circuits.heating(flowing), x.motor_v, a[n:])


def smooth_rate(plant: PlantModel, state: PlantState, command: PlantCommand) -> Callable[[SmoothState], SmoothState]:
    """Return f of x' = f(x) in a step, with the demands on the actuators at its beginning."""
    requested = demand(plant, command, plant.elastic.at_motors(plant.elastic.velocity(state)))
    return lambda x: derivative(plant, x, requested, command)
