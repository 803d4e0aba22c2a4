# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""`Kernel`: a traced function as machine code, called from Python."""

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.base.errors import InputError
from robodyn_ros.compile.batch_abi import checked_arrays, checked_integer, has_adjacent_rows, result_array
from robodyn_ros.compile.compiled_program import CompiledProgram
from robodyn_ros.compile.machine import host
from robodyn_ros.compile.products import trace_products
from robodyn_ros.compile.program import Compute, Program, TracedProgram
from robodyn_ros.compile.python_entry import Fallback, documentation, python_function
from robodyn_ros.compile.records import (
    Form,
    Structure,
    array_shapes,
    flatten_all,
    form_of,
    from_numbers,
    to_numbers,
    unflatten,
)
from robodyn_ros.compile.tape import Tape, check_shape

RESULT = "(result)"  # the output variable; no argument of a function can have this name


def compile_function(function: Callable[..., Any], inputs: Mapping[str, Any], name: str | None = None, *,
                     reproducible: bool = False) -> "Kernel":
    """Trace a function and compile it for this processor.

    Args:
        function: Takes one array or record per input, in this order, and returns an array (see `trace`), a record of
            arrays, or `Products`.
        inputs: Shape of each input, by name; for a record, a record of shapes or of arrays.
        name: Name in error messages; the function's name if not given.
        reproducible: Round exactly as the same formula in a program of `compile_procedure`; long formulas then take a
            few per cent longer.

    Raises:
        CompileError: The function cannot be traced or compiled.
    """
    forms = {each: check_shape(f"input {each}", given) if (form := form_of(given)) is None else form
             for each, given in inputs.items()}
    answer: list[Form] = []

    def on_arrays(*arrays: Any) -> Any:
        remaining = iter(arrays)
        result = function(*(unflatten(form, remaining) for form in forms.values()))
        form = form_of(result, shapes=False)
        if not isinstance(form, Structure):
            return result
        answer.append(form)
        return to_numbers(form, result, "result")

    on_arrays.__name__ = label = name or str(getattr(function, "__name__", "function"))
    tape = trace_products(on_arrays, {path: shape for each, form in forms.items()
                                      for path, shape in array_shapes(each, form).items()})
    tape = tape.contracted(shared=True) if reproducible else tape
    plain = not answer and not any(isinstance(form, Structure) for form in forms.values())
    return Kernel(tape, label) if plain else RecordKernel(tape, label, forms, answer[0] if answer else None)


