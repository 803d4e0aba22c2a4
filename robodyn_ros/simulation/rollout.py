# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Rollouts: a controller on a simulated robot, thousands of ticks in one call, for thousands of robots at once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.base.errors import CompileError, InputError, PluginError, SimulationError
from robodyn_ros.base.timing import DEFAULT_PERIOD, whole_steps
from robodyn_ros.compile import Procedure, trace
from robodyn_ros.compile.records import flatten, form_of, unflatten
from robodyn_ros.control.contract.compiled_law import PackedParameters, initial_memory, terms_on_arrays
from robodyn_ros.control.contract.controller import Controller, JointReference, Law, State
from robodyn_ros.control.contract.law_inputs import state_form
from robodyn_ros.control.contract.parameters import Parameters
from robodyn_ros.control.plugins.registry import make_controller
from robodyn_ros.control.references.reference import Trajectory
from robodyn_ros.description.model import Array
from robodyn_ros.kinematics.turns import turns
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.closed_loop import TickInput, added_term, closed_loop_procedure
from robodyn_ros.simulation.engine import SimulatedRobot
from robodyn_ros.simulation.fast_motion import max_speed, resolved_speed
from robodyn_ros.simulation.interpreted_loop import InterpretedLoop, LoopResult
from robodyn_ros.simulation.plant import start_position
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.plant_state import PlantState
from robodyn_ros.simulation.quantities import (
    COMMAND_DELAY,
    DELAY,
    MODEL,
    NOISES,
    OFFSET,
    QUANTITIES,
    START,
    plant_quantities,
    varied_model,
    varied_plant,
    varied_state,
)
from robodyn_ros.simulation.quantity_checks import by_name, check_varied, checked_samples
from robodyn_ros.simulation.readings import read_motor_side
from robodyn_ros.simulation.scenario import Scenario
from robodyn_ros.simulation.score import Rollout, Score

_logger = logging.getLogger(__name__)

_HUGE = 1e100  # a motion beyond it diverges, and its efforts may overflow


class RolloutClient(Protocol):
    """Computes scores on other machines, for example `study.cluster.Cluster`."""

    def scores(self, loop: ClosedLoop, scenario: Scenario, arrays: Mapping[str, Array]) -> Score:
        """Simulate many robots; on equal processors, the scores equal those of `ClosedLoop.scores` to the bit.

        Args:
            loop: The closed loop.
            scenario: The task of all robots.
            arrays: Arrays with a leading axis of the N robots: ``parameters``, see `ClosedLoop.packed`, and varied
                quantities by name.
        """


