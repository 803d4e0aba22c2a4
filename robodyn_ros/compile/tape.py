# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A traced function as a straight list of operations, and the tracing of functions."""

import gc
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from robodyn_ros.base.errors import CompileError, InputError
from robodyn_ros.compile import operations as op
from robodyn_ros.compile.records import Shape
from robodyn_ros.compile.scalar import Recorder, Scalar
from robodyn_ros.compile.traced_array import TracedArray


@dataclass(slots=True, eq=False, repr=False)
class Tape:
    """The operations of a function on its inputs, each after its operands; `trace` makes tapes.

    Attributes:
        inputs: Shape of each input, by name, in the order of the function's arguments.
        output_shape: Shape of the result.
        codes: Operation code of each entry, (m,), see `operations`.
        operands: Entries that each operation reads, (m, 3), padded with -1; for an input, column 0 is its position
            among all input elements; for a constant, its position in ``constants``.
        constants: The constants, (k,).
        outputs: Entry of each element of the result, flattened in C order.
    """

    inputs: dict[str, Shape]
    output_shape: Shape
    codes: np.ndarray
    operands: np.ndarray
    constants: np.ndarray
    outputs: np.ndarray

    def __len__(self) -> int:
        """Number of entries, inputs and constants included."""
        return len(self.codes)

    @property
    def operation_count(self) -> int:
        """Number of entries that are neither inputs nor constants."""
        return int(np.count_nonzero(self.codes > op.CONSTANT))

    @property
    def inputs_read(self) -> set[int]:
        """Positions of the input elements that the tape reads."""
        return set(self.operands[self.codes == op.INPUT, 0].tolist())

    def with_outputs(self, elements: Sequence[int]) -> "Tape":
        """A tape with a flat result: the elements at these positions of the flattened result."""
        outputs = self.outputs[list(elements)]
        return self._pruned(outputs, outputs.shape)

    def _pruned(self, outputs: np.ndarray, output_shape: Shape) -> "Tape":
        """A tape with other outputs, without entries that they do not need."""
        codes, used = self.codes.tolist(), self.operands.tolist()
        needed = bytearray(len(codes))
        for entry in outputs.tolist():
            needed[entry] = 1
        for entry in range(len(codes) - 1, -1, -1):
            if needed[entry] and codes[entry] > op.CONSTANT:
                for operand in used[entry]:
                    if operand >= 0:
                        needed[operand] = 1
        live = np.frombuffer(needed, dtype=bool)
        number = np.cumsum(live, dtype=np.int32) - 1
        refers = (self.codes > op.CONSTANT)[:, None] & (self.operands >= 0)
        operands = np.where(refers, number[np.where(refers, self.operands, 0)], self.operands)[live]
        return Tape(self.inputs, output_shape, self.codes[live], operands, self.constants, number[outputs])

    def contracted(self, *, shared: bool) -> "Tape":
        """A tape in which each sum of a product and a number is one operation, which compiled code rounds once.

        Args:
            shared: Also contract a product that other operations need. The same formula is then rounded in the same way
                whatever else the tape computes, but some products are computed more than once.
        """
        codes, operands = self.codes.copy(), self.operands.copy()
        product = self.codes == op.MULTIPLY
        if not shared:
            used = np.bincount(self.operands[self.codes > op.CONSTANT].ravel() + 1, minlength=len(self) + 1)[1:]
            used += np.bincount(self.outputs, minlength=len(self))
            product &= used == 1
        sums = np.flatnonzero((self.codes == op.ADD) | (self.codes == op.SUBTRACT))
        first, second = self.operands[sums, 0], self.operands[sums, 1]
        later = (product[second] & ~(product[first] & (first > second))).astype(int)  # place of the product to contract
        for place, other in ((0, 1), (1, 0)):  # of two products, contract the one traced later: sums grow at the end
            of = sums[(later == place) & product[self.operands[sums, place]]]
            factors = self.operands[self.operands[of, place], :2]
            operands[of] = np.column_stack([factors, self.operands[of, other]])
            difference = op.SUBTRACT_PRODUCT if place else op.MULTIPLY_SUBTRACT
            codes[of] = np.where(self.codes[of] == op.ADD, op.MULTIPLY_ADD, difference)
        tape = Tape(self.inputs, self.output_shape, codes, operands, self.constants, self.outputs)
        return tape._pruned(self.outputs, self.output_shape)

    def split(self, fixed: Collection[int], name: str) -> tuple["Tape", "Tape"]:
        """Two tapes that together compute this one: the part that depends only on some input elements, and the rest.

        ``fixed`` has the positions of these elements. The first tape has a flat result; the second takes it as a
        further input of this name.
        """
        codes, operands, chosen = self.codes.tolist(), self.operands.tolist(), set(fixed)
        is_fixed: list[bool] = []
        needed: dict[int, None] = {}  # by the second tape, or as a result
        for code, used in zip(codes, operands, strict=True):
            used = [entry for entry in used if entry >= 0] if code != op.CONSTANT else []
            is_fixed.append(used[0] in chosen if code == op.INPUT else
                            code not in op.ROUTINE and all(is_fixed[entry] for entry in used))
            if code > op.CONSTANT and not is_fixed[-1]:
                needed |= dict.fromkeys(used)
        needed |= dict.fromkeys(self.outputs.tolist())
        kept = [entry for entry in needed if is_fixed[entry] and codes[entry] > op.CONSTANT]
        entries, size = np.array(kept, dtype=np.int32), sum(math.prod(shape) for shape in self.inputs.values())
        read_codes, read_operands = self.codes.copy(), self.operands.copy()
        read_codes[entries], read_operands[entries] = op.INPUT, -1
        read_operands[entries, 0] = size + np.arange(len(entries))
        inputs = self.inputs | {name: entries.shape}
        rest = Tape(inputs, self.output_shape, read_codes, read_operands, self.constants, self.outputs)
        return self._pruned(entries, entries.shape), rest._pruned(self.outputs, self.output_shape)

    def __call__(self, *arrays: Any) -> np.ndarray:
        """Interpret the tape on numbers, as the reference for compiled code; record it on traced values.

        The arrays, one per input, and the result may share leading axes before their own.

        Raises:
            InputError: An array is missing, superfluous, or of another shape.
        """
        if len(arrays) != len(self.inputs):
            raise InputError(f"tape takes {len(self.inputs)} arrays ({', '.join(self.inputs)}), received {len(arrays)}")
        kind: Any = object if any(np.asarray(given).dtype == object for given in arrays) else float
        elements: list[Any] = []
        leading: Shape = ()
        for (name, shape), given in zip(self.inputs.items(), arrays, strict=True):
            array = np.asarray(given, dtype=kind)
            if array.ndim < len(shape) or array.shape[array.ndim - len(shape) :] != shape:
                raise InputError(f"tape: {name}: expected shape {shape}, received {array.shape}")
            leading = array.shape[: array.ndim - len(shape)]
            elements += list(np.moveaxis(array.reshape((*leading, math.prod(shape))), -1, 0))
        values = self.values(elements)
        result = np.empty((*leading, len(self.outputs)), dtype=kind)
        for position, entry in enumerate(self.outputs.tolist()):
            result[..., position] = values[entry]
        return result.reshape((*leading, *self.output_shape))

    def __repr__(self) -> str:
        inputs = ", ".join(f"{name}{list(shape)}" for name, shape in self.inputs.items())
        return f"<Tape ({inputs}) -> {list(self.output_shape)}, {self.operation_count} operations>"

    def values(self, elements: Sequence[Any]) -> list[Any]:
        """The value of each entry, for input elements that are floats, float arrays or traced values."""
        values: list[Any] = []
        with np.errstate(all="ignore"):
            for code, used in zip(self.codes.tolist(), self.operands.tolist(), strict=True):
                if code == op.INPUT:
                    values.append(elements[used[0]])
                elif code == op.CONSTANT:
                    values.append(float(self.constants[used[0]]))
                else:
                    values.append(op.apply(code, *[values[operand] for operand in used if operand >= 0]))
        return values


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause Python's garbage collector, which would scan the 10^5 objects of a long formula again and again."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


