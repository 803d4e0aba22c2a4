# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Symbolic scalars: numbers whose arithmetic is recorded instead of computed.

Every operation is simplified and looked up before it is recorded. Products with the zeros and ones of a robot's
constants never reach the tape, and repeated operations reach it once. Constants stay Python floats.

A *fixed* scalar depends only on fixed inputs, which keep their values while the tape runs again and again. It is
simplified and rounded like a constant with its typical value.
"""

import sys
from collections.abc import Callable
from numbers import Real
from typing import Any, NoReturn

import numpy as np

from robodyn_ros.base.errors import CompileError
from robodyn_ros.compile import operations as op
from robodyn_ros.compile.traced_array import NO_CONDITION, NO_NUMBER, record_function, record_ufunc

Key = tuple[Any, ...]
"""Operation code and operand indices; (INPUT, position); (CONSTANT, value)."""


class Recorder:
    """The operations of a trace: each distinct one once, after its operands.

    ``typical`` has, by index, the value of each fixed scalar for the typical values of the fixed inputs. ``refusal`` is
    the reason why a scalar could not become a condition or a float, kept even if the traced function catches the error.
    """

    __slots__ = ("refusal", "scalars", "table", "typical")

    def __init__(self) -> None:
        self.scalars: list[Scalar] = []
        self.table: dict[Key, Scalar] = {}
        self.typical: dict[int, float] = {}
        self.refusal = ""

    def record(self, key: Key) -> "Scalar":
        """The scalar of ``key``; it is recorded if it is new."""
        found = self.table.get(key)
        if found is None:
            found = Scalar(self, len(self.scalars), key)
            self.table[key] = found
            self.scalars.append(found)
            # An operation on fixed scalars and constants is fixed.
            if self.typical and key[0] > op.CONSTANT and key[0] not in op.ROUTINE:
                operands = [self.scalars[index] for index in key[1:]]
                if all(operand.fixed or operand.key[0] == op.CONSTANT for operand in operands):
                    values = [self.typical[each.index] if each.fixed else each.key[1] for each in operands]
                    with np.errstate(all="ignore"):
                        self.typical[found.index] = float(op.apply(key[0], *map(np.float64, values)))
        return found

    def refuse(self, reason: str) -> NoReturn:
        """Raise a CompileError, and keep its reason with the line of the law that caused it."""
        frame = sys._getframe(2)
        self.refusal = f"{reason} ({frame.f_code.co_filename}, line {frame.f_lineno})"
        raise CompileError(reason)

    def clear(self) -> None:
        """Drop all scalars; they refer to the recorder and would stay until the garbage collector runs."""
        self.scalars.clear()
        self.table.clear()

    def apply(self, code: int, operands: tuple[Any, ...]) -> Any:
        """Record an operation on scalars and numbers without simplification, except the sign of odd or even functions.

        Returns NotImplemented if an operand is neither a scalar nor a number.
        """
        indices = []
        for operand in operands:
            if operand.__class__ is Scalar:
                if operand.recorder is not self:
                    _raise_foreign(operand)
                indices.append(operand.index)
            else:
                number = _as_float(operand)
                if number is None:
                    return NotImplemented
                indices.append(self.constant(number).index)
        symmetry = op.OPERATIONS[code].symmetry
        if symmetry:
            inner = self.scalars[indices[0]].key
            if inner[0] == op.NEGATE:
                result = self.record((code, inner[1]))
                return -result if symmetry == "odd" else result
        return self.record((code, *indices))

    def constant(self, value: float) -> "Scalar":
        """The scalar of a constant; -0.0 becomes 0.0."""
        return self.record((op.CONSTANT, value + 0.0))


def _method(code: int, swapped: bool = False) -> Callable[..., Any]:
    """A method that records an operation on the scalar and the other arguments; in reverse order if ``swapped``."""
    if swapped:
        return lambda scalar, other: scalar.recorder.apply(code, (other, scalar))
    return lambda scalar, *others: scalar.recorder.apply(code, (scalar, *others))


def _by_numpy(ufunc: np.ufunc, swapped: bool = False) -> Callable[..., Any]:
    """A method that records a function of NumPy on the scalar and the other arguments."""
    if swapped:
        return lambda scalar, other: ufunc(other, scalar)
    return lambda scalar, *others: ufunc(scalar, *others)


def _with_number(function: Callable[["Scalar", float], Any], scalar: "Scalar", other: Any) -> Any:
    """Apply a function to a scalar and a number if the other operand is a number."""
    if other.__class__ is Scalar:
        _raise_foreign(other)
    value = other if other.__class__ is float else _as_float(other)
    return NotImplemented if value is None else function(scalar, value)


class Scalar:
    """One traced number.

    It supports arithmetic with floats and scalars of the same trace, comparisons (the result is a traced 1.0 or 0.0,
    for `where`), and the methods that NumPy's functions call on the elements of object arrays.
    """

    __slots__ = ("index", "key", "recorder")

    def __init__(self, recorder: Recorder, index: int, key: Key) -> None:
        self.recorder, self.index, self.key = recorder, index, key

    @property
    def fixed(self) -> bool:
        """Whether it depends only on fixed inputs."""
        return self.index in self.recorder.typical

    def __add__(self, other: Any) -> Any:
        recorder = self.recorder
        if other.__class__ is not Scalar or other.recorder is not recorder:
            return _with_number(_offset, self, other)
        if recorder.typical and self.fixed is not other.fixed:
            return _offset(self, other) if other.fixed else _offset(other, self)
        if other.key[0] == op.NEGATE:
            return self - recorder.scalars[other.key[1]]
        if self.key[0] == op.NEGATE:
            return other - recorder.scalars[self.key[1]]
        reverse = recorder.table.get((op.ADD, other.index, self.index))  # the first order used decides the rounding
        return recorder.record((op.ADD, self.index, other.index)) if reverse is None else reverse

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        recorder = self.recorder
        if other.__class__ is not Scalar or other.recorder is not recorder:
            return _with_number(lambda scalar, value: _offset(scalar, -value), self, other)
        if other is self:
            return 0.0
        if recorder.typical and self.fixed is not other.fixed:
            return _offset(self, -other) if other.fixed else _offset(-other, self)
        if other.key[0] == op.NEGATE:
            return self + recorder.scalars[other.key[1]]
        if self.key[0] == op.NEGATE:
            return -(recorder.scalars[self.key[1]] + other)
        reverse = recorder.table.get((op.SUBTRACT, other.index, self.index))
        return recorder.record((op.SUBTRACT, self.index, other.index)) if reverse is None else -reverse

    def __rsub__(self, other: Any) -> Any:
        return _with_number(_offset, -self, other)

    def __mul__(self, other: Any) -> Any:
        recorder = self.recorder
        if other.__class__ is not Scalar or other.recorder is not recorder:
            return _with_number(_scale, self, other)
        if recorder.typical and self.fixed is not other.fixed:
            return _scale(self, other) if other.fixed else _scale(other, self)
        if self.key[0] == op.NEGATE:
            return -(recorder.scalars[self.key[1]] * other)
        if other.key[0] == op.NEGATE:
            return -(self * recorder.scalars[other.key[1]])
        a, b = self.index, other.index
        return recorder.record((op.MULTIPLY, a, b) if a <= b else (op.MULTIPLY, b, a))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        recorder = self.recorder
        if other.__class__ is not Scalar or other.recorder is not recorder:
            return _with_number(_over_number, self, other)
        if recorder.typical and other.fixed and not self.fixed:
            return _scale(self, 1.0 / other)
        if self.key[0] == op.NEGATE:
            return -(recorder.scalars[self.key[1]] / other)
        if other.key[0] == op.NEGATE:
            return -(self / recorder.scalars[other.key[1]])
        return recorder.record((op.DIVIDE, self.index, other.index))

    def __rtruediv__(self, other: Any) -> Any:
        return _with_number(_number_over, self, other)

    def __neg__(self) -> "Scalar":
        if self.key[0] == op.NEGATE:
            return self.recorder.scalars[self.key[1]]
        return self.recorder.record((op.NEGATE, self.index))

    def __pow__(self, exponent: Any) -> Any:
        value = _as_float(exponent)
        if value is None:
            return self.recorder.apply(op.POWER, (self, exponent)) if isinstance(exponent, Scalar) else NotImplemented
        if value == 0.5:
            return self.recorder.apply(op.SQRT, (self,))
        if value.is_integer() and abs(value) <= 64:
            power = _integer_power(self, int(abs(value)))
            return power if value >= 0 else 1.0 / power
        return self.recorder.apply(op.POWER, (self, value))

    __rpow__ = _method(op.POWER, swapped=True)

    __lt__, __gt__ = _method(op.LESS), _method(op.LESS, swapped=True)  # traced truth, 1.0 or 0.0
    __le__, __ge__ = _method(op.LESS_EQUAL), _method(op.LESS_EQUAL, swapped=True)
    __eq__ = _method(op.EQUAL)

    def __ne__(self, other: Any) -> Any:
        equal = self.recorder.apply(op.EQUAL, (self, other))
        return NotImplemented if equal is NotImplemented else 1.0 - equal

    __hash__ = object.__hash__

    # Functions that NumPy looks up by name on the elements of object arrays.
    sqrt, exp, log, tanh = _method(op.SQRT), _method(op.EXP), _method(op.LOG), _method(op.TANH)
    expm1, rint = _method(op.EXPM1), _method(op.RINT)
    sin, cos, tan = _method(op.SIN), _method(op.COS), _method(op.TAN)
    arcsin, arccos, arctan = _method(op.ARCSIN), _method(op.ARCCOS), _method(op.ARCTAN)
    arctan2 = _method(op.ARCTAN2)
    __abs__ = _method(op.ABSOLUTE)

    __mod__, __floordiv__ = (_by_numpy(ufunc) for ufunc in (np.remainder, np.floor_divide))
    __rmod__, __rfloordiv__ = (_by_numpy(ufunc, swapped=True) for ufunc in (np.remainder, np.floor_divide))
    __and__ = __rand__ = _by_numpy(np.logical_and)
    __or__ = __ror__ = _by_numpy(np.logical_or)
    __xor__ = __rxor__ = _by_numpy(np.logical_xor)
    __invert__ = _by_numpy(np.logical_not)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Record a function of NumPy that is applied element by element."""
        return record_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Callable[..., Any], types: Any, arguments: Any, options: Any) -> Any:
        """Record any other function of NumPy."""
        return record_function(function, arguments, options)

    def __round__(self, digits: int | None = None) -> Any:
        """Round as NumPy does."""
        return record_function(np.round, (self, digits or 0), {})

    def conjugate(self) -> "Scalar":
        """The number itself, since it is real."""
        return self

    __pos__ = conjugate

    def __bool__(self) -> NoReturn:
        self.recorder.refuse(NO_CONDITION)

    def __float__(self) -> NoReturn:
        self.recorder.refuse(NO_NUMBER)

    __int__ = __index__ = __float__

    def __format__(self, specification: str) -> str:
        return repr(self)

    def __repr__(self) -> str:
        name, operands = op.OPERATIONS[self.key[0]].name, ", ".join(str(operand) for operand in self.key[1:])
        return f"<traced value {self.index}: {name}({operands})>"


