"""A law as one kernel: measurement, reference, parameters and memory in, efforts and memory out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from robodyn_ros.compile import compile_function
from robodyn_ros.control.parameters import Parameters
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.textbook import Textbook

if TYPE_CHECKING:
    from robodyn_ros.control.controller import Law, State


class PackedParameters:
    """Parameters as one vector of their numbers, and all that a traced law takes as given.

    Args:
        parameters: Complete for a robot.

    Attributes:
        values: The numbers of fields that hold floats, one field after the other, shape (p,).
        fixed: What a kernel is made for: the other fields (switches, names, counts) and the shapes of these.
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
        """The parameters with other numbers, of floats or traced scalars, shape (p,)."""
        changed, begin = {}, 0
        for name, shape in self._shapes.items():
            end = begin + int(np.prod(shape))
            changed[name] = values[begin:end].reshape(shape) if shape else values[begin]
            begin = end
        return dataclasses.replace(self._parameters, **changed)


class TraceableLaw(NamedTuple):
    """A law as a function of arrays.

    Attributes:
        function: Of time and period, shape (2,), of the other arrays of the state, of those of the reference, of the
            parameters' numbers, shape (p,), and of the memory; to efforts, shape (n,), and memory, shape (m,).
        shapes: Of its arguments, by name, in their order.
    """

    function: Callable[..., tuple[Any, Any]]
    shapes: dict[str, tuple[int, ...]]


def traceable(law: Law, packed: PackedParameters, state: State, reference: Any, memory: Array) -> TraceableLaw:
    """A law with the dynamics of its robot, to be traced.

    Args:
        law: The law.
        packed: Its parameters; only those that are `fixed` are built in.
        state: A measurement, for the shapes of its arrays.
        reference: A reference, for the shapes of its arrays; None if the law follows none.
        memory: A memory, for its shape (m,).
    """
    fields = () if reference is None else reference._fields
    shapes: dict[str, tuple[int, ...]] = {"clock": (2,)}
    shapes |= {name: np.shape(getattr(state, name)) for name in state._fields[2:]}
    shapes |= {f"reference.{name}": np.shape(getattr(reference, name)) for name in fields}
    shapes |= {"parameters": packed.values.shape, "memory": memory.shape}
    last = len(state._fields)
    dynamics = Textbook(law.robot.model)

    def answer(*arrays: Array) -> tuple[Any, Any]:
        (time, period), values, remembered = arrays[0], arrays[-2], arrays[-1]
        measured = type(state)(time, period, *arrays[1 : last - 1])
        wanted = None if reference is None else type(reference)(*arrays[last - 1 : -2])
        effort, kept = law.law(dynamics, packed.unpack(values), measured, wanted, remembered)
        return np.asarray(effort), np.asarray(kept)

    return TraceableLaw(answer, shapes)


def compile_law(
    law: Law, packed: PackedParameters, state: State, reference: Any, memory: Array
) -> Callable[..., Array]:
    """Trace a law with the dynamics of its robot and compile it.

    Args:
        law: As for `traceable`, and so are the others.
        packed: Its parameters.
        state: A measurement.
        reference: A reference.
        memory: A memory.

    Returns:
        What `TraceableLaw.function` is, efforts and memory in one array of shape (n + m,).

    Raises:
        CompileError: The law does what cannot be compiled, such as to branch on a value.
        Exception: Whatever else the law raises when traced.
    """
    function, shapes = traceable(law, packed, state, reference, memory)
    return compile_function(lambda *arrays: np.concatenate(function(*arrays)), shapes, name=type(law).__name__,
                            reproducible=True).call
