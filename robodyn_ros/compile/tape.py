"""A traced function as a straight list of operations, and how a function becomes one."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from robodyn_ros.compile import operations as op
from robodyn_ros.compile.scalar import Recorder, Scalar
from robodyn_ros.errors import CompileError, InputError

Shape = tuple[int, ...]


class Tape:
    """The operations a function does on its inputs, each after its operands, none superfluous.

    What `trace` makes; its constructor takes the attributes in their order.

    Attributes:
        inputs: Shape of each input, by name, in the order of the function's arguments.
        output_shape: Shape of the result.
        codes: Operation code of each entry, (m,), see `operations`.
        operands: Entries each operation reads, (m, 3), -1 where there is none; for an input the position among all
            input elements in column 0; for a constant the position in ``constants``.
        constants: The constants, (k,).
        outputs: Entry of each element of the result, flattened in C order.
    """

    __slots__ = ("codes", "constants", "inputs", "operands", "output_shape", "outputs")

    def __init__(
        self,
        inputs: Mapping[str, Shape],
        output_shape: Shape,
        codes: np.ndarray,
        operands: np.ndarray,
        constants: np.ndarray,
        outputs: np.ndarray,
    ) -> None:
        self.inputs = dict(inputs)
        self.output_shape = output_shape
        self.codes = codes
        self.operands = operands
        self.constants = constants
        self.outputs = outputs

    def __len__(self) -> int:
        """Number of entries, inputs and constants included."""
        return len(self.codes)

    @property
    def operation_count(self) -> int:
        """Number of operations that are computed: entries that are neither input nor constant."""
        return int(np.count_nonzero(self.codes > op.CONSTANT))

    @property
    def inputs_read(self) -> set[int]:
        """Positions among all input elements of those that the tape reads."""
        return set(self.operands[self.codes == op.INPUT, 0].tolist())

    def with_outputs(self, elements: Sequence[int]) -> "Tape":
        """The same with some elements of the result only, and without what only the others need.

        Args:
            elements: Positions in the flattened result.

        Returns:
            Its result is flat, the elements in their order.
        """
        outputs = self.outputs[list(elements)]
        live = np.zeros(len(self), dtype=bool)
        live[outputs] = True
        computed = self.codes > op.CONSTANT
        for entry in np.flatnonzero(computed)[::-1].tolist():
            if live[entry]:
                live[[operand for operand in self.operands[entry].tolist() if operand >= 0]] = True
        number = np.cumsum(live) - 1
        refers = computed[:, None] & (self.operands >= 0)
        operands = np.where(refers, number[np.where(refers, self.operands, 0)], self.operands)[live]
        return Tape(self.inputs, outputs.shape, self.codes[live], operands, self.constants, number[outputs])

    def contracted(self, *, shared: bool) -> "Tape":
        """The same with each sum of a product and a number as one operation, which compiled code rounds once.

        Args:
            shared: Also where the product is needed elsewhere. The same formula is then rounded in the same way
                whatever else the tape computes, but products are multiplied out more than once.
        """
        codes, operands = self.codes.copy(), self.operands.copy()
        product = self.codes == op.MULTIPLY
        if not shared:
            used = np.bincount(self.operands[self.codes > op.CONSTANT].ravel() + 1, minlength=len(self) + 1)[1:]
            used += np.bincount(self.outputs, minlength=len(self))
            product &= used == 1
        sums = np.flatnonzero((self.codes == op.ADD) | (self.codes == op.SUBTRACT))
        for place, other in ((0, 1), (1, 0)):   # the second operand's product has precedence: sums grow at the end
            of = sums[product[self.operands[sums, place]]]
            factors = self.operands[self.operands[of, place], :2]
            operands[of] = np.column_stack([factors, self.operands[of, other]])
            difference = op.SUBTRACT_PRODUCT if place else op.MULTIPLY_SUBTRACT
            codes[of] = np.where(self.codes[of] == op.ADD, op.MULTIPLY_ADD, difference)
        tape = Tape(self.inputs, self.output_shape, codes, operands, self.constants, self.outputs)
        live = tape.with_outputs(range(len(self.outputs)))
        return Tape(self.inputs, self.output_shape, live.codes, live.operands, live.constants, live.outputs)

    def __call__(self, *arrays: Any) -> np.ndarray:
        """Evaluate the tape on floats, or record it on traced values as part of another trace.

        Args:
            *arrays: One per input, of its shape.

        Returns:
            Shape ``output_shape``, of floats if all arrays are.

        Raises:
            InputError: An array is missing, superfluous, or of another shape.
        """
        given = [np.asarray(array) for array in arrays]
        if all(array.dtype != object for array in given):
            return self.evaluate(*given)
        if [array.shape for array in given] != list(self.inputs.values()):
            shapes = ", ".join(str(array.shape) for array in given)
            raise InputError(f"tape: expected arrays of the shapes {self.inputs}, received {shapes}")
        values = self.values([element for array in given for element in array.reshape(-1)])
        result = np.empty(len(self.outputs), dtype=object)
        result[:] = [values[entry] for entry in self.outputs.tolist()]
        return result.reshape(self.output_shape)

    def __repr__(self) -> str:
        inputs = ", ".join(f"{name}{list(shape)}" for name, shape in self.inputs.items())
        return f"<Tape ({inputs}) -> {list(self.output_shape)}, {self.operation_count} operations>"

    def values(self, elements: Sequence[Any]) -> list[Any]:
        """Interpret the tape, on floats, float arrays or traced values.

        Args:
            elements: The input elements, in order.

        Returns:
            The value of each entry.
        """
        values: list[Any] = []
        with np.errstate(all="ignore"):
            for code, (a, b, c) in zip(self.codes.tolist(), self.operands.tolist(), strict=True):
                if code == op.INPUT:
                    values.append(elements[a])
                elif code == op.CONSTANT:
                    values.append(float(self.constants[a]))
                elif c >= 0:
                    values.append(op.apply(code, values[a], values[b], values[c]))
                elif b >= 0:
                    values.append(op.apply(code, values[a], values[b]))
                else:
                    values.append(op.apply(code, values[a]))
        return values

    def evaluate(self, *arrays: Any) -> np.ndarray:
        """Interpret the tape on numbers: the reference for compiled code.

        Args:
            *arrays: One per input, each of its input's shape, or all with the same leading axes before it.

        Returns:
            The result, of shape ``(*leading axes, *output_shape)``.

        Raises:
            InputError: An array is missing, superfluous, or of another shape.
        """
        if len(arrays) != len(self.inputs):
            raise InputError(f"tape takes {len(self.inputs)} arrays ({', '.join(self.inputs)}), received {len(arrays)}")
        elements: list[np.ndarray] = []
        leading: Shape = ()
        for (name, shape), given in zip(self.inputs.items(), arrays, strict=True):
            array = np.asarray(given, dtype=float)
            if array.ndim < len(shape) or array.shape[array.ndim - len(shape) :] != shape:
                raise InputError(f"tape: {name}: expected shape {shape}, received {array.shape}")
            leading = array.shape[: array.ndim - len(shape)]
            elements += list(np.moveaxis(array.reshape((*leading, math.prod(shape))), -1, 0))
        values = self.values(elements)
        result = np.empty((*leading, len(self.outputs)))
        for position, entry in enumerate(self.outputs.tolist()):
            result[..., position] = values[entry]
        return result.reshape((*leading, *self.output_shape))


def trace(function: Callable[..., Any], inputs: Mapping[str, Shape]) -> Tape:
    """Call ``function`` once with symbolic arrays and write down what it does.

    Args:
        function: Takes one array per input, in this order, and returns an array (or nested lists) of numbers. It must
            do the same operations whatever the values.
        inputs: Shape of each input, by name.

    Returns:
        The tape of ``function``. A product with a constant 0 is taken for 0, and x - x too: where a result does not
        depend on an input, it is not NaN when that input is.

    Raises:
        CompileError: The function branches on a traced value, stores it as a float, uses a NumPy function that has no
            traced form, or returns something other than numbers.
    """
    recorder = Recorder()
    try:
        arrays = [_symbols(recorder, name, shape) for name, shape in inputs.items()]
        return _tape(recorder, inputs, _traced(function, arrays))
    finally:
        recorder.forget()


def _symbols(recorder: Recorder, name: str, shape: Shape) -> np.ndarray:
    """An array of symbols for an input."""
    array = np.empty(_checked_shape(name, shape), dtype=object)
    array.reshape(-1)[:] = [recorder.record((op.INPUT, len(recorder.scalars))) for _ in range(array.size)]
    return array


def _traced(function: Callable[..., Any], arrays: list[np.ndarray]) -> np.ndarray:
    """What ``function`` returns for symbols, as an array of floats and scalars."""
    name = getattr(function, "__name__", repr(function))
    try:
        result = function(*arrays)
    except (AttributeError, TypeError, ValueError) as error:
        reason = _not_traceable(error)
        if reason is None:
            raise
        raise CompileError(f"{name} cannot be traced: {reason}") from error
    return _checked_result(name, result)


def _checked_shape(name: str, shape: Any) -> Shape:
    if not isinstance(shape, tuple) or not all(isinstance(length, int) and length >= 0 for length in shape):
        raise CompileError(f"input {name}: expected a shape such as (7,) or (4, 4), received {shape!r}")
    return shape


def _not_traceable(error: Exception) -> str | None:
    """What went wrong, if it is the tracing that did."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, CompileError):
            return str(cause)
        cause = cause.__cause__ or cause.__context__
    text = str(error)
    if "has no callable" in text or "'float' object has no attribute" in text:
        return f"{text}; this function has no traced form, or was given a constant among traced values"
    if "_UFuncNoLoopError" in type(error).__name__ or "Cannot cast" in text or "not supported for the input" in text:
        return f"{text}; this NumPy function does not work on arrays of dtype=object"
    return None


