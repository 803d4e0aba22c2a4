# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Exact derivatives of tapes and functions, by the chain rule on traced values.

Tracing simplifies a derivative and shares its terms with the function; the result compiles like any other tape.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from robodyn_ros.base.errors import CompileError, InputError
from robodyn_ros.compile import operations as op
from robodyn_ros.compile.products import ProductsTape
from robodyn_ros.compile.tape import Tape, trace


def derivative(tape: Tape, wrt: str | Sequence[str], mode: Literal["forward", "reverse"] | None = None
               ) -> Tape:
    """The derivative of a tape's result with respect to some of its inputs.

    Forward mode propagates slopes from the inputs to the result; reverse mode from the elements of the result back to
    the inputs. At a kink (``absolute``, ``minimum``, ``where``, …) the result is the slope on one side.

    Args:
        tape: The tape to differentiate, made by `trace`.
        wrt: Name of the input, or names of several, whose elements are concatenated along one last axis.
        mode: None for forward, or reverse if the result has fewer different elements than the inputs in ``wrt``.

    Returns:
        A tape with the same inputs. If ``wrt`` is a name, its output has the shape ``(*output_shape, *input_shape)``,
        element [i, k] being d result[i] / d input[k]; if it is a sequence, ``(*output_shape, number of elements)``.

    Raises:
        InputError: The tape has no input of that name.
        CompileError: The solution of a quadratic program depends on these inputs.
    """
    if isinstance(tape, ProductsTape):
        tape = trace(tape, tape.inputs)  # the products written out
    names = [wrt] if isinstance(wrt, str) else list(wrt)
    for name in names:
        if name not in tape.inputs:
            raise InputError(f"the tape has no input '{name}' to differentiate with respect to: {list(tape.inputs)}")
    first = dict(zip(tape.inputs, itertools.accumulate(map(math.prod, tape.inputs.values()), initial=0), strict=False))
    places = [first[name] + element for name in names for element in range(math.prod(tape.inputs[name]))]
    columns = {place: column for column, place in enumerate(places)}
    shape = tape.output_shape + (tape.inputs[wrt] if isinstance(wrt, str) else (len(columns),))
    if mode is None:
        mode = "forward" if len(columns) <= len(set(tape.outputs.tolist())) else "reverse"

    def jacobian(*arrays: np.ndarray) -> np.ndarray:
        elements = [element for array in arrays for element in array.reshape(-1)]
        return _slopes(tape, tape.values(elements), columns, mode == "forward").reshape(shape)

    return trace(jacobian, tape.inputs)


def derivative_at(function: Callable[..., Any], arguments: Sequence[np.ndarray], wrt: int = 0) -> np.ndarray:
    """The derivative of a function at given arguments (floats or traced values), for use inside formulas.

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


def _slopes(tape: Tape, values: list[Any], columns: dict[int, int], forward: bool) -> np.ndarray:
    """D result / d inputs; ``columns`` maps positions of input elements to columns."""
    codes, operands, outputs = tape.codes.tolist(), tape.operands.tolist(), tape.outputs.tolist()
    inputs = {entry: columns[used[0]] for entry, (code, used) in enumerate(zip(codes, operands, strict=True))
              if code == op.INPUT and used[0] in columns}
    varies: list[bool] = []  # whether an entry depends on the inputs in ``columns``
    for entry, (code, used) in enumerate(zip(codes, operands, strict=True)):
        varies.append(entry in inputs or code > op.CONSTANT and any(varies[place] for place in used if place >= 0))
    # Nonzero slopes of each entry: by column along the inputs (forward), or by row of the result (reverse).
    slopes: list[dict[int, Any]] = [{} for _ in codes]
    ends = [list(inputs.items()), [(entry, row) for row, entry in enumerate(outputs)]]
    for entry, number in ends[not forward]:
        slopes[entry][number] = 1.0
    for entry in range(len(codes)) if forward else range(len(codes) - 1, -1, -1):
        if codes[entry] <= op.CONSTANT or not varies[entry]:
            continue
        if codes[entry] in op.ROUTINE:
            raise CompileError("derivative: expected a function in which no quadratic program depends on the inputs to "
                               "differentiate by; its solution has kinks, and no derivative here")
        used = [place for place in operands[entry] if place >= 0]
        for operand, partial in zip(used, op.OPERATIONS[codes[entry]].partials, strict=False):
            source, target = (slopes[operand], slopes[entry]) if forward else (slopes[entry], slopes[operand])
            if varies[operand] and source:
                own = partial(values[entry], *(values[place] for place in used))
                for key, slope in source.items() if own.__class__ is not float or own != 0.0 else ():
                    target[key] = target[key] + own * slope if key in target else own * slope
    result = np.zeros((len(outputs), len(columns)), dtype=object)
    for entry, number in ends[forward]:
        for other, slope in slopes[entry].items():
            result[(number, other) if forward else (other, number)] = slope
    return result
