# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Closed loop of a controller that cannot be compiled: the controller runs in Python, the plant is compiled."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.driver_profile import MAX_DELAY
from robodyn_ros.base.errors import InputError, SimulationError
from robodyn_ros.compile import Compute, compile_procedure
from robodyn_ros.compile.procedure import Bound
from robodyn_ros.compile.program import Statement
from robodyn_ros.control.contract.controller import Controller, Law
from robodyn_ros.control.contract.parameters import Parameters
from robodyn_ros.control.contract.state import UNMEASURED, State, example_reference
from robodyn_ros.control.contract.terms import WHOLE
from robodyn_ros.control.plugins.dry_run import activate, answer, as_efforts
from robodyn_ros.control.plugins.plugin_errors import FAULTS, plugin_error
from robodyn_ros.description.model import Array
from robodyn_ros.simulation.closed_loop import (
    LoopState,
    TickInput,
    TickMotion,
    added_term,
    apply_and_score,
    commanded_effort,
    counted_errors,
    first_loop_state,
    sense,
    tip_wrench,
)
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.contact import CONTACT_FORCE
from robodyn_ros.simulation.engine import SimulatedRobot
from robodyn_ros.simulation.fast_motion import angular_speed_sum, period_program
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.plant_state import MotorSide
from robodyn_ros.simulation.quantities import (
    COMMAND_DELAY,
    COMMANDS,
    DELAY,
    NOISES,
    QUANTITIES,
    SENSING,
    plant_quantities,
    varied_plant,
    varied_state,
)
from robodyn_ros.simulation.readings import encoder_motion, read_motor_side
from robodyn_ros.simulation.scenario import Scenario
from robodyn_ros.simulation.score import Sums


class LoopResult(NamedTuple):
    """Result of a closed loop; each array may have a leading axis of robots."""

    q: Any  # joint positions at the end [rad or m]
    v: Any  # joint velocities at the end [rad/s or m/s]
    sums: Sums  # sums for the score
    fastest: Any  # greatest `angular_speed_sum` [rad/s]
    motions: TickMotion | None = None  # record of each tick; None: not recorded
    terms: Any = None  # terms of the efforts at each tick, by name or as `closed_loop` records them; None: not recorded


