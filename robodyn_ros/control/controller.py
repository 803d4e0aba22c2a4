# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The contract between a controller and its callers: the controller node, the control loop, rollouts.

There are two ways to write a controller:

- `Law`: a pure function of (state, reference, parameters, memory). The same source runs as plain Python, is compiled
  with the dynamics for the node, and with the whole simulated robot for rollouts. All built-in controllers are laws.
- `Controller`: any object that answers a state and a reference with efforts. It may keep state of its own, and runs as
  plain Python.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.control.compiled_law import PackedParameters, compile_law, efforts_and_memory, initial_memory
from robodyn_ros.control.dynamics_like import DynamicsLike
from robodyn_ros.control.parameters import Parameters as AnyParameters
from robodyn_ros.control.state import UNMEASURED, JointReference, Reference, State
from robodyn_ros.description.model import Array
from robodyn_ros.errors import CompileError, InputError
from robodyn_ros.robot import Robot

__all__ = ["UNMEASURED", "Controller", "JointReference", "Law", "State"]


class Controller(ABC):
    """Answers each measured state with the efforts that the joints shall exert.

    One instance serves one robot. The caller calls `activate` once and then `update` at every tick, always from the
    same thread; between two ticks it may replace `parameters` by others of the same class.

    Attributes:
        Parameters: Class of the parameters.
        follows: Class of the references that `update` expects; None if the controller follows none (and receives
            None). Where one controller replaces another that follows the same class, a motion under way goes on.
        robot: The robot.
        dynamics: Its compiled dynamics.
        parameters: The parameters in force, complete and within their ranges. Never altered, only replaced.
    """

    Parameters: ClassVar[type[AnyParameters]] = AnyParameters
    follows: ClassVar[type[Reference] | None] = JointReference

    def __init__(self, robot: Robot, parameters: AnyParameters | None = None) -> None:
        """Prepare for a robot; slow preparations belong here.

        Args:
            robot: The robot.
            parameters: The parameters; None means the defaults.

        Raises:
            InputError: The parameters are of another class, or a value does not fit.
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

    @property
    def uncompiled_reason(self) -> str:
        """Why `update` runs as Python code; empty if it runs as machine code."""
        return f"{type(self).__name__} is a Controller, and only a Law can be compiled"

    def activate(self, state: State) -> None:  # noqa: B027  (most controllers have nothing to do here)
        """Forget the past: the next update is the first one, from this state."""

    @abstractmethod
    def update(self, state: State, reference: Any) -> ArrayLike:
        """Return the joint efforts, array-like of shape (n,) [N m or N].

        If it raises, or returns another shape or a number that is not finite, the safe controller takes over.

        Args:
            state: The measured state.
            reference: The reference, an instance of `follows`.
        """


class Law(Controller):
    """A controller that is a pure function, and therefore can be compiled together with the robot it controls.

    `update` compiles the law at its first call, and again when a parameter changes that is no float. A law that cannot
    be compiled runs as Python code; `uncompiled_reason` says why.

    Attributes:
        memory: The memory that the law returned last, shape (m,).
    """

    def __init__(self, robot: Robot, parameters: AnyParameters | None = None) -> None:
        """As in `Controller`."""
        super().__init__(robot, parameters)
        self.memory: Array = np.zeros(0)
        self._active = False
        self._clock = np.zeros(2)
        self._kernels: dict[Any, Callable[..., Array] | str] = {}  # by PackedParameters.fixed; a str: why there is none
        self._kernel: Callable[..., Array] | None = None
        self._kernel_parameters: AnyParameters | None = None  # the parameters of _kernel and _packed
        self._packed: PackedParameters

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
    def law(
        dynamics: DynamicsLike, parameters: Any, state: State, reference: Any, memory: Array
    ) -> ArrayLike | tuple[ArrayLike, ArrayLike]:
        """Return the joint efforts, array-like of shape (n,) [N m or N]; with a memory: efforts and next memory.

        All arrays, `state.time` and `state.period` hold floats or traced scalars: to be compiled, a law uses NumPy
        arithmetic and does not branch on a value.

        Args:
            dynamics: The dynamics of the robot.
            parameters: The parameters in force, an instance of `Parameters`.
            state: The measured state.
            reference: The reference, an instance of `follows`.
            memory: The memory that the law returned at the tick before, shape (m,); at the first, `initial_memory`.
        """

    def initial_memory(self, state: State) -> ArrayLike:
        """The memory before the first tick, shape (m,), of the same length for every state; empty: no memory."""
        return np.zeros(0)

    def memory_names(self) -> tuple[str, ...]:
        """Names of the memory's elements where they are worth showing, such as estimates; otherwise empty."""
        return ()

    def activate(self, state: State) -> None:
        """Start over with the initial memory."""
        self.memory = initial_memory(self, state)
        self._active = True

    def update(self, state: State, reference: Any) -> Array:
        """Evaluate the law and keep its memory; the first call activates a law that was not activated."""
        if self.parameters is not self._kernel_parameters:
            if not self._active:
                self.activate(state)
            self._packed = self.prepare(self.parameters)
            kernel = self._kernels[self._packed.fixed]
            self._kernel = None if isinstance(kernel, str) else kernel
            self._kernel_parameters = self.parameters
        if self._kernel is None:
            return self._update_uncompiled(state, reference)
        clock = self._clock
        clock[0], clock[1] = state.time, state.period
        if reference is None:
            result = self._kernel(clock, *state[2:], self._packed.values, self.memory)
        else:
            result = self._kernel(clock, *state[2:], *reference, self._packed.values, self.memory)
        if self.memory.size == 0:
            return result
        n = self.robot.n
        self.memory = result[n:]
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

    def answering(self, parameters: AnyParameters, state: State) -> Callable[[State, Any], Array]:
        """The law as a function of state and reference, with the memory that it begins with; from any thread.

        Args:
            parameters: Complete for the robot.
            state: Where it begins.

        Returns:
            Takes a state and a reference, returns efforts, shape (n,) [N m or N]. The law's own memory stays as it is.
        """
        packed, memory, n = self.prepare(parameters), initial_memory(self, state), self.robot.n
        kernel = self._kernels[packed.fixed]

        def answer(state: State, reference: Any) -> Array:
            if isinstance(kernel, str):
                result = self.law(self.dynamics, parameters, state, reference, memory)
                effort, _ = efforts_and_memory(type(self).__name__, result, n, memory.size)
                return np.asarray(effort, dtype=np.float64)
            clock = np.array([state.time, state.period])
            return kernel(clock, *state[2:], *(reference or ()), packed.values, memory)[:n]

        return answer

    def _update_uncompiled(self, state: State, reference: Any) -> Array:
        result = self.law(self.dynamics, self.parameters, state, reference, self.memory)
        effort, memory = efforts_and_memory(type(self).__name__, result, self.robot.n, self.memory.size)
        self.memory = np.asarray(memory, dtype=np.float64)
        return np.asarray(effort, dtype=np.float64)
