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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.compile.scalar import Scalar
from robodyn_ros.compile.tape import Shape, Tape, check_shape, trace
from robodyn_ros.errors import CompileError

Arrays = dict[str, NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Compute:
    """``outputs = function(*inputs)``: all inputs are read before an output changes.

    Attributes:
        function: Takes one array per input and returns one array per output, in a tuple; or that array itself if
            ``outputs`` is a name. See `trace` for what it may contain.
        inputs: Names of variables, or the name of one.
        outputs: The same.
    """

    function: Callable[..., Any]
    inputs: Collection[str]
    outputs: Collection[str] | str

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", _names(self.inputs))
        object.__setattr__(self, "outputs", self.outputs if isinstance(self.outputs, str) else tuple(self.outputs))

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs, also if there is only one."""
        return _names(self.outputs)

    def __str__(self) -> str:
        return f"Compute({getattr(self.function, '__name__', 'function')})"


@dataclass(frozen=True, eq=False)
class Repeat:
    """Run statements a number of times, or as long as a flag is positive.

    In a batch each sample follows its own flag: a finished sample keeps its variables while others go on. A NaN flag
    ends the loop. Only a loop without a flag, in no other loop, may have invariants, sequences to read, and records.

    Attributes:
        count: Number of rounds, or the name of an argument that gives it. With a flag, the greatest number, 1 or more.
        statements: The statements of a round.
        invariant: Typical values of variables that no statement changes, by name. Rounds treat these variables like
            constants of these values: formulas are simplified and rounded alike, and whatever depends on them alone is
            computed once, before the first round. Their real values may be any.
        read: Before round k, ``variable = sequence[k]``: sequences by variable. A sequence is an argument of shape
            (count, *shape of the variable).
        record: After round k, ``record[k] = variable``: variables by record. A record is a result of that shape.
        flag: Name of a variable of shape (); a round runs only if it is positive.
        at_least: 1: the first round runs whatever the flag is; 0: it needs the flag, too.
    """

    count: int | str
    statements: Collection["Statement"]
    invariant: Mapping[str, Any] = field(default_factory=dict)
    read: Mapping[str, str] = field(default_factory=dict)
    record: Mapping[str, str] = field(default_factory=dict)
    flag: str | None = None
    at_least: int = 1

    def __str__(self) -> str:
        return f"Repeat({self.flag or self.count})"


Statement = Compute | Repeat


class Rows(NamedTuple):
    """A sequence or a record: a value of a variable for each round of a loop."""

    variable: str
    rounds: int | str


class Program:
    """A checked program; `compile_procedure` says what its variables, statements, inputs and outputs are.

    Raises:
        CompileError: A name is unknown or stands for two things, or a statement is in the wrong place.

    Attributes:
        counts: Names of the arguments that give numbers of rounds.
        sequences: Arguments that loops read, by name.
        records: Results that loops record, by name.
    """

    def __init__(self, variables: Mapping[str, Shape], statements: Iterable[Statement], inputs: Iterable[str],
                 outputs: Iterable[str]) -> None:
        self.variables, self.statements = dict(variables), tuple(statements)
        self.inputs, self.outputs = _names(inputs), _names(outputs)
        self.counts: tuple[str, ...] = ()
        self.sequences: dict[str, Rows] = {}
        self.records: dict[str, Rows] = {}
        self._known("inputs", *self.inputs)
        self._known("outputs", *self.outputs)
        for name, shape in self.variables.items():
            check_shape(f"variable {name}", shape)
        for statement in self.statements:
            self._check(statement, is_outermost=True)
        # No name may stand for two arguments, of which `Procedure.batch` has one of its own, or for two results.
        for names in ((*self.inputs, *self.sequences, *self.counts, "threads"), (*self.outputs, *self.records)):
            for name in names:
                _require(names.count(name) == 1, name, "names that stand for one thing each", "it twice")

    def rows_shape(self, rows: Rows, counts: Mapping[str, int]) -> Shape:
        """Shape of a sequence or a record."""
        count = counts[rows.rounds] if isinstance(rows.rounds, str) else rows.rounds
        return (count, *self.variables[rows.variable])

    def new_records(self, counts: Mapping[str, int], *samples: int) -> Arrays:
        """Arrays for the records, with an axis of samples first if there are samples."""
        return {name: np.empty((*samples, *self.rows_shape(rows, counts))) for name, rows in self.records.items()}

    def results(self, statement: Compute, returned: Any) -> list[np.ndarray]:
        """The checked return value of a computation's function, as one array of objects per output."""
        names = statement.output_names
        returned = (returned,) if isinstance(statement.outputs, str) else returned
        is_tuple = isinstance(returned, tuple)
        _require(is_tuple and len(returned) == len(names), statement,
                 f"the function to return a tuple of {len(names)} arrays ({', '.join(names)})",
                 f"{len(returned)} of them" if is_tuple else type(returned).__name__)
        arrays = [np.asarray(result, dtype=object) for result in returned]
        for name, array in zip(names, arrays, strict=True):
            shape = self.variables[name]
            _require(array.shape == shape, statement, f"{name} of shape {shape}", array.shape)
        return arrays

    def _check(self, statement: Statement, is_outermost: bool = False) -> None:
        """Check a statement; add its counts, sequences and records."""
        if isinstance(statement, Compute):
            outputs = statement.output_names
            self._known(str(statement), *statement.inputs, *outputs)
            _require(len(set(outputs)) == len(outputs), statement, "each output once", ", ".join(outputs))
            return
        _require(isinstance(statement, Repeat), "program", "statements", statement)
        _require(isinstance(statement.statements, Collection), statement, "a list of statements", statement.statements)
        count, flag, least = statement.count, statement.flag, 0 if statement.flag is None else 1
        if isinstance(count, str):
            self.counts = tuple(dict.fromkeys((*self.counts, count)))
        else:
            _require(isinstance(count, int) and count >= least, statement,
                     f"an integer of {least} or more, or the name of one", repr(count))
        if flag is not None:
            self._known(str(statement), flag)
            _require(self.variables[flag] == (), statement, "a flag of shape ()", self.variables[flag])
        _require(statement.at_least in (0, 1), f"{statement}: at_least", "0 or 1", repr(statement.at_least))
        self._check_names(statement, is_outermost and flag is None)
        for inner in statement.statements:
            self._check(inner)

    def _check_names(self, loop: Repeat, may_have_them: bool) -> None:
        """Check what a loop reads and records, and its invariants."""
        names = (*loop.invariant, *loop.read, *loop.record.values())
        self._known(str(loop), *names)
        _require(may_have_them or not names, loop,
                 "invariants, sequences and records in a loop without flag that is in no other", ", ".join(names))
        wrong = {*loop.read, *changed_by(loop.statements)} & set(loop.invariant)
        _require(not wrong, loop, "invariants that nothing changes", ", ".join(sorted(wrong)))
        reads = {sequence: Rows(variable, loop.count) for variable, sequence in loop.read.items()}
        records = {record: Rows(variable, loop.count) for record, variable in loop.record.items()}
        twice = len(reads) < len(loop.read) or reads.keys() & self.sequences or records.keys() & self.records
        _require(not twice, loop, "a sequence, or a record, in one place", "it in two")
        self.sequences |= reads
        self.records |= records

    def _known(self, where: str, *names: str) -> None:
        expected = f"variables of the program ({', '.join(self.variables)})"
        for name in names:
            _require(name in self.variables, where, expected, repr(name))


def _require(holds: object, where: object, expected: str, received: object) -> None:
    if not holds:
        raise CompileError(f"{where}: expected {expected}, received {received}")


def walk(statements: Iterable[Statement]) -> Iterator[Statement]:
    """The statements and those within them."""
    for statement in statements:
        yield statement
        if isinstance(statement, Repeat):
            yield from walk(statement.statements)


def changed_by(statements: Iterable[Statement]) -> set[str]:
    """The variables that computations change, here and in loops."""
    return {name for inner in walk(statements) if isinstance(inner, Compute) for name in inner.output_names}


class TracedProgram:
    """A program with neighbouring computations joined and loops of one round unrolled.

    Raises:
        CompileError: A computation cannot be traced, or returns arrays of other shapes than its outputs have.

    Attributes:
        statements: Statements with the same effect as the program's.
        tapes: The tape of each computation; its result has the elements named in `results`.
        results: Variable and position of each element that a computation changes, without elements never read.
        variables: Shapes of the program's variables, and of those that hold the invariants of its loops.
        invariants: Computations of these, each of whose operations is rounded, as Python rounds constants.
    """

    def __init__(self, program: Program) -> None:
        self.program, self.variables = program, dict(program.variables)
        self.tapes: dict[Compute, Tape] = {}
        self.invariants: set[Compute] = set()
        self.statements = self._fused(program.statements, {})
        self.results = {statement: self._elements(statement.output_names) for statement in self.tapes}
        while self._drop_unread_results():
            pass
        self.statements = tuple(each for statement in self.statements for each in self._with_invariants(statement))
        used = set(walk(self.statements))
        self.tapes = {statement: tape for statement, tape in self.tapes.items() if statement in used}

    def reads(self, variable: str) -> bool:
        """Whether a computation reads an element of a variable."""
        return any(variable == name for statement in self.tapes for name, _ in self._read_by(statement))

    def _fused(self, statements: Iterable[Statement], fixed: Mapping[str, Any]) -> tuple[Statement, ...]:
        result: list[Statement] = []
        group: list[Compute] = []
        for statement in _unrolled(statements):
            if isinstance(statement, Compute):
                group.append(statement)
                continue
            result += self._joined(group, fixed)
            within = self._fused(statement.statements, statement.invariant or fixed)
            result.append(replace(statement, statements=within))
            group = []
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
        names = {*self.program.outputs, *(rows.variable for rows in self.program.records.values())}
        names |= {each.flag for each in walk(self.statements) if isinstance(each, Repeat) and each.flag is not None}
        read = {*self._elements(names), *(element for statement in self.tapes for element in self._read_by(statement))}
        found = False
        for statement, results in self.results.items():
            kept = [position for position, element in enumerate(results) if element in read]
            if len(kept) < len(results):
                found = True
                self.tapes[statement] = self.tapes[statement].with_outputs(kept)
                self.results[statement] = [results[position] for position in kept]
        return found

    def _elements(self, names: Iterable[str]) -> list[tuple[str, int]]:
        """Variable and position of each element of some variables."""
        return [(name, position) for name in names for position in range(math.prod(self.variables[name]))]

    def _read_by(self, statement: Compute) -> list[tuple[str, int]]:
        """The elements that a computation reads."""
        elements = self._elements(statement.inputs)
        return [elements[position] for position in self.tapes[statement].inputs_read]

    def _with_invariants(self, statement: Statement) -> list[Statement]:
        """A loop after the computations of its invariants; any other statement itself."""
        if isinstance(statement, Compute) or not statement.invariant:
            return [statement]
        parts: dict[Compute, tuple[Compute, Compute]] = {}  # a computation may stand in several places

        def rest(inner: Statement) -> Statement:
            if not isinstance(inner, Compute):
                return replace(inner, statements=[rest(each) for each in inner.statements])
            if inner not in parts:
                parts[inner] = self._split(inner, statement.invariant)
            return parts[inner][1]

        loop = rest(statement)
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
        labels = {f"{name} ({place})": name for place, name in enumerate(statement.inputs)}
        shapes = {label: self.program.variables[name] for label, name in labels.items()}
        return trace(function, shapes, {label: fixed[name] for label, name in labels.items() if name in fixed})


def _unrolled(statements: Iterable[Statement]) -> Iterable[Statement]:
    for each in statements:
        if isinstance(each, Repeat) and each.count == 1 and each.flag is None and not (each.read or each.record):
            yield from _unrolled(each.statements)
        else:
            yield each


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
            for name, array in zip(statement.output_names, program.results(statement, returned), strict=True):
                is_traced = any(isinstance(element, Scalar) for element in array.flat)
                values[name] = array if is_traced else array.astype(float)
        return tuple(values[name] for name in outputs)

    function.__name__ = " and ".join(map(str, group))
    return Compute(function, inputs, tuple(outputs))


def interpret(program: Program, counts: Mapping[str, int], arrays: Arrays) -> Arrays:
    """Run a program once, statement by statement, in plain NumPy: the reference for compiled programs.

    ``counts`` has the rounds of the loops whose count has a name; ``arrays`` the inputs and sequences.
    """
    variables = {name: np.zeros(shape) for name, shape in program.variables.items()}  # arrays are replaced, not changed
    variables |= {name: np.array(arrays[name]) for name in program.inputs}
    records = program.new_records(counts)

    def run(statements: Iterable[Statement]) -> None:
        for statement in statements:
            if isinstance(statement, Compute):
                returned = statement.function(*(variables[name].copy() for name in statement.inputs))
                results = [array.astype(float) for array in program.results(statement, returned)]
                variables.update(zip(statement.output_names, results, strict=True))
                continue
            count, flag = statement.count, statement.flag
            most = counts[count] if isinstance(count, str) else count
            for round_ in range(most if flag is None else max(1, most)):
                if flag is not None and round_ >= statement.at_least and not variables[flag] > 0.0:
                    break
                variables.update((name, np.array(arrays[rows][round_])) for name, rows in statement.read.items())
                run(statement.statements)
                for record, name in statement.record.items():
                    records[record][round_] = variables[name]

    with np.errstate(all="ignore"):
        run(program.statements)
    return {name: variables[name] for name in program.outputs} | records


def _names(given: Iterable[str] | str) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)
