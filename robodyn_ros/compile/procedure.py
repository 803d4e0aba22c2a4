# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""`Procedure`: loops over traced computations as one piece of machine code."""

import operator
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.compile.batch_abi import checked_threads, empty_result, real_array, shape_error
from robodyn_ros.compile.compiled_program import CompiledProgram
from robodyn_ros.compile.machine import host
from robodyn_ros.compile.program import Arrays, Program, Rows, Statement, TracedProgram, interpret
from robodyn_ros.compile.python_entry import documentation, python_function
from robodyn_ros.compile.tape import Shape, Tape
from robodyn_ros.errors import InputError


def compile_procedure(
    variables: Mapping[str, Shape],
    program: Iterable[Statement],
    inputs: Iterable[str] = (),
    outputs: Iterable[str] = (),
    name: str = "procedure",
) -> "Procedure":
    """Trace the computations of a program; it is compiled for this processor when it is first called.

    Args:
        variables: Shape of each variable, by name.
        program: The statements, one after the other.
        inputs: Variables whose first values are arguments of each call; the others begin as zeros.
        outputs: Variables whose last values are results.
        name: Name in error messages.

    Raises:
        CompileError: The program is inconsistent, or a computation cannot be traced.
    """
    return Procedure(Program(variables, program, inputs, outputs), name)