class ClosedLoop:
    """A controller on a simulated robot, for any number of rollouts.

    The first rollout compiles the law together with the plant. A controller that cannot be compiled runs in Python, at
    tens of microseconds per tick, and `note` says why. Ticks, references and limits are those of the nodes in lockstep.

    Args:
        controller: The controller; its parameters are the defaults of rollouts.
        plant: The simulated robot; None: `PlantModel.from_robot` with steps of 1 ms.
        period: Control period, a multiple of the plant's step [s].
        engine: Simulator that steps the robot instead of the compiled plant, for example a `MujocoPlant`; the
            controller then runs in Python, and the plant is the engine's.
        varied: Names of `QUANTITIES` that differ from robot to robot; others are constants of the program.

    Attributes:
        controller: As given.
        robot: The robot as the controller knows it.
        plant: The simulated robot.
        period: Control period [s].
        engine: As given.

    Raises:
        InputError: The period does not fit, the plant's integrator has no compiled form, or a quantity cannot be
            varied.
    """

    def __init__(self, controller: Controller, plant: PlantModel | None = None, period: float = DEFAULT_PERIOD,
                 engine: SimulatedRobot | None = None, varied: Sequence[str] = ()) -> None:
        if not isinstance(controller, Controller):
            raise InputError(f"rollout: expected a Controller, received {type(controller).__name__}")
        self.controller, self.robot = controller, controller.robot
        self.period, self.engine = period, engine
        if engine is not None:
            plant = engine.model
        self.plant = PlantModel.from_robot(self.robot) if plant is None else plant
        if not isinstance(self.plant, PlantModel):
            raise InputError(f"rollout: plant: expected a PlantModel, received {type(plant).__name__}; "
                             "PlantModel.from_description makes one of a robot's model")
        if not self.plant.method.has_fixed_steps:
            raise InputError(f"rollout: expected an integrator of fixed steps, received {self.plant.integrator}")
        self._period_ns, self._steps = whole_steps(
            period, self.plant.step, "rollout: expected a control period of a whole number of steps")
        if self.plant.driver is not None:
            self.plant.driver.profile.check_rate(1.0 / period, "rollout: control rate")
        self._packed = PackedParameters(controller.parameters)
        self._resolved = resolved_speed(self.plant) if engine is None else np.inf
        self._greatest = max_speed(self.plant) if engine is None else np.inf
        self.varied = check_varied(varied, self.plant)
        self._inputs = tuple(name for name in self.varied if name not in START)
        self._procedures: dict[tuple[Any, ...], Procedure] = {}
        self._term_names: list[str] = []  # of the law, once they are asked for
        self._interpreted: InterpretedLoop | None = None
        self._uncompiled_reason = ""
        if engine is not None:
            self._uncompiled_reason = f"the robot is stepped by {type(engine).__name__}"
            if built_in := plant_quantities(self._inputs):
                raise InputError(f"varied: {', '.join(built_in)}: expected no quantities of a robot that "
                                 f"{type(engine).__name__} steps; make an engine for each")
            self._interpreted = self._interpreted_loop(engine)

    @property
    def note(self) -> str:
        """Why the controller runs as Python code, and the time of a tick so far; empty if it is compiled."""
        loop = self._interpreted
        if loop is None:
            return ""
        cost = f", {1e6 * loop.seconds / loop.ticks:.0f} us per tick" if loop.ticks else ""
        return f"{type(self.controller).__name__} runs uncompiled{cost}: {self._uncompiled_reason}"

    def scenario(self, trajectories: Sequence[Trajectory] = (), duration: float | None = None,
                 **options: Any) -> Scenario:
        """Sample a scenario.

        Args:
            trajectories: Trajectories to follow; the start is held before, the last point after.
            duration: Duration [s]; None: until the last trajectory ends.
            **options: As for `Scenario.sample`: ``q``, ``v``, noise, ``seed``, ``signals``.

        Raises:
            InputError: As for `Scenario.sample`.
        """
        form = state_form(type(self.controller), self.robot.n)
        return Scenario.sample(self.robot, self.controller.follows, self._period_ns, trajectories, duration, form=form,
                               **options)

    def run(self, scenario: Scenario, parameters: Parameters | None = None, compiled: bool = True, *,
            sample: Mapping[str, ArrayLike] | None = None, terms: bool = False) -> Rollout:
        """Simulate one robot.

        Args:
            scenario: The task of the robot.
            parameters: Parameters of the controller; None: its own.
            sample: Values of varied quantities by name; default: those of the plant, or of the scenario.
            compiled: False: run law and plant in plain Python with the textbook's dynamics, for comparison with the
                compiled program.
            terms: Whether to record the terms of the efforts, `Rollout.terms`; this compiles a program of its own.

        Raises:
            InputError: The robot would start inside a surface, or where the law refuses to begin, or a value of the
                sample does not fit.
            CompileError: ``compiled`` is False, and the controller cannot be traced.
            PluginError: A controller that runs uncompiled raised, or did not return efforts; or an effort is not
                finite.
            SimulationError: The state became infinite or NaN.
        """
        samples = self._samples({name: np.asarray(value)[None] for name, value in (sample or {}).items()}, scenario)
        values = {name: array[0] for name, array in samples.items()}
        scenario = _started(scenario, values)
        self.plant.check_start(scenario.q)
        name = type(self.controller).__name__
        state = self._state(scenario, values)
        packed, memory = self.packed(parameters), self._memory(scenario, values, state)
        if self._has_own_inertias(values):
            packed, memory = self._with_inertias(packed, scenario, values, state)
        given = (self._arguments(scenario) | self._varied_inputs(scenario, values)
                 | {"state": state, "parameters": packed} | self._given(memory))
        program: dict[str, Any] = {"recorded": True, "noisy": self._noisy(scenario),
                                   "longest_delay": self._longest_delay(values), "terms": terms}

        def loop(divides: bool) -> LoopResult:
            procedure = self._procedure(**program, divides=divides) if compiled else self.procedure(
                **program, divides=divides)
            if isinstance(procedure, InterpretedLoop):
                complete = self.controller.parameters if parameters is None else parameters.for_robot(self.robot)
                return procedure.run(scenario, complete, self._varied_inputs(scenario, values), divides, terms)
            return _result(procedure(**given) if compiled else procedure.interpret(**given))

        result = loop(divides=False)
        if not result.fastest <= self._resolved:
            result = loop(divides=True)
        motions, clocks = result.motions, scenario.clocks[:, 0]
        assert motions is not None  # for mypy: the program records them
        _check_efforts(name, self.robot, motions, clocks)
        if not (np.isfinite(result.q).all() and np.isfinite(result.v).all()):
            finite = np.isfinite(motions.q).all(axis=1)
            time = clocks[int(np.argmin(finite)) if not finite.all() else -1]
            raise SimulationError(f"rollout of '{self.robot.name}' under {name} diverged at about {time:g} s; use "
                                  f"other gains or a smaller step (now {self.plant.step} s)")
        if not result.fastest <= self._greatest:
            raise SimulationError(
                f"rollout of '{self.robot.name}' under {name}: too fast for steps of {self.plant.step} s: expected "
                f"angular speeds of at most {self._greatest:g} rad/s in sum, received {float(result.fastest):.6g} "
                "rad/s; use other gains or a smaller step")
        units = tuple(joint.unit for joint in self.robot.model.leaders)
        score = Score.from_sums(result.sums, len(clocks), result.q, result.v)
        return Rollout(joint_names=self.robot.joint_names, units=units, tip_link=self.robot.tip_link, controller=name,
                       time=clocks, reference=scenario.references, score=score, note=self.note,
                       terms=self._by_term(result.terms), **motions._asdict())

    def scores(self, scenario: Scenario, parameters: Sequence[Parameters] | Array | None = None,
               q: ArrayLike | None = None, threads: int | None = None, *,
               samples: Mapping[str, ArrayLike] | None = None, client: RolloutClient | None = None) -> Score:
        """Simulate many robots at once; the score of a diverging robot has NaN or infinity.

        The score of a robot is the same to the bit alone, in any batch, and with any number of threads.

        Args:
            scenario: The task of all robots.
            parameters: Parameters of the controller, one set for each robot, or their numbers as in `packed`, shape
                (N, p), or (p,) for all; None: the controller's own, for all.
            q: Joint positions at the start, shape (N, n) [rad or m]; None: the scenario's, for all.
            threads: Threads that share the robots; a controller that runs uncompiled uses one. None: one.
            samples: Values of varied quantities by name, each with a leading axis of the N robots; default: those of
                the plant, or of the scenario.
            client: Other machines that compute the scores, for example a `study.cluster.Cluster`; None: this machine.

        Raises:
            InputError: Neither parameters nor positions nor samples determine the number of robots, their numbers
                differ, a value of a sample does not fit, a robot would start inside a surface or where the law refuses
                to begin, ``client`` is not a cluster, or ``threads`` is given together with ``client``.
            PluginError: As for `run`.
            ClusterError: The cluster is no longer usable.
        """
        _check_client(client, threads)
        ticks = len(scenario.clocks)
        values = self._samples({} if samples is None else samples, scenario)
        if q is not None:
            if "start.q" in values:
                raise InputError("rollout: expected positions at the start in q or in samples, received both")
            values |= self._samples({"start.q": q}, scenario)
        given = self._arguments(scenario) | self._varied_inputs(scenario, values)
        if parameters is None:
            given["parameters"] = self._packed.values
        elif isinstance(parameters, np.ndarray):
            size = self._packed.values.size
            if parameters.ndim not in (1, 2) or parameters.shape[-1] != size:
                raise InputError(f"rollout: parameters: expected shape (N, {size}) or ({size},), received shape "
                                 f"{parameters.shape}")
            given["parameters"] = parameters
        else:
            numbers = [self.packed(one) for one in parameters]
            given["parameters"] = np.array(numbers).reshape(len(numbers), self._packed.values.size)
        counts = {name: len(array) for name, array in values.items()}
        if given["parameters"].ndim > 1:
            counts["parameters"] = len(given["parameters"])
        if len(set(counts.values())) != 1:
            raise InputError("rollout: expected an axis of samples, of equal length, in parameters, positions or "
                             f"samples, received {counts or 'none'}")
        (count,) = set(counts.values())
        differ = bool(values.keys() & set(START)) or bool(len(self.plant.elastic) and plant_quantities(values))
        own = [{name: array[i] for name, array in values.items()} for i in range(count if differ else 1)]
        starts = [_started(scenario, each) for each in own]
        for start in starts:
            self.plant.check_start(start.q)
        states = [self._state(*pair, sample) for sample, pair in enumerate(zip(starts, own, strict=True))]
        memories = [self._memory(*each) for each in zip(starts, own, states, strict=True)]
        if client is not None:
            if parameters is not None:
                values["parameters"] = np.array(np.broadcast_to(given["parameters"], (count, self._packed.values.size)))
            return client.scores(self, scenario, values)
        packed = np.broadcast_to(given["parameters"], (count, self._packed.values.size))
        given["state"] = _stacked(states) if differ else states[0]
        if self._has_own_inertias(values):
            pairs = [self._with_inertias(packed[i], starts[i % len(starts)], {name: values[name][i] for name in values},
                                         states[i % len(states)]) for i in range(count)]
            packed, memories = np.array([numbers for numbers, _ in pairs]), [memory for _, memory in pairs]
            given["parameters"] = packed
        given |= self._given(_stacked(memories) if len(memories) > 1 else memories[0])
        program: dict[str, Any] = {"recorded": False, "noisy": self._noisy(scenario),
                                   "longest_delay": self._longest_delay(values)}
        per_robot = {*counts, *(("state",) if differ else ()),
                     *(("parameters",) if self._has_own_inertias(values) else ()),
                     *(("loop_state.memory",) if len(memories) > 1 else ())}

        def loop(robots: NDArray[Any], divides: bool) -> LoopResult:
            """Simulate some of the robots."""
            procedure = self._procedure(**program, divides=divides)
            if isinstance(procedure, InterpretedLoop):
                return _stacked([procedure.run(starts[i % len(starts)], self._packed.unpack(packed[i]),
                                               self._varied_inputs(scenario, values, i), divides)._replace(motions=None)
                                 for i in robots])
            if len(robots) == 1:  # faster than a batch of one
                alone = {name: _select(given[name], int(robots[0])) for name in per_robot if name in given}
                return _stacked([_result(procedure(**given | alone))])
            some = {name: _select(given[name], robots) for name in per_robot if name in given and len(robots) < count}
            return _result(procedure.batch(threads=threads or 1, **given | some))

        result = loop(np.arange(count), divides=False)
        fast = np.flatnonzero(~(result.fastest <= self._resolved))
        if len(fast):
            again = loop(fast, divides=True)
            _replace_results(result, fast, again)
            _replace_results(result, fast[~(again.fastest <= self._greatest)], np.nan)
        return Score.from_sums(result.sums, ticks, result.q, result.v)

    def packed(self, parameters: Parameters | None = None) -> Array:
        """The numbers among the parameters of the controller, shape (p,).

        Args:
            parameters: The parameters; None: the controller's own.

        Raises:
            InputError: A parameter that is a constant of the program differs, or a value does not fit.
        """
        if parameters is None:
            return self._packed.values
        packed = PackedParameters(parameters.for_robot(self.robot))
        if type(parameters) is not self.controller.Parameters or packed.fixed != self._packed.fixed:
            raise InputError(f"rollout: expected {self.controller.Parameters.__name__} that differ from the "
                             "controller's in numbers only; make another ClosedLoop for others")
        return packed.values

    def packed_rows(self, candidates: Iterable[Parameters | Callable[[], Parameters]]) -> Array:
        """The numbers of N sets of parameters, shape (N, p); rows of NaN for sets that the law refuses.

        Args:
            candidates: The sets, or functions that return them or raise `InputError`.
        """
        rows = list[Array]()
        for candidate in candidates:
            try:
                rows.append(self.packed(candidate() if callable(candidate) else candidate))
            except InputError:
                rows.append(np.full_like(self._packed.values, np.nan))
        return np.array(rows)

    def procedure(self, *, recorded: bool, noisy: bool, longest_delay: int = 0, divides: bool = False,
                  terms: bool = False) -> Procedure:
        """The compiled program, see `closed_loop_procedure`; each call returns the same object.

        Args:
            recorded: Whether to record motions, or only to score them.
            noisy: Whether the law's measurements have noise.
            longest_delay: Length of the delay line for measurements [control periods].
            divides: Whether to divide steps that are too long for the speed, see `fast_motion`.
            terms: Whether to record the terms of the efforts.

        Raises:
            CompileError: The controller cannot be compiled.
            InputError: A varied quantity has no effect on this loop.
        """
        key = recorded, noisy, longest_delay, divides, terms
        if key not in self._procedures:
            if not isinstance(self.controller, Law):
                raise CompileError(self.controller.uncompiled_reason)
            if terms and not self._term_names:
                formula, self._term_names = terms_on_arrays(self.controller, self._packed)
                trace(*formula)
            self._procedures[key] = closed_loop_procedure(
                self.controller, self._packed, self.plant, self._steps, recorded=recorded, noisy=noisy,
                varied=self._inputs, longest_delay=longest_delay, divides=divides,
                terms=self._term_names if terms else ())
        return self._procedures[key]

    def _by_term(self, recorded: Any) -> dict[str, Array]:
        """The recorded terms by name, each of shape (K, n)."""
        if isinstance(recorded, np.ndarray):  # of a compiled program
            return dict(zip((*self._term_names, added_term(self.plant)), np.moveaxis(recorded, 1, 0), strict=True))
        return dict(recorded or {})

    def _procedure(self, **program: Any) -> Procedure | InterpretedLoop:
        """The compiled program, or else the interpreted loop."""
        if self._interpreted is None:
            try:
                return self.procedure(**program)
            except CompileError as error:
                self._uncompiled_reason = str(error)
                self._interpreted = self._interpreted_loop()
        return self._interpreted

    def _interpreted_loop(self, engine: SimulatedRobot | None = None) -> InterpretedLoop:
        own = [name for name in self._inputs if name.startswith(MODEL)]
        if own:
            raise InputError(f"varied: {', '.join(own)}: expected a law that can be compiled, whose model the rollout "
                             f"can replace, received {type(self.controller).__name__}: {self._uncompiled_reason}")
        return InterpretedLoop(self.controller, self.plant, self._steps, engine, self._inputs)

    def _samples(self, given: Mapping[str, ArrayLike], scenario: Scenario) -> dict[str, Array]:
        """Check the values of quantities, and the initial positions."""
        checked = checked_samples(given, self.plant, self.varied)
        if OFFSET in checked:
            checked["start.q"] = scenario.q + checked.pop(OFFSET)
        if "start.q" in checked:
            starts, model = checked["start.q"], self.robot.model
            if model.angles.any() and self.controller.follows is JointReference:
                starts = checked["start.q"] = starts - turns(starts - scenario.q, model.angles)
            if (beyond := ((starts < model.position_lower) | (starts > model.position_upper)).any(axis=1)).any():
                sample = int(beyond.argmax())
                try:
                    start_position(self.robot, starts[sample])
                except InputError as error:
                    raise InputError(f"samples of start.q, sample {sample}: {error}") from None
        return checked

    def _varied_inputs(self, scenario: Scenario, values: Mapping[str, Array], sample: int | None = None
                       ) -> dict[str, Array]:
        """Varied inputs of the program: the given values, or one sample of them, else the nominal ones."""
        own = {}
        for name in dict.fromkeys((*self._inputs, *(NOISES if self._noisy(scenario) else ()))):
            if name in values:
                own[name] = values[name] if sample is None else values[name][sample]
            elif name in NOISES:
                own[name] = scenario.deviation[NOISES.index(name)]
            else:
                own[name] = QUANTITIES[name].nominal_value(self.plant)
        return own

    def _longest_delay(self, values: Mapping[str, Array]) -> int:
        """A power of two above all delays, so that few programs serve all samples; 0 if no delay varies."""
        delays = [QUANTITIES[name].nominal_value(self.plant) if name not in values else values[name]
                  for name in (DELAY, COMMAND_DELAY) if name in self._inputs]
        if not delays:
            return 0
        longest = int(max(np.max(each, initial=0) for each in delays))
        return 1 << max(0, longest - 1).bit_length()

    def _noisy(self, scenario: Scenario) -> bool:
        """Whether the program reads noise."""
        return scenario.noisy or any(name in self._inputs for name in NOISES)

    def _arguments(self, scenario: Scenario) -> dict[str, Any]:
        normals = scenario.normals if self._noisy(scenario) else None
        return {"ticks": len(scenario.clocks),
                "inputs": TickInput(scenario.clocks, scenario.references, normals, scenario.signals)}

    def _given(self, memory: Any) -> dict[str, Any]:
        """The argument for the law's memory, if it has one."""
        return {} if memory is None else {"loop_state.memory": memory}

    def _state(self, scenario: Scenario, values: Mapping[str, Array], sample: int = 0) -> PlantState:
        """The initial state of one sample."""
        try:
            return varied_state(self.plant, scenario.q, scenario.v, values)
        except InputError as error:
            raise InputError(f"samples, sample {sample}: {error}") from None

    def _memory(self, scenario: Scenario, values: Mapping[str, Array], start: PlantState,
                parameters: Parameters | None = None) -> Any:
        """The initial memory of the law at a state of :meth:`_state`; raises `InputError` if the law must not begin."""
        if not isinstance(self.controller, Law):
            return None
        law = self.controller
        if parameters is not None:
            law = copy(law)
            law.parameters = parameters
        state = State(0.0, 0.0, scenario.q, scenario.v)
        if law.senses:
            plant = varied_plant(self.plant, {name: values[name] for name in plant_quantities(values)})
            motors = read_motor_side(plant, start, np.zeros(self.robot.n))
            state = State(*state[:5], *motors)
        if scenario.signals is not None:
            state = state._replace(inputs=next(scenario.inputs(noisy=False)).inputs)
        state = state_form(type(law), self.robot.n).completed(state)
        law.check_start(state)
        return initial_memory(law, state)

    def _has_own_inertias(self, values: Mapping[str, Array]) -> bool:
        """Whether samples vary a model that the law keeps in its parameters, not in its dynamics."""
        return bool(self.controller.Parameters.inertia_fields()) and any(name.startswith(MODEL) for name in values)

    def _with_inertias(self, packed: Array, scenario: Scenario, values: Mapping[str, Array], start: PlantState
                       ) -> tuple[Array, Any]:
        """Packed parameters and initial memory of the law with the inertias of a sample."""
        own = {name.removeprefix(MODEL): value for name, value in values.items() if name.startswith(MODEL)}
        robot = Robot(varied_model(self.robot.model, own))
        parameters = self._packed.unpack(packed).with_inertias(robot)
        return PackedParameters(parameters).values, self._memory(scenario, values, start, parameters)


