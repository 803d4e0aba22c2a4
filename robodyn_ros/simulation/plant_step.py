# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""One step of the simulated robot: drives, friction, contacts, the equation of motion, integration, energies.

:func:`step` is the whole step, on floats. The same functions are the statements of :func:`step_program`, to be compiled
alone, in a loop with a control law, or for many samples at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.compile import Compute, Repeat
from robodyn_ros.compile.program import Statement
from robodyn_ros.compile.tape import trace
from robodyn_ros.simulation.impact import after_impact, impact, impact_round, meets_stop
from robodyn_ros.simulation.joint_constraints import (
    ConstraintSolution,
    Problem,
    admissible,
    pivot_step,
    without_constraints,
)
from robodyn_ros.simulation.motion import SmoothState
from robodyn_ros.simulation.outputs import ActuatorState, StepEnd, report
from robodyn_ros.simulation.pivoting import max_pivot_steps
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.plant_part import PartRound, PlantParts
from robodyn_ros.simulation.plant_state import PlantCommand, PlantState
from robodyn_ros.simulation.quantities import QUANTITIES, varied_plant


class StepProblem(NamedTuple):
    """The problem of a step."""

    problem: Problem  # matrix v' = momentum + impulses of friction, stops and motors
    voltage: NDArray[Any]  # motor voltages, held during the step, shape (n,) [V]
    parts: PlantParts  # what the rounds of each part are given


class Guess(NamedTuple):
    """Modes and impulses that a round of the solution assumes."""

    contact_mode: NDArray[Any]  # modes of friction and stops of joints and motors of elastic joints, shape (n + m,)
    saturation: NDArray[Any]  # modes of the motors, shape (n,)
    motor_mode: NDArray[Any]  # modes of the dry friction of coupled motors, shape (coupled,)
    parts: PlantParts  # guess of each part
    rounds: Any  # number of rounds before this one


class Solution(NamedTuple):
    """The solution for a guess.

    Attributes:
        velocity: Velocities of links and motors of elastic joints after the step, shape (n + m,) [rad/s or m/s].
        impulse: Impulse of friction and stops, shape (n + m,) [N m s or N s].
        motor_impulse: Impulse of the dry friction of coupled motors, shape (coupled,) [N m s or N s].
        parts: Result of each part.
        moved: Positive if the next guess differs, 0 if the solution is consistent.
    """

    velocity: NDArray[Any]
    impulse: NDArray[Any]
    motor_impulse: NDArray[Any]
    parts: PlantParts
    moved: Any


def step(plant: PlantModel, state: PlantState, command: PlantCommand, smooth: SmoothState | None = None
         ) -> tuple[PlantState, ActuatorState]:
    """Take a step on floats, for reading and debugging; :func:`step_program` compiles the same functions.

    Args:
        plant: The simulated model.
        state: State before the step.
        command: The commands.
        smooth: End of the smooth motion; None if the method has fixed steps.

    Returns:
        The state after the step, and the report at its end.
    """
    described = plant
    if plant.drifts_first and meets_stop(plant, state) > 0.0:
        met = impact(plant, state)
        while met.moved > 0.0 and met.rounds < _max_impact_rounds(plant):
            met = impact_round(plant, met)
        state = after_impact(plant, state, met)
    plant = plant.at_state(state.temperature, state.q, state.v, state.motor_side)
    if not plant.method.is_implicit and smooth is None:
        smooth = plant.method.prepare(plant, state, command)
    given = () if smooth is None else (smooth,)
    step_problem, guess = set_up_problem(plant, state, command, *given)
    solution, guess = solve(plant, step_problem, guess)
    while solution.moved > 0.0 and guess.rounds < max_rounds(plant):
        solution, guess = solve(plant, step_problem, guess)
    after = integrate(plant, state, command, step_problem, solution, guess, *given)
    at_end = described.at_state(after.temperature, after.q, after.v, after.motor_side)
    return after, report(StepEnd(at_end, after, command, step_problem.voltage, step_problem.problem.friction,
                                 solution.impulse, solution.motor_impulse, solution.parts))


