# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A tape as a C99 function: one statement for each operation; it needs <math.h> only."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import Tape
from robodyn_ros.compile import operations as op
from robodyn_ros.compile.loops_in_c import c_functions, identifier
from robodyn_ros.compile.quadratic_program import Sizes, solve_program
from robodyn_ros.compile.records import Shape
from robodyn_ros.description.model import Array

WIDTH = 110
"""Longest line of C, unless a word is longer."""

PRECISIONS = {"double": "", "float": "f"}
"""Types of all numbers, with the suffixes of function names and literals."""

_INFIX = {op.ADD: "+", op.SUBTRACT: "-", op.MULTIPLY: "*", op.DIVIDE: "/"}
_COMPARISONS = {op.LESS: "<", op.LESS_EQUAL: "<=", op.EQUAL: "=="}
_FUNCTIONS = {op.SQRT: "sqrt", op.ABSOLUTE: "fabs", op.SIN: "sin", op.COS: "cos", op.TAN: "tan", op.ARCSIN: "asin",
              op.ARCCOS: "acos", op.ARCTAN: "atan", op.ARCTAN2: "atan2", op.EXP: "exp", op.EXPM1: "expm1",
              op.RINT: "rint", op.LOG: "log", op.TANH: "tanh", op.POWER: "pow"}
_HELPERS = {
    op.MINIMUM: ("minimum", "a, b", "return a < b || a != a ? a : b;"),
    op.MAXIMUM: ("maximum", "a, b", "return a > b || a != a ? a : b;"),
    op.SIGN: ("sign", "a", "return a != a ? a : ({real})((a > 0) - (a < 0));"),
}
"""Functions that C lacks: name, arguments, body. NaN stays NaN, as in Python."""

def check_distinct(names: Iterable[str], what: str) -> None:
    """Check that names are distinct in C.

    Args:
        names: The names.
        what: What they name, for the message.

    Raises:
        InputError: Two names have the same `identifier`.
    """
    known: dict[str, str] = {}
    for name in names:
        other = known.setdefault(identifier(name), name)
        if other != name:
            raise InputError(f"export: {what} '{other}' and '{name}' have the same name in C, '{identifier(name)}'; "
                             "rename one of them")