def _check_efforts(name: str, robot: Robot, motions: Any, clocks: Array) -> None:
    """Raise PluginError if the controller answered a finite, not huge state with an effort that is not finite."""
    sane = (np.abs(motions.q) < _HUGE).all(axis=1) & (np.abs(motions.v) < _HUGE).all(axis=1)
    wrong = np.argwhere(~np.isfinite(motions.effort) & sane[:, None])
    if len(wrong):
        tick, joint = wrong[0]
        raise PluginError(
            f"rollout of '{robot.name}': {name} answered a finite state with the effort {motions.effort[tick, joint]} "
            f"for joint '{robot.joint_names[joint]}' at {clocks[tick]:g} s: look for a division by 0, a root or "
            "logarithm of a negative number or a singular matrix in the law")


def rollout(robot: Robot, controller: str | Controller, trajectory: Trajectory | None = None,
            duration: float | None = None, *, parameters: Parameters | None = None, plant: PlantModel | None = None,
            q: ArrayLike | None = None, v: ArrayLike | None = None, signals: Mapping[str, Any] | None = None,
            terms: bool = False) -> Rollout:
    """Simulate a robot under a controller.

    `ClosedLoop` compiles once for any number of rollouts; `rollout_scores` simulates robots that differ.

    A controller that cannot be compiled runs in Python; one warning in the log says why, and how long a tick takes.
    Another warning names a spring that is too fast for the step, see `ElasticDrives.unresolved_mode`.

    Args:
        robot: The robot; its ``timing`` has the control period.
        controller: Name of an installed controller, ``package.module:Class``, or a controller; a name ending in
            ``+safety`` adds the safety filter, one in ``+friction`` compensates friction.
        trajectory: Trajectory to follow; None: hold the start.
        duration: Duration [s]; None: until the trajectory ends.
        parameters: Parameters of the controller; None: the defaults, or the controller's own.
        plant: The simulated robot: step, motors, friction, surfaces, driver. A robot without actuators takes those of
            the plant. ``PlantModel.from_description(robot.model, friction=...)`` makes one. None:
            `PlantModel.from_robot`.
        q: Joint positions at the start, shape (n,) [rad or m]; None: where the trajectory begins.
        v: Joint velocities at the start, shape (n,) [rad/s or m/s]; None: zeros.
        signals: The controller's declared inputs by name: a value, a function of time, or a `Signal`.
        terms: Whether to record the terms of the efforts, `Rollout.terms`.

    Raises:
        InputError: The arguments do not fit together.
        PluginError: No controller has that name; or the controller fails.
        SimulationError: The state of the robot became infinite or NaN.
    """
    loop = _closed_loop(robot, controller, parameters, plant)
    result = loop.run(loop.scenario([] if trajectory is None else [trajectory], duration, q=q, v=v, signals=signals),
                      parameters, terms=terms)
    if loop.note:
        _logger.warning(loop.note)
    return result