def set_up_problem(plant: PlantModel, state: PlantState, command: PlantCommand, *smooth: SmoothState
                   ) -> tuple[StepProblem, Guess]:
    """Set up the problem of the velocity after the step from drives, friction, contacts, inertia; guess its modes."""
    method = plant.method
    state = method.acting_state(plant, state)
    problem, voltage, bending = method.problem(plant, state, command, *smooth)
    contact_mode, saturation = method.first_modes(state, problem)
    given, guesses = _start(plant, state, bending)
    guess = Guess(admissible(contact_mode, problem.friction), saturation,
                  plant.limits.motor_modes(plant.elastic.velocity(state)), guesses, np.float64(0.0))
    return StepProblem(problem, voltage, given), guess


def _start(plant: PlantModel, state: PlantState, bending: NDArray[Any]) -> tuple[PlantParts, PlantParts]:
    """What the parts are given in a step, and their first guesses."""
    given, guesses = zip(*(part.start(state, bending) for part in plant.parts), strict=True)
    return PlantParts(*given), PlantParts(*guesses)


def solve(plant: PlantModel, step_problem: StepProblem, guess: Guess) -> tuple[Solution, Guess]:
    """Solve for one guess of the modes of friction, stops, motors and parts; return the next guess."""
    problem, rounds = step_problem.problem, guess.rounds
    each = list(zip(plant.parts, step_problem.parts, guess.parts, strict=True))
    for part, given, own in each:
        problem = part.add(given, own, problem, rounds)
    done = pivot_step(plant.limits, problem, guess.contact_mode, guess.saturation, guess.motor_mode, rounds)
    results, guesses, moved = _in_turn(done.moved, [
        partial(part.compare, given, own, done.velocity, rounds) for part, given, own in each])
    return (Solution(done.velocity, done.impulse, done.motor_impulse, results, moved),
            Guess(done.contact_mode, done.saturation, done.motor_mode, guesses, rounds + 1.0))


def _in_turn(moved: Any, rounds: Sequence[Callable[[Any], PartRound]]) -> tuple[PlantParts, PlantParts, Any]:
    """Results and next guesses of the parts, and whether any guess differs; the last part comes first.

    Pivoting chooses the modes of the last one together with those of friction and stops.
    """
    done: list[PartRound] = []
    for part_round in reversed(rounds):
        done.insert(0, part_round(moved))
        moved = done[0].moved
    return PlantParts(*(each.result for each in done)), PlantParts(*(each.guess for each in done)), moved


def integrate(plant: PlantModel, state: PlantState, command: PlantCommand, step_problem: StepProblem,
              solution: Solution, guess: Guess, *smooth: SmoothState) -> PlantState:
    """Compute positions, currents, temperatures and energies from the velocities after the step."""
    state = plant.method.acting_state(plant, state)
    solved = ConstraintSolution(solution.velocity, solution.impulse, step_problem.problem.friction, guess.contact_mode,
                                guess.saturation, solution.motor_impulse)
    for part, result in zip(plant.parts, solution.parts, strict=True):
        command = part.acting(command, result)
    after = plant.method.integrate(plant, state, command, step_problem.voltage, solved, solution.parts, *smooth)
    for part, result in zip(plant.parts, solution.parts, strict=True):
        after = part.next_state(after, result)
    return after


