# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Exact derivatives of tapes and functions, by the chain rule on traced values.

Tracing simplifies a derivative and shares its common terms with the function; the result compiles like any other tape.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from robodyn_ros.compile import operations as op
from robodyn_ros.compile.products import ProductsTape
from robodyn_ros.compile.tape import Tape, trace
from robodyn_ros.errors import InputError

Mode = Literal["forward", "reverse"]


def derivative(tape: Tape, wrt: str | Sequence[str], mode: Mode | None = None) -> Tape:
    """The derivative of a tape's result with respect to some of its inputs.

    Forward mode carries the slopes along every input to the result; reverse mode carries the slopes of every element of
    the result back to the inputs. Both give the same numbers, and neither records zeros. At a kink (``absolute``,
    ``minimum``, ``where``, …) the result is the slope on one side.

    Args:
        tape: The tape to differentiate; `trace` makes one of a function.
        wrt: Name of the input, or names of several, whose elements follow each other in one last axis.
        mode: None for forward, unless the result has fewer different elements than the inputs in ``wrt``.

    Returns:
        A tape with the same inputs. If ``wrt`` is a name, its output has the shape ``(*output_shape, *input_shape)``,
        element [i, k] being d result[i] / d input[k]; if it is a sequence, ``(*output_shape, number of elements)``.

    Raises:
        InputError: The tape has no input of a name.
    """
    if isinstance(tape, ProductsTape):
        tape = tape.written_out()
    names = [wrt] if isinstance(wrt, str) else list(wrt)
    for name in names:
        if name not in tape.inputs:
            raise InputError(f"the tape has no input '{name}' to differentiate with respect to: {list(tape.inputs)}")
    columns = _columns(tape, names)
    shape = tape.output_shape + (tape.inputs[wrt] if isinstance(wrt, str) else (len(columns),))
    if mode is None:
        mode = "forward" if len(columns) <= len(set(tape.outputs.tolist())) else "reverse"
    slopes = _forward if mode == "forward" else _reverse

    def jacobian(*arrays: np.ndarray) -> np.ndarray:
        elements = [element for array in arrays for element in array.reshape(-1)]
        return slopes(tape, tape.values(elements), columns).reshape(shape)

    return trace(jacobian, tape.inputs)


def derivative_at(function: Callable[..., Any], arguments: Sequence[np.ndarray], wrt: int = 0) -> np.ndarray:
    """The derivative of a function at given arguments, which may be floats or traced values.

    Formulas can contain it: they can be run, traced, compiled and differentiated like any other.

    Args:
        function: A function that `trace` accepts.
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
    return derivative(trace(function, inputs), f"argument{wrt}")(*arrays)


def _columns(tape: Tape, names: list[str]) -> dict[int, int]:
    """The column of each input element with respect to which is differentiated, by its position."""
    first, position = {}, 0
    for name, shape in tape.inputs.items():
        first[name] = position
        position += math.prod(shape)
    positions = [first[name] + element for name in names for element in range(math.prod(tape.inputs[name]))]
    return {position: column for column, position in enumerate(positions)}


Slopes = dict[int, Any]
"""Slopes other than zero: by column of the derivative in forward mode, by row in reverse mode."""


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
            for operand, partial in zip(operands, op.OPERATIONS[code].partials, strict=False):
                if slopes[operand]:
                    _add(own, slopes[operand], partial(values[entry], *given))
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
        for operand, partial in zip(operands[entry], op.OPERATIONS[codes[entry]].partials, strict=False):
            if relevant[operand]:
                _add(slopes[operand], slopes[entry], partial(values[entry], *given))
        slopes[entry] = {}
    return result


def _add(total: Slopes, slopes: Slopes, partial: Any) -> None:
    """Add ``partial`` times ``slopes`` to ``total``."""
    if partial.__class__ is float and partial == 0.0:
        return
    for key, slope in slopes.items():
        term = partial * slope
        known = total.get(key)
        total[key] = term if known is None else known + term
