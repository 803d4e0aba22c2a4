# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The statements of a procedure; the checks, the tapes and the interpreter of a program made of them.

A program works on named variables: float64 arrays of fixed shapes. Its statements run one after the other. Neighbouring
computations are traced together and share common terms: a control law and the robot that it controls need the sines of
the same angles and the same rotations.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.compile.scalar import Scalar
from robodyn_ros.compile.tape import Shape, Tape, check_shape, trace
from robodyn_ros.errors import CompileError

Arrays = dict[str, NDArray[np.float64]]

RESERVED = ("threads",)
"""Names of `Procedure.batch`'s own arguments."""


@dataclass(frozen=True, eq=False)
class Compute:
    """``outputs = function(*inputs)``: all inputs are read before an output changes.

    Attributes:
        function: Takes one array per input and returns one array per output, in a tuple; or that array itself if
            ``outputs`` is a name. See `trace` for what it may contain.
        inputs: Names of variables.
        outputs: Names of variables, or the name of one.
    """

    function: Callable[..., Any]
    inputs: Iterable[str]
    outputs: Iterable[str] | str

    def __post_init__(self) -> None:
        """Make tuples of the names."""
        object.__setattr__(self, "inputs", _names(self.inputs))
        if not isinstance(self.outputs, str):
            object.__setattr__(self, "outputs", tuple(self.outputs))

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs, also if there is only one."""
        return _names(self.outputs)

    def results(self, returned: Any) -> tuple[Any, ...]:
        """The function's return value as one array per output."""
        if isinstance(self.outputs, str):
            return (returned,)
        names = self.output_names
        if not isinstance(returned, tuple) or len(returned) != len(names):
            received = f"{len(returned)} of them" if isinstance(returned, tuple) else type(returned).__name__
            raise CompileError(
                f"{self}: expected the function to return a tuple of {len(names)} arrays ({', '.join(names)}), "
                f"received {received}"
            )
        return returned

    def __str__(self) -> str:
        return f"Compute({getattr(self.function, '__name__', 'function')})"