class Procedure:
    """A program, compiled.

    Its arguments, all by name, are the first values of the inputs, the sequences of `Read`, and the counts of loops
    that have a name. Its results, by name, are the last values of the outputs and the records of `Record`. Calls from
    several threads are safe. The code for one sample and the code for batches are compiled at their first call.

    Attributes:
        program: The program.
        name: Name in error messages.
    """

    def __init__(self, program: Program, name: str) -> None:
        self.program, self.name = program, name
        self._traced = TracedProgram(program)
        self._lock = threading.Lock()
        self._compiled_for: dict[int, CompiledProgram] = {}  # by samples in a block

    @property
    def tapes(self) -> tuple[Tape, ...]:
        """The tapes of the computations; computations that follow each other have one tape."""
        return tuple(self._traced.tapes.values())

    def reads(self, variable: str) -> bool:
        """Whether a computation reads an element of a variable."""
        return self._traced.reads(variable)

    def __call__(self, **given: Any) -> Arrays:
        """Run the program once; the GIL is released.

        Args:
            **given: Inputs of their variables' shapes; sequences of shape (count of their loop, *shape of the
                variable); counts.

        Returns:
            Outputs of their variables' shapes; records of shape (count of their loop // every, *shape).

        Raises:
            InputError: An argument is missing, superfluous, not of real numbers, or of another shape.
        """
        compiled, program = self._compiled(1), self.program
        counts, arrays = self._arguments(given, None)
        frame = np.zeros(compiled.frame_size)
        for name in program.inputs:
            compiled.view(frame, name)[...] = arrays[name]
        records = {name: np.empty(self._rows(rows, counts)) for name, rows in program.records.items()}
        sequences = {name: np.ascontiguousarray(arrays[name]) for name in program.sequences}
        compiled.run(frame, counts.values(), sequences, records)
        return {name: compiled.view(frame, name).copy() for name in program.outputs} | records

    def batch(self, *, threads: int = 1, **given: Any) -> Arrays:
        """Run the program for many samples at once; the GIL is released.

        Args:
            threads: Number of threads that share the samples.
            **given: The arguments of a call; each array is either the same for all samples, or has an axis of the N
                samples first. Counts are the same for all samples.

        Returns:
            The results of a call, each array with an axis of the N samples first.

        Raises:
            InputError: As in a call; or no array has an axis of samples, or their numbers of samples differ.
        """
        checked_threads(self.name, threads)
        samples = self._samples(given)
        compiled, program = self._compiled(host().lanes), self.program
        counts, arrays = self._arguments(given, samples)
        results = {name: empty_result((samples, *program.variables[name])) for name in program.outputs}
        records = {name: np.empty((samples, *self._rows(rows, counts))) for name, rows in program.records.items()}
        compiled.run_batch(samples, threads, counts.values(), arrays, results | records)
        return results | records

    def interpret(self, **given: Any) -> Arrays:
        """Run the program once in plain NumPy, its functions on floats: the reference for compiled programs.

        Arguments and results are those of a call.
        """
        counts, arrays = self._arguments(given, None)
        return interpret(self.program, counts, arrays)

    def bind(self, **inputs: Any) -> "Bound":
        """The procedure with its own memory, for loops that Python runs often: see `Bound`.

        Args:
            **inputs: First values of the inputs; zeros for those not given.

        Raises:
            InputError: A value does not fit its input; or the procedure has sequences or records.
        """
        if self.program.sequences or self.program.records:
            raise InputError(f"{self.name}: has sequences or records, which need a call instead of bind()")
        bound = Bound(self._compiled(1))
        for name, value in inputs.items():
            if name not in self.program.inputs:
                raise InputError(f"{self.name}: expected inputs ({', '.join(self.program.inputs)}), received {name}")
            bound[name] = self._array(name, self.program.variables[name], value)
        return bound

    def __repr__(self) -> str:
        arguments = (*self.program.inputs, *self.program.sequences, *self.program.counts)
        results = (*self.program.outputs, *self.program.records)
        return f"<Procedure {self.name}({', '.join(arguments)}) -> {', '.join(results)}>"

    def _arguments(self, given: Mapping[str, Any], samples: int | None) -> tuple[dict[str, int], Arrays]:
        """Counts and arrays, checked; all arrays with an axis of samples if there are samples."""
        program = self.program
        expected = (*program.inputs, *program.sequences, *program.counts)
        if sorted(given) != sorted(expected):
            raise InputError(
                f"{self.name}: expected the arguments {', '.join(expected) or 'none'}, "
                f"received {', '.join(given) or 'none'}"
            )
        counts = {name: _count(self.name, name, given[name]) for name in program.counts}
        shapes = {name: program.variables[name] for name in program.inputs}
        for name, rows in program.sequences.items():
            shapes[name] = self._rows(rows, counts)
        arrays: Arrays = {}
        for name, shape in shapes.items():
            array = self._array(name, shape, given[name], samples)
            if samples is not None and array.ndim == len(shape):
                array = np.broadcast_to(np.asarray(array, order="C"), (samples, *shape))
            arrays[name] = array
        return counts, arrays

    def _array(self, name: str, shape: Shape, given: Any, samples: int | None = None) -> NDArray[np.float64]:
        array = real_array(self.name, name, given)
        if array.shape != shape and (samples is None or array.shape != (samples, *shape)):
            dimensions = shape if samples is None or array.ndim == len(shape) else (samples, *shape)
            raise shape_error(self.name, name, dimensions, array.shape)
        return array

    def _samples(self, given: Mapping[str, Any]) -> int:
        """The number of samples of a batch, from the first array with an axis of samples."""
        program = self.program
        axes = {name: len(program.variables[name]) for name in program.inputs}
        axes |= {name: 1 + len(program.variables[rows.variable]) for name, rows in program.sequences.items()}
        for name, ndim in axes.items():
            if name in given and np.ndim(given[name]) == ndim + 1:
                return len(given[name])
        names = ", ".join(axes) or "no inputs"
        raise InputError(f"{self.name}: expected an axis of samples in at least one of {names}")

    def _rows(self, rows: Rows, counts: Mapping[str, int]) -> Shape:
        """Shape of a sequence or a record."""
        count = counts[rows.rounds] if isinstance(rows.rounds, str) else rows.rounds
        return (count // rows.every, *self.program.variables[rows.variable])

    def _compiled(self, width: int) -> CompiledProgram:
        with self._lock:
            if width not in self._compiled_for:
                self._compiled_for[width] = CompiledProgram(self._traced, width, self.name)
            return self._compiled_for[width]


def _count(procedure: str, name: str, given: Any) -> int:
    try:
        count = operator.index(given)
    except TypeError:
        count = -1
    if count < 0:
        raise InputError(f"{procedure}: {name}: expected an integer of 0 or more, received {given!r}")
    return count


class _Memory(np.ndarray):
    """Frame and counts, and the objects that must live as long as the function that uses them."""

    keeps: tuple[Any, ...]


class Bound:
    """A procedure whose variables keep their memory from one run to the next.

    ``bound["q"]`` is always the same array, to read and to write in place; ``bound["q"] = values`` writes it.
    ``bound.run(*counts)`` runs the program once. It makes no arrays, sets no variable to zero, and holds the GIL: for
    runs of more than milliseconds, call the procedure instead. Variables that are neither read nor outputs are not
    written. Only one thread at a time may use it.

    Args:
        compiled: A program for one sample, without sequences or records.

    Attributes:
        run: Runs the program; its arguments are the counts in the order of `Program.counts`.
    """

    __slots__ = ("_views", "run")

    run: Callable[..., None]

    def __init__(self, compiled: CompiledProgram) -> None:
        memory = np.zeros(compiled.frame_size + max(1, compiled.word_count)).view(_Memory)
        plain = memory.view(np.ndarray)
        self._views = {variable: compiled.view(plain, variable) for variable in compiled.program.variables}
        self.run = python_function("run", documentation("run", "", "Run the program once."), memory, compiled.code)

    def __getitem__(self, variable: str) -> NDArray[np.float64]:
        """The array of a variable."""
        return self._views[variable]

    def __setitem__(self, variable: str, values: ArrayLike) -> None:
        """Write a variable."""
        self._views[variable][...] = values
