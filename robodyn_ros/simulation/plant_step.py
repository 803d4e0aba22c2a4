# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""One step of the plant (motors, friction, forward dynamics, integration) as statements of a program.

The statements can be interpreted, for reading and testing, or compiled together: alone, in a loop with a control law,
or for many samples at once; see :mod:`robodyn_ros.compile.procedure`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.compile import Compute, Repeat
from robodyn_ros.compile.program import Statement
from robodyn_ros.compile.tape import Shape, trace
from robodyn_ros.simulation import semi_implicit_euler, split_step
from robodyn_ros.simulation.contact import (
    MOST_ROUNDS,
    ContactChoice,
    ContactGeometry,
    contact_geometry,
    contact_round,
    first_choice,
    moving_columns,
    presses,
    with_contacts,
)
from robodyn_ros.simulation.contact_world import World
from robodyn_ros.simulation.joint_constraints import (
    Problem,
    admissible,
    most_pivot_steps,
    pivot_step,
    unhindered,
    within_reach,
)
from robodyn_ros.simulation.motion import SmoothRow
from robodyn_ros.simulation.plant_model import CommandRow, Integrator, PlantModel, ReportRow, StateRow
from robodyn_ros.simulation.quantities import QUANTITIES, varied_plant
from robodyn_ros.simulation.readings import report

_PROBLEM = Problem._fields
_CHOICE = ("contact_mode", "saturation")
_SOLUTION = ("velocity", "impulse", *_CHOICE)
_GEOMETRY = ("penetration", "normal", "place", "jacobian")
_CONTACT_CHOICE = ContactChoice._fields
_CONTACT = ("contact_force", "contact_effort")
"""Mean forces on the robot in base axes, shape (pairs, 3) [N], and the efforts that they cause, shape (n,)."""


class Scope(NamedTuple):
    """The parts of the plant that a program needs; the compiled code omits the rest.

    Attributes:
        commands: Rows of ``command`` that the program reads; it takes 0 for the others.
        energies: Whether energies are summed; if not, their rows of ``state`` do not change.
    """

    commands: frozenset[CommandRow] = frozenset(CommandRow)
    energies: bool = True

    def given(self, command: NDArray[Any]) -> NDArray[Any]:
        """Return the commands with 0 for rows out of scope, shape (len(CommandRow), n)."""
        return np.stack([command[row] if row in self.commands else np.zeros(command.shape[1]) for row in CommandRow])

    def slides_freely(self, plant: PlantModel) -> NDArray[np.bool_]:
        """Return which joints have neither dry friction nor a brake, shape (n,)."""
        return ~(plant.has_dry_friction | (CommandRow.BRAKE in self.commands))

    def friction(self, plant: PlantModel, friction: NDArray[Any]) -> NDArray[Any]:
        """Return the greatest impulse of dry friction, with constant zeros where there is none, shape (n,)."""
        return np.where(self.slides_freely(plant), 0.0, friction)


EVERYTHING = Scope()

UNDER_EFFORTS = Scope(frozenset({CommandRow.EFFORT}))
"""Without brakes, wrenches and voltages; the motion is that of `MOTION_UNDER_EFFORTS`, bit for bit."""

MOTION_UNDER_EFFORTS = Scope(frozenset({CommandRow.EFFORT}), energies=False)
"""The scope of a control law with its robot."""