def rollout_scores(robot: Robot, controller: str | Controller, samples: Mapping[str, ArrayLike],
                   trajectory: Trajectory | None = None, duration: float | None = None, *,
                   parameters: Parameters | None = None, plant: PlantModel | None = None,
                   workers: int | RolloutClient | None = None, signals: Mapping[str, Any] | None = None) -> Score:
    """Simulate and score many robots that differ, under one controller.

    Args:
        robot: As for `rollout`.
        controller: As for `rollout`.
        samples: Values of `QUANTITIES` for N robots, by name, each with a leading axis of the robots.
        trajectory: As for `rollout`.
        duration: As for `rollout`.
        parameters: As for `rollout`.
        plant: As for `rollout`.
        workers: Number of threads that share the robots; or other machines, for example a `study.cluster.Cluster`;
            None: one thread.
        signals: As for `rollout`.

    Raises:
        InputError: As for `rollout`.
        PluginError: As for `rollout`.
        ClusterError: The cluster is no longer usable.
    """
    threads, client = (workers, None) if workers is None or isinstance(workers, int) else (None, workers)
    _check_client(client)
    loop = _closed_loop(robot, controller, parameters, plant, tuple(by_name(samples)))
    scenario = loop.scenario([] if trajectory is None else [trajectory], duration, signals=signals)
    score = loop.scores(scenario, None if parameters is None else loop.packed(parameters), threads=threads,
                        samples=samples, client=client)
    if loop.note:
        _logger.warning(loop.note)
    return score


