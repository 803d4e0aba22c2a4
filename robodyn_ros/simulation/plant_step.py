"""One step of the plant, motors, friction, forward dynamics and integration, as statements of a program.

The statements run as they stand for reading and testing, or compiled as one: alone, in a loop with a control law, or
for many samples at once; see :mod:`robodyn_ros.compile.procedure`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.compile import Compute
from robodyn_ros.compile.program import RepeatWhile, Statement
from robodyn_ros.compile.tape import Shape
from robodyn_ros.simulation import free_step, semi_implicit_euler
from robodyn_ros.simulation.joint_constraints import Problem, admissible, most_rounds, one_round, within_reach
from robodyn_ros.simulation.motion import Smooth
from robodyn_ros.simulation.plant_model import Command, Integrator, PlantModel, Report, Row
from robodyn_ros.simulation.readings import report

_PROBLEM = Problem._fields
_CHOICE = ("piece", "saturation")
_SOLUTION = ("velocity", "impulse", *_CHOICE)


def plant_program(plant: PlantModel) -> tuple[dict[str, Shape], tuple[Statement, ...]]:
    """Variables and statements of one step.

    In: ``state``, shape (len(Row), n), and ``command``, shape (len(Command), n). Out: ``state``. With
    ``Integrator.ADAPTIVE`` the end of the smooth motion, ``smooth``, shape (len(Smooth), n), has to be given as well.

    Args:
        plant: What is simulated.

    Returns:
        Shape of each variable by name, for a program that may have more of its own; and the statements.
    """
    n = plant.n
    variables: dict[str, Shape] = {"state": (len(Row), n), "command": (len(Command), n), "report": (len(Report), n),
                                   "health": (), "rounds": (), "moved": ()}
    variables |= dict.fromkeys((*_PROBLEM, "voltage", *_SOLUTION), (n,)) | {"matrix": (n * (n + 1) // 2,)}
    pivoting = RepeatWhile("moved", most_rounds(n), [
        Compute(partial(_round, plant), (*_PROBLEM, *_CHOICE, "rounds"), (*_SOLUTION, "moved", "rounds"))])
    posed = (*_PROBLEM, "voltage", *_CHOICE, "rounds")
    given = ("state", "command")
    if plant.integrator is Integrator.SEMI_IMPLICIT_EULER:
        return variables, (
            Compute(partial(_pose, plant), given, posed),
            pivoting,
            Compute(partial(_commit, plant), (*given, "voltage", *_PROBLEM, *_SOLUTION), "state"))
    variables["smooth"] = (len(Smooth), n)
    return variables, (
        Compute(partial(_pose_after_free_step, plant), (*given, "smooth"), ("smooth", *posed)),
        pivoting,
        Compute(partial(_commit_after_free_step, plant), ("state", "smooth", "voltage", *_PROBLEM, *_SOLUTION),
                "state"))


def report_statement(plant: PlantModel) -> Statement:
    """What to do after some steps for ``report``, shape (len(Report), n), and ``health``, finite if the state is."""
    return Compute(partial(_report, plant), ("state", "command", "voltage", "friction", "impulse"),
                   ("report", "health"))


def _pose(plant: PlantModel, state: NDArray[Any], command: NDArray[Any]) -> tuple[Any, ...]:
    problem, voltage = semi_implicit_euler.problem(plant, state, command)
    return _posed(problem, voltage, state[Row.PIECE], state[Row.SATURATION])


def _pose_after_free_step(plant: PlantModel, state: NDArray[Any], command: NDArray[Any],
                          smooth: NDArray[Any]) -> tuple[Any, ...]:
    if plant.integrator is not Integrator.ADAPTIVE:
        smooth = free_step.smooth_step(plant, state, command)
    problem, voltage = free_step.problem(plant, state, command, smooth)
    return (smooth, *_posed(problem, voltage, within_reach(state[Row.PIECE], problem), np.zeros(plant.n)))


def _posed(problem: Problem, voltage: NDArray[Any], piece: NDArray[Any], saturation: NDArray[Any]) -> tuple[Any, ...]:
    """The problem, of its matrix the lower triangle; the choice to begin with; and that no round has been done."""
    lower = problem.matrix[np.tril_indices(len(problem.matrix))]
    return *problem._replace(matrix=lower), voltage, admissible(piece, problem.friction), saturation, np.float64(0.0)


def _problem(plant: PlantModel, values: tuple[NDArray[Any], ...]) -> Problem:
    """The problem as it was posed; what is constant for this robot as constants again."""
    packed = Problem(*values)
    matrix = np.empty((plant.n, plant.n), dtype=packed.matrix.dtype)
    rows, columns = np.tril_indices(plant.n)
    matrix[rows, columns] = matrix[columns, rows] = packed.matrix
    implicit = plant.actuators.is_motor & (plant.integrator is Integrator.SEMI_IMPLICIT_EULER)
    return packed._replace(
        matrix=matrix,
        slowest=np.where(np.isfinite(plant.limits.lower), packed.slowest, -np.inf),
        fastest=np.where(np.isfinite(plant.limits.upper), packed.fastest, np.inf),
        drive=np.where(implicit, packed.drive, 0.0),
        drive_damping=np.where(implicit, packed.drive_damping, 0.0),
    )


def _round(plant: PlantModel, *values: Any) -> tuple[Any, ...]:
    *posed, piece, saturation, rounds = values
    done = one_round(plant.limits, _problem(plant, tuple(posed)), piece, saturation, rounds)
    return (*done, rounds + 1.0)


def _commit(plant: PlantModel, state: NDArray[Any], command: NDArray[Any], voltage: NDArray[Any],
            *values: Any) -> NDArray[Any]:
    posed, solution = _problem(plant, values[:len(_PROBLEM)]), values[len(_PROBLEM):]
    return semi_implicit_euler.commit(plant, state, command, posed, voltage, *solution)


def _commit_after_free_step(plant: PlantModel, state: NDArray[Any], smooth: NDArray[Any], voltage: NDArray[Any],
                            *values: Any) -> NDArray[Any]:
    posed, (velocity, impulse, piece, _) = _problem(plant, values[:len(_PROBLEM)]), values[len(_PROBLEM):]
    return free_step.commit(plant, state, smooth, posed, voltage, velocity, impulse, piece)


def _report(plant: PlantModel, state: NDArray[Any], *values: Any) -> tuple[Any, ...]:
    health = sum(state[:Row.CURRENT + 1].ravel(), start=np.float64(0.0))
    return report(plant, state, *values), health
