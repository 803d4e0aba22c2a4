# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The closed loop of a controller that cannot be compiled: the controller runs as Python code, the plant compiled."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from robodyn_ros.compile import Compute, Repeat, compile_procedure
from robodyn_ros.compile.program import Statement
from robodyn_ros.control.controller import Controller
from robodyn_ros.control.dry_run import FAULTS, as_efforts, describe
from robodyn_ros.control.parameters import Parameters
from robodyn_ros.control.state import UNMEASURED, JointReference, State
from robodyn_ros.description.model import Array
from robodyn_ros.errors import PluginError, SimulationError
from robodyn_ros.simulation.closed_loop import SUMS, measure, tip_wrench, tracking_error_function
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.engine import SimulatedRobot
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.plant_step import step_program
from robodyn_ros.simulation.quantities import DELAY, NOISES, QUANTITIES, SENSING, of_plant
from robodyn_ros.simulation.scenario import Scenario


class InterpretedLoop:
    """Runs the loop of `closed_loop_procedure`, with one call of `Controller.update` per tick.

    Args:
        controller: The controller.
        plant: The simulated robot.
        steps: Steps of the plant in a control period.
        engine: Steps the robot instead of the compiled plant; None: the compiled plant does.
        varied: Names of `QUANTITIES` that differ from run to run: of the sensors, and without an engine of the plant.

    Attributes:
        ticks: Number of ticks so far.
        seconds: Time that these took [s].
    """

    def __init__(self, controller: Controller, plant: PlantModel, steps: int,
                 engine: SimulatedRobot | None = None, varied: Sequence[str] = ()) -> None:
        self.ticks = 0
        self.seconds = 0.0
        self._controller, self._plant, self._steps, self._engine = controller, plant, steps, engine
        in_plant = of_plant(varied)
        follows, n = controller.follows, plant.n
        self._fields = {} if follows is None else {f"reference.{name}": shape
                                                   for name, shape in follows.shapes(n).items()}
        step = step_program(plant, in_plant, under_efforts=True)
        variables = step.variables | self._fields | {"error": (6,)}
        inputs = [*step.inputs]
        typical = {name: QUANTITIES[name].typical_value(plant) for name in in_plant}
        program: list[Statement] = [Repeat("steps", step.statements, typical)]
        self._follows_poses = follows not in (None, JointReference)
        if self._follows_poses:
            tracking_error = tracking_error_function(plant.model, follows)
            program.insert(0, Compute(tracking_error, ("state.q", *self._fields), "error"))
            inputs += self._fields
        outputs = ["state", "error"]
        if (world := plant.world) is not None:
            variables |= {"wrench_tip": (6,)}
            program.append(Compute(lambda q, force: tip_wrench(plant.model, world, q, force),
                                   ("state.q", "solution.contact_force"), "wrench_tip"))
            outputs += ["solution.contact_force", "wrench_tip"]
        self._bound = compile_procedure(variables, program, inputs, outputs, name="plant").bind()

    def run(self, scenario: Scenario, parameters: Parameters, values: Mapping[str, Array]) -> dict[str, Array]:
        """Simulate one robot.

        Args:
            scenario: The task of the robot.
            parameters: Parameters of the controller, complete for the robot.
            values: Values of the varied quantities.

        Returns:
            ``state.q`` and ``state.v`` at the end and `SUMS` over the ticks, as of `closed_loop_procedure`; and ``q``,
            ``v``, ``effort`` and ``error`` at every tick. They are NaN from the tick at which the motion or the efforts
            became infinite.

        Raises:
            PluginError: The controller raised, or returned something else than efforts of shape (n,).
        """
        rows = np.full((len(scenario.clocks), 3, self._plant.n), np.nan)
        errors = np.full((len(rows), 6 if self._follows_poses else 0), np.nan)
        before, begin = self._controller.parameters, perf_counter()
        for name in of_plant(values):
            self._bound[name] = values[name]
        self._controller.parameters = parameters
        try:
            done = self._run_ticks(scenario, rows, errors, values)
        finally:
            self._controller.parameters = before
        self.ticks += done
        self.seconds += perf_counter() - begin
        ends = {name: self._bound[name].copy() for name in ("state.q", "state.v")}
        if done < len(rows):
            rows[done:], errors[done:], ends["state.q"][:], ends["state.v"][:] = np.nan, np.nan, np.nan, np.nan
        q, v, effort = np.moveaxis(rows, 1, 0)
        if isinstance(scenario.references, JointReference):
            errors = scenario.references.q - q
        changes = np.diff(effort, axis=0)
        sums = ((errors**2).sum(axis=0), np.abs(errors).max(axis=0), (effort**2).sum(axis=0),
                np.abs(effort).max(axis=0), (changes**2).sum(axis=0),
                np.maximum(-np.sign(errors[0]) * errors, 0.0).max(axis=0),
                (np.abs(effort) >= self._plant.model.effort_limit).sum(axis=0, dtype=float))
        return {**ends, "q": q, "v": v, "effort": effort, "error": errors, **dict(zip(SUMS, sums, strict=True))}

    def _run_ticks(self, scenario: Scenario, rows: Array, errors: Array, values: Mapping[str, Array]) -> int:
        """Run ticks until the end, or until the motion or the efforts become infinite.

        Args:
            scenario: The task of the robot.
            rows: Receives position, velocity and effort of each tick, shape (ticks, 3, n).
            errors: Receives the pose error of each tick, shape (ticks, 6), if the controller follows poses.
            values: Values of the varied quantities.

        Returns:
            How many ticks were finite.
        """
        bound, lower, upper = self._bound, -self._plant.model.effort_limit, self._plant.model.effort_limit
        make_reference: Any = self._controller.follows
        columns = () if make_reference is None else tuple(scenario.references)
        fields = [bound[name] for name in self._fields] if self._follows_poses else []
        bound["state"] = self._plant.state(scenario.q, scenario.v)
        state, command = bound["state"], bound["command.effort"]
        sensed, engine = UNMEASURED, self._engine
        if engine is not None:
            engine.reset()
            engine.set_state(scenario.q, scenario.v)
        if self._plant.world is not None:
            bound["solution.contact_force"], bound["wrench_tip"] = 0.0, 0.0
        self._call(self._controller.activate, State(0.0, 0.0, scenario.q.copy(), scenario.v.copy()))
        given: dict[str, Any] = {name: value for name, value in values.items() if name in SENSING}
        given |= {"line": np.zeros((int(values.get(DELAY, 0)), *scenario.deviation.shape)), "taken": 0.0}
        for k, (time, period) in enumerate(scenario.clocks.tolist()):
            given["state"] = state._replace(q=state.q.copy(), v=state.v.copy())
            if NOISES[0] in given:
                given["noise"] = scenario.normals[k]
            q, v, position, velocity, *line = measure(given)
            given |= zip(("line", "taken"), line, strict=False)  # none without a delay
            if self._plant.world is not None:
                sensed = bound["wrench_tip"].copy()
            elif engine is not None and engine.has_surroundings:
                sensed = engine.environment_wrench(engine.robot.tip_link)
            measured = State(time, period, position, velocity, sensed)
            reference = None if make_reference is None else make_reference(*(column[k] for column in columns))
            effort = np.clip(self._call(self._efforts, measured, reference), lower, upper)
            command[:], rows[k] = effort, (q, v, effort)
            for field, column in zip(fields, columns, strict=False):
                field[...] = column[k]
            bound.run(self._steps if engine is None else 0)
            if engine is not None:
                self._advance(engine, effort)
            if self._follows_poses:
                errors[k] = bound["error"]
            if not math.isfinite(effort.sum() + state.q.sum() + state.v.sum()):
                return k
        return len(rows)

    def _advance(self, engine: SimulatedRobot, effort: Array) -> None:
        """Let the engine take the steps of a control period; a state that diverges becomes NaN."""
        none, state = np.zeros(len(effort)), self._bound["state"]
        try:
            engine.advance(Drive(effort, none, none), self._steps)
        except SimulationError:
            state.q[:], state.v[:] = np.nan, np.nan
        else:
            state.q[:], state.v[:] = engine.q, engine.v

    def _efforts(self, state: State, reference: Any) -> Array:
        return as_efforts(self._controller.update(state, reference), self._plant.n)

    def _call(self, function: Callable[..., Any], state: State, *arguments: Any) -> Any:
        """Call the controller; an exception that it raises becomes a `PluginError`."""
        try:
            return function(state, *arguments)
        except FAULTS as error:
            name = type(self._controller).__name__
            raise PluginError(f"controller '{name}' fails at {state.time:g} s: {describe(error)}") from error