@collector_paused()
def trace(function: Callable[..., Any], inputs: Mapping[str, Shape], fixed: Mapping[str, Any] | None = None) -> Tape:
    """Call ``function`` once with symbolic arrays and record its operations.

    Args:
        function: Takes one array per input, in this order, and returns an array (or nested lists) of numbers. It must
            perform the same operations for all values.
        inputs: Shape of each input, by name.
        fixed: Typical values of inputs that are simplified like constants, by name; None for none.

    Returns:
        The tape of ``function``. A product with a constant 0 becomes 0, and so does x - x: a result that does not
        depend on an input is not NaN if that input is NaN.

    Raises:
        CompileError: The function branches on a traced value, stores it as a float, uses a NumPy function that has no
            traced form, or returns something other than numbers.
    """
    recorder, arrays = Recorder(), []
    name = getattr(function, "__name__", repr(function))
    try:
        for given, shape in inputs.items():
            check_shape(f"input {given}", shape)
            array = np.empty(shape, dtype=object)
            array.reshape(-1)[:] = [recorder.record((op.INPUT, len(recorder.scalars))) for _ in range(array.size)]
            arrays.append(array.view(TracedArray))
            if fixed and given in fixed:
                for scalar, typical in zip(array.flat, np.broadcast_to(fixed[given], shape).flat, strict=True):
                    recorder.typical[scalar.index] = float(typical)
        try:
            result = function(*arrays)
        except (AttributeError, IndexError, TypeError, ValueError) as error:
            reason = not_traceable(error)
            if reason is None:
                raise
            raise CompileError(f"{name} cannot be traced: {reason}") from error
        if recorder.refusal:  # the function caught the error and would continue alike for all values
            raise CompileError(f"{name} cannot be traced: {recorder.refusal}")
        return _tape(recorder, inputs, _checked_result(name, result))
    finally:
        recorder.clear()


