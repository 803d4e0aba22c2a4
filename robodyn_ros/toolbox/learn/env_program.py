# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Compiled programs of an environment: one period of a policy with law and robot, and the start of an episode.

A policy's action is held for some control periods. In each of them the inner law of the action answers the measured
state, the plant takes its steps, and the sensors measure, with the functions of rollouts. The observation is computed
from the last measurements. A robot that diverges, or becomes too fast for the step, keeps its last good state and is
reported as failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import Compute, Procedure, Repeat, compile_procedure, less_equal, maximum, where
from robodyn_ros.compile.program import Statement
from robodyn_ros.compile.records import flatten, form_of
from robodyn_ros.control.contract.state import UNMEASURED, State, example_reference
from robodyn_ros.control.networks.actions import ActionKind, ActionLayout
from robodyn_ros.control.networks.observations import History, ObservationLayout, Observed
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.robot_dynamics import InlineDynamics
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.closed_loop import (
    LoopState,
    TickInput,
    acting_effort,
    commanded_effort,
    first_loop_state,
    sense,
    tip_wrench,
    tracking_error,
)
from robodyn_ros.simulation.contact import CONTACT_FORCE
from robodyn_ros.simulation.driver import DriverMemory
from robodyn_ros.simulation.fast_motion import angular_speed_sum, max_speed, period_program
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.plant_state import MotorSide, PlantState
from robodyn_ros.simulation.quantities import (
    COMMANDS,
    MODEL,
    NOISES,
    QUANTITIES,
    SENSING,
    START,
    plant_quantities,
    varied_model,
    varied_plant,
)
from robodyn_ros.simulation.readings import encoder_motion
from robodyn_ros.simulation.score import Sums

_MOTION = ("state.q", "state.v", "state.motor_side")
_OF_MOTORS = ("current", "temperature", "saturation")
_MAX_SUM = 1e300  # greatest sum of magnitudes in a state


class EpisodeTask(NamedTuple):
    """The task of a robot in an episode."""

    reference: Any  # reference, of the class that observations and action follow; None if they follow none


class LoopMemory(NamedTuple):
    """State of the loop between control periods, besides the state of the plant."""

    q: Any  # measured positions, shape (n,) [rad or m]
    v: Any  # measured velocities, shape (n,) [rad/s or m/s]
    line: Any  # delay line: earlier measurements, newest first, shape (D, 2, n); None without a delay
    taken: Any  # number of measurements so far; None without a delay
    driver: DriverMemory | None  # memory of the driver; None without one
    history: History | None  # earlier observations; None for a policy without history


class StepOutcome(NamedTuple):
    """Result of a policy's period."""

    observation: Any  # observation for the policy, shape (size,)
    error: Any  # tracking error of the true state, see `closed_loop.tracking_error`
    tip_position: Any  # position of the tip link in base axes, shape (3,) [m]
    wrench_tip: Any  # as in `State`, from an ideal sensor, shape (6,) [N, N m]; NaN for a robot without surroundings
    effort: Any  # efforts of the last control period, within the limits, shape (n,) [N m or N]; 0 under voltages
    failed: Any  # 1 if the robot diverged or became too fast for the step, and keeps its last good state; else 0


class Saved(NamedTuple):
    """The last good state of plant and loop."""

    state: PlantState
    memory: LoopMemory


