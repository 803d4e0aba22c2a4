# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""`Procedure`: loops over traced computations as one piece of machine code."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.base.errors import InputError
from robodyn_ros.compile.batch_abi import (
    checked_arrays,
    checked_integer,
    empty_result,
    real_array,
    sample_parts,
    shape_error,
)
from robodyn_ros.compile.compiled_program import CompiledProgram
from robodyn_ros.compile.machine import host
from robodyn_ros.compile.program import Arrays, Program, Statement, TracedProgram, interpret
from robodyn_ros.compile.python_entry import documentation, python_function
from robodyn_ros.compile.records import array_shapes, flatten_all, unflatten_all


def compile_procedure(variables: Mapping[str, Any], program: Iterable[Statement], inputs: Iterable[str] = (),
                      outputs: Iterable[str] = (), name: str = "procedure") -> Procedure:
    """Trace the computations of a program; it is compiled for this processor when it is first called.

    Args:
        variables: Shape of each variable, by name; for a record, a record of shapes or of arrays.
        program: The statements, in order.
        inputs: Variables, or parts of them such as ``state.q``, whose first values are arguments of each call; the
            other variables begin as zeros.
        outputs: Variables, or parts of them, whose last values are results.
        name: Name in error messages.

    Raises:
        CompileError: The program is inconsistent, or a computation cannot be traced.
    """
    return Procedure(Program(variables, program, inputs, outputs), name)


