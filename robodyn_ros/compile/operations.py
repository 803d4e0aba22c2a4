# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The operations of a tape, each declared once, and functions that formulas use instead of a branch.

Codes are plain integers: tracing compares and hashes one per operation, and an Enum would cost more than the operation
itself. The functions at the end replace `np.where`, `np.minimum` and the like, which call ``bool()`` and so cannot take
traced values. They work element by element, with broadcasting, on floats, arrays and traced values.
"""

import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from robodyn_ros.base.errors import CompileError
from robodyn_ros.compile import quadratic_program

Function = Callable[..., Any]


class Operation(NamedTuple):
    """One row of the table.

    Attributes:
        name: NumPy's name, where NumPy has the function.
        operand_count: Number of operands.
        evaluate: The operation on floats and float arrays.
        partials: d result / d operand for each operand, as functions of result and operands; empty if all are 0.
        lowering: Kind of implementation; a function of the C library is called for one number after the other.
        llvm: Name of the instruction, predicate, intrinsic or library function.
        record: The operation on traced values and floats; None if it is recorded unchanged.
        symmetry: ``odd`` for f(-x) = -f(x), ``even`` for f(-x) = f(x).
        negated: The operand that is negated for LLVM, or None.
    """

    name: str
    operand_count: int
    evaluate: Function
    partials: tuple[Function, ...] = ()
    lowering: Literal["instruction", "comparison", "intrinsic", "library", "routine", "special"] = "special"
    llvm: str = ""
    record: Function | None = None
    symmetry: Literal["", "odd", "even"] = ""
    negated: int | None = None


OPERATIONS: list[Operation] = []
"""The rows of the table; an operation's code is its position."""


def _operation(name: str, operand_count: int, evaluate: Function, *partials: Function, **columns: Any) -> int:
    """Add a row and return its code."""
    OPERATIONS.append(Operation(name, operand_count, evaluate, partials, **columns))
    return len(OPERATIONS) - 1


def apply(code: int, *operands: Any) -> Any:
    """Apply an operation to floats or float arrays; record it if an operand is traced and the others are numbers."""
    operation = OPERATIONS[code]
    for operand in operands:
        recorder = getattr(operand, "recorder", None)
        if recorder is not None:
            return operation.record(*operands) if operation.record else _recorded(recorder, code, operands)
    value = operation.evaluate(*operands)
    return float(value) if value.__class__ is np.float64 else value


def _recorded(recorder: Any, code: int, operands: tuple[Any, ...]) -> Any:
    """Record an operation unchanged."""
    result = recorder.apply(code, operands)
    if result is NotImplemented:
        types = " and ".join(type(operand).__name__ for operand in operands)
        raise CompileError(f"{OPERATIONS[code].name}: expected numbers or traced values, received {types}")
    return result


class _OnBranch:
    """The slope 1 on the chosen branch and 0 on the other; selecting drops a NaN slope of the branch not chosen."""

    def __init__(self, condition: Any, *, when: bool) -> None:
        self._condition, self._when = condition, when

    def __mul__(self, slope: Any) -> Any:
        on_true, on_false = (slope, 0.0) if self._when else (0.0, slope)
        return apply(WHERE, self._condition, on_true, on_false)


def _record_where(condition: Any, a: Any, b: Any) -> Any:
    """Record a choice, unless it can be made while tracing."""
    if not hasattr(condition, "recorder"):
        return a if condition else b
    return a if a is b else _recorded(condition.recorder, WHERE, (condition, a, b))


def _sum_of_product(name: str, evaluate: Function, *partials: Function, negated: int | None = None) -> int:
    return _operation(name, 3, evaluate, *partials, record=evaluate, negated=negated, lowering="intrinsic",
                      llvm="llvm.fmuladd")


def _record_arguments(before: Any, *pair: Any) -> Any:
    """Record a pair of arguments after the previous ones, which may still be pairs of numbers."""
    recorder = next(each.recorder for each in (before, *pair) if hasattr(each, "recorder"))
    pairs = [pair]
    while isinstance(before, tuple):
        before, *earlier = before
        pairs.append(tuple(earlier))
    for each in reversed(pairs):
        before = _recorded(recorder, ARGUMENTS, (before, *each))
    return before


def _solve_programs(arguments: Any, n: float, m: float) -> np.ndarray:
    """Results of quadratic programs, shape (number of results, ...), for arguments that are numbers or arrays."""
    values: list[Any] = []
    while isinstance(arguments, tuple):
        arguments, *pair = arguments
        values += reversed(pair)
    return quadratic_program.solve_flat(int(n), int(m), np.stack(np.broadcast_arrays(*values[::-1])))


INPUT, CONSTANT = _operation("input", 0, float), _operation("constant", 0, float)  # read, not computed
ADD = _operation("add", 2, np.add, lambda _, a, b: 1.0, lambda _, a, b: 1.0,
                 lowering="instruction", llvm="fadd", record=operator.add)
SUBTRACT = _operation("subtract", 2, np.subtract, lambda _, a, b: 1.0, lambda _, a, b: -1.0,
                      lowering="instruction", llvm="fsub", record=operator.sub)