@dataclass(frozen=True, eq=False)
class EnvProgram:
    """A robot with the observations and actions of its policy, and the quantities that differ between robots."""

    robot: Robot  # the robot as the inner law and the observations know it
    plant: PlantModel
    observations: ObservationLayout  # layout of the observations
    action: ActionLayout  # layout of the actions
    period: float  # control period [s]
    steps: int  # steps of the plant in a control period
    ticks: int  # control periods of an action
    varied: tuple[str, ...] = ()  # names of `QUANTITIES` that differ from robot to robot, without those of the start
    longest_delay: int | None = None  # greatest delay of measurements, if it is varied [control periods]
    longest_command_delay: int | None = None  # greatest delay of commands, if it is varied [control periods]

    @property
    def noisy(self) -> bool:
        """Whether the measurements have noise."""
        return any(name in NOISES for name in self.varied)

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The varied quantities, with both deviations of the noise or none."""
        return (*(name for name in self.varied if name not in NOISES), *(NOISES if self.noisy else ()))

    @property
    def follows(self) -> Any:
        """Class of the references that observations and action follow; None if they follow none."""
        return self.observations.follows or self.action.follows

    @cached_property
    def state_fields(self) -> tuple[str, ...]:
        """The parts of the plant's state that outlast an action: no sums of energies, no motor states without motors.

        Each of them costs memory traffic: it is read and written once per period and robot.
        """
        idle = {"energies", *(() if self.plant.actuators.is_motor.any() else _OF_MOTORS)}
        return tuple(f"state.{name}" for name in PlantState._fields if name not in idle)

    def example_task(self) -> EpisodeTask:
        """Return a task with arbitrary numbers."""
        return EpisodeTask(example_reference(self.follows, self.robot.n))

    def first_memory(self) -> LoopMemory:
        """Return the memory before the first measurement."""
        at_rest = np.zeros(self.robot.n)
        loop_state = first_loop_state(self.plant, None, None, self.longest_delay, self.longest_command_delay)
        return LoopMemory(at_rest, at_rest, loop_state.line, loop_state.taken, loop_state.driver,
                          self.observations.first_history())

    def step_procedure(self) -> Procedure:
        """Compile a policy's period.

        Inputs are `state_fields`, ``memory``, ``task``, ``action`` and the varied quantities; outputs `state_fields`,
        ``memory`` and ``outcome``. With noise, the sequence ``noises`` has standard normal numbers, (ticks, 2, n).

        Raises:
            CompileError: A computation cannot be traced.
            InputError: A varied quantity has no effect.
        """
        plant, by_voltage = self.plant, self.action.kind is ActionKind.VOLTAGE
        period = period_program(plant, self.steps, plant_quantities(self.inputs), divides=True,
                                under_efforts=not by_voltage)
        saved = Saved(period.variables["state"], self.first_memory())
        variables = period.variables | self._variables() | {"saved": saved, "effort": (self.robot.n,)}
        statements: list[Statement] = [
            Compute(self._act, ("action", "task", *_MOTION, "memory", *self._of_law, *self._commands),
                    ("memory", "effort", "command" if by_voltage else "command.effort")),
            *period.statements,
            Compute(self._measure, (*_MOTION, "memory", *self._noise, *self._sensors), "memory")]
        typical = {name: QUANTITIES[name].typical_value(plant) for name in self.inputs}
        contact = () if plant.world is None else (CONTACT_FORCE,)
        procedure = compile_procedure(variables, [
            Compute(Saved, ("state", "memory"), "saved"),
            Repeat(self.ticks, statements, typical, {"noise": "noises"} if self.noisy else {}),
            Compute(self._finish, ("state", "memory", "saved", "peak", "task", "action", "effort", *self._of_law,
                                   *contact), ("state", "memory", "outcome")),
        ], (*self.state_fields, "memory", "task", "action", *self.inputs),
            (*self.state_fields, "memory", "outcome"), name=f"environment of {self.robot.name}")
        without_effect = [name for name in self.varied if not procedure.traced.reads(name)]
        if without_effect:
            raise InputError(f"quantities: {', '.join(without_effect)}: no effect on '{self.robot.name}' in this "
                             "environment; leave it out")
        return procedure

    def start_procedure(self) -> Procedure:
        """Compile the first measurement of an episode.

        Inputs are ``state.q``, ``state.v``, ``state.motor_side``, ``task``, the varied quantities of the sensors and of
        the law's model, and, with noise, ``noise`` of shape (2, n). Outputs are ``memory`` and ``outcome``.
        """
        variables = self._variables() | {"state": self.plant.state(*np.zeros((2, self.robot.n)))}
        return compile_procedure(variables, [
            Compute(self.first_memory, (), "memory"),
            Compute(self._measure, (*_MOTION, "memory", *self._noise, *self._sensors), "memory"),
            Compute(self._begin, ("state.q", "memory", "task", *self._of_law), ("memory", "outcome")),
        ], (*_MOTION, "task", *self.start_inputs), ("memory", "outcome"),
            name=f"start of {self.robot.name}")

    @property
    def start_inputs(self) -> tuple[str, ...]:
        """The inputs of `start_procedure` besides state and task."""
        return *self._noise, *self._sensors, *self._of_law

    @cached_property
    def _noise(self) -> tuple[str, ...]:
        return ("noise",) if self.noisy else ()

    @cached_property
    def _sensors(self) -> tuple[str, ...]:
        return tuple(name for name in self.inputs if name in SENSING)

    @cached_property
    def _commands(self) -> tuple[str, ...]:
        return tuple(name for name in self.inputs if name in COMMANDS)

    @cached_property
    def _of_law(self) -> tuple[str, ...]:
        return tuple(name for name in self.inputs if name.startswith(MODEL))

    def _variables(self) -> dict[str, Any]:
        n, task = self.robot.n, self.example_task()
        errors = tracking_error(self.plant.model, self.follows, np.zeros(n), task.reference)
        outcome = StepOutcome(np.zeros(self.observations.size), errors, np.zeros(3), np.zeros(6), np.zeros(n), 0.0)
        variables = {"memory": self.first_memory(), "task": task, "action": (self.action.size,), "outcome": outcome,
                     **{name: QUANTITIES[name].shape(self.plant) for name in self.inputs}}
        return variables | ({"noise": (2, n)} if self.noisy else {})

    def _dynamics(self, values: Sequence[NDArray[Any]]) -> InlineDynamics:
        """Dynamics of the robot as its law knows it, with the varied quantities of its model."""
        own = dict(zip((name.removeprefix(MODEL) for name in self._of_law), values, strict=True))
        return InlineDynamics(varied_model(self.robot.model, own))

    def _act(self, action: NDArray[Any], task: EpisodeTask, q: NDArray[Any], v: NDArray[Any], motors: MotorSide,
             memory: LoopMemory, *values: NDArray[Any]) -> tuple[LoopMemory, Any, Any]:
        """Compute the efforts or voltages of the inner law, and the new memory of the driver."""
        of_law, of_driver = values[:len(self._of_law)], values[len(self._of_law):]
        dynamics, measured = self._dynamics(of_law), State(0.0, self.period, memory.q, memory.v)
        requested = self.action.command(action, dynamics, measured, task.reference)
        if self.action.kind is ActionKind.VOLTAGE:
            nothing = np.zeros(self.robot.n)
            command = self.plant.command(nothing)._replace(voltage=requested, by_voltage=np.ones(self.robot.n))
            return memory, nothing, command
        requested = commanded_effort(self.plant, dynamics, memory.q, requested)
        plant = varied_plant(self.plant, dict(zip(self._commands, of_driver, strict=True)))
        effort, driver = acting_effort(plant, *encoder_motion(plant, q, v, motors), requested, memory.driver,
                                       self.period)
        return memory._replace(driver=driver), effort, effort

    def _measure(self, q: NDArray[Any], v: NDArray[Any], motors: MotorSide, memory: LoopMemory, *values: NDArray[Any]
                 ) -> LoopMemory:
        noise, values = (values[0], values[1:]) if self.noisy else (None, values)
        sensors = dict(zip(self._sensors, values, strict=True))
        loop_state = LoopState(None, memory.line, memory.taken, None, Sums.zeros(0, 0), 0.0)
        given = TickInput(np.array([0.0, self.period]), None, noise)
        at_encoders = encoder_motion(self.plant, q, v, motors)
        measured, loop_state = sense(given, *at_encoders, UNMEASURED, sensors, loop_state)
        return memory._replace(q=measured.q, v=measured.v, line=loop_state.line, taken=loop_state.taken)

    def _begin(self, q: NDArray[Any], memory: LoopMemory, task: EpisodeTask, *of_law: NDArray[Any]
               ) -> tuple[LoopMemory, StepOutcome]:
        rest = np.zeros(self.action.size)
        wrench = UNMEASURED if self.plant.world is None else np.zeros(6)
        return self._observe(q, memory, task, rest, np.zeros(self.robot.n), wrench, 0.0, of_law)

    def _finish(self, state: PlantState, memory: LoopMemory, saved: Saved, peak: Any, task: EpisodeTask,
                action: NDArray[Any], effort: NDArray[Any], *values: NDArray[Any]
                ) -> tuple[PlantState, LoopMemory, StepOutcome]:
        of_law, contact = values[:len(self._of_law)], values[len(self._of_law):]
        speed = maximum(peak, angular_speed_sum(self.plant, state.v))
        form: Any = form_of(state, shapes=False)
        size = sum((abs(each) for array in flatten(form, state, "state") for each in np.ravel(array)), np.float64(0.0))
        good = less_equal(speed, max_speed(self.plant)) * less_equal(size, _MAX_SUM)  # false for NaN
        state, memory = _chosen(good, Saved(state, memory), saved)
        wrench = UNMEASURED if self.plant.world is None else tip_wrench(
            self.plant.model, self.plant.world, state.q, where(good, contact[0], 0.0))
        effort = where(good, effort, 0.0)
        return state, *self._observe(state.q, memory, task, action, effort, wrench, 1.0 - good, of_law)

    def _observe(self, q: NDArray[Any], memory: LoopMemory, task: EpisodeTask, action: NDArray[Any],
                 effort: NDArray[Any], wrench: Array, failed: Any, of_law: Sequence[NDArray[Any]]
                 ) -> tuple[LoopMemory, StepOutcome]:
        measured = State(0.0, self.period, memory.q, memory.v, wrench)
        newest = self.observations.observe(
            Observed(self._dynamics(of_law), measured, task.reference, action, self.action.default))
        observation, history = self.observations.stacked(newest, memory.history)
        error = tracking_error(self.plant.model, self.follows, q, task.reference)
        tip = InlineDynamics(self.plant.model).forward_kinematics(q)[:3, 3]
        return memory._replace(history=history), StepOutcome(observation, error, tip, wrench, effort, failed)


def quantities_of_program(names: Sequence[str]) -> tuple[str, ...]:
    """Return the quantities that are inputs of a program; those of the start are in its state."""
    return tuple(name for name in names if name not in START)


def _chosen(flag: Any, one: Any, other: Any) -> Any:
    """Select one record if a flag is 1, the other if it is 0."""
    if one is None:
        return None
    if isinstance(one, tuple):
        return type(one)(*(_chosen(flag, *pair) for pair in zip(one, other, strict=True)))
    return where(flag, one, other)
