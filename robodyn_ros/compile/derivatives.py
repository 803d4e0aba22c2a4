"""Exact derivatives: of a tape as another tape, of a function where it stands.

Each operation's own derivative is known, and the chain rule does the rest, on symbols: what comes out is simplified,
shares what it has in common with the function itself, and compiles like everything traced. Nothing is approximated.
"""

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from robodyn_ros.compile import functions
from robodyn_ros.compile import operations as op
from robodyn_ros.compile.scalar import Scalar
from robodyn_ros.compile.tape import Shape, Tape, trace
from robodyn_ros.errors import InputError

Mode = Literal["forward", "reverse"]


def derivative(tape: Tape, wrt: str | Sequence[str], mode: Mode | None = None) -> Tape:
    """The derivative of what a tape computes with respect to some of its inputs.

    Forward mode carries the slopes along every input from the inputs to the result, reverse mode those of every
    element of the result back to the inputs; both give the same numbers, and zeros cost nothing in either. Where the
    function has a kink (``absolute``, ``minimum``, ``where``, …) the result is the slope on one side of it.

    Args:
        tape: What to differentiate; `trace` makes one of a function.
        wrt: Name of the input, or names of several, whose elements then follow one another in one last axis.
        mode: None for forward unless the result has fewer elements than the inputs.

    Returns:
        A tape with the same inputs. Its output has the shape ``(*output_shape, *input_shape)`` with one name, element
        [i, k] being d result[i] / d input[k]; with several names ``(*output_shape, number of their elements)``.

    Raises:
        InputError: The tape has no input of a name.
    """
    names = [wrt] if isinstance(wrt, str) else list(wrt)
    shape = tape.output_shape + _shape_of(tape, names, alone=isinstance(wrt, str))
    columns = _columns(tape, names)
    if mode is None:
        mode = "forward" if len(columns) <= len(set(tape.outputs.tolist())) else "reverse"
    slopes = _forward if mode == "forward" else _reverse

    def jacobian(*arrays: np.ndarray) -> np.ndarray:
        elements = [element for array in arrays for element in array.reshape(-1)]
        return slopes(tape, _values(tape, elements), columns).reshape(shape)

    return trace(jacobian, tape.inputs)


def derivative_at(function: Callable[..., Any], arguments: Sequence[np.ndarray], wrt: int = 0) -> np.ndarray:
    """The derivative of a function where its arguments are, these being floats or traced.

    So a formula may contain derivatives, and be run, traced, compiled, and differentiated again, like any other.

    Args:
        function: Can be traced, see `trace`.
        arguments: One array per argument of the function.
        wrt: Position of the argument to differentiate with respect to.

    Returns:
        Shape ``(*shape of the function's result, *shape of that argument)``.

    Raises:
        CompileError: The function cannot be traced.
        InputError: There is no argument at that position.
    """
    arrays = [np.asarray(argument) for argument in arguments]
    if not 0 <= wrt < len(arrays):
        raise InputError(f"derivative_at: wrt: expected the position of one of {len(arrays)} arguments, received {wrt}")
    inputs = {f"argument{position}": array.shape for position, array in enumerate(arrays)}
    return inline(derivative(trace(function, inputs), f"argument{wrt}"), *arrays)


def inline(tape: Tape, *arrays: np.ndarray) -> np.ndarray:
    """What a tape computes, of floats as of traced values: so one trace may hold another.

    Args:
        tape: What to compute.
        *arrays: One per input, of its shape.

    Returns:
        Shape ``tape.output_shape``, of floats if all arrays are.

    Raises:
        InputError: An array is missing, superfluous, or of another shape.
    """
    given = [np.asarray(array) for array in arrays]
    if all(array.dtype != object for array in given):
        return tape.evaluate(*given)
    if [array.shape for array in given] != list(tape.inputs.values()):
        shapes = ", ".join(str(array.shape) for array in given)
        raise InputError(f"tape: expected arrays of the shapes {tape.inputs}, received {shapes}")
    values = _values(tape, [element for array in given for element in array.reshape(-1)])
    result = np.empty(len(tape.outputs), dtype=object)
    result[:] = [values[entry] for entry in tape.outputs.tolist()]
    return result.reshape(tape.output_shape)