def solve_unconstrained(plant: PlantModel, state: PlantState, command: PlantCommand) -> tuple[Any, ...]:
    """Solve without friction, stops and motor limits, with undisturbed parts; ``moved``: positive if one of them acts.

    Returns:
        The motor voltages, the greatest impulses of friction, the solution, and the guess that it solves.
    """
    met = meets_stop(plant, state) if plant.drifts_first else 0.0
    state = plant.method.acting_state(plant, state)
    problem, voltage, bending = plant.method.problem(plant, state, command)
    given, first = _start(plant, state, bending)
    for part, guess in zip(plant.parts, first, strict=True):
        problem = part.add_undisturbed(guess, problem)
    free = without_constraints(plant.limits, problem)
    results, guesses, moved = _in_turn(free.moved, [
        partial(part.undisturbed, state, own, guess, free.velocity)
        for part, own, guess in zip(plant.parts, given, first, strict=True)])
    return (voltage, problem.friction, Solution(free.velocity, free.impulse, free.motor_impulse, results, moved + met),
            Guess(free.contact_mode, free.saturation, free.motor_mode, guesses, np.float64(0.0)))


def _max_impact_rounds(plant: PlantModel) -> int:
    return max_pivot_steps(plant.n + len(plant.elastic))


def max_rounds(plant: PlantModel) -> int:
    """Return a bound of the rounds of a step."""
    modes = plant.n + len(plant.elastic) + len(plant.sliding_motors) + sum(part.modes for part in plant.parts)
    return max_pivot_steps(modes) + sum(part.more_rounds for part in plant.parts)


class StepProgram(NamedTuple):
    """A step to be compiled.

    Attributes:
        variables: Variables by name: ``state`` (`PlantState`), ``command`` (`PlantCommand`), varied quantities, for a
            split step ``smooth``, and intermediate ones, such as ``solution``.
        statements: Statements that advance ``state`` by a step.
        inputs: Names of the variables that are inputs.
    """

    variables: dict[str, Any]
    statements: tuple[Statement, ...]
    inputs: tuple[str, ...]


def step_program(plant: PlantModel, varied: Sequence[str] = (), *, under_efforts: bool = False) -> StepProgram:
    """Return the statements of a step.

    Args:
        plant: The simulated model. If its method has no fixed steps, the end of the smooth motion is an input,
            ``smooth``.
        varied: Names of `QUANTITIES` that are inputs of the program, under these names, not constants.
        under_efforts: Whether ``command.effort``, and ``command.drives`` if drives close a loop, are the only inputs of
            ``command``, without voltages, brakes and wrenches; the motion is the same, bit for bit, and faster to
            compute.
    """
    none, rest, method = np.zeros(plant.n), plant.state(*np.zeros((2, plant.n))), plant.method
    structure, size = _structure(plant, varied), plant.n + len(plant.elastic)
    every, of_motors = np.zeros(size), np.zeros(structure.sliding_motors)
    start, guesses, results = (PlantParts(*each) for each in zip(*structure.parts, strict=True))
    variables: dict[str, Any] = {
        "state": rest, "command": plant.command(none),
        "step_problem": StepProblem(Problem(np.zeros((size, size)), every, every, every, every, none, none, of_motors),
                                    none, start),
        "guess": Guess(every, none, of_motors, guesses, 0.0),
        "solution": Solution(every, every, of_motors, results, 0.0),
        **{name: QUANTITIES[name].shape(plant) for name in varied}}
    smooth: tuple[str, ...] = ()
    efforts = ("command.effort", "command.drives") if len(plant.actuators.drive_loops) else ("command.effort",)
    statements: list[Statement] = []
    compute = partial(plant_computation, plant, varied)
    if under_efforts:
        statements.append(Compute(PlantCommand.from_effort, efforts, "command"))
    if not method.is_implicit:
        smooth = ("smooth",)
        variables["smooth"] = SmoothState.from_state(rest)
        if method.has_fixed_steps:
            statements.append(compute(_prepare, ("state", "command"), "smooth"))
    given = ("state", "command", *smooth)
    met: list[Statement] = []
    if plant.drifts_first:
        rounds = Repeat(_max_impact_rounds(plant), [compute(impact_round, ("impact",), "impact")], flag="impact.moved")
        first = impact(plant, rest)
        variables |= {"impact": first._replace(problem=first.problem._replace(motor_friction=of_motors)),
                      "meets_stop": ()}
        met = [compute(meets_stop, ("state",), "meets_stop"),
               Repeat(1, [compute(impact, ("state",), "impact"), rounds,
                          compute(after_impact, ("state", "impact"), "state")], flag="meets_stop", at_least=0)]
    solved: list[Statement] = [
        *met,
        compute(set_up_problem, given, ("step_problem", "guess")),
        Repeat(structure.rounds, [compute(solve, ("step_problem", "guess"), ("solution", "guess"))],
               flag="solution.moved")]
    if not smooth and under_efforts and structure.slides_freely:
        # Constraints are seldom active: solve without them first.
        solved = [compute(solve_unconstrained, given,
                          ("step_problem.voltage", "step_problem.problem.friction", "solution", "guess")),
                  Repeat(1, solved, flag="solution.moved", at_least=0)]
    statements += [*solved,
                   compute(integrate, ("state", "command", "step_problem", "solution", "guess", *smooth), "state")]
    inputs = ("state", *(efforts if under_efforts else ("command",)), *varied)
    return StepProgram(variables, tuple(statements), inputs + smooth * (not method.has_fixed_steps))


