"""The tapes of a program's computations; neighbouring computations are traced together and share common terms.

A control law and the robot that it controls need the sines of the same angles and the same rotations.
"""

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from robodyn_ros.compile.program import Compute, Program, Read, Record, Repeat, RepeatWhile, Statement, walk
from robodyn_ros.compile.scalar import Scalar
from robodyn_ros.compile.tape import Tape, trace
from robodyn_ros.errors import CompileError


class TracedProgram:
    """A program with neighbouring computations joined and loops of one round unrolled.

    Raises:
        CompileError: A computation cannot be traced, or returns arrays of other shapes than its outputs have.

    Attributes:
        program: The program.
        statements: Statements with the same effect as the program's.
        tapes: The tape of each computation; its result are the `results`.
        results: Variable and position of each element that a computation changes, without elements never read.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.tapes: dict[Compute, Tape] = {}
        self.statements = self._fused(program.statements)
        self.results = {statement: self._elements(statement.output_names) for statement in self.tapes}
        while self._drop_unread_results():
            pass

    def _fused(self, statements: Iterable[Statement]) -> tuple[Statement, ...]:
        result: list[Statement] = []
        group: list[Compute] = []
        for statement in _unrolled(statements):
            if isinstance(statement, Compute):
                group.append(statement)
                continue
            result += self._joined(group)
            group = []
            if isinstance(statement, Repeat | RepeatWhile):
                result.append(replace(statement, statements=self._fused(statement.statements)))
            else:
                result.append(statement)
        return (*result, *self._joined(group))

    def _joined(self, group: list[Compute]) -> list[Compute]:
        """One computation in place of several; the same ones if they cannot be traced together."""
        if len(group) > 1:
            one = _sequence(self.program, group)
            try:
                self.tapes[one] = self._tape(one)
                return [one]
            except (AttributeError, CompileError, TypeError, ValueError):
                pass  # such as np.sin of an array in which another computation left some constants
        for statement in group:
            if statement not in self.tapes:
                self.tapes[statement] = self._tape(statement)
        return group

    def _drop_unread_results(self) -> bool:
        """Drop results that nothing reads; True if there were any, because others may have been read for them alone."""
        read = {element for name in self._read_by_program() for element in self._elements([name])}
        for statement, tape in self.tapes.items():
            inputs = self._elements(statement.inputs)
            read |= {inputs[position] for position in tape.inputs_read}
        found = False
        for statement, results in self.results.items():
            kept = [position for position, element in enumerate(results) if element in read]
            if len(kept) < len(results):
                found = True
                self.tapes[statement] = self.tapes[statement].with_outputs(kept)
                self.results[statement] = [results[position] for position in kept]
        return found

    def _read_by_program(self) -> set[str]:
        """Variables that statements other than computations read, and outputs."""
        names = set(self.program.outputs)
        for statement in walk(self.statements):
            if isinstance(statement, RepeatWhile):
                names.add(statement.flag)
            elif isinstance(statement, Record):
                names.add(statement.variable)
        return names

    def _elements(self, names: Iterable[str]) -> list[tuple[str, int]]:
        """Variable and position of each element of some variables."""
        shapes = self.program.variables
        return [(name, position) for name in names for position in range(math.prod(shapes[name]))]

    def _tape(self, statement: Compute) -> Tape:
        """The tape from all inputs to the elements of all outputs."""
        if isinstance(statement.function, Tape):
            return statement.function

        def function(*arrays: Any) -> list[Any]:
            results = self.program.results(statement, statement.function(*arrays))
            return [element for array in results for element in array.reshape(-1).tolist()]

        function.__name__ = str(statement)
        variables = self.program.variables
        return trace(function, {f"{name} ({place})": variables[name] for place, name in enumerate(statement.inputs)})


def _unrolled(statements: Iterable[Statement]) -> Iterable[Statement]:
    for statement in statements:
        if isinstance(statement, Repeat) and statement.count == 1 and not _has_rows(statement):
            yield from _unrolled(statement.statements)
        else:
            yield statement


def _has_rows(loop: Repeat) -> bool:
    return any(isinstance(statement, Read | Record) for statement in loop.statements)


def _sequence(program: Program, group: list[Compute]) -> Compute:
    inputs: dict[str, None] = {}
    outputs: dict[str, None] = {}
    for statement in group:
        inputs |= dict.fromkeys(name for name in statement.inputs if name not in outputs)
        outputs |= dict.fromkeys(statement.output_names)

    def function(*arrays: Any) -> tuple[Any, ...]:
        values = dict(zip(inputs, arrays, strict=True))
        for statement in group:
            returned = statement.function(*(values[name].copy() for name in statement.inputs))
            results = program.results(statement, returned)
            values |= zip(statement.output_names, map(_floats_if_untraced, results), strict=True)
        return tuple(values[name] for name in outputs)

    function.__name__ = " and ".join(map(str, group))
    return Compute(function, inputs, outputs)


def _floats_if_untraced(array: np.ndarray) -> np.ndarray:
    """The array, of floats if no element is traced."""
    return array if any(isinstance(element, Scalar) for element in array.flat) else array.astype(float)
