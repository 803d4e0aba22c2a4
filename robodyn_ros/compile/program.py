# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The statements of a procedure, and the checks, tapes and interpreter of a program.

A program works on named variables: float64 arrays of fixed shapes, and records of such arrays. Its statements run in
order. Consecutive computations are traced together and share terms: a control law and the robot that it controls need
the sines of the same angles and the same rotations. If a computation sets elements to constants, they are constants for
the following computations.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.base.errors import CompileError, InputError
from robodyn_ros.compile import operations as op
from robodyn_ros.compile.records import Form, Structure, array_shapes, flatten, form_of, part_of, unflatten
from robodyn_ros.compile.scalar import Scalar
from robodyn_ros.compile.tape import Shape, Tape, check_shape, trace

Arrays = dict[str, NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Compute:
    """``outputs = function(*inputs)``: all inputs are read before an output changes.

    Attributes:
        function: Takes one array or record per input and returns a tuple with one per output; or that value itself if
            ``outputs`` is a name. See `trace` for what it may contain.
        inputs: Names of variables or of parts of records, such as ``state.q``; or a single name.
        outputs: Likewise.
    """

    function: Callable[..., Any]
    inputs: Collection[str]
    outputs: Collection[str] | str

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", _names(self.inputs))
        object.__setattr__(self, "outputs", self.outputs if isinstance(self.outputs, str) else tuple(self.outputs))

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs as a tuple, even if there is only one."""
        return _names(self.outputs)

    def __str__(self) -> str:
        return f"Compute({getattr(self.function, '__name__', 'function')})"


@dataclass(frozen=True, eq=False)
class Repeat:
    """Run statements a number of times, or as long as a flag is positive.

    In a batch each sample follows its own flag: a finished sample keeps its variables while the rest continue. A NaN
    flag ends the loop. Only an outermost loop without a flag may have invariants, sequences and records. Variables can
    be records or parts of them, such as ``state.q``; their typical values, sequences and records have the same form.

    Attributes:
        count: Number of rounds, or the name of an argument that gives it. With a flag, the greatest number, 1 or more.
        statements: The statements of a round.
        invariant: Typical values of variables that no statement changes, by name. Rounds treat these variables like
            constants with these values: formulas are simplified and rounded accordingly, and terms that depend only on
            them are computed once, before the first round. The real values may be different.
        read: Before round k, ``variable = sequence[k]``: sequences by variable. A sequence is an argument of shape
            (count, *shape of the variable).
        record: After round k, ``record[k] = variable``: variables by record. A record is a result of that shape.
        flag: Name of a variable of shape (); a round runs only if it is positive.
        at_least: 1: the first round always runs; 0: it needs a positive flag too.
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
    """A sequence or a record: one value of a variable for each round of a loop."""

    variable: str
    rounds: int | str


Known = dict[tuple[str, int], float]
"""Elements with a known constant value, by variable and position."""


class Program:
    """A checked program; see `compile_procedure` for variables, statements, inputs and outputs.

    Raises:
        CompileError: A name is unknown or ambiguous, or a statement is in the wrong place.

    Attributes:
        forms: The forms of the variables.
        arguments: Forms of inputs and sequences (of a row), by name.
        answers: Forms of outputs and records (of a row), by name.
        variables: Shape of each array of the variables, by its path; the attributes below refer to these arrays.
        statements: The statements on them.
        inputs: The arrays of the inputs.
        outputs: The arrays of the outputs.
        counts: Names of the arguments that give numbers of rounds.
        sequences: Arrays that loops read, by path.
        records: Arrays that loops record, by path.
    """

    def __init__(self, variables: Mapping[str, Any], statements: Iterable[Statement], inputs: Iterable[str],
                 outputs: Iterable[str]) -> None:
        self.forms: dict[str, Form] = {}
        for name, given in variables.items():
            form = form_of(given)
            self.forms[name] = check_shape(f"variable {name}", given) if form is None else form
        self.variables = {path: shape for name, form in self.forms.items()
                          for path, shape in array_shapes(name, form).items()}
        self.arguments = {name: self.form("inputs", name) for name in _names(inputs)}
        self.answers = {name: self.form("outputs", name) for name in _names(outputs)}
        self.inputs, self.outputs = self._arrays("inputs", *_names(inputs)), self._arrays("outputs", *_names(outputs))
        self.counts: tuple[str, ...] = ()
        self.sequences: dict[str, Rows] = {}
        self.records: dict[str, Rows] = {}
        self.statements = tuple(self._checked(statement, is_outermost=True) for statement in statements)
        # A name must not mean two arguments (`Procedure.batch` has an argument of its own) or two results.
        for names in ((*self.inputs, *self.sequences, *self.counts, "threads"), (*self.outputs, *self.records)):
            for name in names:
                _require(names.count(name) == 1, name, "names that stand for one thing each", "it twice")

    def form(self, where: object, name: str) -> Form:
        """The form of a variable or of a part of one, such as ``state.q``."""
        first, *path = name.split(".")
        form = part_of(self.forms[first], path) if first in self.forms else None
        if name in self.forms:
            form = self.forms[name]
        if form is None:
            raise CompileError(f"{where}: expected variables of the program ({', '.join(self.forms)}), "
                               f"received {name!r}")
        return form

    def _arrays(self, where: object, *names: str) -> tuple[str, ...]:
        """The arrays of variables or parts of them, by path."""
        return tuple(path for name in names for path in array_shapes(name, self.form(where, name)))

    def rows_shape(self, rows: Rows, counts: Mapping[str, int]) -> Shape:
        """Shape of a sequence or a record."""
        count = counts[rows.rounds] if isinstance(rows.rounds, str) else rows.rounds
        return (count, *self.variables[rows.variable])

    def new_records(self, counts: Mapping[str, int], *samples: int) -> Arrays:
        """Arrays for the records, with a first axis of samples if there are samples."""
        return {name: np.empty((*samples, *self.rows_shape(rows, counts))) for name, rows in self.records.items()}

    def results(self, statement: Compute, returned: Any) -> list[np.ndarray]:
        """The checked return value of a computation's function, as one array of objects per output."""
        arrays = [np.asarray(result, dtype=object) for result in self._values(statement, returned)]
        for name, array in zip(statement.output_names, arrays, strict=True):
            shape = self.variables[name]
            _require(array.shape == shape, statement, f"{name} of shape {shape}", array.shape)
        return arrays

    def _checked(self, statement: Statement, is_outermost: bool = False) -> Statement:
        """A checked statement on arrays; its counts, sequences and records are registered."""
        if isinstance(statement, Compute):
            inputs = self._arrays(statement, *statement.inputs)
            outputs = self._arrays(statement, *statement.output_names)
            _require(len(set(outputs)) == len(outputs), statement, "each output once", ", ".join(outputs))
            forms = [self.form(statement, name) for name in (*statement.inputs, *statement.output_names)]
            if not any(isinstance(form, Structure) for form in forms):
                return statement
            return Compute(self._on_arrays(statement), inputs, outputs)
        _require(isinstance(statement, Repeat), "program", "statements", statement)
        _require(isinstance(statement.statements, Collection), statement, "a list of statements", statement.statements)
        count, flag, least = statement.count, statement.flag, 0 if statement.flag is None else 1
        if isinstance(count, str):
            self.counts = tuple(dict.fromkeys((*self.counts, count)))
        else:
            _require(isinstance(count, int) and count >= least, statement,
                     f"an integer of {least} or more, or the name of one", repr(count))
        if flag is not None:
            _require(self.form(statement, flag) == (), statement, "a flag of shape ()", self.form(statement, flag))
        _require(statement.at_least in (0, 1), f"{statement}: at_least", "0 or 1", repr(statement.at_least))
        loop = self._with_rows(statement, is_outermost and flag is None)
        return replace(loop, statements=tuple(self._checked(inner) for inner in loop.statements))

    def _on_arrays(self, statement: Compute) -> Callable[..., tuple[Any, ...]]:
        """The function of a computation, in terms of arrays and tuples of arrays."""
        taken = [self.form(statement, name) for name in statement.inputs]
        given = [(name, self.form(statement, name)) for name in statement.output_names]

        def function(*arrays: Any) -> tuple[Any, ...]:
            remaining = iter(arrays)
            returned = statement.function(*(unflatten(form, remaining) for form in taken))
            try:
                return tuple(array for (name, form), value in zip(given, self._values(statement, returned), strict=True)
                             for array in flatten(form, value, f"{statement}: {name}"))
            except InputError as error:
                raise CompileError(str(error)) from None

        function.__name__ = getattr(statement.function, "__name__", "function")
        return function

    def _values(self, statement: Compute, returned: Any) -> tuple[Any, ...]:
        """The return value of a computation's function, as a tuple with one value per output."""
        names = statement.output_names
        values = (returned,) if isinstance(statement.outputs, str) else returned
        is_tuple = isinstance(values, tuple)
        _require(is_tuple and len(values) == len(names), statement,
                 f"the function to return a tuple of {len(names)} arrays ({', '.join(names)})",
                 f"{len(values)} of them" if is_tuple else type(values).__name__)
        return tuple(values)

    def _with_rows(self, loop: Repeat, may_have_them: bool) -> Repeat:
        """A checked loop in terms of arrays: those that it reads and records, and its invariants."""
        names = (*loop.invariant, *loop.read, *loop.record.values())
        for name in names:
            self.form(loop, name)
        _require(may_have_them or not names, loop,
                 "invariants, sequences and records in a loop without flag that is in no other", ", ".join(names))
        invariant = {path: array for name, typical in loop.invariant.items()
                     for path, array in self._typical(loop, name, typical)}
        read = {path: sequence for name, rows in loop.read.items()
                for path, sequence in zip(self._arrays(loop, name), self._rows(loop, name, rows), strict=True)}
        record = {row: path for rows, name in loop.record.items()
                  for path, row in zip(self._arrays(loop, name), self._rows(loop, name, rows), strict=True)}
        changed = {path for inner in walk(loop.statements) if isinstance(inner, Compute)
                   for path in self._arrays(inner, *inner.output_names)}
        wrong = {*read, *changed} & set(invariant)
        _require(not wrong, loop, "invariants that nothing changes", ", ".join(sorted(wrong)))
        self.arguments |= {rows: self.form(loop, name) for name, rows in loop.read.items()}
        self.answers |= {rows: self.form(loop, name) for rows, name in loop.record.items()}
        reads = {sequence: Rows(variable, loop.count) for variable, sequence in read.items()}
        records = {row: Rows(variable, loop.count) for row, variable in record.items()}
        twice = len(reads) < len(read) or reads.keys() & self.sequences or records.keys() & self.records
        _require(not twice, loop, "a sequence, or a record, in one place", "it in two")
        self.sequences |= reads
        self.records |= records
        return replace(loop, invariant=invariant, read=read, record=record)

    def _rows(self, loop: Repeat, variable: str, rows: str) -> Iterable[str]:
        """Paths of the arrays in a sequence or record of a variable."""
        return array_shapes(rows, self.form(loop, variable))

    def _typical(self, loop: Repeat, name: str, value: Any) -> Iterable[tuple[str, Any]]:
        form = self.form(loop, name)
        return zip(array_shapes(name, form), flatten(form, value, f"{loop}: {name}"), strict=True)


def _require(holds: object, where: object, expected: str, received: object) -> None:
    if not holds:
        raise CompileError(f"{where}: expected {expected}, received {received}")


def walk(statements: Iterable[Statement]) -> Iterator[Statement]:
    """Statements and those nested within them."""
    for statement in statements:
        yield statement
        if isinstance(statement, Repeat):
            yield from walk(statement.statements)


def changed_by(statements: Iterable[Statement]) -> set[str]:
    """Variables that computations change, nested loops included."""
    return {name for inner in walk(statements) if isinstance(inner, Compute) for name in inner.output_names}


class TracedProgram:
    """A program with consecutive computations joined and loops of one round unrolled.

    Raises:
        CompileError: A computation cannot be traced, or its arrays do not have the shapes of its outputs.

    Attributes:
        statements: Statements with the same effect as the program's.
        tapes: The tape of each computation; its result has the elements named in `results`.
        results: Variable and position of each element that a computation changes, except elements that are never read.
        variables: Shapes of the program's variables, and of those that hold invariants of its loops.
        invariants: Computations of these; each of their operations is rounded, as Python rounds constants.
    """

    def __init__(self, program: Program) -> None:
        self.program, self.variables = program, dict(program.variables)
        self.tapes: dict[Compute, Tape] = {}
        self.invariants: set[Compute] = set()
        self.statements = self._fused(program.statements, {}, {})
        used = set(walk(self.statements))
        self.tapes = {statement: tape for statement, tape in self.tapes.items() if statement in used}
        self.results = {statement: self._elements(statement.output_names) for statement in self.tapes}
        self._drop_unread_results()
        self.statements = tuple(each for statement in self.statements for each in self._with_invariants(statement))
        used = set(walk(self.statements))
        self.tapes = {statement: tape for statement, tape in self.tapes.items() if statement in used}

    def reads(self, variable: str) -> bool:
        """Whether a computation reads an element of a variable."""
        return any(name == variable or name.startswith(f"{variable}.")
                   for statement in self.tapes for name, _ in self._read_by(statement))

    def _fused(self, statements: Iterable[Statement], fixed: Mapping[str, Any], known: Known) -> tuple[Statement, ...]:
        """Statements with consecutive computations joined; ``known`` is updated to what holds after them."""
        result: list[Statement] = []
        group: list[Compute] = []
        for statement in _unrolled(statements):
            if isinstance(statement, Compute):
                group.append(statement)
                continue
            result += self._joined(group, fixed, known)
            changed = {*changed_by(statement.statements), *statement.read}
            before = {element: known.pop(element) for element in list(known) if element[0] in changed}
            inside = dict(known)
            within = self._fused(statement.statements, statement.invariant or fixed, inside)
            result.append(replace(statement, statements=within))
            runs = statement.at_least if statement.flag is not None else isinstance(statement.count, int)
            known |= {element: value for element, value in inside.items()
                      if element[0] in changed and (runs or before.get(element) == value)}
            group = []
        return (*result, *self._joined(group, fixed, known))

    def _joined(self, group: list[Compute], fixed: Mapping[str, Any], known: Known) -> list[Compute]:
        """One computation that replaces several; the same ones if they cannot be traced together."""
        if len(group) > 1:
            one = _sequence(self.program, group)
            try:
                return [self._with_tape(one, fixed, known)]
            except (AttributeError, CompileError, TypeError, ValueError):
                pass  # such as np.sin of an array in which another computation left constants
        return [self._with_tape(statement, fixed, known) for statement in group]

    def _with_tape(self, statement: Compute, fixed: Mapping[str, Any], known: Known) -> Compute:
        """Trace a computation with some elements known; return a copy of it if it reads one of these.

        A computation that cannot be traced with constant inputs is traced without them.
        """
        constants = {place: known[element] for place, element in enumerate(self._elements(statement.inputs))
                     if element in known}
        tape: Tape | None = None
        if constants and not isinstance(statement.function, Tape):
            try:
                tape = self._tape(statement, fixed, constants)
                statement = replace(statement)
            except (AttributeError, CompileError, TypeError, ValueError):
                pass
        if tape is None:
            tape = self.tapes.get(statement) or self._tape(statement, fixed, {})
        self.tapes[statement] = tape
        elements = self._elements(statement.output_names)
        for element in elements:
            known.pop(element, None)
        if len(tape.outputs) == len(elements):  # otherwise these are factors of products
            known |= {element: float(tape.constants[tape.operands[entry, 0]])
                      for entry, element in zip(tape.outputs.tolist(), elements, strict=True)
                      if tape.codes[entry] == op.CONSTANT}
        return statement

    def _drop_unread_results(self) -> None:
        """Drop results that no output, record or flag depends on, directly or through other results."""
        names = {*self.program.outputs, *(rows.variable for rows in self.program.records.values())}
        names |= {each.flag for each in walk(self.statements) if isinstance(each, Repeat) and each.flag is not None}
        needed, found = set(self._elements(names)), -1
        reduced: dict[Compute, tuple[list[int], Tape]] = {}
        while len(needed) > found:
            found = len(needed)
            for statement, tape in self.tapes.items():
                elements = self._elements(statement.inputs)
                kept = [place for place, element in enumerate(self.results[statement]) if element in needed]
                if statement not in reduced or len(kept) > len(reduced[statement][0]):
                    complete = len(kept) == len(self.results[statement])
                    reduced[statement] = kept, tape if complete else tape.with_outputs(kept)
                    needed |= {elements[place] for place in reduced[statement][1].inputs_read}
        for statement, (kept, tape) in reduced.items():
            if len(kept) < len(self.results[statement]):
                self.tapes[statement] = tape
                self.results[statement] = [self.results[statement][place] for place in kept]

    def _elements(self, names: Iterable[str]) -> list[tuple[str, int]]:
        """Variable and position of each element of some variables."""
        return [(name, position) for name in names for position in range(math.prod(self.variables[name]))]

    def _read_by(self, statement: Compute) -> list[tuple[str, int]]:
        """The elements that a computation reads."""
        elements = self._elements(statement.inputs)
        return [elements[position] for position in self.tapes[statement].inputs_read]

    def _with_invariants(self, statement: Statement) -> list[Statement]:
        """A loop preceded by the computations of its invariants; any other statement unchanged."""
        if isinstance(statement, Compute) or not statement.invariant:
            return [statement]
        parts: dict[Compute, tuple[Compute, Compute]] = {}  # a computation may occur in several places

        def rest(inner: Statement) -> Statement:
            if not isinstance(inner, Compute):
                return replace(inner, statements=[rest(each) for each in inner.statements])
            if inner not in parts:
                parts[inner] = self._split(inner, statement.invariant)
            return parts[inner][1]

        loop = rest(statement)
        return [*(once for once, _ in parts.values()), loop]

    def _split(self, statement: Compute, invariant: Iterable[str]) -> tuple[Compute, Compute]:
        """The part that depends only on invariants, and the rest."""
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

    def _tape(self, statement: Compute, fixed: Mapping[str, Any], constants: Mapping[int, float]) -> Tape:
        """The tape from all inputs to the elements of all outputs; some input elements are constants."""
        if isinstance(statement.function, Tape):
            return statement.function
        shapes = {f"{name} ({place})": self.program.variables[name] for place, name in enumerate(statement.inputs)}
        places = np.cumsum([0, *(math.prod(shape) for shape in shapes.values())])

        def function(*arrays: Any) -> list[Any]:
            for place, constant in constants.items():
                number = int(np.searchsorted(places, place, side="right")) - 1
                arrays[number].reshape(-1)[place - places[number]] = constant
            results = self.program.results(statement, statement.function(*arrays))
            return [element for array in results for element in array.reshape(-1).tolist()]

        function.__name__ = str(statement)
        typical = {label: fixed[name] for label, name in zip(shapes, statement.inputs, strict=True) if name in fixed}
        return trace(function, shapes, typical)


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

    ``counts`` has the named loop counts, ``arrays`` the inputs and sequences.
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