class InterpretedLoop:
    """Runs the tick of `closed_loop` around a call of `Controller.update`.

    Args:
        controller: The controller.
        plant: The simulated robot.
        steps: Steps of the plant in a control period.
        engine: Simulator that steps the robot; None: the compiled plant.
        varied: Names of `QUANTITIES` that differ from run to run: those of the sensors, and without an engine also
            those of the plant.

    Attributes:
        ticks: Number of ticks so far.
        seconds: Computing time of these ticks [s].
    """

    def __init__(self, controller: Controller, plant: PlantModel, steps: int,
                 engine: SimulatedRobot | None = None, varied: Sequence[str] = ()) -> None:
        if len(plant.actuators.drive_loops):
            raise InputError(f"controller '{type(controller).__name__}' on '{plant.model.name}': expected a law "
                             "that is compiled with the plant, since drives with drive_loop get its derivatives, "
                             "received Python code or another engine; leave out drive_loop")
        self.ticks = 0
        self.seconds = 0.0
        self._controller, self._plant, self._steps, self._engine = controller, plant, steps, engine
        self._in_plant, self._bounds = plant_quantities(varied), {}  # type: tuple[str, ...], dict[bool, Bound]
        self._driving = tuple(name for name in varied if name in COMMANDS)
        self._longest_command_delay = MAX_DELAY if COMMAND_DELAY in varied else None

    def _bound(self, divides: bool) -> Bound:
        """The compiled part of a tick after the law: limits, score and steps of the plant, divided or not."""
        if divides in self._bounds:
            return self._bounds[divides]
        plant, world, follows = self._plant, self._plant.world, self._controller.follows
        typical = {name: QUANTITIES[name].typical_value(plant) for name in self._in_plant}
        period = period_program(plant, "steps", self._in_plant, divides=divides, typical=typical)
        reference, counted = example_reference(follows, plant.n), counted_errors(self._controller)
        loop_state = first_loop_state(plant, follows, None, None, self._longest_command_delay)
        variables = period.variables | {
            "tick_input": TickInput(np.zeros(2), reference), "loop_state": loop_state, "requested": (plant.n,),
            "wrench_tip": (6,),
            "motion": TickMotion((plant.n,), (plant.n,), (plant.n,), loop_state.sums.first_error),
            **{name: QUANTITIES[name].shape(plant) for name in self._driving}}

        def after_law(tick_input: TickInput, q: NDArray[Any], v: NDArray[Any], motors: MotorSide,
                      requested: NDArray[Any], before: LoopState, *values: NDArray[Any]) -> tuple[Any, ...]:
            driver = varied_plant(plant, dict(zip(self._driving, values, strict=True)))
            loop_state, motion = apply_and_score(driver, follows, tick_input, q, v, motors, requested, before,
                                                 self._steps * plant.step, counted)
            return loop_state, motion, motion.effort

        program: list[Statement] = [Compute(after_law, ("tick_input", "state.q", "state.v", "state.motor_side",
                                                        "requested", "loop_state", *self._driving),
                                            ("loop_state", "motion", "command.effort")), *period.statements]
        if world is not None:
            program.append(Compute(partial(tip_wrench, plant.model, world), ("state.q", CONTACT_FORCE),
                                   "wrench_tip"))
        inputs = [*period.inputs, "tick_input", "requested", "loop_state", *self._driving]
        outputs = ["state", "loop_state", "motion", "wrench_tip", "peak"]
        self._bounds[divides] = compile_procedure(variables, program, inputs, outputs, name="plant").bind()
        return self._bounds[divides]

    def run(self, scenario: Scenario, parameters: Parameters, values: Mapping[str, Array], divides: bool = False,
            terms: bool = False) -> LoopResult:
        """Simulate one robot.

        Args:
            scenario: The task of the robot.
            parameters: Parameters of the controller, complete for the robot.
            values: Values of the varied quantities.
            divides: Whether to divide steps that are too long for the speed, see `fast_motion`.
            terms: Whether the terms of the efforts are recorded.

        Returns:
            Final state and sums, and the motion; NaN from the tick at which motion or efforts became infinite.

        Raises:
            PluginError: The controller raised, or did not return efforts of shape (n,).
        """
        bound, begin = self._bound(divides), perf_counter()
        before = self._controller.parameters
        for name in (*plant_quantities(values), *self._driving):
            bound[name] = values[name]
        self._controller.parameters = parameters
        motions: list[TickMotion] = []
        parts: list[dict[str, Array]] | None = [] if terms else None
        if terms and isinstance(self._controller, Law):
            self._controller.prepare_terms(parameters)
        try:
            self._run_ticks(bound, scenario, motions, values, parts)
        finally:
            self._controller.parameters = before
            self._call(None, self._controller.deactivate)
        self.ticks += len(motions)
        self.seconds += perf_counter() - begin
        missing = len(scenario.clocks) - len(motions)
        q, v = bound["state.q"].copy(), bound["state.v"].copy()
        if missing:
            q, v = np.full_like(q, np.nan), np.full_like(v, np.nan)
            motions += [TickMotion(*(np.full_like(array, np.nan) for array in bound["motion"]))] * missing
        sums = Sums(*(np.full_like(array, np.nan) if missing else array.copy() for array in bound["loop_state.sums"]))
        speeds = [float(bound["loop_state.fastest"]), float(bound["peak"]), float(angular_speed_sum(self._plant, v))]
        recorded = TickMotion(*(np.stack(rows) for rows in zip(*motions, strict=True)))
        return LoopResult(q, v, sums, np.max(speeds), recorded, None if parts is None else self._recorded_terms(
            parts, len(scenario.clocks)))

    def _recorded_terms(self, parts: list[dict[str, Array]], ticks: int) -> dict[str, Array]:
        """Terms by name, each of shape (K, n); a term that a tick does not name is 0 there, and NaN after the end."""
        recorded = {name: np.zeros((ticks, self._plant.n)) for tick in parts for name in tick}
        for name, efforts in recorded.items():
            efforts[len(parts):] = np.nan
            for place, tick in enumerate(parts):
                efforts[place] = tick.get(name, 0.0)
        return recorded

    def _run_ticks(self, bound: Bound, scenario: Scenario, motions: list[TickMotion], values: Mapping[str, Array],
                   parts: list[dict[str, Array]] | None) -> None:
        """Run ticks until the end, or until motion or efforts become infinite.

        ``motions`` receives each tick, and ``parts``, if given, the terms of its efforts.
        """
        plant, engine, follows = self._plant, self._engine, self._controller.follows
        bound["state"] = varied_state(plant, scenario.q, scenario.v, values)
        bound[CONTACT_FORCE] = np.zeros((plant.parts.contacts.world.pairs, 3))
        bound["wrench_tip"], bound["peak"] = np.zeros(6), 0.0
        loop_state = first_loop_state(plant, follows, None, int(values[DELAY]) if DELAY in values else None,
                                      self._longest_command_delay)
        bound["loop_state"] = loop_state._replace(line=None, taken=None)
        q, v, sensed, tick_input = bound["state.q"], bound["state.v"], UNMEASURED, bound["tick_input"]
        if engine is not None:
            engine.reset()
            engine.set_state(scenario.q, scenario.v)
        senses = self._controller.senses
        seen = varied_plant(plant, {name: values[name] for name in plant_quantities(values)}) if senses else plant
        motors: tuple[Any, ...] = read_motor_side(seen, bound["state"], np.zeros(plant.n))
        at_start = State(0.0, 0.0, *encoder_motion(plant, q.copy(), v.copy(), bound["state.motor_side"]), UNMEASURED,
                         *(motors if senses else ()))
        if scenario.signals is not None:
            at_start = at_start._replace(inputs=next(scenario.inputs(noisy=False)).inputs)
        self._call(0.0, activate, self._controller, at_start)
        sensors = {name: value for name, value in values.items() if name in SENSING}
        for tick in scenario.inputs(noisy=NOISES[0] in sensors):
            if plant.world is not None:
                sensed = bound["wrench_tip"].copy()
            elif engine is not None and engine.has_surroundings:
                sensed = engine.environment_wrench(engine.robot.tip_link)
            if senses:
                motors = engine.motor_side if engine is not None else tuple(
                    array.copy() for array in read_motor_side(seen, bound["state"], bound["command.effort"]))
            position, velocity = (encoder_motion(plant, q.copy(), v.copy(), bound["state.motor_side"])
                                  if engine is None else engine.encoder_motion)
            measured, loop_state = sense(tick, position, velocity, sensed, sensors, loop_state, motors if senses
                                         else ())
            measured = measured._replace(time=float(measured.time), period=float(measured.period))
            requested = self._call(measured.time, self._efforts, measured, tick.reference)
            bound["requested"] = commanded_effort(plant, self._controller.robot.dynamics(), measured.q, requested)
            tick_input.clock[:] = tick.clock
            for field, array in zip(tick_input.reference or (), tick.reference or (), strict=True):
                field[...] = array
            bound.run(self._steps if engine is None else 0)
            motion = TickMotion(*(array.copy() for array in bound["motion"]))
            if engine is not None:
                self._advance(engine, motion.effort)
            motions.append(motion)
            if parts is not None:
                named = self._controller.terms()
                parts.append((named or {WHOLE: requested}) | {added_term(plant): motion.effort - requested})
            if not math.isfinite(motion.effort.sum() + q.sum() + v.sum()):
                return

    def _advance(self, engine: SimulatedRobot, effort: Array) -> None:
        """Step the engine through a control period; a diverging state becomes NaN."""
        none, state = np.zeros(len(effort)), self._bounds[False]["state"]
        try:
            engine.advance(Drive(effort, none, none), self._steps)
        except SimulationError:
            state.q[:], state.v[:] = np.nan, np.nan
        else:
            state.q[:], state.v[:] = engine.q, engine.v
            for own, there in zip(state.motor_side, engine.motor_side, strict=False):
                own[:] = there[self._plant.elastic.joints]

    def _efforts(self, state: State, reference: Any) -> Array:
        return as_efforts(answer(self._controller, state, reference), self._plant.n)

    def _call(self, time: float | None, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call the controller; its exceptions become a `PluginError` that names the time [s], if given."""
        try:
            return function(*arguments)
        except FAULTS as error:
            when = "" if time is None else f" at {time:g} s"
            raise plugin_error(f"controller '{type(self._controller).__name__}' fails{when}", error) from error