def _over_number(scalar: Scalar, value: float) -> Any:
    recorder = scalar.recorder
    if abs(value) < sys.float_info.min or scalar.index in recorder.typical:  # the reciprocal may be infinite
        return recorder.record((op.DIVIDE, scalar.index, recorder.constant(value).index))
    return _scale(scalar, 1.0 / value)


def _number_over(scalar: Scalar, value: float) -> Any:
    recorder = scalar.recorder
    if value == 0.0:
        return 0.0
    if scalar.key[0] == op.NEGATE:
        return -(value / recorder.scalars[scalar.key[1]])
    return recorder.record((op.DIVIDE, recorder.constant(value).index, scalar.index))


def _as_float(value: Any) -> float | None:
    """``value`` as a float; None if it is not a real number."""
    return float(value) if isinstance(value, (float, Real)) else None  # checking for float first is fast


def _raise_foreign(scalar: Scalar) -> NoReturn:
    raise CompileError(f"{scalar!r} belongs to another trace: a traced value was kept (in a cache, a global or an "
                       "attribute) and used again later. Pass it as an argument instead")


def _leading(recorder: Recorder, key: Key) -> Any:
    """The constant or fixed scalar at the beginning of a sum or product; None if there is none."""
    first = recorder.scalars[key[1]]
    return first.key[1] if first.key[0] == op.CONSTANT else first if key[1] in recorder.typical else None