def _shape_of(tape: Tape, names: list[str], alone: bool) -> Shape:
    """The axes that the derivative has after those of the result."""
    for name in names:
        if name not in tape.inputs:
            raise InputError(f"the tape has no input '{name}' to differentiate with respect to: {list(tape.inputs)}")
    if alone:
        return tape.inputs[names[0]]
    return (sum(math.prod(tape.inputs[name]) for name in names),)


def _columns(tape: Tape, names: list[str]) -> dict[int, int]:
    """The column of each input element that is differentiated for, by its position among all input elements."""
    first, position = {}, 0
    for name, shape in tape.inputs.items():
        first[name] = position
        position += math.prod(shape)
    positions = [first[name] + element for name in names for element in range(math.prod(tape.inputs[name]))]
    return {position: column for column, position in enumerate(positions)}


def _values(tape: Tape, elements: Sequence[Any]) -> list[Any]:
    """The value of every entry, given those of the input elements."""
    values: list[Any] = []
    for code, operands in zip(tape.codes.tolist(), tape.operands.tolist(), strict=True):
        if code == op.INPUT:
            values.append(elements[operands[0]])
        elif code == op.CONSTANT:
            values.append(float(tape.constants[operands[0]]))
        else:
            values.append(_computed(code, [values[operand] for operand in operands if operand >= 0]))
    return values


def _computed(code: int, operands: list[Any]) -> Any:
    """One operation on floats and traced values."""
    if any(operand.__class__ is Scalar for operand in operands):
        return _TRACED[code](*operands)
    with np.errstate(all="ignore"):
        return float(op.OPERATIONS[code].evaluate(*operands))


_TRACED: dict[int, Callable[..., Any]] = {
    op.ADD: operator.add,
    op.SUBTRACT: operator.sub,
    op.MULTIPLY: operator.mul,
    op.DIVIDE: operator.truediv,
    op.NEGATE: operator.neg,
    op.SQRT: np.sqrt,
    op.ABSOLUTE: abs,
    op.SIGN: functions.sign,
    op.MINIMUM: functions.minimum,
    op.MAXIMUM: functions.maximum,
    op.SIN: np.sin,
    op.COS: np.cos,
    op.TAN: np.tan,
    op.ARCSIN: np.arcsin,
    op.ARCCOS: np.arccos,
    op.ARCTAN: np.arctan,
    op.ARCTAN2: np.arctan2,
    op.EXP: np.exp,
    op.LOG: np.log,
    op.TANH: np.tanh,
    op.POWER: operator.pow,
    op.LESS: functions.less,
    op.LESS_EQUAL: functions.less_equal,
    op.EQUAL: functions.equal,
    op.WHERE: functions.where,
}
"""The operations on traced values, some of which may be floats."""

Slopes = dict[int, Any]
"""Slopes that are not zero: in forward mode by column, in reverse mode by row of the derivative."""


def _forward(tape: Tape, values: list[Any], columns: dict[int, int]) -> np.ndarray:
    """D result / d inputs, by the slopes of every entry along every input."""
    slopes: list[Slopes] = []
    for entry, (code, operands) in enumerate(zip(tape.codes.tolist(), tape.operands.tolist(), strict=True)):
        own: Slopes = {}
        if code == op.INPUT:
            if operands[0] in columns:
                own[columns[operands[0]]] = 1.0
        elif code != op.CONSTANT:
            given = [values[operand] for operand in operands if operand >= 0]
            for place in range(len(given)):
                if slopes[operands[place]]:
                    _add(own, slopes[operands[place]], _PARTIALS[code](place, values[entry], *given))
        slopes.append(own)
    result = np.zeros((len(tape.outputs), len(columns)), dtype=object)
    for row, entry in enumerate(tape.outputs.tolist()):
        for column, slope in slopes[entry].items():
            result[row, column] = slope
    return result


