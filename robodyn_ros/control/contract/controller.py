# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The contract between a controller and its callers: the controller node, the control loop, rollouts.

There are two ways to write a controller:

- `Law`: a pure function of parameters, state, reference, and a memory if it has one. The same source runs as plain
  Python, is compiled with the dynamics for the node, and with the whole simulated robot for rollouts. All built-in
  controllers are laws.
- `Controller`: any object that answers a state and a reference with efforts. It may keep state of its own, and runs as
  plain Python.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, TypeVar, get_args, get_origin

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.base.errors import CompileError, InputError
from robodyn_ros.control.contract.compiled_law import (
    PackedParameters,
    call_law,
    compile_law,
    compile_terms,
    initial_memory,
    memory_from_numbers,
    memory_numbers,
)
from robodyn_ros.control.contract.law_inputs import state_form
from robodyn_ros.control.contract.parameters import Parameters as AnyParameters
from robodyn_ros.control.contract.state import UNMEASURED, JointReference, Reference, State, own_inputs
from robodyn_ros.control.contract.update_rate import UpdateRate, check_rates
from robodyn_ros.control.plugins.outer_state import OuterState
from robodyn_ros.control.plugins.plugin_errors import FAULTS, plugin_error
from robodyn_ros.description.model import Array, read_only
from robodyn_ros.robot import Robot

__all__ = ["UNMEASURED", "Controller", "JointReference", "Law", "State"]


class Controller(ABC):
    """Answers each measured state with the efforts that the joints shall exert.

    One instance serves one robot. The caller calls `activate`, then `update` at every tick, from one thread, and at the
    end `deactivate`; between two ticks it may replace `parameters` by others of the same class. If a method raises
    anything, the safe controller takes over. If a method does not return, its thread is abandoned.

    Attributes:
        Parameters: Class of the parameters.
        follows: Class of the references that `update` expects; None: it receives no reference. When a controller
            replaces another one that follows the same class, the current motion continues. An instance may override the
            class attribute.
        senses: Fields of `MOTOR_SIDE` that `update` reads in addition to joints and wrench. The controller runs only
            while these are measured; until then the safe controller holds the robot.
        Inputs: Class of further inputs, see `control.law_inputs`; None: none.
        for_elastic_joints: Whether it needs elastic joints, see `Robot.springs`.
        rates: Update rates of slow parts by name, see `control.update_rate`; checked against the rate of the
            controller. An instance may take them from its parameters.
        tick_seconds: Processor time of one `update` as Python code, measured in a dry run [s]; 0: unknown.
        Drawing: Class of what `draw` returns, see `control.law_drawings`; None: nothing is drawn.
        robot: The robot.
        dynamics: Its compiled dynamics.
        parameters: The parameters in force, complete and within their ranges. Never altered, only replaced.
    """

    Parameters: ClassVar[type[AnyParameters]] = AnyParameters
    follows: type[Reference] | None = JointReference
    senses: ClassVar[tuple[str, ...]] = ()
    Inputs: ClassVar[Any] = None
    for_elastic_joints: ClassVar[bool] = False
    Drawing: ClassVar[Any] = None
    tick_seconds: float = 0.0

    def __init__(self, robot: Robot, parameters: AnyParameters | None = None) -> None:
        """Prepare for a robot; put slow preparations here.

        Args:
            robot: The robot.
            parameters: The parameters; None means the defaults.

        Raises:
            InputError: The parameters are of another class, a value does not fit, or an update rate is beyond that of
                the controller.
        """
        if parameters is None:
            parameters = self.Parameters()
        if not isinstance(parameters, self.Parameters):
            raise InputError(
                f"{type(self).__name__}: expected parameters of class {self.Parameters.__name__}, "
                f"received {type(parameters).__name__}"
            )
        self.robot = robot
        self.dynamics = robot.dynamics()
        self.parameters: Any = parameters.for_robot(robot)
        check_rates(type(self).__name__, self.rates, robot.timing.period)

    @property
    def rates(self) -> Mapping[str, UpdateRate]:
        """Update rates of slow parts; none."""
        return {}

    @property
    def uncompiled_reason(self) -> str:
        """Why `update` runs as Python code; empty if it runs as machine code."""
        return f"{type(self).__name__} is a Controller, and only a Law can be compiled"

    def activate(self, state: State) -> None:  # noqa: B027  (most controllers have nothing to do here)
        """Reset the controller: the next update is the first one, from this state."""

    def deactivate(self) -> None:  # noqa: B027
        """Close whatever the controller opened, after a swap, an edit, a failure, or at the end of the node.

        Called after the last update, possibly from another thread; `activate` may follow, in a further rollout.
        """

    def terms(self) -> dict[str, Array] | None:
        """The terms of the efforts of the last update, by name; None: they are not known, see `Law.terms`."""
        return None

    def draw(self, state: State) -> Any:
        """Return what displays show, an instance of `Drawing`.

        Called at the display rate while a display subscribes, on another thread than `update`. Hence `update` passes
        data to it by replacing one attribute as a whole, or by the memory of a `Law`.

        Args:
            state: The last measured state.
        """
        raise NotImplementedError(f"{type(self).__name__} has a Drawing, but no method draw(state)")

    @abstractmethod
    def update(self, state: State, reference: Any) -> ArrayLike:
        """Return the joint efforts, array-like of shape (n,) [N m or N].

        If it raises, or returns another shape or a number that is not finite, the safe controller takes over. Arrays
        of the arguments cannot be written to.

        Args:
            state: The measured state.
            reference: The reference, an instance of `follows`.
        """