def plant_program(plant: PlantModel, scope: Scope = EVERYTHING, varied: Sequence[str] = ()
                  ) -> tuple[dict[str, Shape], tuple[Statement, ...]]:
    """Return variables and statements of one step.

    Inputs are ``state``, shape (len(StateRow), n), and ``command``, shape (len(CommandRow), n); the output is
    ``state``. ``Integrator.ADAPTIVE`` needs the end of the smooth motion as a further input, ``smooth``, shape
    (len(SmoothRow), n).

    Args:
        plant: The simulated model.
        scope: The parts of the plant that the program needs.
        varied: Names of `QUANTITIES` whose values are inputs of the program, under these names, not built in.

    Returns:
        Shape of each variable by name, for a program that may have more of its own; and the statements.
    """
    n = plant.n
    variables: dict[str, Shape] = {"state": (len(StateRow), n), "command": (len(CommandRow), n),
                                   "report": (len(ReportRow), n), "health": (), "rounds": (), "moved": ()}
    variables |= dict.fromkeys((*_PROBLEM, "voltage", *_SOLUTION), (n,)) | {"matrix": (n * (n + 1) // 2,)}
    variables |= {name: QUANTITIES[name].shape(plant) for name in varied}
    given, choice = ("state", "command"), (*_CHOICE, "rounds")
    compute = partial(_compute, plant, scope, varied)
    pivoting = Repeat(most_pivot_steps(n), [
        compute(_round, (*_PROBLEM, *choice), (*_SOLUTION, "moved", "rounds"))], flag="moved")
    if plant.world is not None:
        return _program_with_contacts(plant, scope, plant.world, varied, variables)
    if plant.integrator is not Integrator.SEMI_IMPLICIT_EULER:
        variables["smooth"] = (len(SmoothRow), n)
        posed = ("smooth", *_PROBLEM, "voltage", *choice)
        return variables, (
            compute(_pose_after_split_step, (*given, "smooth"), posed),
            pivoting,
            compute(_commit_after_split_step, ("state", "smooth", "friction", "voltage", *_SOLUTION), "state"))
    solved: tuple[Statement, ...] = (
        compute(_pose, given, (*_PROBLEM, "voltage", *choice)), pivoting)
    if _all_slide_freely(plant, scope, varied):  # constraints are seldom active: solve without them first
        solved = (compute(_attempt, given, ("voltage", *_SOLUTION, "moved")),
                  Repeat(1, solved, flag="moved", at_least=0))
    return variables, (*solved, compute(_commit, (*given, "friction", "voltage", *_SOLUTION), "state"))


def _compute(plant: PlantModel, scope: Scope, varied: Sequence[str], function: Callable[..., Any],
             inputs: tuple[str, ...], outputs: tuple[str, ...] | str) -> Compute:
    """A computation whose function takes the plant and the scope first; the varied values are further inputs."""
    if not varied:
        return Compute(partial(function, plant, scope), inputs, outputs)

    def with_values(*arrays: NDArray[Any]) -> Any:
        values = dict(zip(varied, arrays[len(inputs):], strict=True))
        return function(varied_plant(plant, values), scope, *arrays[:len(inputs)])

    with_values.__name__ = function.__name__
    return Compute(with_values, (*inputs, *varied), outputs)


def _all_slide_freely(plant: PlantModel, scope: Scope, varied: Sequence[str]) -> bool:
    """Whether no joint has dry friction or a brake, whatever the varied values are."""
    found = []

    def look(*arrays: NDArray[Any]) -> float:
        found.append(scope.slides_freely(varied_plant(plant, dict(zip(varied, arrays, strict=True)))).all())
        return 0.0

    trace(look, {name: QUANTITIES[name].shape(plant) for name in varied})
    return bool(found[0])


def _program_with_contacts(plant: PlantModel, scope: Scope, world: World, varied: Sequence[str],
                           variables: dict[str, Shape]) -> tuple[dict[str, Shape], tuple[Statement, ...]]:
    """As :func:`plant_program`, for a robot that can touch surfaces; ``contact_force`` is an output too."""
    n, pairs = plant.n, world.pairs
    variables |= {"penetration": (pairs,), "normal": (pairs, 3), "place": (pairs, 3), "jacobian": (pairs, 3, n),
                  "pressed": (pairs,), "sliding": (pairs,), "level": (pairs,), "slip": (pairs, 3),
                  "contact_force": (pairs, 3), "contact_effort": (n,)}
    given, choice = ("state", "command"), (*_CHOICE, "rounds")
    compute = partial(_compute, plant, scope, varied)
    solved: tuple[Statement, ...] = (
        compute(_pose_with_contacts, given, (*_PROBLEM, "voltage", *choice, *_GEOMETRY, *_CONTACT_CHOICE)),
        Repeat(most_pivot_steps(n) + MOST_ROUNDS, [
            compute(_round_with_contacts, (*_PROBLEM, *choice, *_GEOMETRY, *_CONTACT_CHOICE),
                    (*_SOLUTION, "moved", "rounds", *_CONTACT_CHOICE, *_CONTACT))], flag="moved"))
    if _all_slide_freely(plant, scope, varied):
        solved = (compute(_attempt_without_contacts, given, ("voltage", *_SOLUTION, "moved", *_CONTACT)),
                  Repeat(1, solved, flag="moved", at_least=0))
    return variables, (*solved, compute(_commit_with_contacts,
                                        (*given, "friction", "voltage", *_SOLUTION, "contact_effort"), "state"))


def report_statement(plant: PlantModel) -> Statement:
    """Return the statement for ``report``, shape (len(ReportRow), n), and ``health``, finite if the state is finite.

    It follows the steps of a program with energies.
    """
    return Compute(partial(_report, plant), ("state", "command", "voltage", "friction", "impulse"),
                   ("report", "health"))


def _pose(plant: PlantModel, scope: Scope, state: NDArray[Any], command: NDArray[Any]) -> tuple[Any, ...]:
    problem, voltage = semi_implicit_euler.problem(plant, state, scope.given(command))
    return _posed(problem, voltage, state[StateRow.CONTACT_MODE], state[StateRow.SATURATION])


def _attempt(plant: PlantModel, scope: Scope, state: NDArray[Any], command: NDArray[Any]) -> tuple[Any, ...]:
    problem, voltage = semi_implicit_euler.problem(plant, state, scope.given(command))
    return (voltage, *unhindered(plant.limits, problem))


def _pose_with_contacts(plant: PlantModel, scope: Scope, state: NDArray[Any], command: NDArray[Any]
                        ) -> tuple[Any, ...]:
    world = _world(plant)
    geometry = contact_geometry(world, plant.model, state[StateRow.POSITION])
    choice = first_choice(world, geometry, state[StateRow.VELOCITY], plant.step)
    return (*_pose(plant, scope, state, command), *geometry, *choice)


def _attempt_without_contacts(plant: PlantModel, scope: Scope, state: NDArray[Any], command: NDArray[Any]
                              ) -> tuple[Any, ...]:
    world = _world(plant)
    voltage, velocity, *solution, moved = _attempt(plant, scope, state, command)
    geometry = contact_geometry(world, plant.model, state[StateRow.POSITION])
    touches = presses(world, geometry, velocity, plant.step)
    return (voltage, velocity, *solution, moved + touches, np.zeros((world.pairs, 3)), np.zeros(plant.n))


def _round_with_contacts(plant: PlantModel, scope: Scope, *values: Any) -> tuple[Any, ...]:
    world = _world(plant)
    (*posed, contact_mode, saturation, rounds), rest = values[:len(_PROBLEM) + 3], values[len(_PROBLEM) + 3:]
    geometry = ContactGeometry(*rest[:len(_GEOMETRY)])
    moves = moving_columns(world, plant.model)[:, None, :]
    geometry = geometry._replace(jacobian=np.where(moves, geometry.jacobian, 0.0))
    choice = ContactChoice(*rest[len(_GEOMETRY):])
    problem = with_contacts(world, geometry, choice, _problem(plant, scope, tuple(posed)), plant.step, rounds)
    done = pivot_step(plant.limits, problem, contact_mode, saturation, rounds)
    touching = contact_round(world, geometry, choice, done.velocity, plant.step, rounds)
    effort = sum((jacobian.T @ force for jacobian, force in zip(geometry.jacobian, touching.force, strict=True)),
                 start=np.zeros(plant.n))
    return (*done._replace(moved=done.moved + touching.moved), rounds + 1.0, *touching.choice, touching.force, effort)


def _world(plant: PlantModel) -> World:
    assert plant.world is not None  # for mypy: only programs with contacts call this
    return plant.world


def _pose_after_split_step(plant: PlantModel, scope: Scope, state: NDArray[Any], command: NDArray[Any],
                          smooth: NDArray[Any]) -> tuple[Any, ...]:
    command = scope.given(command)
    if plant.integrator is not Integrator.ADAPTIVE:
        smooth = split_step.smooth_step(plant, state, command)
    problem, voltage = split_step.problem(plant, state, command, smooth)
    return (smooth, *_posed(problem, voltage, within_reach(state[StateRow.CONTACT_MODE], problem), np.zeros(plant.n)))


def _posed(problem: Problem, voltage: NDArray[Any], contact_mode: NDArray[Any], saturation: NDArray[Any]
           ) -> tuple[Any, ...]:
    """The problem with the lower triangle of its matrix, the voltages, the first choice, and 0 pivot steps so far."""
    lower = problem.matrix[np.tril_indices(len(problem.matrix))]
    mode = admissible(contact_mode, problem.friction)
    return *problem._replace(matrix=lower), voltage, mode, saturation, np.float64(0.0)


def _problem(plant: PlantModel, scope: Scope, values: tuple[NDArray[Any], ...]) -> Problem:
    """Unpack the problem; replace values that are constant for this robot by constants."""
    packed = Problem(*values)
    matrix = np.empty((plant.n, plant.n), dtype=packed.matrix.dtype)
    rows, columns = np.tril_indices(plant.n)
    matrix[rows, columns] = matrix[columns, rows] = packed.matrix
    implicit = plant.actuators.is_motor & (plant.integrator is Integrator.SEMI_IMPLICIT_EULER)
    return packed._replace(
        matrix=matrix,
        friction=scope.friction(plant, packed.friction),
        slowest=np.where(np.isfinite(plant.limits.lower), packed.slowest, -np.inf),
        fastest=np.where(np.isfinite(plant.limits.upper), packed.fastest, np.inf),
        drive=np.where(implicit, packed.drive, 0.0),
        drive_damping=np.where(implicit, packed.drive_damping, 0.0),
    )


def _round(plant: PlantModel, scope: Scope, *values: Any) -> tuple[Any, ...]:
    *posed, contact_mode, saturation, rounds = values
    done = pivot_step(plant.limits, _problem(plant, scope, tuple(posed)), contact_mode, saturation, rounds)
    return (*done, rounds + 1.0)


def _commit(plant: PlantModel, scope: Scope, state: NDArray[Any], command: NDArray[Any], friction: NDArray[Any],
            *solution: Any) -> NDArray[Any]:
    after = semi_implicit_euler.commit(plant, state, scope.given(command), scope.friction(plant, friction), *solution)
    return _without_energies(scope, state, after)


def _commit_with_contacts(plant: PlantModel, scope: Scope, state: NDArray[Any], command: NDArray[Any], *rest: Any
                          ) -> NDArray[Any]:
    *solution, effort = rest
    acting = scope.given(command)
    external = [acting[row] + effort if row is CommandRow.EXTERNAL else acting[row] for row in CommandRow]
    friction, *others = solution
    after = semi_implicit_euler.commit(plant, state, np.stack(external), scope.friction(plant, friction), *others)
    return _without_energies(scope, state, after)


def _commit_after_split_step(plant: PlantModel, scope: Scope, state: NDArray[Any], smooth: NDArray[Any],
                            friction: NDArray[Any], *solution: Any) -> NDArray[Any]:
    *given, _ = solution
    after = split_step.commit(plant, state, smooth, scope.friction(plant, friction), *given)
    return _without_energies(scope, state, after)


def _without_energies(scope: Scope, before: NDArray[Any], after: NDArray[Any]) -> NDArray[Any]:
    return after if scope.energies else np.concatenate([after[:StateRow.DRIVE_WORK], before[StateRow.DRIVE_WORK:]])


def _report(plant: PlantModel, state: NDArray[Any], *values: Any) -> tuple[Any, ...]:
    health = sum(state[:StateRow.CURRENT + 1].ravel(), start=np.float64(0.0))
    return report(plant, state, *values), health