@dataclass(frozen=True, eq=False)
class Repeat:
    """Run statements a number of times.

    Attributes:
        count: Number of rounds, or the name of an argument that gives it.
        statements: The statements of a round.
        invariant: Typical values of variables that no statement changes, by name. Rounds treat these variables like
            constants of these values: formulas are simplified and rounded alike, and whatever depends on them alone is
            computed once, before the first round. Their real values may be any. For loops of the outermost level.
    """

    count: int | str
    statements: Iterable["Statement"]
    invariant: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make a tuple of the statements."""
        object.__setattr__(self, "statements", tuple(self.statements))

    def __str__(self) -> str:
        return f"Repeat({self.count})"


@dataclass(frozen=True, eq=False)
class RepeatWhile:
    """Run statements once, and again while a flag is positive: do ... while (flag > 0 and rounds < most).

    In a batch each sample follows its own flag: a finished sample keeps its variables while others go on. A NaN flag
    ends the loop.

    Attributes:
        flag: Name of a variable of shape ().
        most: Greatest number of rounds, 1 or more, or the name of an argument that gives it; 0 there counts as 1.
        statements: The statements of a round.
        at_least: 1: the first round runs whatever the flag is; 0: only if the flag is positive.
    """

    flag: str
    most: int | str
    statements: Iterable["Statement"]
    at_least: int = 1

    def __post_init__(self) -> None:
        """Make a tuple of the statements."""
        object.__setattr__(self, "statements", tuple(self.statements))

    def __str__(self) -> str:
        return f"RepeatWhile({self.flag})"


@dataclass(frozen=True, eq=False)
class Read:
    """In round k of a `Repeat` of the outermost level: ``variable = sequence[k]``.

    Attributes:
        variable: Name of a variable.
        sequence: Name of an argument of shape (count of the Repeat, *shape of the variable).
    """

    variable: str
    sequence: str

    def __str__(self) -> str:
        return f"Read({self.sequence})"


@dataclass(frozen=True, eq=False)
class Record:
    """At the end of every so many rounds of a `Repeat` of the outermost level: next row of record = variable.

    Attributes:
        variable: Name of a variable.
        record: Name of a result of shape (count of the Repeat // every, *shape of the variable).
        every: Number of rounds for each row.
    """

    variable: str
    record: str
    every: int = 1

    def __str__(self) -> str:
        return f"Record({self.record})"


Statement = Compute | Repeat | RepeatWhile | Read | Record


class Rows(NamedTuple):
    """A sequence or a record, whose rows are values of a variable, one for so many rounds of a loop."""

    variable: str
    rounds: int | str
    every: int


class Program:
    """A checked program.

    Raises:
        CompileError: A name is unknown or stands for two things, or a statement is in the wrong place.

    Attributes:
        variables: Shape of each variable, by name.
        statements: The statements.
        inputs: Variables whose first values are arguments; the others begin as zeros.
        outputs: Variables whose last values are results.
        counts: Names of the arguments that give numbers of rounds.
        sequences: Arguments of `Read`, by name.
        records: Results of `Record`, by name.
    """

    def __init__(
        self,
        variables: Mapping[str, Shape],
        statements: Iterable[Statement],
        inputs: Iterable[str],
        outputs: Iterable[str],
    ) -> None:
        self.variables = dict(variables)
        self.statements = tuple(statements)
        self.inputs, self.outputs = _names(inputs), _names(outputs)
        self.counts: tuple[str, ...] = ()
        self.sequences: dict[str, Rows] = {}
        self.records: dict[str, Rows] = {}
        self._known("inputs", *self.inputs)
        self._known("outputs", *self.outputs)
        for name, shape in self.variables.items():
            check_shape(f"variable {name}", shape)
        for statement in self.statements:
            self._check(statement, None, 0)
        self._check_names()

    def results(self, statement: Compute, returned: Any) -> list[np.ndarray]:
        """The return value of a computation's function, as one array of objects per output.

        Raises:
            CompileError: The shapes are not those of the outputs.
        """
        arrays = [np.asarray(result, dtype=object) for result in statement.results(returned)]
        for name, array in zip(statement.output_names, arrays, strict=True):
            if array.shape != self.variables[name]:
                raise CompileError(
                    f"{statement}: expected {name} of shape {self.variables[name]}, received {array.shape}"
                )
        return arrays

    def _check(self, statement: Statement, around: Repeat | RepeatWhile | None, depth: int) -> None:
        """Check a statement; add its counts, sequences and records."""
        if isinstance(statement, Compute):
            outputs = statement.output_names
            self._known(str(statement), *statement.inputs, *outputs)
            if len(set(outputs)) < len(outputs):
                raise CompileError(f"{statement}: expected each output once, received {', '.join(outputs)}")
        elif isinstance(statement, Repeat | RepeatWhile):
            least, count = (0, statement.count) if isinstance(statement, Repeat) else (1, statement.most)
            if isinstance(count, str):
                self.counts = tuple(dict.fromkeys((*self.counts, count)))
            elif not isinstance(count, int) or count < least:
                raise CompileError(
                    f"{statement}: expected an integer of {least} or more, or the name of one, received {count!r}"
                )
            if isinstance(statement, Repeat):
                self._check_invariants(statement, depth)
            if isinstance(statement, RepeatWhile):
                if statement.at_least not in (0, 1):
                    raise CompileError(f"{statement}: at_least: expected 0 or 1, received {statement.at_least!r}")
                self._known(str(statement), statement.flag)
                if self.variables[statement.flag] != ():
                    raise CompileError(
                        f"{statement}: expected a flag of shape (), received {self.variables[statement.flag]}"
                    )
            for inner in statement.statements:
                self._check(inner, statement, depth + 1)
        elif isinstance(statement, Read | Record):
            self._known(str(statement), statement.variable)
            if depth != 1 or not isinstance(around, Repeat):
                raise CompileError(f"{statement}: expected in a Repeat that is itself in no loop")
            if isinstance(statement, Read):
                self._note(self.sequences, statement.sequence, Rows(statement.variable, around.count, 1))
            elif not isinstance(statement.every, int) or statement.every < 1:
                raise CompileError(f"{statement}: every: expected an integer of 1 or more, received {statement.every}")
            else:
                self._note(self.records, statement.record, Rows(statement.variable, around.count, statement.every))
        else:
            raise CompileError(f"program: expected statements, received {statement!r}")

    def _check_invariants(self, loop: Repeat, depth: int) -> None:
        self._known(str(loop), *loop.invariant)
        if loop.invariant and depth:
            raise CompileError(f"{loop}: expected no invariants in a loop within another")
        for inner in walk(loop.statements):
            changed = (inner.output_names if isinstance(inner, Compute) else
                       (inner.variable,) if isinstance(inner, Read) else ())
            if wrong := set(changed) & set(loop.invariant):
                raise CompileError(f"{loop}: expected invariants that no statement changes; {inner} changes "
                                   f"{', '.join(sorted(wrong))}")

    @staticmethod
    def _note(table: dict[str, Rows], name: str, rows: Rows) -> None:
        if name in table:
            raise CompileError(f"{name}: expected in one Read or Record, received a second")
        table[name] = rows

    def _known(self, where: str, *names: str) -> None:
        for name in names:
            if name not in self.variables:
                raise CompileError(
                    f"{where}: expected variables of the program ({', '.join(self.variables)}), received {name!r}"
                )

    def _check_names(self) -> None:
        """No name may stand for two arguments, or for two results."""
        for names in (
            (*self.inputs, *self.sequences, *self.counts, *RESERVED),
            (*self.outputs, *self.records),
        ):
            for name in names:
                if names.count(name) > 1:
                    raise CompileError(f"{name}: expected names that stand for one thing each, received it twice")


def walk(statements: Iterable[Statement]) -> Iterator[Statement]:
    """The statements and those within them."""
    for statement in statements:
        yield statement
        if isinstance(statement, Repeat | RepeatWhile):
            yield from walk(statement.statements)


class TracedProgram:
    """A program with neighbouring computations joined and loops of one round unrolled.

    Raises:
        CompileError: A computation cannot be traced, or returns arrays of other shapes than its outputs have.

    Attributes:
        program: The program.
        statements: Statements with the same effect as the program's.
        tapes: The tape of each computation; its result has the elements named in `results`.
        results: Variable and position of each element that a computation changes, without elements never read.
        variables: Shapes of the program's variables, and of those that hold the invariants of its loops.
        invariants: Computations of these, each of whose operations is rounded, as Python rounds constants.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.variables = dict(program.variables)
        self.tapes: dict[Compute, Tape] = {}
        self.invariants: set[Compute] = set()
        self.statements = self._fused(program.statements, {})
        self.results = {statement: self._elements(statement.output_names) for statement in self.tapes}
        while self._drop_unread_results():
            pass
        self.statements = tuple(each for statement in self.statements for each in self._with_invariants(statement))
        used = set(walk(self.statements))
        self.tapes = {statement: tape for statement, tape in self.tapes.items() if statement in used}

    def _fused(self, statements: Iterable[Statement], fixed: Mapping[str, Any]) -> tuple[Statement, ...]:
        result: list[Statement] = []
        group: list[Compute] = []
        for statement in _unrolled(statements):
            if isinstance(statement, Compute):
                group.append(statement)
                continue
            result += self._joined(group, fixed)
            group = []
            if isinstance(statement, Repeat | RepeatWhile):
                within = statement.invariant if isinstance(statement, Repeat) and statement.invariant else fixed
                result.append(replace(statement, statements=self._fused(statement.statements, within)))
            else:
                result.append(statement)
        return (*result, *self._joined(group, fixed))

    def _joined(self, group: list[Compute], fixed: Mapping[str, Any]) -> list[Compute]:
        """One computation in place of several; the same ones if they cannot be traced together."""
        if len(group) > 1:
            one = _sequence(self.program, group)
            try:
                self.tapes[one] = self._tape(one, fixed)
                return [one]
            except (AttributeError, CompileError, TypeError, ValueError):
                pass  # such as np.sin of an array in which another computation left some constants
        for statement in group:
            if statement not in self.tapes:
                self.tapes[statement] = self._tape(statement, fixed)
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
        shapes = self.variables
        return [(name, position) for name in names for position in range(math.prod(shapes[name]))]

    def reads(self, variable: str) -> bool:
        """Whether a computation reads an element of a variable."""
        for statement, tape in self.tapes.items():
            elements = self._elements(statement.inputs)
            if any(elements[position][0] == variable for position in tape.inputs_read):
                return True
        return False

    def _with_invariants(self, statement: Statement) -> list[Statement]:
        """A loop after the computations of its invariants; any other statement itself."""
        if not isinstance(statement, Repeat) or not statement.invariant:
            return [statement]
        parts: dict[Compute, tuple[Compute, Compute]] = {}  # a computation may stand in several places

        def rest(statements: Iterable[Statement]) -> list[Statement]:
            result: list[Statement] = []
            for inner in statements:
                if isinstance(inner, Repeat | RepeatWhile):
                    result.append(replace(inner, statements=rest(inner.statements)))
                elif isinstance(inner, Compute) and not isinstance(inner.function, Tape):
                    if inner not in parts:
                        parts[inner] = self._split(inner, statement.invariant)
                    result.append(parts[inner][1])
                else:
                    result.append(inner)
            return result

        loop = replace(statement, statements=rest(statement.statements))
        return [*(once for once, _ in parts.values()), loop]

    def _split(self, statement: Compute, invariant: Iterable[str]) -> tuple[Compute, Compute]:
        """What depends on invariants alone, and the rest."""
        name = f"invariants {len(self.variables)}"
        elements = self._elements(statement.inputs)
        fixed = [place for place, (variable, _) in enumerate(elements) if variable in invariant]
        first, second = self.tapes[statement].split(fixed, name)
        self.variables[name] = first.output_shape
        once = Compute(first, statement.inputs, name)
        self.invariants.add(once)
        again = Compute(statement.function, (*statement.inputs, name), statement.outputs)
        self.tapes |= {once: first, again: second}
        self.results |= {once: self._elements([name]), again: self.results[statement]}
        return once, again

    def _tape(self, statement: Compute, fixed: Mapping[str, Any]) -> Tape:
        """The tape from all inputs to the elements of all outputs."""
        if isinstance(statement.function, Tape):
            return statement.function

        def function(*arrays: Any) -> list[Any]:
            results = self.program.results(statement, statement.function(*arrays))
            return [element for array in results for element in array.reshape(-1).tolist()]

        function.__name__ = str(statement)
        labels = [f"{name} ({place})" for place, name in enumerate(statement.inputs)]
        shapes = [self.program.variables[name] for name in statement.inputs]
        typical = {label: fixed[name] for label, name in zip(labels, statement.inputs, strict=True) if name in fixed}
        return trace(function, dict(zip(labels, shapes, strict=True)), typical)


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


def interpret(program: Program, counts: Mapping[str, int], arrays: Arrays) -> Arrays:
    """Run a program once, statement by statement, in plain NumPy: the reference for compiled programs.

    Args:
        program: The program.
        counts: Rounds of the loops whose count has a name.
        arrays: Inputs and sequences, of their shapes.
    """
    variables = {name: np.zeros(shape) for name, shape in program.variables.items()}  # arrays are replaced, not changed
    variables |= {name: np.array(arrays[name]) for name in program.inputs}
    records: dict[str, list[NDArray[np.float64]]] = {name: [] for name in program.records}

    def rounds_of(count: int | str) -> int:
        return counts[count] if isinstance(count, str) else count

    def run(statements: Iterable[Statement], round_: int) -> None:
        for statement in statements:
            if isinstance(statement, Compute):
                returned = statement.function(*(variables[name].copy() for name in statement.inputs))
                results = [np.array(array, dtype=float) for array in statement.results(returned)]
                variables.update(zip(statement.output_names, results, strict=True))
            elif isinstance(statement, Repeat):
                for inner_round in range(rounds_of(statement.count)):
                    run(statement.statements, inner_round)
            elif isinstance(statement, RepeatWhile):
                rounds, most = 0, max(1, rounds_of(statement.most))
                while rounds < statement.at_least or (variables[statement.flag] > 0.0 and rounds < most):
                    run(statement.statements, 0)
                    rounds += 1
            elif isinstance(statement, Read):
                variables[statement.variable] = np.array(arrays[statement.sequence][round_])
            elif (round_ + 1) % statement.every == 0:
                records[statement.record].append(variables[statement.variable])

    with np.errstate(all="ignore"):
        run(program.statements, 0)
    recorded = {
        name: np.array(records[name], dtype=float).reshape(len(records[name]), *program.variables[rows.variable])
        for name, rows in program.records.items()
    }
    return {name: variables[name] for name in program.outputs} | recorded


def _names(given: Iterable[str] | str) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)
