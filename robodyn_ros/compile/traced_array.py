# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""NumPy's functions on traced values: they record operations where NumPy would compute.

A traced function receives arrays of class `TracedArray`. Their elements, and single traced values, are `Scalar`. NumPy
passes every function call on them to this module. It either has a form of the function without branches, or lets
NumPy's own implementation run on objects, or raises a `CompileError` that names an alternative.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NoReturn

import numpy as np

from robodyn_ros.base.errors import CompileError
from robodyn_ros.compile import operations as op
from robodyn_ros.compile import small_matrices

Function = Callable[..., Any]


MAX_WEIGHTS = 25_000
"""Number of products of constants with traced values above which code without loops is slower than NumPy."""

TOO_LARGE = ("it multiplies {} constants or parameters with traced values, as large networks do. From 25,000 on a tick "
             "takes longer as code without loops than in NumPy, and compiling takes seconds")

NO_CONDITION = (
    "a traced value was used as a condition (if, while, and, or, not, min, max, a chain such as a < b < c): its value "
    "is not known while tracing. Write np.where(condition, a, b), np.minimum, np.maximum, np.clip, np.sign, and "
    "(a < b) & (b < c), or branch on something that is constant for the robot"
)

NO_NUMBER = (
    "a traced value was turned into a float or an int, as happens when it is stored in a float array that was made "
    "elsewhere, used as an index, or given to the math module: its value is not known while tracing. Make the array "
    "where it is filled (np.zeros, .copy()); what lasts until the next tick belongs in the law's memory. Write np.sin, "
    "np.sqrt, np.floor in the place of math.sin, int(), and np.where for a choice"
)


class TracedArray(np.ndarray):
    """An array of traced values and numbers, of dtype object, on which NumPy's functions record their operations."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Record an elementwise function."""
        return record_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Function, types: Any, arguments: Any, options: Any) -> Any:
        """Record any other function."""
        return record_function(function, arguments, options)

    def __setitem__(self, index: Any, value: Any) -> None:
        """Store values; if the index is a traced condition, where it holds."""
        if isinstance(index, TracedArray) and index.dtype == object:
            condition = index.reshape(index.shape + (1,) * (self.ndim - index.ndim))
            index, value = ..., np.where(condition, value, self)
        super().__setitem__(index, value)

    def __bool__(self) -> NoReturn:
        raise CompileError(NO_CONDITION)

    def astype(self, dtype: Any, *arguments: Any, **options: Any) -> Any:
        """Copy; traced values are already floats, and can only become truth values."""
        if np.dtype(dtype) == bool:
            return np.not_equal(self, 0.0)
        if np.issubdtype(dtype, np.integer) and any(map(is_traced, self.flat)):
            raise CompileError(NO_NUMBER)
        return super().astype(object if np.issubdtype(dtype, np.floating) else dtype, *arguments, **options)


def is_traced(value: Any) -> bool:
    """Whether a value is a traced number."""
    return hasattr(value, "recorder")


def traced(value: Any) -> Any:
    """Turn an object array into a `TracedArray` and an array without axes into its value; return others unchanged."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        return value.view(TracedArray) if value.ndim else value[()]
    if isinstance(value, tuple) and type(value) is tuple:
        return tuple(map(traced, value))
    return value


def record_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """Record ``ufunc.method(*inputs, **options)`` on traced values."""
    given = [_plain(each) for each in inputs]
    out = options.pop("out", None)
    if options.get("dtype") is not None and np.issubdtype(options["dtype"], np.floating):
        del options["dtype"]
    own = _UFUNCS.get(ufunc.__name__, ufunc)
    if ufunc is np.matmul:
        _check_size(given)
    if own is not ufunc and method == "reduce":
        if ufunc in (np.logical_and, np.logical_or):
            given[0] = _UFUNCS["not_equal"](given[0], 0.0)
        result = _reduced(own, *given, **options)
    else:
        if "where" in options and ufunc in _NEUTRAL:
            options.setdefault("initial", _NEUTRAL[ufunc])
        result = getattr(own, method)(*given, **options)
    if out is None:
        is_mask = ufunc.__name__ in _TRUTHS and isinstance(result, np.ndarray) and not any(map(is_traced, result.flat))
        return result.astype(bool) if is_mask else traced(result)  # a constant mask may index arrays
    if out[0].dtype != object:
        raise CompileError("a traced value was stored in a float array that was made outside the law: make the array "
                           "inside, with np.zeros or .copy(), or write a = a + b in the place of a += b")
    out[0][...] = result
    return out[0]


_NEUTRAL: dict[np.ufunc, float] = {np.add: 0.0, np.multiply: 1.0}


def _reduced(ufunc: np.ufunc, array: Any, axis: Any = 0, dtype: Any = None, keepdims: bool = False, **options: Any
             ) -> Any:
    """The method ``reduce`` of NumPy's functions, over one axis after the other."""
    axes = range(np.ndim(array)) if axis is None else (axis,) if isinstance(axis, int) else axis
    for each in axes:
        array = ufunc.reduce(array, axis=each, keepdims=True, **options)
    return array if keepdims else np.squeeze(array, tuple(axes))[()]


