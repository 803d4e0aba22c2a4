"""Choices and limits that work alike on floats, arrays, and traced values: what to write instead of a branch.

`np.where`, `np.minimum`, `np.maximum`, `np.sign`, `np.clip` and the comparisons of arrays decide with ``bool()``, which
a traced value does not have. These do the same, element by element with NumPy's broadcasting, and can be traced.
"""

from typing import Any

import numpy as np

from robodyn_ros.compile import operations as op
from robodyn_ros.compile.scalar import Scalar, _binary, _select, _unary


def where(condition: Any, a: Any, b: Any) -> Any:
    """``a`` where ``condition`` is true (not 0), else ``b``; both are computed."""
    return _elementwise(_WHERE, _numeric_where, condition, a, b)


def minimum(a: Any, b: Any) -> Any:
    """The smaller of two numbers; NaN if either is NaN."""
    return _elementwise(_MINIMUM, np.minimum, a, b)


def maximum(a: Any, b: Any) -> Any:
    """The larger of two numbers; NaN if either is NaN."""
    return _elementwise(_MAXIMUM, np.maximum, a, b)


def clip(value: Any, lower: Any, upper: Any) -> Any:
    """``value`` limited to [lower, upper]; NaN stays NaN."""
    return minimum(maximum(value, lower), upper)


def sign(value: Any) -> Any:
    """-1, 0 or 1; NaN stays NaN."""
    return _elementwise(_SIGN, np.sign, value)


def arctan2(y: Any, x: Any) -> Any:
    """Angle of the point (x, y), in [-pi, pi]; ``np.arctan2`` cannot be traced where y is a number and x is not."""
    return _elementwise(_ARCTAN2, np.arctan2, y, x)


def less(a: Any, b: Any) -> Any:
    """1.0 where ``a < b``, else 0.0 (so with NaN)."""
    return _elementwise(_LESS, op.OPERATIONS[op.LESS].evaluate, a, b)


def less_equal(a: Any, b: Any) -> Any:
    """1.0 where ``a <= b``, else 0.0 (so with NaN)."""
    return _elementwise(_LESS_EQUAL, op.OPERATIONS[op.LESS_EQUAL].evaluate, a, b)


def equal(a: Any, b: Any) -> Any:
    """1.0 where ``a == b``, else 0.0 (so with NaN)."""
    return _elementwise(_EQUAL, op.OPERATIONS[op.EQUAL].evaluate, a, b)


def greater(a: Any, b: Any) -> Any:
    """1.0 where ``a > b``, else 0.0 (so with NaN)."""
    return less(b, a)


def greater_equal(a: Any, b: Any) -> Any:
    """1.0 where ``a >= b``, else 0.0 (so with NaN)."""
    return less_equal(b, a)


def _elementwise(traced: Any, numeric: Any, *operands: Any) -> Any:
    """``numeric`` of numbers, ``traced`` element by element as soon as an operand may hold traced values."""
    if any(isinstance(operand, Scalar) or np.asarray(operand).dtype == object for operand in operands):
        return traced(*operands)
    return numeric(*operands)


def _numeric_where(condition: Any, a: Any, b: Any) -> Any:
    return np.where(condition, a, b)[()]


def _where_element(condition: Any, a: Any, b: Any) -> Any:
    if isinstance(condition, Scalar):
        return _select(condition, a, b)
    return a if condition else b


def _two_operands(code: int) -> np.ufunc:
    def element(a: Any, b: Any) -> Any:
        if isinstance(a, Scalar) or isinstance(b, Scalar):
            return _binary(code, a, b)
        return float(op.OPERATIONS[code].evaluate(a, b))

    return np.frompyfunc(element, 2, 1)


def _sign_element(value: Any) -> Any:
    return _unary(op.SIGN, value) if isinstance(value, Scalar) else float(np.sign(value))


_WHERE = np.frompyfunc(_where_element, 3, 1)
_MINIMUM = _two_operands(op.MINIMUM)
_MAXIMUM = _two_operands(op.MAXIMUM)
_ARCTAN2 = _two_operands(op.ARCTAN2)
_LESS = _two_operands(op.LESS)
_LESS_EQUAL = _two_operands(op.LESS_EQUAL)
_EQUAL = _two_operands(op.EQUAL)
_SIGN = np.frompyfunc(_sign_element, 1, 1)