class Procedure:
    """A compiled program.

    Its arguments, all by name, are the first values of the inputs, the sequences that loops read, and the named loop
    counts. Its results, by name, are the last values of the outputs, and the records of loops. Records in the program
    are records in arguments and results too, with arrays of the rows or samples. Calls from several threads are safe.
    The code for one sample and the code for batches are compiled at their first calls.

    Attributes:
        program: The program.
        name: Name in error messages.
        traced: The program in the form that is compiled, with one tape for consecutive computations.
    """

    def __init__(self, program: Program, name: str) -> None:
        self.program, self.name = program, name
        self.traced = TracedProgram(program)
        self._lock = threading.Lock()
        self._compiled_for: dict[int, CompiledProgram] = {}  # by samples in a block

    def __call__(self, **given: Any) -> dict[str, Any]:
        """Run the program once, with inputs, sequences (see `Repeat`) and counts; the GIL is released.

        Returns:
            Outputs and records.

        Raises:
            InputError: An argument is missing, superfluous, not of real numbers, or of another shape or class.
        """
        compiled, program = self._compiled(1), self.program
        counts, arrays = self._arguments(given)
        frame = np.zeros(compiled.frame_size)
        for name in program.inputs:
            compiled.view(frame, name)[...] = arrays[name]
        records = program.new_records(counts, 1)
        compiled.run(frame, counts.values(), {name: arrays[name][None] for name in program.sequences}, records)
        results = {name: compiled.view(frame, name).copy() for name in program.outputs}
        return unflatten_all(program.answers, results | {name: rows[0] for name, rows in records.items()})

    def batch(self, *, threads: int = 1, **given: Any) -> dict[str, Any]:
        """Run the program for many samples at once; the GIL is released.

        Args:
            threads: Number of threads that share the samples.
            **given: The arguments of a call; each array is either the same for all samples, or its first axis numbers
                the N samples. Counts are the same for all samples.

        Returns:
            The results of a call; the first axis of each array numbers the N samples.

        Raises:
            InputError: As in a call; or no array has an axis of samples, or their numbers of samples differ.
        """
        checked_integer(self.name, "threads", threads, 1)
        counts, arrays = self._arguments(given, is_batch=True)
        compiled, program, samples = self._compiled(host().lanes), self.program, len(next(iter(arrays.values())))
        results = {name: empty_result((samples, *program.variables[name])) for name in program.outputs}
        results |= program.new_records(counts, samples)
        compiled.run_batch(samples, threads, counts.values(), arrays, results)
        return unflatten_all(program.answers, results)

    def interpret(self, **given: Any) -> dict[str, Any]:
        """Like a call, but in plain NumPy with the functions on floats: the reference for compiled programs."""
        return unflatten_all(self.program.answers, interpret(self.program, *self._arguments(given)))

    def bind(self, **inputs: Any) -> Bound:
        """The procedure with its own memory, for loops that Python runs often: see `Bound`.

        Args:
            **inputs: First values of the inputs; zeros if omitted.

        Raises:
            InputError: A value does not fit its input; or the procedure has sequences or records.
        """
        if self.program.sequences or self.program.records:
            raise InputError(f"{self.name}: has sequences or records, which need a call instead of bind()")
        expected = self.program.arguments
        for name in inputs:
            if name not in expected:
                raise InputError(f"{self.name}: expected inputs ({', '.join(expected)}), received {name}")
        given = flatten_all({name: expected[name] for name in inputs}, inputs, self.name)
        bound, shapes = Bound(self._compiled(1), self.name), {name: self.program.variables[name] for name in given}
        for name, array in zip(shapes, checked_arrays(self.name, shapes, (), given), strict=True):
            bound[name] = array
        return bound

    def bind_batch(self, samples: int, *, threads: int = 1, **counts: int) -> BoundBatch:
        """The procedure for many samples with its own memory, for loops that Python runs often: see `BoundBatch`.

        Args:
            samples: Number of samples N.
            threads: Number of threads that share them.
            **counts: The named loop counts.

        Raises:
            InputError: A count is missing or unknown, or a number is not an integer in its range.
        """
        checked_integer(self.name, "samples", samples, 1)
        checked_integer(self.name, "threads", threads, 1)
        if sorted(counts) != sorted(self.program.counts):
            raise InputError(f"{self.name}: expected the counts {', '.join(self.program.counts) or 'none'}, received "
                             f"{', '.join(counts) or 'none'}")
        found = {name: checked_integer(self.name, name, counts[name], 0) for name in self.program.counts}
        return BoundBatch(self._compiled(host().lanes), host().lanes, int(samples), int(threads), found)

    def __repr__(self) -> str:
        arguments = (*self.program.arguments, *self.program.counts)
        return f"<Procedure {self.name}({', '.join(arguments)}) -> {', '.join(self.program.answers)}>"

    def _arguments(self, given: Mapping[str, Any], is_batch: bool = False) -> tuple[dict[str, int], Arrays]:
        """Checked counts and arrays; in a batch, all arrays have an axis of samples."""
        program = self.program
        expected = (*program.arguments, *program.counts)
        if sorted(given) != sorted(expected):
            raise InputError(f"{self.name}: expected the arguments {', '.join(expected) or 'none'}, "
                             f"received {', '.join(given) or 'none'}")
        counts = {name: checked_integer(self.name, name, given[name], 0) for name in program.counts}
        shapes = {name: program.variables[name] for name in program.inputs}
        shapes |= {name: program.rows_shape(rows, counts) for name, rows in program.sequences.items()}
        leaves = flatten_all(program.arguments, given, self.name)
        arrays = {name: real_array(self.name, name, leaves[name]) for name in shapes}
        lengths = [len(array) for name, array in arrays.items() if array.ndim == len(shapes[name]) + 1]
        if is_batch and not lengths:
            names = ", ".join(shapes) or "no inputs"
            raise InputError(f"{self.name}: expected an axis of samples in at least one of {names}")
        for name, shape in shapes.items():
            array = arrays[name]
            has_samples = is_batch and array.ndim != len(shape)
            if array.shape != (right := (lengths[0], *shape) if has_samples else shape):
                raise shape_error(self.name, name, right, array.shape)
            if is_batch and not has_samples:
                arrays[name] = np.broadcast_to(np.asarray(array, order="C"), (lengths[0], *shape))
        return counts, arrays

    def _compiled(self, width: int) -> CompiledProgram:
        with self._lock:
            if width not in self._compiled_for:
                self._compiled_for[width] = CompiledProgram(self.traced, width)
            return self._compiled_for[width]


class _Memory(np.ndarray):
    """Frame and counts, and the objects that must live as long as the function that uses them."""

    keeps: tuple[Any, ...]
    name: str
    counts: tuple[str, ...]

    def __call__(self, *_given: object, **_named: object) -> None:
        """Report why the counts were not accepted."""
        raise InputError(f"{self.name}: run: expected {len(self.counts)} integers of 0 or more by position "
                         f"({', '.join(self.counts) or 'no counts'})")