MULTIPLY = _operation("multiply", 2, np.multiply, lambda _, a, b: b, lambda _, a, b: a,
                      lowering="instruction", llvm="fmul", record=operator.mul)
DIVIDE = _operation("divide", 2, np.divide, lambda _, a, b: 1.0 / b, lambda result, a, b: -(result * (1.0 / b)),
                    lowering="instruction", llvm="fdiv", record=operator.truediv)
NEGATE = _operation("negate", 1, np.negative, lambda _, a: -1.0,
                    lowering="instruction", llvm="fneg", record=operator.neg)
SIGN = _operation("sign", 1, np.sign, symmetry="odd")
LESS = _operation("less", 2, lambda a, b: np.less(a, b) * 1.0, lowering="comparison", llvm="olt")
LESS_EQUAL = _operation("less_equal", 2, lambda a, b: np.less_equal(a, b) * 1.0, lowering="comparison", llvm="ole")
EQUAL = _operation("equal", 2, lambda a, b: np.equal(a, b) * 1.0, lowering="comparison", llvm="oeq")
SQRT = _operation("sqrt", 1, np.sqrt, lambda result, a: 0.5 / result, lowering="intrinsic", llvm="llvm.sqrt")
ABSOLUTE = _operation("absolute", 1, np.absolute, lambda _, a: apply(SIGN, a),
                      lowering="intrinsic", llvm="llvm.fabs", symmetry="even")
MINIMUM = _operation("minimum", 2, np.minimum, lambda _, a, b: _OnBranch(apply(LESS_EQUAL, a, b), when=True),
                     lambda _, a, b: _OnBranch(apply(LESS_EQUAL, a, b), when=False),
                     lowering="intrinsic", llvm="llvm.minimum")
MAXIMUM = _operation("maximum", 2, np.maximum, lambda _, a, b: _OnBranch(apply(LESS_EQUAL, b, a), when=True),
                     lambda _, a, b: _OnBranch(apply(LESS_EQUAL, b, a), when=False),
                     lowering="intrinsic", llvm="llvm.maximum")
SIN = _operation("sin", 1, np.sin, lambda _, a: np.cos(a), symmetry="odd")
COS = _operation("cos", 1, np.cos, lambda _, a: -np.sin(a), symmetry="even")
TAN = _operation("tan", 1, np.tan, lambda result, a: 1.0 + result * result,
                 lowering="library", llvm="tan", symmetry="odd")
ARCSIN = _operation("arcsin", 1, np.arcsin, lambda _, a: 1.0 / np.sqrt(1.0 - a * a),
                    lowering="library", llvm="asin", symmetry="odd")
ARCCOS = _operation("arccos", 1, np.arccos, lambda _, a: -1.0 / np.sqrt(1.0 - a * a), lowering="library", llvm="acos")
ARCTAN = _operation("arctan", 1, np.arctan, lambda _, a: 1.0 / (1.0 + a * a),
                    lowering="library", llvm="atan", symmetry="odd")
ARCTAN2 = _operation("arctan2", 2, np.arctan2, lambda _, y, x: x / (x * x + y * y),
                     lambda _, y, x: -y / (x * x + y * y), lowering="library", llvm="atan2")
EXP = _operation("exp", 1, np.exp, lambda result, a: result, lowering="library", llvm="exp")
EXPM1 = _operation("expm1", 1, np.expm1, lambda result, a: result + 1.0, lowering="library", llvm="expm1")
RINT = _operation("rint", 1, np.rint, lowering="intrinsic", llvm="llvm.rint", symmetry="odd")
LOG = _operation("log", 1, np.log, lambda _, a: 1.0 / a, lowering="library", llvm="log")
TANH = _operation("tanh", 1, np.tanh, lambda result, a: 1.0 - result * result,
                  lowering="library", llvm="tanh", symmetry="odd")
POWER = _operation("power", 2, np.power, lambda _, base, exponent: exponent * base ** (exponent - 1.0),
                   lambda result, base, exponent: result * np.log(base),
                   lowering="library", llvm="pow", record=operator.pow)
WHERE = _operation("where", 3, lambda condition, a, b: np.asarray(np.where(np.not_equal(condition, 0.0), a, b))[()],
                   lambda _, condition, a, b: 0.0,
                   lambda _, condition, a, b: _OnBranch(condition, when=True),
                   lambda _, condition, a, b: _OnBranch(condition, when=False), record=_record_where)
MULTIPLY_ADD = _sum_of_product("multiply_add", lambda a, b, c: a * b + c,
                               lambda _, a, b, c: b, lambda _, a, b, c: a, lambda _, a, b, c: 1.0)
MULTIPLY_SUBTRACT = _sum_of_product("multiply_subtract", lambda a, b, c: a * b - c, lambda _, a, b, c: b,
                                    lambda _, a, b, c: a, lambda _, a, b, c: -1.0, negated=2)
