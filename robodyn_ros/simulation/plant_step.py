"""One step of the plant, motors, friction, forward dynamics and integration, as statements of a program.

The statements run as they stand for reading and testing, or compiled as one: alone, in a loop with a control law, or
for many samples at once; see :mod:`robodyn_ros.compile.procedure`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.compile.program import Compute, RepeatWhile, Statement
from robodyn_ros.compile.tape import Shape
from robodyn_ros.simulation import free_step, semi_implicit_euler
from robodyn_ros.simulation.joint_constraints import Problem, admissible, most_rounds, one_round
from robodyn_ros.simulation.motion import Smooth
from robodyn_ros.simulation.plant_model import Command, Integrator, PlantModel, Report, Row

_PROBLEM = Problem._fields
_CHOICE = ("piece", "saturation")


def plant_program(plant: PlantModel) -> tuple[dict[str, Shape], tuple[Statement, ...]]:
    """Variables and statements of one step.

    In: ``state``, shape (len(Row), n), and ``command``, shape (len(Command), n). Out: ``state`` and ``report``, shape
    (len(Report), n), and ``health``, a number that is finite if the state is. With ``Integrator.ADAPTIVE`` the end of
    the smooth motion, ``smooth``, shape (len(Smooth), n), has to be given as well.

    Args:
        plant: What is simulated.

    Returns:
        Shape of each variable by name, for a program that may have more of its own; and the statements.
    """
    n = plant.n
    vector = (n,)
    variables: dict[str, Shape] = {"state": (len(Row), n), "command": (len(Command), n), "report": (len(Report), n),
                                   "health": ()}
    variables |= dict.fromkeys(_PROBLEM, vector) | {"matrix": (n, n)}
    variables |= {"velocity": vector, "impulse": vector, "piece": vector, "saturation": vector, "rounds": (),
                  "moved": ()}
    pivoting = RepeatWhile("moved", most_rounds(n), [Compute(
        partial(_round, plant), (*_PROBLEM, *_CHOICE, "rounds"),
        ("velocity", "impulse", *_CHOICE, "moved", "rounds"))])
    solution = ("velocity", "impulse", *_CHOICE)
    if plant.integrator is Integrator.SEMI_IMPLICIT_EULER:
        return variables, (
            Compute(partial(_pose, plant), ("state", "command"), (*_PROBLEM, *_CHOICE, "rounds")),
            pivoting,
            Compute(partial(_commit, plant), ("state", "command", *_PROBLEM, *solution),
                    ("state", "report", "health")))
    variables["smooth"] = (len(Smooth), n)
    statements = (
        Compute(partial(_pose_after_free_step, plant), ("state", "command", "smooth"),
                ("smooth", *_PROBLEM, *_CHOICE, "rounds")),
        pivoting,
        Compute(partial(_commit_after_free_step, plant), ("state", "command", "smooth", *_PROBLEM, *solution),
                ("state", "report", "health")))
    return variables, statements


def _pose(plant: PlantModel, state: NDArray[Any], command: NDArray[Any]) -> tuple[Any, ...]:
    posed = semi_implicit_euler.problem(plant, state, command)
    return (*posed, *_first_choice(posed, state))


def _pose_after_free_step(plant: PlantModel, state: NDArray[Any], command: NDArray[Any],
                          smooth: NDArray[Any]) -> tuple[Any, ...]:
    if plant.integrator is not Integrator.ADAPTIVE:
        smooth = free_step.smooth_step(plant, state, command)
    posed = free_step.problem(plant, state, command, smooth)
    return (smooth, *posed, *_first_choice(posed, state))


def _first_choice(posed: Problem, state: NDArray[Any]) -> tuple[Any, ...]:
    """The pieces of the step before, and that no round has been done."""
    return admissible(state[Row.PIECE], posed), state[Row.SATURATION], np.float64(0.0)


def _round(plant: PlantModel, *values: Any) -> tuple[Any, ...]:
    *posed, piece, saturation, rounds = values
    done = one_round(plant.limits, Problem(*posed), piece, saturation, rounds)
    return (*done, rounds + 1.0)


def _commit(plant: PlantModel, state: NDArray[Any], command: NDArray[Any], *values: Any) -> tuple[Any, ...]:
    posed, solution = Problem(*values[:len(_PROBLEM)]), values[len(_PROBLEM):]
    after, report = semi_implicit_euler.commit(plant, state, command, posed, *solution)
    return after, report, _health(after)


def _commit_after_free_step(plant: PlantModel, state: NDArray[Any], command: NDArray[Any], smooth: NDArray[Any],
                            *values: Any) -> tuple[Any, ...]:
    posed, (velocity, impulse, piece, _) = Problem(*values[:len(_PROBLEM)]), values[len(_PROBLEM):]
    after, report = free_step.commit(plant, state, command, smooth, posed, velocity, impulse, piece)
    return after, report, _health(after)


def _health(state: NDArray[Any]) -> Any:
    """A number that is finite only if positions, velocities and currents are."""
    return sum(state[:Row.CURRENT + 1].ravel(), start=np.float64(0.0))