class Kernel:
    """A compiled function of float64 arrays.

    ``kernel(q, v)`` computes one sample, ``kernel.batch(Q, V)`` many. Arguments are arrays of real numbers, or anything
    that NumPy converts to such arrays; contiguous float64 arrays are read in place and are fastest. Calls from several
    threads are safe.

    Attributes:
        tape: The traced function.
        name: Name in error messages.
        inputs: Shape of each argument, by name.
        output_shape: Shape of the result.
        call: The function behind ``kernel(...)``; calling it directly saves the 60 ns that Python needs to find it.
    """

    # The slot holds an instance's own __call__, a function that CPython calls directly.
    __slots__ = ("__call__", "__weakref__", "_batch", "_code", "_lock", "_traced", "call", "inputs", "name",
                 "output_shape", "tape")

    if TYPE_CHECKING:

        def __call__(self, *arrays: Any, **named: Any) -> NDArray[np.float64]:
            """Compute the function for one sample."""

    def __init__(self, tape: Tape, name: str) -> None:
        self.tape, self.name, self.inputs, self.output_shape = tape, name, tape.inputs, tape.output_shape
        self._batch: CompiledProgram | None = None
        self._lock = threading.Lock()
        self._traced = traced_tape(tape)
        self._code = CompiledProgram(self._traced, 1, in_place=True).code
        compute = self.with_fallback(None)  # new float64 arrays of the right shapes need no fallback

        def convert(*arrays: Any, **named: Any) -> Any:
            given = checked_arrays(name, tape.inputs, arrays, named)
            return compute(*(array.astype(np.float64, order="C") for array in given))

        self.call = self.with_fallback(convert)
        self.__call__ = self.call  # type: ignore[method-assign]

    def with_fallback(self, fallback: Callable[..., Any] | None, text: str | None = None) -> Callable[..., Any]:
        """A function that computes the kernel, and passes calls with any other arguments to a Python function.

        It is used for functions that have more arguments than the kernel.

        Args:
            fallback: Called with the unchanged arguments, unless they are exactly the kernel's inputs by position, each
                a C-contiguous float64 array of its shape.
            text: `documentation` of the function with all its arguments; None if it has only the kernel's arguments.
        """
        about = f"{self.name}, compiled. Takes and returns float64 arrays."
        text = text or documentation(self.name, f"({', '.join(self.inputs)})", about)
        return python_function(self.name, text, Fallback(fallback), self._code)

    def batch(self, *arrays: Any, threads: int = 1, out: NDArray[np.float64] | None = None,
              **named: Any) -> NDArray[np.float64]:
        """Compute the function for many samples at once; the code is compiled at the first call.

        float64 arrays with contiguous rows are read and written in place, whatever the distance of the rows; other
        arrays are copied first. The GIL is released.

        Args:
            *arrays: One per input, each of shape (N, *its input's shape).
            threads: Threads that share the samples.
            out: Array to write to, shape (N, *output shape), float64; it may be an input.
            **named: Inputs by name instead of position.

        Returns:
            Shape (N, *output shape); ``out`` if it was given.

        Raises:
            InputError: An array is missing, superfluous, not of real numbers or of another shape, or the numbers of
                samples differ.
        """
        with self._lock:
            if self._batch is None:
                self._batch = CompiledProgram(self._traced, host().lanes)
        checked_integer(self.name, "threads", threads, 1)
        given = dict(zip(self.inputs, checked_arrays(self.name, self.inputs, arrays, named, ("N",)), strict=True))
        if not given:
            raise InputError(f"{self.name}: has no inputs, so that there is no number of samples; call it for one")
        samples = len(next(iter(given.values())))
        result = result_array(self.name, (samples, *self.output_shape), out)
        # Code reads and writes block by block, so a result that overlaps an input is computed in separate memory first.
        in_place = has_adjacent_rows(result) and not any(np.may_share_memory(result, each) for each in given.values())
        target = result if in_place else np.empty(result.shape, np.float64)
        self._batch.run_batch(samples, threads, (), given, {RESULT: target})
        if not in_place:
            result[...] = target
        return result

    def __reduce__(self) -> tuple[type["Kernel"], tuple[Tape, str]]:
        """Pickle the tape; the kernel is compiled again where it is loaded."""
        return Kernel, (self.tape, self.name)

    def __repr__(self) -> str:
        return f"<Kernel {self.name}: {self.tape!r}>"


class RecordKernel(Kernel):
    """A compiled function with records among its arguments, or a record as its result.

    Args:
        tape: The traced function on arrays.
        name: Name in error messages.
        forms: Shape or structure of each argument, by name.
        answer: Structure of the result; None if it is one array.
    """

    __slots__ = ("_answer", "_arrays", "_forms")

    def __init__(self, tape: Tape, name: str, forms: Mapping[str, Form], answer: Form | None) -> None:
        super().__init__(tape, name)
        self._forms, self._answer, self._arrays = dict(forms), answer, self.call

        def call(*given: Any, **named: Any) -> Any:
            return self._value(self._arrays(*self._flat(given, named)))

        self.call = call
        self.__call__ = call  # type: ignore[method-assign]

    def batch(self, *given: Any, threads: int = 1, out: NDArray[np.float64] | None = None, **named: Any) -> Any:
        """Like :meth:`Kernel.batch`; the first axis of each array in arguments and result numbers the N samples.

        A record as result has no ``out``.
        """
        if out is not None and self._answer is not None:
            raise InputError(f"{self.name}: out: expected none, since the result is a record")
        return self._value(super().batch(*self._flat(given, named), threads=threads, out=out))

    def __reduce__(self) -> Any:
        return RecordKernel, (self.tape, self.name, self._forms, self._answer)

    def _flat(self, given: tuple[Any, ...], named: Mapping[str, Any]) -> list[Any]:
        """The arrays of the arguments."""
        late = list(self._forms)[len(given):]
        if len(given) > len(self._forms) or sorted(named) != sorted(late):
            received = ", ".join([f"{len(given)} by position", *(f"{name} by name" for name in named)])
            raise InputError(f"{self.name}: expected {len(self._forms)} arguments ({', '.join(self._forms)}), "
                             f"received {received}")
        values = (*given, *(named[name] for name in late))
        return list(flatten_all(self._forms, dict(zip(self._forms, values, strict=True)), self.name).values())

    def _value(self, numbers: NDArray[np.float64]) -> Any:
        """The result as a record, from its numbers, which may have a first axis of samples."""
        return numbers if self._answer is None else from_numbers(self._answer, numbers)


def traced_tape(tape: Tape) -> TracedProgram:
    """A program of one computation."""
    variables = tape.inputs | {RESULT: tape.output_shape}
    return TracedProgram(Program(variables, [Compute(tape, tape.inputs, RESULT)], tape.inputs, RESULT))
