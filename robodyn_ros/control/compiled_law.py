# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A law as one kernel: measurement, reference, parameters and memory in, efforts and memory out."""

from __future__ import annotations

import dataclasses
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.compile import compile_function
from robodyn_ros.control.parameters import Parameters
from robodyn_ros.control.state import Reference, Shapes, State
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.dynamics.robot_dynamics import InlineDynamics
from robodyn_ros.errors import CompileError, InputError
from robodyn_ros.robot import Robot


class PureLaw(Protocol):
    """The part of a `Law` that is needed to compile it."""

    robot: Robot

    @property
    def follows(self) -> type[Reference] | None:
        """Class of the references; None if the law follows none."""

    @property
    def law(self) -> Callable[..., ArrayLike | tuple[ArrayLike, ArrayLike]]:
        """The function, see `Law.law`."""

    def initial_memory(self, state: State) -> ArrayLike:
        """The memory before the first tick, shape (m,)."""


class PackedParameters:
    """Parameters as a vector of the numbers that may change, and the rest, which a kernel has built in.

    Args:
        parameters: Complete for a robot.

    Attributes:
        values: The numbers of fields that hold floats, one field after the other, shape (p,).
        fixed: The other fields (switches, names, counts), and the shapes of the fields in `values`; each combination
            has its own kernel.
    """

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        numbers: dict[str, Array] = {}
        fixed: list[tuple[str, Any]] = []
        for field in dataclasses.fields(parameters):
            value = getattr(parameters, field.name)
            if isinstance(value, float | np.ndarray):
                numbers[field.name] = np.asarray(value, dtype=np.float64)
                fixed.append((field.name, numbers[field.name].shape))
            else:
                fixed.append((field.name, value))
        self.values = np.concatenate([np.zeros(0), *(array.ravel() for array in numbers.values())])
        self.fixed = tuple(fixed)
        self._shapes = {name: array.shape for name, array in numbers.items()}

    def unpack(self, values: Array) -> Parameters:
        """The parameters with other numbers, floats or traced scalars, shape (p,)."""
        changed, begin = {}, 0
        for name, shape in self._shapes.items():
            end = begin + int(np.prod(shape))
            changed[name] = values[begin:end].reshape(shape) if shape else values[begin]
            begin = end
        return dataclasses.replace(self._parameters, **changed)


class TraceableLaw(NamedTuple):
    """A law as a function of arrays.

    Attributes:
        function: Takes time and period, shape (2,), the other arrays of the state, those of the reference, the numbers
            of the parameters, shape (p,), and the memory; returns efforts, shape (n,), and memory, shape (m,). With
            ``model=``, the law's dynamics are those of this model of the robot, whose inertias may be traced.
        shapes: Shapes of its arguments, by name, in their order.
    """

    function: Callable[..., tuple[Any, Any]]
    shapes: Shapes


def traceable(law: PureLaw, packed: PackedParameters) -> TraceableLaw:
    """Make a law and the dynamics of its robot one function that can be traced.

    Args:
        law: The law, which gives all shapes itself.
        packed: Its parameters; only those that are `fixed` are built in.

    Raises:
        CompileError: The initial memory cannot be used; when the function is traced: the law raised, or returned
            something else than efforts and memory of these shapes.
    """
    n, name, follows = law.robot.n, type(law).__name__, law.follows
    fields = {} if follows is None else follows.shapes(n)
    try:
        memory = initial_memory(law, State(0.0, 0.0, np.zeros(n), np.zeros(n)))
    except Exception as error:  # whatever the code of a plugin raises
        raise CompileError(_reason(name, error)) from error
    shapes: Shapes = {"clock": (2,), "q": (n,), "v": (n,), "wrench_tip": (6,)}
    shapes |= {f"reference.{field}": shape for field, shape in fields.items()}
    shapes |= {"parameters": packed.values.shape, "memory": memory.shape}
    dynamics = InlineDynamics(law.robot.model)
    make_reference: Any = follows

    def answer(*arrays: Array, model: RobotModel | None = None) -> tuple[Any, Any]:
        (time, period), q, v, wrench_tip, *reference, values, remembered = arrays
        state = State(time, period, q, v, wrench_tip)  # type: ignore[arg-type]  # traced scalars
        desired = None if make_reference is None else make_reference(*reference)
        try:
            own = dynamics if model is None else InlineDynamics(model)
            result = law.law(own, packed.unpack(values), state, desired, remembered)
            return efforts_and_memory(name, result, n, len(memory))
        except Exception as error:
            raise CompileError(_reason(name, error)) from error

    return TraceableLaw(answer, shapes)


def compile_law(law: PureLaw, packed: PackedParameters) -> Callable[..., Array]:
    """Trace a law with the dynamics of its robot and compile it.

    Args:
        law: The law.
        packed: Its parameters; only those that are `fixed` are built in.

    Returns:
        Takes the arguments of `TraceableLaw.function`, returns efforts and memory in one array, shape (n + m,).

    Raises:
        CompileError: The law cannot be traced: it branches on a value, stores one as a float, or raised.
    """
    function, shapes = traceable(law, packed)
    return compile_function(lambda *arrays: np.concatenate(function(*arrays)), shapes, name=type(law).__name__,
                            reproducible=True).call


def initial_memory(law: PureLaw, state: State) -> Array:
    """The initial memory of a law as an array, shape (m,).

    Raises:
        InputError: The law returned something else.
    """
    memory = np.array(law.initial_memory(state), dtype=np.float64)
    if memory.ndim != 1:
        raise InputError(f"{type(law).__name__}.initial_memory: expected shape (m,), received {memory.shape}")
    return memory


def efforts_and_memory(name: str, result: Any, n: int, m: int) -> tuple[Array, Array]:
    """The result of a law as arrays.

    Args:
        name: Name of the law's class, for messages.
        result: Efforts, array-like of shape (n,); of a law with memory a pair of efforts and memory, shape (m,). All
            of them numbers or traced scalars.
        n: Number of joints.
        m: Length of the memory; 0 for a law without memory.

    Returns:
        Efforts, shape (n,), and memory, shape (m,).

    Raises:
        InputError: The result has another form.
    """
    try:
        effort, memory = result if m else (result, ())
        arrays = np.asarray(effort), np.asarray(memory)
    except (TypeError, ValueError):
        arrays = np.zeros(()), np.zeros(())
    if arrays[0].shape != (n,) or arrays[1].shape != (m,):
        expected = (f"efforts of shape ({n},) and memory of shape ({m},), as that of initial_memory is" if m else
                    f"efforts of shape ({n},) alone (only a law with an initial_memory returns a memory)")
        received = f"a tuple of {len(result)}" if isinstance(result, tuple) else f"{type(result).__name__}"
        if not isinstance(result, tuple) and np.ndim(result):
            received += f" of shape {np.shape(result)}"
        raise InputError(f"{name}.law: expected {expected}; received {received}")
    return arrays


def _reason(name: str, error: Exception) -> str:
    """Why a law cannot be compiled, with the line of the law that raised."""
    if isinstance(error, InputError):
        return str(error)
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    place = f" ({lines[0].filename}, line {lines[0].lineno}: {lines[0].line})" if lines else ""
    said = str(error) if isinstance(error, CompileError) else f"{type(error).__name__}: {error}"
    return f"{name}.law: {said}{place}"