def report_statement(plant: PlantModel, *, with_health: bool = False) -> Statement:
    """Return the statement that computes ``report``, an `ActuatorState`, at the end of a step.

    Args:
        plant: The simulated model.
        with_health: Whether it also computes ``health``, which is finite if the state is.
    """
    def reported(state: PlantState, *acting: Any) -> Any:
        at_end = plant.at_state(state.temperature, state.q, state.v, state.motor_side)
        outputs = report(StepEnd(at_end, state, *acting))
        moving = (*state.q, *state.v, *state.current, *state.motor_side.q, *state.motor_side.v)
        return (outputs, sum(moving, start=np.float64(0.0))) if with_health else outputs

    return Compute(reported, ("state", "command", "step_problem.voltage", "step_problem.problem.friction",
                              "solution.impulse", "solution.motor_impulse", "solution.parts"),
                   ("report", "health") if with_health else "report")


def _prepare(plant: PlantModel, state: PlantState, command: PlantCommand) -> SmoothState:
    smooth: SmoothState = plant.method.prepare(plant, state, command)
    return smooth


def plant_computation(plant: PlantModel, varied: Sequence[str], function: Callable[..., Any], inputs: Sequence[str],
                      outputs: Sequence[str] | str) -> Compute:
    """Return a computation whose function takes the plant as first argument.

    Further inputs are the varied values, and the state if motor constants depend on it.
    """
    followed = ("state.temperature", "state.q", "state.v", "state.motor_side") if plant.follows_state else ()
    if not varied and not followed:
        return Compute(partial(function, plant), inputs, outputs)
    inputs = (inputs,) if isinstance(inputs, str) else tuple(inputs)

    def with_values(*given: Any) -> Any:
        end = len(inputs) + len(varied)
        own, values, state = given[:len(inputs)], given[len(inputs):end], given[end:]
        changed = varied_plant(plant, dict(zip(varied, values, strict=True)))
        return function(changed.at_state(*state) if followed else changed, *own)

    with_values.__name__ = function.__name__
    return Compute(with_values, (*inputs, *varied, *followed), outputs)


class _Structure(NamedTuple):
    """What the program of a plant depends on, for any varied values."""

    parts: tuple[tuple[Any, Any, Any], ...]  # records like those of the parts, see `PlantPart.example`
    sliding_motors: int  # number of coupled motors that can have dry friction
    rounds: int  # see `max_rounds`
    slides_freely: bool  # whether no joint has dry friction


def _structure(plant: PlantModel, varied: Sequence[str]) -> _Structure:
    found = []

    def look(*values: NDArray[Any]) -> float:
        own = varied_plant(plant, dict(zip(varied, values, strict=True)))
        found.append(_Structure(tuple(part.example() for part in own.parts), len(own.sliding_motors), max_rounds(own),
                                not own.has_dry_friction.any()))
        return 0.0

    trace(look, {name: QUANTITIES[name].shape(plant) for name in varied})
    return found[0]