P = TypeVar("P", bound=AnyParameters | None)
"""Class of the parameters; None: `AnyParameters`."""
R = TypeVar("R")
M = TypeVar("M")


class Law(Controller, Generic[P, R, M]):
    """A controller written as a pure function, so that it can be compiled together with its robot.

    ``Law[Gains, JointReference, Memory]`` names the classes of its parameters (None if it has none), of its references
    (None if it follows none) and of its memory (None if it has none): the attributes `Parameters` and `follows` are
    taken from there.

    `update` compiles the law at its first call, and again when a parameter changes that is not a float. A law that is
    not pure or cannot be compiled runs as Python code; `uncompiled_reason` says why.

    Attributes:
        purity_verdicts: Why the law is not pure, by the built-in parameters; empty text: it is pure.
        printing: Files and line numbers of its print statements. Compiled code prints nothing, so the first `update`
            with new parameters also runs the Python code.
    """

    parameters: Any

    def __init_subclass__(cls, **options: Any) -> None:
        """Take the classes of parameters and references from ``Law[...]``."""
        super().__init_subclass__(**options)
        for base in cls.__dict__.get("__orig_bases__", ()):
            if get_origin(base) is not Law:
                continue
            parameters, follows, _ = get_args(base)
            if isinstance(parameters, type) and "Parameters" not in cls.__dict__:
                cls.Parameters = AnyParameters if parameters is type(None) else parameters
            if isinstance(follows, type) and "follows" not in cls.__dict__:
                cls.follows = None if follows is type(None) else follows

    def __init__(self, robot: Robot, parameters: P | None = None) -> None:
        """As in `Controller`."""
        super().__init__(robot, parameters)
        self.memory_numbers: Array = np.zeros(0)
        form = state_form(type(self), robot.n)
        self._state_form = form if form.shapes else None  # of further arrays that the law reads
        self.purity_verdicts: dict[Any, str] = {}  # by PackedParameters.fixed
        self.printing: set[tuple[str, int]] = set()
        self._first_memory: Any = None
        self._active = False
        self._clock = np.zeros(2)
        self._given: tuple[State, Any, Array] | None = None  # state, reference, memory of the last update
        self._terms: dict[str, Array] = {}  # of the last update in Python
        self._term_kernels: dict[Any, tuple[list[str], Callable[..., Array]]] = {}  # by PackedParameters.fixed
        self._kernels: dict[Any, Callable[..., Array] | str] = {}  # by PackedParameters.fixed; a str: the reason
        self._kernel: Callable[..., Array] | None = None
        self._kernel_parameters: AnyParameters | None = None  # the parameters of _kernel and _packed
        self._packed: PackedParameters

    @property
    def memory(self) -> M:
        """The memory that the law returned last; None: a law without memory."""
        memory: M = memory_from_numbers(self._first_memory, self.memory_numbers)
        return memory

    @memory.setter
    def memory(self, memory: M) -> None:
        self._first_memory, self.memory_numbers = memory, memory_numbers(memory)

    @property
    def uncompiled_reason(self) -> str:
        """As in `Controller`; empty before `prepare` or `update` has tried to compile the law."""
        if self.parameters is self._kernel_parameters:  # without packing them again: read at every published tick
            fixed = self._packed.fixed
        else:
            fixed = PackedParameters(self.parameters).fixed
        kernel = self._kernels.get(fixed, "")
        return kernel if isinstance(kernel, str) else ""

    @staticmethod
    @abstractmethod
    def law(*arguments: Any, **named: Any) -> Any:
        """``law(dynamics, parameters, state, reference)``, or ``law(dynamics, parameters, state, reference, memory)``.

        All arrays, `state.time` and `state.period` hold floats or traced scalars: to be compiled, a law uses NumPy
        arithmetic and does not branch on a value.

        Args:
            *arguments: ``dynamics``, a `Dynamics`: those of the robot. ``parameters``: the current ones, an instance of
                `Parameters`. ``state``, a `State`: as it is measured. ``reference``: an instance of `follows`.
                ``memory``, of a law that has one: what it returned at the tick before; at the first, `initial_memory`.
            **named: None.

        Returns:
            The joint efforts, array-like of shape (n,) or `Terms` [N m or N]; a law with memory returns a pair of
            efforts and next memory.
        """

    def initial_memory(self, state: State) -> Any:
        """The memory before the first tick, of the same structure for every state; None: no memory.

        A named tuple or a frozen dataclass of arrays, which may be nested; or one array of shape (m,).
        """
        return None

    def memory_names(self) -> tuple[str, ...]:
        """Names of all numbers of the memory, if displays should show them, as for estimates; empty: not shown."""
        return ()

    def check_start(self, state: State) -> None:  # noqa: B027  (most laws can begin anywhere)
        """Raise `InputError` if the law must not start in this state; `activate` and rollouts call it at the start."""

    def activate(self, state: State) -> None:
        """Start over with the initial memory.

        Raises:
            InputError: The law must not begin at this state.
        """
        self.check_start(state)
        self.memory = initial_memory(self, own_inputs(self._completed(state), None)[0])
        self._active = True

    def update(self, state: State, reference: Any) -> Array:
        """Evaluate the law and store its memory; activate the law first if nobody has."""
        if self.parameters is not self._kernel_parameters:
            if not self._active:
                self.activate(state)
            self._packed = self.prepare(self.parameters)
            kernel = self._kernels[self._packed.fixed]
            self._kernel = None if isinstance(kernel, str) else kernel
            self._kernel_parameters = self.parameters
            if self.printing and self._kernel is not None:  # compiled code prints nothing
                self.call_as_written(state, reference)
        if self._kernel is None:
            return self._update_uncompiled(state, reference)
        if self._term_kernels:
            self._given = state, reference, self.memory_numbers
        clock = self._clock
        clock[0], clock[1] = state.time, state.period
        sensed = state[2:5] if self._state_form is None else self._sensed(state)
        if reference is None:
            result = self._kernel(clock, *sensed, self._packed.values, self.memory_numbers)
        else:
            result = self._kernel(clock, *sensed, *reference, self._packed.values, self.memory_numbers)
        if self.memory_numbers.size == 0:
            return result
        n = self.robot.n
        self.memory_numbers = result[n:]
        return result[:n]

    def prepare(self, parameters: AnyParameters) -> PackedParameters:
        """Compile a kernel for these parameters, if there is none yet; may be called from any thread.

        Args:
            parameters: Complete for the robot.
        """
        packed = PackedParameters(parameters)
        if packed.fixed not in self._kernels:
            try:
                self._kernels[packed.fixed] = compile_law(self, packed)
            except CompileError as error:
                self._kernels[packed.fixed] = str(error)
        return packed

    def prepare_terms(self, parameters: AnyParameters) -> None:
        """Compile the terms of the efforts for these parameters, once; may be called from any thread.

        Args:
            parameters: Complete for the robot.
        """
        packed = self.prepare(parameters)
        if packed.fixed not in self._term_kernels and not isinstance(self._kernels[packed.fixed], str):
            self._term_kernels[packed.fixed] = compile_terms(self, packed)

    def terms(self) -> dict[str, Array] | None:
        """The `Terms` of the efforts that `update` returned last, by name, each of shape (n,) [N m or N].

        Efforts without names are the term ``law``. None: there was no update after `prepare_terms`.
        """
        if self._kernel is None:
            return self._terms or None
        if self._given is None or self._packed.fixed not in self._term_kernels:
            return None
        names, kernel = self._term_kernels[self._packed.fixed]
        state, reference, memory = self._given
        clock = np.array([state.time, state.period])
        return dict(zip(names, kernel(clock, *self._sensed(state), *(reference or ()), self._packed.values, memory),
                        strict=True))

    def answering(self, parameters: AnyParameters, state: State) -> Callable[[State, Any], Array]:
        """Return the law as a function of state and reference, starting from its initial memory; from any thread.

        Args:
            parameters: Complete for the robot.
            state: Where it begins.

        Returns:
            A function of state and reference that returns efforts, shape (n,) [N m or N]. It changes neither the law's
            own memory nor variables of its module. It raises `PluginError` if the law, as Python code, fails.
        """
        packed, n = self.prepare(parameters), self.robot.n
        memory = initial_memory(self, self._completed(state))
        kernel, outer = self._kernels[packed.fixed], OuterState((self.law, type(self).initial_memory))

        def answer(state: State, reference: Any) -> Array:
            state = self._completed(state)
            if isinstance(kernel, str):
                try:
                    with outer.kept():
                        effort, _ = call_law(self, self.dynamics, parameters, *own_inputs(state, reference), memory)
                except FAULTS as error:
                    raise plugin_error(f"{type(self).__name__} fails", error) from error
                return np.asarray(effort, dtype=np.float64)
            clock = np.array([state.time, state.period])
            return kernel(clock, *self._sensed(state), *(reference or ()), packed.values, memory_numbers(memory))[:n]

        return answer

    def call_as_written(self, state: State, reference: Any, terms: dict[str, Array] | None = None) -> tuple[Array, Any]:
        """Run the law's Python code; return efforts and next memory, and add the terms of the efforts to ``terms``."""
        memory = memory_from_numbers(self._first_memory, read_only(self.memory_numbers))
        inputs = own_inputs(self._completed(state), reference)
        return call_law(self, self.dynamics, self.parameters, *inputs, memory, terms=terms)

    def _update_uncompiled(self, state: State, reference: Any) -> Array:
        self._terms = {}
        effort, memory = self.call_as_written(state, reference, self._terms)
        self.memory_numbers = np.array(memory_numbers(memory), dtype=np.float64)
        return np.array(effort, dtype=np.float64)

    def _completed(self, state: State) -> State:
        return state if self._state_form is None else self._state_form.completed(state)

    def _sensed(self, state: State) -> tuple[Any, ...]:
        """The arrays of a state that the kernel takes."""
        return state[2:5] + (() if self._state_form is None else tuple(self._state_form.arrays(state)))