def _offset(scalar: Scalar, value: Any) -> Any:
    """``scalar + value`` for a value that is a number or fixed."""
    recorder, key, is_number = scalar.recorder, scalar.key, value.__class__ is not Scalar
    if is_number and value == 0.0:
        return scalar
    rounds_now = is_number and scalar.index in recorder.typical
    if key[0] == op.ADD and not rounds_now and (leading := _leading(recorder, key)) is not None:
        return _offset(recorder.scalars[key[2]], leading + value)
    index = recorder.constant(value).index if is_number else value.index
    if key[0] == op.NEGATE and not rounds_now:
        return recorder.record((op.SUBTRACT, index, key[1]))
    return recorder.record((op.ADD, index, scalar.index))


def _scale(scalar: Scalar, value: Any) -> Any:
    """``value * scalar`` for a number or fixed value; stores a positive value and puts the sign outside."""
    recorder, key, is_number = scalar.recorder, scalar.key, value.__class__ is not Scalar
    if is_number and value in (0.0, 1.0):
        return scalar if value else 0.0
    if key[0] == op.NEGATE:
        return _scale(recorder.scalars[key[1]], -value)
    if (value if is_number else recorder.typical[value.index]) < 0.0:
        return -_scale(scalar, -value)
    if key[0] == op.MULTIPLY and scalar.index not in recorder.typical:
        if (leading := _leading(recorder, key)) is not None:
            return _scale(recorder.scalars[key[2]], leading * value)
    index = recorder.constant(value).index if is_number else value.index
    return recorder.record((op.MULTIPLY, index, scalar.index))


def _integer_power(base: Any, exponent: int) -> Any:
    """``base`` to a power of 0 or more, by repeated squaring."""
    result: Any = 1.0
    while exponent:
        if exponent & 1:
            result = base * result
        base = base * base
        exponent >>= 1
    return result