def _checked_result(name: str, result: Any) -> np.ndarray:
    """The result as an array of floats and scalars."""
    try:
        array = np.asarray(result, dtype=object)
    except ValueError as error:
        raise CompileError(f"{name} must return one array of numbers, received ragged nested sequences") from error
    checked = np.empty(array.size, dtype=object)
    for position, element in enumerate(array.reshape(-1)):
        try:
            checked[position] = element if isinstance(element, Scalar) else float(element)
        except (TypeError, ValueError) as error:
            where = list(map(int, np.unravel_index(position, array.shape)))
            raise CompileError(
                f"{name} must return one array of numbers; element {where} is {type(element).__name__}"
            ) from error
    return checked.reshape(array.shape)


def _tape(recorder: Recorder, inputs: Mapping[str, Shape], result: np.ndarray) -> Tape:
    """Renumber what the result needs; drop the rest."""
    outputs = []
    for element in result.reshape(-1):
        scalar = element if isinstance(element, Scalar) else recorder.constant(element)
        if scalar.recorder is not recorder:
            raise CompileError(f"{scalar!r} was returned, but belongs to another trace")
        outputs.append(scalar.index)
    keys = [scalar.key for scalar in recorder.scalars]
    live = bytearray(len(keys))
    for index in outputs:
        live[index] = 1
    for index in range(len(keys) - 1, -1, -1):
        if live[index] and keys[index][0] > op.CONSTANT:
            for operand in keys[index][1:]:
                live[operand] = 1

    number = [-1] * len(keys)
    codes: list[int] = []
    operands: list[tuple[int, int, int]] = []
    constants: list[float] = []
    for index, key in enumerate(keys):
        if live[index]:
            number[index] = len(codes)
            codes.append(key[0])
            if key[0] == op.CONSTANT:
                operands.append((len(constants), -1, -1))
                constants.append(key[1])
            elif key[0] == op.INPUT:
                operands.append((key[1], -1, -1))
            elif len(key) == 3:
                operands.append((number[key[1]], number[key[2]], -1))
            elif len(key) == 2:
                operands.append((number[key[1]], -1, -1))
            else:
                operands.append((number[key[1]], number[key[2]], number[key[3]]))
    return Tape(
        {name: tuple(shape) for name, shape in inputs.items()},
        result.shape,
        np.array(codes, dtype=np.uint8),
        np.array(operands, dtype=np.int32).reshape(-1, 3),
        np.array(constants, dtype=float),
        np.array([number[index] for index in outputs], dtype=np.int32),
    )