def check_shape(name: str, shape: Any) -> Shape:
    """Return a tuple of lengths; raise CompileError if ``shape`` is not one."""
    if not isinstance(shape, tuple) or not all(isinstance(length, int) and length >= 0 for length in shape):
        raise CompileError(f"{name}: expected a shape such as (7,) or (4, 4), received {shape!r}")
    return shape


def not_traceable(error: Exception) -> str | None:
    """The reason for an error that tracing caused; None for other errors."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, CompileError):
            return str(cause)
        cause = cause.__cause__ or cause.__context__
    text = str(error)
    if "has no callable" in text or "'float' object has no attribute" in text:
        return (f"{text}; this function has no traced form, or was given an array of objects among which are "
                "constants: make it with np.stack or another function of NumPy that joins traced values")
    if "_UFuncNoLoopError" in type(error).__name__ or "Cannot cast" in text or "not supported for the input" in text:
        return f"{text}; this function has no traced form: write it with functions of NumPy that have one"
    if "arrays used as indices" in text or "only integers, slices" in text:
        return ("a traced value was used as an index: its value is not known while tracing. Write "
                "np.where(condition, a, b) in the place of a[condition], and np.interp for a table")
    return None


def _checked_result(name: str, result: Any) -> np.ndarray:
    """The result as an array of floats and scalars."""
    try:
        array = np.array(result, dtype=object, order="C")
    except ValueError as error:
        raise CompileError(f"{name} must return one array of numbers, received ragged nested sequences") from error
    elements = array.reshape(-1)
    for position, element in enumerate(elements):
        try:
            elements[position] = element if isinstance(element, Scalar) else float(element)
        except (TypeError, ValueError) as error:
            raise CompileError(f"{name} must return one array of numbers; element "
                               f"{list(map(int, np.unravel_index(position, array.shape)))} is "
                               f"{type(element).__name__}") from error
    return array


def _tape(recorder: Recorder, inputs: Mapping[str, Shape], result: np.ndarray) -> Tape:
    """The tape of a result: the recorded scalars that it needs."""
    outputs = []
    for element in result.reshape(-1):
        scalar = element if isinstance(element, Scalar) else recorder.constant(element)
        if scalar.recorder is not recorder:
            raise CompileError(f"{scalar!r} was returned, but belongs to another trace")
        outputs.append(scalar.index)
    keys = [scalar.key for scalar in recorder.scalars]
    constants = np.array([key[1] for key in keys if key[0] == op.CONSTANT], dtype=float)
    keys = [key if key[0] != op.CONSTANT else (op.CONSTANT,) for key in keys]
    codes, operands = np.array([key[0] for key in keys], dtype=np.uint8), np.empty((len(keys), 3), dtype=np.int32)
    for place in range(3):
        operands[:, place] = [key[place + 1] if len(key) > place + 1 else -1 for key in keys]
    operands[codes == op.CONSTANT, 0] = np.arange(len(constants))
    shapes = {name: tuple(shape) for name, shape in inputs.items()}
    everything = Tape(shapes, result.shape, codes, operands, constants, np.array(outputs, dtype=np.int32))
    return everything._pruned(everything.outputs, result.shape)