@dataclass(frozen=True, eq=False)
class CFunction:
    """A function of C.

    Attributes:
        name: Name in C.
        tape: Its operations.
        comment: Lines of the comment above it.
        outputs: Name and shape of each array that it fills, in the order of the tape's flat result; empty: one array
            of the tape's shape, ``result``.
    """

    name: str
    tape: Tape
    comment: tuple[str, ...]
    outputs: Mapping[str, Shape] = field(default_factory=dict)

    def declaration(self, real: str) -> str:
        """Declaration without semicolon; arrays are flat, row by row."""
        arguments = [f"const {real} {identifier(name)}{_size(shape)}" for name, shape in self.tape.inputs.items()]
        arguments += [f"{real} {name}{_size(shape)}" for name, shape in self._outputs().items()]
        return folded(f"void {self.name}({', '.join(arguments)})")

    def helpers(self) -> set[int]:
        """Codes of the operations that need a helper function, see `helper_text`."""
        return set(self.tape.codes.tolist()) & {*_HELPERS, op.QUADRATIC_PROGRAM}

    def definition(self, real: str) -> Iterator[str]:
        """Yield the lines of the definition.

        Args:
            real: One of `PRECISIONS`.

        Raises:
            InputError: The precision is unknown, or an operation has no form in C.
        """
        if real not in PRECISIONS:
            raise InputError(f"precision: expected {' or '.join(PRECISIONS)}, received '{real}'")
        yield self.declaration(real)
        yield "{"
        elements = [f"{identifier(name)}[{i}]" for name, shape in self.tape.inputs.items()
                    for i in range(math.prod(shape))]
        read = self.tape.inputs_read
        first = 0
        for name, shape in self.tape.inputs.items():
            last = first + math.prod(shape)
            if not read.intersection(range(first, last)):
                yield f"    (void){identifier(name)};"
            first = last
        texts: list[str] = []
        results = set(self.tape.outputs.ravel().tolist())
        for entry, (code, used) in enumerate(zip(self.tape.codes.tolist(), self.tape.operands.tolist(), strict=True)):
            if code == op.INPUT and entry not in results:
                texts.append(elements[used[0]])
            elif code == op.INPUT:  # copied, since the result may overwrite the input
                yield f"    const {real} t{entry} = {elements[used[0]]};"
                texts.append(f"t{entry}")
            elif code == op.CONSTANT:
                texts.append(literal(float(self.tape.constants[used[0]]), real))
            elif code in op.ROUTINE:
                texts.append(f"t{entry}")
                yield from self._call(entry, texts, real)
            else:
                yield f"    const {real} t{entry} = {_operation(code, [texts[i] for i in used if i >= 0], real)};"
                texts.append(f"t{entry}")
        places = [f"{name}[{i}]" for name, shape in self._outputs().items() for i in range(math.prod(shape))]
        for place, entry in zip(places, self.tape.outputs.tolist(), strict=True):
            yield f"    {place} = {texts[entry]};"
        yield "}"

    def _call(self, entry: int, texts: list[str], real: str) -> Iterator[str]:
        """Yield the call of a quadratic program, or the use of one of its results; its numbers are double."""
        codes, operands = self.tape.codes, self.tape.operands.tolist()
        if codes[entry] == op.ELEMENT:
            call, place = operands[entry][:2]
            number = int(self.tape.constants[operands[place][0]])
            yield f"    const {real} t{entry} = ({real})results{call}[{number}];"
        elif codes[entry] == op.QUADRATIC_PROGRAM:
            pair, *given = operands[entry]
            sizes = Sizes(*(int(self.tape.constants[operands[number][0]]) for number in given))
            values: list[str] = []
            while codes[pair] == op.ARGUMENTS:
                pair, *both = operands[pair]
                values += [texts[number] for number in reversed(both)]
            yield (f"    double arguments{entry}[{sizes.arguments}], results{entry}[{sizes.results}], "
                   f"work{entry}[{sizes.work}];")
            yield from (f"    arguments{entry}[{place}] = {value};" for place, value in enumerate(reversed(values)))
            yield f"    qp_solve_program({sizes.n}, {sizes.m}, arguments{entry}, results{entry}, work{entry});"

    def _outputs(self) -> Mapping[str, Shape]:
        return self.outputs or {"result": self.tape.output_shape}


def folded(line: str) -> str:
    """Fold a long line of C."""
    indent = line[:len(line) - len(line.lstrip())]
    return textwrap.fill(line, WIDTH, subsequent_indent=indent + "    ", break_long_words=False,
                         break_on_hyphens=False)


def helper_text(code: int, real: str) -> str:
    """Definition of a function that C lacks; quadratic programs are always solved in double."""
    if code == op.QUADRATIC_PROGRAM:
        return "\n\n".join(c_functions(solve_program, "qp_", "double", lambda value: literal(value, "double")))
    name, arguments, body = _HELPERS[code]
    given = ", ".join(f"{real} {argument}" for argument in arguments.split(", "))
    return f"static {real} {name}({given})\n{{\n    {body.format(real=real)}\n}}"


def _size(shape: Shape) -> str:
    return f"[{max(math.prod(shape), 1)}]"


def literal(value: float, real: str) -> str:
    """A number as a literal of C."""
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0.0 else "(-INFINITY)"
    text = repr(float(value)) if real == "double" else str(np.float32(value))
    text += ("" if any(mark in text for mark in ".e") else ".0") + PRECISIONS[real]
    return f"({text})" if value < 0.0 else text


def row(values: Array, real: str) -> str:
    """Numbers as literals of C, separated by commas."""
    return ", ".join(literal(float(value), real) for value in values) or "0"


def _operation(code: int, operands: list[str], real: str) -> str:
    if code in _INFIX:
        return f" {_INFIX[code]} ".join(operands)
    if code == op.NEGATE:
        return f"-{operands[0]}"
    if code in _COMPARISONS:
        return f"({real})({f' {_COMPARISONS[code]} '.join(operands)})"
    if code == op.WHERE:
        return f"{operands[0]} != 0 ? {operands[1]} : {operands[2]}"
    if code in _FUNCTIONS:
        return f"{_FUNCTIONS[code]}{PRECISIONS[real]}({', '.join(operands)})"
    if code in _HELPERS:
        return f"{_HELPERS[code][0]}({', '.join(operands)})"
    raise InputError(f"export: operation '{op.OPERATIONS[code].name}' has no form in C")