def _closed_loop(robot: Robot, controller: str | Controller, parameters: Parameters | None, plant: PlantModel | None,
                 varied: tuple[str, ...] = ()) -> ClosedLoop:
    if isinstance(plant, PlantModel):
        robot = plant.known_to(robot)
    made = make_controller(controller, robot, parameters) if isinstance(controller, str) else controller
    loop = ClosedLoop(made, plant, robot.timing.period, varied=varied)
    if doubt := loop.plant.elastic.unresolved_mode():
        _logger.warning(doubt)
    return loop


def _check_client(client: Any, threads: int | None = None) -> None:
    if client is None:
        return
    if not callable(getattr(client, "scores", None)):
        raise InputError(f"rollout: client: expected a robodyn_ros.toolbox.study.cluster.Cluster, received "
                         f"{type(client).__name__}; Cluster.from_client(client) makes one of a distributed.Client")
    if threads is not None:
        raise InputError("rollout: threads has no effect with client, whose workers have their own; leave it out")


def _started(scenario: Scenario, values: Mapping[str, Array]) -> Scenario:
    """The scenario, with the start of the values if they have one."""
    if not any(name in values for name in START):
        return scenario
    return replace(scenario, q=values.get("start.q", scenario.q), v=values.get("start.v", scenario.v))