class Bound:
    """A procedure whose variables keep their memory from one run to the next.

    ``bound["q"]`` is always the same array, or record of arrays, and is read and written in place; ``bound["q"] =
    values`` writes it. ``bound.numbers("state")`` has the arrays of a record next to each other, in the order of its
    fields. ``bound.run(*counts)`` runs the program once. It creates no arrays, sets no variable to zero, and holds the
    GIL: for runs of more than milliseconds, call the procedure instead. Variables that are neither read nor outputs are
    not written. Only one thread at a time may use it.

    Attributes:
        run: Runs the program; its arguments are the counts in the order of `Program.counts`.
    """

    __slots__ = ("_forms", "_memory", "_values", "_views", "run")

    run: Callable[..., None]

    def __init__(self, compiled: CompiledProgram, name: str) -> None:
        program, counts = compiled.program, compiled.program.counts
        memory = np.zeros(compiled.frame_size + max(1, len(counts))).view(_Memory)
        memory.name, memory.counts, plain = name, counts, memory.view(np.ndarray)
        self._views = {variable: compiled.view(plain, variable) for variable in program.variables}
        self._forms, self._values, self._memory = program.form, unflatten_all(program.forms, self._views), plain
        self.run = python_function("run", documentation("run", "", "Run the program once."), memory, compiled.code)

    def __getitem__(self, variable: str) -> Any:
        if variable not in self._values:
            form = self._forms("bound", variable)
            self._values |= unflatten_all({variable: form}, self._views)
        return self._values[variable]

    def __setitem__(self, variable: str, values: Any) -> None:
        for path, array in flatten_all({variable: self._forms("bound", variable)}, {variable: values}, "bound").items():
            self._views[path][...] = array

    def numbers(self, variable: str) -> NDArray[np.float64]:
        """The memory of a variable, shape (size,); the arrays of a record follow each other."""
        views = [self._views[path] for path in array_shapes(variable, self._forms("bound", variable))]
        start = (views[0].ctypes.data - self._memory.ctypes.data) // self._memory.itemsize
        return self._memory[start : start + sum(view.size for view in views)]


class BoundBatch:
    """A procedure for N samples whose arguments and results keep their memory.

    ``bound["q"]`` is always the same array, or record of arrays, and is read and written in place; its first axis
    numbers the N samples. ``bound["q"] = values`` writes it. A variable that is both input and output is one array: a
    run continues where the last one ended. `run` creates no arrays, checks nothing, and releases the GIL. The results
    of a sample are the same to the bit for any number of samples and threads. Only one thread at a time may use it.

    Args:
        compiled: The code for batches.
        width: Samples that the code computes at once.
        samples: N, 1 or more.
        threads: Number of threads that share the samples.
        counts: The named loop counts.

    Attributes:
        arrays: Each array by its path such as ``state.q``; its first axis numbers the N samples.
    """

    def __init__(self, compiled: CompiledProgram, width: int, samples: int, threads: int, counts: Mapping[str, int]
                 ) -> None:
        program, whole = compiled.program, -(-samples // width) * width  # blocks must be full
        shapes = {name: program.variables[name] for name in (*program.inputs, *program.outputs)}
        rows = program.sequences | program.records
        shapes |= {name: program.rows_shape(own, counts) for name, own in rows.items()}
        self._arrays = {name: empty_result((whole, *shape)) for name, shape in shapes.items()}
        for array in self._arrays.values():
            array[...] = 0.0
        self._padded = [(array[samples:], array[samples - 1]) for name, array in self._arrays.items()
                        if whole > samples and (name in program.inputs or name in program.sequences)]
        self.arrays = {name: array[:samples] for name, array in self._arrays.items()}
        self._forms = program.arguments | program.answers
        self._values = unflatten_all(self._forms, self.arrays)
        self._words, self._kept = compiled.words(list(counts.values()), self._arrays, self._arrays)
        self._code, self._function = compiled.code, compiled.function  # the code lives as long as its owner
        parts = sample_parts(whole, width, threads)
        self._memories = [np.empty((compiled.frame_size + 1) * width, np.float64) for _ in parts]
        self._calls = [(first, end, self._words.ctypes.data, memory.ctypes.data + -memory.ctypes.data % (8 * width))
                       for (first, end), memory in zip(parts, self._memories, strict=True)]
        self._pool = ThreadPoolExecutor(len(self._calls) - 1) if len(self._calls) > 1 else None

    def run(self) -> None:
        """Run the program once for all samples."""
        for rows, last in self._padded:
            rows[...] = last
        if self._pool is None:
            self._function(*self._calls[0])
            return
        others = [self._pool.submit(self._function, *call) for call in self._calls[1:]]
        self._function(*self._calls[0])
        for other in others:
            other.result()

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            raise InputError(f"bound batch: expected one of {', '.join(self._values)}, received {name!r}")
        return self._values[name]

    def __setitem__(self, name: str, values: Any) -> None:
        form = {name: self._forms[name]} if name in self._forms else {}
        if not form:
            raise InputError(f"bound batch: expected one of {', '.join(self._values)}, received {name!r}")
        for path, array in flatten_all(form, {name: values}, "bound batch").items():
            self.arrays[path][...] = array