def _reverse(tape: Tape, values: list[Any], columns: dict[int, int]) -> np.ndarray:
    """D result / d inputs, by the slopes of every element of the result along every entry."""
    codes, operands = tape.codes.tolist(), tape.operands.tolist()
    relevant: list[bool] = []  # whether an entry depends on the inputs at all
    for code, of in zip(codes, operands, strict=True):
        if code <= op.CONSTANT:
            relevant.append(code == op.INPUT and of[0] in columns)
        else:
            relevant.append(any(relevant[operand] for operand in of if operand >= 0))
    slopes: list[Slopes] = [{} for _ in codes]
    result = np.zeros((len(tape.outputs), len(columns)), dtype=object)
    for row, output in enumerate(tape.outputs.tolist()):
        slopes[output][row] = 1.0
    for entry in range(len(codes) - 1, -1, -1):
        if not relevant[entry] or not slopes[entry]:
            continue
        if codes[entry] == op.INPUT:
            for row, slope in slopes[entry].items():
                result[row, columns[operands[entry][0]]] = slope
            continue
        given = [values[operand] for operand in operands[entry] if operand >= 0]
        for place in range(len(given)):
            if relevant[operands[entry][place]]:
                partial = _PARTIALS[codes[entry]](place, values[entry], *given)
                _add(slopes[operands[entry][place]], slopes[entry], partial)
        slopes[entry] = {}
    return result


class _IfTrue:
    """The partial derivative 1 or 0, as a condition has it; what it is not 1 for is left out, were it NaN."""

    def __init__(self, condition: Any, when: bool) -> None:
        self._condition, self._when = condition, when

    def __mul__(self, slope: Any) -> Any:
        given = (slope, 0.0) if self._when else (0.0, slope)
        return functions.where(self._condition, *given)


def _add(total: Slopes, slopes: Slopes, partial: Any) -> None:
    """Adds ``partial`` times ``slopes`` to ``total``."""
    if partial.__class__ is float and partial == 0.0:
        return
    for key, slope in slopes.items():
        term = partial * slope
        known = total.get(key)
        total[key] = term if known is None else known + term


def _first_if(condition: Any, place: int) -> _IfTrue:
    """The partial derivatives of a choice between two operands."""
    return _IfTrue(condition, when=place == 0)


def _power_partial(place: int, result: Any, base: Any, exponent: Any) -> Any:
    return exponent * base ** (exponent - 1.0) if place == 0 else result * np.log(base)


_PARTIALS: dict[int, Callable[..., Any]] = {
    op.ADD: lambda place, _result, _a, _b: 1.0,
    op.SUBTRACT: lambda place, _result, _a, _b: 1.0 if place == 0 else -1.0,
    op.MULTIPLY: lambda place, _result, a, b: b if place == 0 else a,
    op.DIVIDE: lambda place, result, _a, b: 1.0 / b if place == 0 else -(result * (1.0 / b)),
    op.NEGATE: lambda _place, _result, _a: -1.0,
    op.SQRT: lambda _place, result, _a: 0.5 / result,
    op.ABSOLUTE: lambda _place, _result, a: functions.sign(a),
    op.SIGN: lambda _place, _result, _a: 0.0,
    op.MINIMUM: lambda place, _result, a, b: _first_if(functions.less_equal(a, b), place),
    op.MAXIMUM: lambda place, _result, a, b: _first_if(functions.less_equal(b, a), place),
    op.SIN: lambda _place, _result, a: np.cos(a),
    op.COS: lambda _place, _result, a: -np.sin(a),
    op.TAN: lambda _place, result, _a: 1.0 + result * result,
    op.ARCSIN: lambda _place, _result, a: 1.0 / np.sqrt(1.0 - a * a),
    op.ARCCOS: lambda _place, _result, a: -1.0 / np.sqrt(1.0 - a * a),
    op.ARCTAN: lambda _place, _result, a: 1.0 / (1.0 + a * a),
    op.ARCTAN2: lambda place, _result, y, x: (x if place == 0 else -y) / (x * x + y * y),
    op.EXP: lambda _place, result, _a: result,
    op.LOG: lambda _place, _result, a: 1.0 / a,
    op.TANH: lambda _place, result, _a: 1.0 - result * result,
    op.POWER: _power_partial,
    op.LESS: lambda _place, _result, _a, _b: 0.0,
    op.LESS_EQUAL: lambda _place, _result, _a, _b: 0.0,
    op.EQUAL: lambda _place, _result, _a, _b: 0.0,
    op.WHERE: lambda place, _result, condition, _a, _b: 0.0 if place == 0 else _first_if(condition, place - 1),
}
"""d result / d operand at a place, given the place, the result and the operands."""
