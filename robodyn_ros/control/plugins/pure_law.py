# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Checks whether a law is a pure function, as compiled code is: its efforts depend only on its arguments.

The law is traced twice. It is pure if both traces have the same operations, and the second one changes no outer
variable and calls no clock, file or random numbers. A law may compute constants at its first call and keep them.
"""

from __future__ import annotations

import dis
import linecache
from collections.abc import Callable, Mapping, Sequence
from types import MethodType
from typing import Any

import numpy as np

from robodyn_ros.base.errors import CompileError
from robodyn_ros.compile import operations as op
from robodyn_ros.compile import trace
from robodyn_ros.compile.scalar import Scalar
from robodyn_ros.compile.tape import Tape
from robodyn_ros.compile.traced_array import TracedArray
from robodyn_ros.compile.traced_numpy import TracedCopies
from robodyn_ros.control.plugins.outer_state import RANDOM_INPUT, ForeignCall, OuterState, watched
from robodyn_ros.dynamics.robot_dynamics import InlineDynamics
from robodyn_ros.dynamics.robot_function import RobotFunction

Formula = tuple[Callable[..., Any], Mapping[str, tuple[int, ...]]]
"""A function to trace, and the shapes of its arguments."""


class OpaqueDynamics(InlineDynamics):
    """A robot's dynamics functions, replaced by new traced values, so that tracing the law itself is fast."""

    def _bind(self, function: RobotFunction) -> Callable[..., Any]:
        method, inline = MethodType(function.method, self), super()._bind(function)
        shapes: dict[Any, tuple[int, ...]] = {}

        def with_new_values(*arguments: Any, **named: Any) -> Any:
            scalars = [each for each in _leaves((arguments, named)) if isinstance(each, Scalar)]
            if not scalars:
                return inline(*arguments, **named)
            numbers, more = _with_numbers((arguments, named))
            key = repr((numbers, more))
            if key not in shapes:
                shapes[key] = np.shape(method(*numbers, **more))
            recorder, result = scalars[0].recorder, np.empty(shapes[key], dtype=object)
            result.reshape(-1)[:] = [recorder.record((op.INPUT, len(recorder.scalars))) for _ in range(result.size)]
            return result.view(TracedArray)

        return with_new_values


def _leaves(value: Any) -> list[Any]:
    """Return all numbers in nested arguments."""
    parts = value.values() if isinstance(value, dict) else value.flat if isinstance(value, np.ndarray) else value
    if isinstance(value, dict | list | tuple | np.ndarray):
        return [leaf for part in parts for leaf in _leaves(part)]
    return [value]


def _with_numbers(value: Any) -> Any:
    """Return nested arguments with a number for each traced value."""
    if isinstance(value, dict):
        return {key: _with_numbers(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_with_numbers, value))
    if isinstance(value, np.ndarray) and value.dtype == object:
        return np.reshape([_with_numbers(each) for each in value.flat], value.shape)
    return 0.1 if isinstance(value, Scalar) else value


def check_pure(name: str, functions: Sequence[Any], made: Callable[[TracedCopies, type[InlineDynamics]], Formula],
               begin: Callable[[bool], Any]) -> set[tuple[str, int]]:
    """Refuse a law that is not pure; its variables are restored.

    Args:
        name: Name of the law's class, for messages.
        functions: The law's function, and others that may write variables which it reads.
        made: Returns the law's formula, given its `TracedCopies` and class of dynamics.
        begin: Computes the initial memory: at the state of the formula, or away from it.

    Returns:
        Files and line numbers of the law's print statements.

    Raises:
        CompileError: It is not pure, or cannot be traced; with the law's line.
    """
    copies = TracedCopies()
    with OuterState(functions).kept():
        try:
            return _check(name, functions, copies, made(copies, OpaqueDynamics), begin)
        except CompileError as error:
            if isinstance(error, ImpureError):
                raise
    # Some laws branch on elements that are constant in the dynamics of their robot.
    copies = TracedCopies()
    with OuterState(functions).kept():
        return _check(name, functions, copies, made(copies, InlineDynamics), begin)


class ImpureError(CompileError):
    """The law is not a pure function."""


def _check(name: str, functions: Sequence[Any], copies: TracedCopies, formula: Formula,
           begin: Callable[[bool], Any]) -> set[tuple[str, int]]:
    function, shapes = formula
    begin(False)
    first = trace(function, shapes)
    outer = OuterState([copies.copy_of(functions[0]), *functions])
    before = outer.parts()
    if path := outer.holding_traced(before):
        raise _kept(name, outer, path)
    begin(True)
    copies.refresh()
    before = outer.parts()
    calls: list[ForeignCall] = []
    with watched(calls):
        second = trace(function, shapes)
    if calls:
        call = calls[0]
        raise ImpureError(f"{name}.law: it calls {call.name} at every tick, and compiled code would keep the result of "
                          f"one call; {call.instead} ({call.place})")
    after = outer.parts()
    if path := outer.holding_traced(after) or outer.changed(before, after):
        raise _kept(name, outer, path)
    if not _equal(first, second):
        raise ImpureError(f"{name}.law: two calls with the same arguments compute different formulas: it depends on "
                          "something else than its arguments, such as a variable that changes; keep that in the law's "
                          f"memory (initial_memory){place_of_function(functions[0])}")
    return copies.printing


def _kept(name: str, outer: OuterState, path: str) -> ImpureError:
    place, remedy = outer.line_of(path), RANDOM_INPUT if path.endswith(".state") else (
        "keep it in the law's memory: initial_memory(self, state) returns the first value, and law(..., memory) the "
        "efforts and the next one")
    return ImpureError(f"{name}.law: {path} changes from call to call, and compiled code would not see it change; "
                       f"{remedy}{place and f' ({place})'}")


def place_of_function(function: Any) -> str:
    """Return file, line and code where a Python function returns, in brackets; empty for any other callable."""
    code = getattr(function, "__code__", None)
    if code is None:
        return ""
    returns = (each.positions.lineno for each in dis.get_instructions(code)
               if each.opname.startswith("RETURN_") and each.positions is not None)
    number = max(filter(None, returns), default=code.co_firstlineno)
    return f" ({code.co_filename}, line {number}: {linecache.getline(code.co_filename, number).strip()})"


def _equal(first: Tape, second: Tape) -> bool:
    return all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in (
        (first.codes, second.codes), (first.operands, second.operands), (first.constants, second.constants),
        (first.outputs, second.outputs)))