SUBTRACT_PRODUCT = _sum_of_product("subtract_product", lambda a, b, c: c - a * b, lambda _, a, b, c: -b,
                                   lambda _, a, b, c: -a, lambda _, a, b, c: 1.0, negated=0)
"""Sums of a product, never traced but made by `Tape.contracted`. Each is rounded once if the processor can."""

ARGUMENTS = _operation("arguments", 3, lambda before, a, b: (before, a, b), lowering="routine",
                       record=_record_arguments)
QUADRATIC_PROGRAM = _operation("quadratic_program", 3, _solve_programs, lowering="routine")
ELEMENT = _operation("element", 2, lambda results, place: results[int(place)], lowering="routine")
ROUTINE = frozenset((ARGUMENTS, QUADRATIC_PROGRAM, ELEMENT))
"""A call of an algorithm with loops: its arguments, pair by pair, each linked to those before; the call, with the
numbers of variables and rows; an element of its results. Only the element is a number."""

_ELEMENTWISE = {code: np.frompyfunc(partial(apply, code), OPERATIONS[code].operand_count, 1)
                for code in (SIGN, MINIMUM, MAXIMUM, ARCTAN2, LESS, LESS_EQUAL, EQUAL, WHERE)}


def where(condition: Any, a: Any, b: Any) -> Any:
    """``a`` where ``condition`` is true (not 0), else ``b``; both are computed."""
    return _elementwise(WHERE, condition, a, b)


def minimum(a: Any, b: Any) -> Any:
    """The smaller of two numbers; NaN if either is NaN."""
    return _elementwise(MINIMUM, a, b)


def maximum(a: Any, b: Any) -> Any:
    """The larger of two numbers; NaN if either is NaN."""
    return _elementwise(MAXIMUM, a, b)


def clip(value: Any, lower: Any, upper: Any) -> Any:
    """``value`` limited to [lower, upper]; NaN stays NaN."""
    return minimum(maximum(value, lower), upper)


def sign(value: Any) -> Any:
    """-1, 0 or 1; NaN stays NaN."""
    return _elementwise(SIGN, value)


def exp(value: Any) -> Any:
    """The exponential; numbers are rounded as in compiled code."""
    return _by_the_c_library(EXP, math.exp, value)


def expm1(value: Any) -> Any:
    """exp(value) - 1, accurate for small values; numbers are rounded as in compiled code."""
    return _by_the_c_library(EXPM1, math.expm1, value)


def arctan2(y: Any, x: Any) -> Any:
    """Angle of the point (x, y), in [-pi, pi]."""
    return _elementwise(ARCTAN2, y, x)


def less(a: Any, b: Any) -> Any:
    """1.0 where ``a < b``, else 0.0; 0.0 for NaN."""
    return _elementwise(LESS, a, b)


def less_equal(a: Any, b: Any) -> Any:
    """1.0 where ``a <= b``, else 0.0; 0.0 for NaN."""
    return _elementwise(LESS_EQUAL, a, b)


def equal(a: Any, b: Any) -> Any:
    """1.0 where ``a == b``, else 0.0; 0.0 for NaN."""
    return _elementwise(EQUAL, a, b)


def greater(a: Any, b: Any) -> Any:
    """1.0 where ``a > b``, else 0.0; 0.0 for NaN."""
    return less(b, a)


def greater_equal(a: Any, b: Any) -> Any:
    """1.0 where ``a >= b``, else 0.0; 0.0 for NaN."""
    return less_equal(b, a)


def by_element(function: Callable[..., tuple[Any, ...]], *arrays: Any) -> tuple[Any, ...]:
    """Call a function of numbers for each element of some arrays, which may be traced.

    A formula on whole arrays keeps the intermediate values of all elements, more than a processor has registers.

    Args:
        function: Takes one number per array, and returns numbers.
        arrays: Arrays; they are broadcast to one shape.

    Returns:
        Arrays of this shape, one for each number that the function returns.
    """
    columns = np.broadcast_arrays(*(np.asarray(array) for array in arrays))
    rows = [function(*row) for row in zip(*(column.ravel() for column in columns), strict=True)]
    return tuple(np.array(column).reshape(columns[0].shape) for column in zip(*rows, strict=True))


def _by_the_c_library(code: int, function: Function, value: Any) -> Any:
    """Apply a function element by element, to numbers with the C library: NumPy may differ in the last bit."""
    def of_one(element: Any) -> Any:
        try:
            return apply(code, element) if hasattr(element, "recorder") else float(function(element))
        except OverflowError:
            return math.inf

    results = np.frompyfunc(of_one, 1, 1)(np.asarray(value, dtype=object))
    is_traced = any(hasattr(result, "recorder") for result in np.ravel(results))
    return results if is_traced else np.asarray(results, dtype=float)[()]


def _elementwise(code: int, *operands: Any) -> Any:
    """Apply an operation to arrays of numbers, or element by element if an operand may hold traced values."""
    if any(hasattr(operand, "recorder") or np.asarray(operand).dtype == object for operand in operands):
        return _ELEMENTWISE[code](*operands)
    return OPERATIONS[code].evaluate(*operands)