def _result(results: Mapping[str, Any]) -> LoopResult:
    return LoopResult(results["state.q"], results["state.v"], results["loop_state.sums"], results["loop_state.fastest"],
                      results.get("motions"), results.get("terms"))


_Record = TypeVar("_Record")


def _stacked(records: Sequence[_Record]) -> _Record:
    """Stack records, or arrays, along a new leading axis; None for an empty list."""
    form = form_of(records[0], shapes=False)
    if form is None:
        return records[0]
    parts = zip(*(flatten(form, record, "records") for record in records), strict=True)
    stacked: _Record = unflatten(form, iter([np.stack(arrays) for arrays in parts]))
    return stacked


def _select(record: Any, place: Any) -> Any:
    """Select one or some of stacked records."""
    form: Any = form_of(record, shapes=False)
    return unflatten(form, iter([array[place] for array in flatten(form, record, "record")]))


def _replace_results(result: LoopResult, robots: NDArray[Any], values: Any) -> None:
    """Replace the results of some robots by other results, or by a number."""
    form: Any = form_of(result, shapes=False)
    arrays = flatten(form, result, "result")
    for array, new in zip(arrays, [values] * len(arrays) if isinstance(values, float) else
                          flatten(form_of(values, shapes=False) or (), values, "result"), strict=True):
        array[robots] = new