def record_function(function: Function, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """Record one of NumPy's functions on traced values."""
    own = _FUNCTIONS.get(function)
    if function in _PRODUCTS:
        _check_size(arguments)
    if function in _REFUSED:
        if not any(_has_traced(each) for each in arguments):
            return function(*map(_as_floats, arguments), **options)
        raise CompileError(f"{_name(function)} of traced values cannot be compiled. {_REFUSED[function]}")
    if own is not None:
        return traced(own(*map(_objects, arguments), **options))
    return traced(np.ndarray.__array_function__(_ANY, function, (np.ndarray,), tuple(map(_array, arguments)), options))


def _name(function: Function) -> str:
    return f"{function.__module__.replace('numpy', 'np')}.{function.__name__}"


@contextmanager
def limited_weights(example: np.ndarray, parameters: np.ndarray) -> Iterator[None]:
    """Raise an error if the code traced inside has too many products with constants or parameters.

    Args:
        example: An array of traced values, or of numbers if nothing is traced.
        parameters: Traced parameters.

    Raises:
        CompileError: There are more than `MAX_WEIGHTS`.
    """
    recorder = getattr(example.flat[0], "recorder", None)
    begin = 0 if recorder is None else len(recorder.scalars)
    yield
    if recorder is None or len(recorder.scalars) - begin <= MAX_WEIGHTS:
        return
    weights = {element.index for element in parameters.flat if is_traced(element)}
    weights |= {scalar.index for scalar in recorder.scalars if scalar.key[0] == op.CONSTANT}
    count = sum(key[0] == op.MULTIPLY and (key[1] in weights or key[2] in weights)
                for key in (scalar.key for scalar in recorder.scalars[begin:]))
    if count > MAX_WEIGHTS:
        raise CompileError(TOO_LARGE.format(f"{count:,}"))


def _check_size(factors: Sequence[Any]) -> None:
    """Raise an error before tracing a product that takes long and would be too large in the end."""
    largest = max((factor.size for factor in factors if isinstance(factor, np.ndarray)), default=0)
    if largest > MAX_WEIGHTS:
        raise CompileError(TOO_LARGE.format(f"{largest:,}"))


def _plain(value: Any) -> Any:
    """Convert to NumPy's own arrays, so that its functions run on them directly."""
    if isinstance(value, TracedArray):
        return value.view(np.ndarray)
    return _zero_dimensional(value) if is_traced(value) else value


def _array(value: Any) -> Any:
    return _zero_dimensional(value).view(TracedArray) if is_traced(value) else value


def _objects(value: Any) -> Any:
    return value.astype(object).view(TracedArray) if isinstance(value, np.ndarray) else _array(value)


def _has_traced(value: Any) -> bool:
    return any(map(is_traced, value.flat)) if isinstance(value, TracedArray) else is_traced(value)


def _as_floats(value: Any) -> Any:
    return np.asarray(value, dtype=float) if isinstance(value, TracedArray) else value


def _zero_dimensional(value: Any) -> np.ndarray:
    array = np.empty((), dtype=object)
    array[()] = value
    return array


_ANY: Any = np.empty((), dtype=object).view(TracedArray)


# Elementwise functions of numbers and traced values.

_MAX_FLOAT = sys.float_info.max
_abs, _sqrt, _exp, _expm1, _log, _rint, _less, _less_equal, _equal, _where, _maximum, _minimum = (
    partial(op.apply, code) for code in (op.ABSOLUTE, op.SQRT, op.EXP, op.EXPM1, op.LOG, op.RINT, op.LESS,
                                         op.LESS_EQUAL, op.EQUAL, op.WHERE, op.MAXIMUM, op.MINIMUM))


def _different(a: Any, b: Any) -> Any:
    return 1.0 - _equal(a, b)


def _floor(a: Any) -> Any:
    nearest = _rint(a)
    return nearest - _less(a, nearest)


def _ceil(a: Any) -> Any:
    return -_floor(-a)


def _trunc(a: Any) -> Any:
    return _where(_less(a, 0.0), _ceil(a), _floor(a))


def _remainder(a: Any, b: Any) -> Any:
    """With the sign of ``b``. a / b may be rounded across an integer; the multiple of ``b`` is then corrected."""
    rest = a - _rint(op.apply(op.DIVIDE, a, b)) * b
    return _where(_less(_where(_less(b, 0.0), -rest, rest), 0.0), rest + b, rest)


def _fmod(a: Any, b: Any) -> Any:
    rest = _remainder(_abs(a), _abs(b))
    return _where(_less(a, 0.0), -rest, rest)


def _log1p(a: Any) -> Any:
    """With one step of Newton's method, since log(1 + a) loses the digits of a small ``a``."""
    first = _log(1.0 + a)
    grown = _expm1(first)
    return first - op.apply(op.DIVIDE, grown - a, grown + 1.0)


def _sinh(a: Any) -> Any:
    grown = _expm1(a)
    return 0.5 * (grown + op.apply(op.DIVIDE, grown, grown + 1.0))


def _arcsinh(a: Any) -> Any:
    size = _abs(a)
    result = _log1p(size + size * size / (1.0 + _sqrt(1.0 + size * size)))
    return _where(_less(a, 0.0), -result, result)


def _truth(a: Any) -> Any:
    return _different(a, 0.0)


def _and(a: Any, b: Any) -> Any:
    return _where(a, _truth(b), 0.0)


def _or(a: Any, b: Any) -> Any:
    return _where(a, 1.0, _truth(b))


def _exclusive_or(a: Any, b: Any) -> Any:
    return _different(_truth(a), _truth(b))


def _not(a: Any) -> Any:
    return _equal(a, 0.0)


def _missing(a: Any) -> Any:
    return _different(a, a)


def _power(base: Any, exponent: Any) -> Any:
    return base**exponent if is_traced(base) or is_traced(exponent) else op.apply(op.POWER, base, exponent)


def _clip(a: Any, lower: Any, upper: Any) -> Any:
    return _minimum(_maximum(a, lower), upper)


_NAMED = (op.SIGN, op.SIN, op.COS, op.TAN, op.ARCSIN, op.ARCCOS, op.ARCTAN, op.ARCTAN2, op.TANH)

_ELEMENTWISE: dict[str, Function] = {
    **{op.OPERATIONS[code].name: partial(op.apply, code) for code in _NAMED},
    "sqrt": _sqrt, "exp": _exp, "expm1": _expm1, "log": _log, "rint": _rint, "absolute": _abs, "fabs": _abs,
    "less": _less, "less_equal": _less_equal, "equal": _equal, "not_equal": _different,
    "greater": lambda a, b: _less(b, a), "greater_equal": lambda a, b: _less_equal(b, a),
    "maximum": _maximum, "minimum": _minimum, "clip": _clip,
    "fmax": lambda a, b: _where(_missing(a), b, _where(_missing(b), a, _maximum(a, b))),
    "fmin": lambda a, b: _where(_missing(a), b, _where(_missing(b), a, _minimum(a, b))),
    "floor": _floor, "ceil": _ceil, "trunc": _trunc, "remainder": _remainder, "fmod": _fmod,
    "floor_divide": lambda a, b: _rint(op.apply(op.DIVIDE, a - _remainder(a, b), b)),
    "true_divide": partial(op.apply, op.DIVIDE), "reciprocal": partial(op.apply, op.DIVIDE, 1.0),
    "power": _power, "float_power": _power, "square": lambda a: a * a,
    "cbrt": lambda a: op.apply(op.SIGN, a) * _power(_abs(a), 1.0 / 3.0), "hypot": lambda a, b: _sqrt(a * a + b * b),
    "log2": lambda a: _log(a) / math.log(2.0), "log10": lambda a: _log(a) / math.log(10.0), "log1p": _log1p,
    "exp2": lambda a: _exp(a * math.log(2.0)), "sinh": _sinh, "cosh": lambda a: 0.5 * (_exp(a) + _exp(-a)),
    "arcsinh": _arcsinh, "arccosh": lambda a: _log(a + _sqrt(a * a - 1.0)),
    "arctanh": lambda a: 0.5 * _log1p(op.apply(op.DIVIDE, 2.0 * a, 1.0 - a)),
    "deg2rad": lambda a: a * (math.pi / 180.0), "radians": lambda a: a * (math.pi / 180.0),
    "rad2deg": lambda a: a * (180.0 / math.pi), "degrees": lambda a: a * (180.0 / math.pi),
    "copysign": lambda a, b: _where(_less(b, 0.0), -_abs(a), _abs(a)), "signbit": lambda a: _less(a, 0.0),
    "heaviside": lambda a, middle: _where(_equal(a, 0.0), middle, _less_equal(0.0, a)),
    "isnan": _missing, "isfinite": lambda a: _less_equal(_abs(a), _MAX_FLOAT),
    "isinf": lambda a: _less(_MAX_FLOAT, _abs(a)),
    "logical_and": _and, "logical_or": _or, "logical_xor": _exclusive_or, "logical_not": _not,
    "bitwise_and": _and, "bitwise_or": _or, "bitwise_xor": _exclusive_or, "invert": _not,
}

_UFUNCS: dict[str, Any] = {name: np.frompyfunc(function, 3 if name == "clip" else getattr(np, name).nin, 1)
           for name, function in _ELEMENTWISE.items()}
"""NumPy's functions on objects, by name; NumPy's other ufuncs call Python's operators."""

_TRUTHS = {"less", "less_equal", "equal", "not_equal", "greater", "greater_equal", "isnan", "isfinite", "isinf",
           "signbit", "logical_and", "logical_or", "logical_xor", "logical_not", "bitwise_and", "bitwise_or",
           "bitwise_xor", "invert"}


# Other functions.

_choose: Function = np.frompyfunc(_where, 3, 1)


def _where_function(condition: Any, *branches: Any) -> Any:
    if len(branches) != 2:
        raise CompileError("np.where(condition) of a traced condition would return as many positions as the values "
                           "decide. Write np.where(condition, a, b), which chooses element by element")
    return _choose(*map(_plain, (condition, *branches)))


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: A002  (NumPy's names)
    array = np.asanyarray(x)
    axes = tuple(range(array.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    if ord is None or (len(axes) == 1 and ord == 2) or (len(axes) == 2 and ord == "fro"):
        return np.sqrt(np.sum(array * array, axis=axes, keepdims=keepdims))
    size = np.absolute(array)
    if len(axes) == 1 and ord in (np.inf, -np.inf):
        return (np.max if ord > 0 else np.min)(size, axis=axes, keepdims=keepdims)
    if len(axes) == 1 and isinstance(ord, int | float):
        if ord == 0:
            return np.sum(np.not_equal(array, 0.0), axis=axes, keepdims=keepdims)
        total = np.sum(size if ord == 1 else size**ord, axis=axes, keepdims=keepdims)
        return total if ord == 1 else total ** (1.0 / ord)
    if len(axes) == 2 and ord in (1, -1, np.inf, -np.inf):
        summed, other = axes if abs(ord) == 1 else axes[::-1]
        sums = np.sum(size, axis=summed, keepdims=True)
        result = (np.max if ord > 0 else np.min)(sums, axis=other, keepdims=True)
        return result if keepdims else np.squeeze(result, axes)
    raise CompileError(f"np.linalg.norm of traced values with ord={ord!r} cannot be compiled. Of a matrix, 'fro', 1 "
                       "and inf are computed without singular values")


def _interpolated(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    if period is not None:
        raise CompileError("np.interp of traced values with a period cannot be compiled. Give x % period and points "
                           "that go round")
    xp, fp = np.asanyarray(xp), np.asanyarray(fp)
    x = np.asanyarray(x)
    result: Any = np.full(x.shape, fp[0], dtype=object).view(TracedArray)
    for k in range(len(xp) - 1):
        inside = fp[k] + (fp[k + 1] - fp[k]) / (xp[k + 1] - xp[k]) * (x - xp[k])
        result = np.where(x >= xp[k], inside, result)
    result = np.where(x >= xp[-1], fp[-1], result)
    result = result if left is None else np.where(x < xp[0], left, result)
    return result if right is None else np.where(x > xp[-1], right, result)


def _nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    most, least = _MAX_FLOAT if posinf is None else posinf, -_MAX_FLOAT if neginf is None else neginf
    return np.where(np.isnan(x), nan, np.where(x > _MAX_FLOAT, most, np.where(x < -_MAX_FLOAT, least, x)))


def _einsum(*operands: Any, **options: Any) -> Any:
    return np.einsum(*map(_plain, operands), **options)


def _select(conditions: Any, choices: Any, default: Any = 0.0) -> Any:
    result = default
    for condition, choice in reversed(list(zip(conditions, choices, strict=True))):
        result = _where_function(condition, choice, result)
    return result


def _sinc(x: Any) -> Any:
    angle = np.where(np.equal(x, 0.0), 1e-20, np.pi * x)
    return np.sin(angle) / angle


def _count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return np.sum(np.not_equal(a, 0.0), axis=axis, keepdims=keepdims)


_FUNCTIONS: dict[Function, Function] = {
    np.select: _select, np.sinc: _sinc, np.count_nonzero: _count_nonzero,
    np.where: _where_function, np.linalg.norm: _norm, np.interp: _interpolated, np.nan_to_num: _nan_to_num,
    np.einsum: _einsum, np.linalg.solve: small_matrices.solve, np.linalg.inv: small_matrices.inverse,
    np.linalg.det: small_matrices.determinant, np.linalg.cholesky: small_matrices.cholesky,
    np.array_equal: lambda a, b: np.all(np.equal(a, b)),
    np.isclose: lambda a, b, rtol=1e-5, atol=1e-8: np.absolute(a - b) <= atol + rtol * np.absolute(b),
    np.allclose: lambda a, b, rtol=1e-5, atol=1e-8: np.all(np.isclose(a, b, rtol, atol)),
}

_PRODUCTS = np.dot, np.inner, np.tensordot, np.einsum

_DECOMPOSED = ("Its algorithm repeats until values have converged. np.linalg.solve, inv, det, cholesky and norm are "
               "compiled")
_LEAST_SQUARES = ("Write J.T @ np.linalg.solve(J @ J.T + damping * np.eye(m), x), with a small damping that bounds "
                  "the result at singular positions")
_ORDERED = "np.where, np.minimum, np.maximum and np.sign choose between values"

_REFUSED: dict[Function, str] = {
    **dict.fromkeys((np.linalg.svd, np.linalg.eig, np.linalg.eigh, np.linalg.eigvals, np.linalg.eigvalsh, np.linalg.qr,
                     np.linalg.cond, np.linalg.matrix_rank, np.linalg.slogdet), _DECOMPOSED),
    **dict.fromkeys((np.linalg.pinv, np.linalg.lstsq), _LEAST_SQUARES),
    **dict.fromkeys((np.argmax, np.argmin, np.argsort, np.sort, np.median, np.percentile, np.quantile, np.partition,
                     np.searchsorted, np.digitize, np.unique, np.nonzero, np.flatnonzero, np.argwhere), _ORDERED),
}
