"""One step by the semi-implicit Euler method, implicit in damping and motors, as functions that can be compiled.

    (M(q) + h D) v' = M(q) v + h (tau - b(q, v)) + impulses of motors, friction and stops,    q' = q + h v'

A method of order 1: over a given time the energy of a robot that swings freely is wrong by an error proportional to h.
For constant M and no damping it is the symplectic Euler method [HairerLubichWanner], whose energy error does not grow
with time. No damping is too strong for it, nor the back-EMF or the inductance of any motor too stiff.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.compile import clip, where
from robodyn_ros.dynamics.newton_euler import bias
from robodyn_ros.simulation.joint_constraints import Problem, friction_part
from robodyn_ros.simulation.motion import demand, inertia, viscous
from robodyn_ros.simulation.plant_model import Command, PlantModel, Report, Row


def problem(plant: PlantModel, state: NDArray[Any], command: NDArray[Any]) -> Problem:
    """What the velocity after the step has to fulfil: [Yamamoto] (6.16) with (6.1), (6.17) without inductance.

    Args:
        plant: What is simulated.
        state: Shape (len(Row), n).
        command: Shape (len(Command), n).
    """
    q, v, step, actuators = state[Row.POSITION], state[Row.VELOCITY], plant.step, plant.actuators
    asked = demand(plant, command, v)
    line = actuators.effort_line(asked.voltage, state[Row.CURRENT], step)
    at_start = actuators.limited_effort(line.effort - line.damping * v)
    level = plant.friction.level(v) + actuators.gear_friction(at_start) + command[Command.BRAKE]
    mass = inertia(plant, q)
    tau = asked.effort + command[Command.EXTERNAL]
    return Problem(
        matrix=mass + np.diag(step * viscous(plant, command)),
        momentum=mass @ v + step * (tau - bias(plant.model, q, v)),
        friction=step * level,
        slowest=(plant.limits.lower - q) / step,
        fastest=(plant.limits.upper - q) / step,
        drive=step * line.effort,
        drive_damping=step * line.damping,
    )


def commit(plant: PlantModel, state: NDArray[Any], command: NDArray[Any], posed: Problem, velocity: NDArray[Any],
           impulse: NDArray[Any], piece: NDArray[Any], saturation: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The state after the step.

    Energies are products of impulses with the mean of the velocities before and after, which is what an impulse does
    to a body's kinetic energy.

    Args:
        plant: What is simulated.
        state: Before the step, shape (len(Row), n).
        command: Shape (len(Command), n).
        posed: Of :func:`problem`.
        velocity: Its solution, shape (n,).
        impulse: Of friction and stops, shape (n,).
        piece: Choice to begin the next step with, shape (n,).
        saturation: Likewise.

    Returns:
        State, shape (len(Row), n); and report, shape (len(Report), n).
    """
    q, v, step, actuators = state[Row.POSITION], state[Row.VELOCITY], plant.step, plant.actuators
    middle = 0.5 * (v + velocity)
    asked, damping = demand(plant, command, v), viscous(plant, command)
    motor = actuators.limited_effort((posed.drive - posed.drive_damping * velocity) / step)
    electrical = actuators.electrical_step(asked.voltage, state[Row.CURRENT], velocity, saturation, step)
    dry = friction_part(posed, impulse)
    work = np.where(actuators.is_motor, electrical.work, step * asked.effort * middle)
    after = np.stack([
        clip(q + step * velocity, plant.limits.lower, plant.limits.upper),
        velocity,
        electrical.current,
        actuators.next_temperature(state[Row.TEMPERATURE], electrical.heat, step),
        piece,
        saturation,
        state[Row.DRIVE_WORK] + work,
        state[Row.EXTERNAL_WORK] + step * command[Command.EXTERNAL] * middle,
        state[Row.VISCOUS_LOSS] + step * damping * velocity * middle,
        state[Row.WINDING_HEAT] + electrical.heat,
        state[Row.FRICTION_LOSS] - dry * middle,
        state[Row.STOP_LOSS] - (impulse - dry) * middle,
    ])
    back_emf = actuators.back_emf(velocity)
    terminals = where(saturation, actuators.motors.motor.resistance * electrical.mean_current + back_emf, asked.voltage)
    passive = command[Command.DAMPING] * velocity
    report = np.stack([
        np.where(actuators.is_motor, terminals, 0.0),
        electrical.mean_current,
        asked.effort + motor - passive,
        dry / step - (damping - command[Command.DAMPING]) * velocity,
        (impulse - dry) / step,
        asked.voltage_saturated,
        saturation * saturation,
        asked.effort_saturated,
    ])
    assert len(after) == len(Row) and len(report) == len(Report)
    return after, report
