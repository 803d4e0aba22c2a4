# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A function whose ``np`` makes arrays that hold traced values.

NumPy hands functions of traced arrays to `traced_array`, but not the making of an array: ``np.zeros(3)`` holds floats
alone, ``np.array([q[0], 1.0])`` is an array of objects, and a list is no array. A copy of the function, and of the
functions that it calls by name, gets a NumPy that makes a `TracedArray` in these cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from robodyn_ros.compile.traced_array import TracedArray, is_traced, traced

Function = Callable[..., Any]


def with_traced_numpy(function: Function) -> Function:
    """A copy of a function that can be traced as it stands in NumPy; the function itself stays as it is."""
    return _copied(function, {})


def _copied(function: Function, copies: dict[Function, Function]) -> Function:
    """The copy of a function; ``copies`` has those that were made before, as functions may call each other."""
    if not isinstance(function, FunctionType) or function.__module__.startswith(("numpy", "robodyn_ros.compile")):
        return function
    if function not in copies:
        names = function.__globals__.copy()
        copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
        copy.__kwdefaults__, copies[function] = function.__kwdefaults__, copy
        for name in _names(function.__code__):
            if name in names:
                names[name] = _replaced(names[name], copies)
    return copies[function]


def _names(code: CodeType) -> Iterator[str]:
    """Names that a function and the functions inside it read."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _replaced(value: Any, copies: dict[Function, Function]) -> Any:
    """What a name stands for in a copy."""
    if isinstance(value, FunctionType) and not value.__module__.startswith("numpy"):
        return _copied(value, copies)
    if isinstance(value, ModuleType):
        return _Numpy(value) if value in (np, np.linalg) else value
    is_function = callable(value) and not isinstance(value, type)
    return _Function(value) if is_function and str(getattr(value, "__module__", "")).startswith("numpy") or \
        isinstance(value, np.ufunc) else value


class _Numpy:
    """NumPy, or a module of it, with functions of this module."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return _replaced(getattr(self._module, name), {})


class _Function:
    """A function of NumPy that takes lists of traced values, and returns arrays that can hold them."""

    def __init__(self, function: Function) -> None:
        self._function = function

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        arguments = tuple(map(_with_arrays, arguments))
        if self._function in _CONVERSIONS and arguments and _holds_traced(arguments[0]):
            options.pop("dtype", None)
            arguments = arguments[:1]  # a second one is the type
            return np.array(arguments[0], dtype=object, ndmin=options.get("ndmin", 0)).view(TracedArray)
        result = self._function(*arguments, **options)
        if self._function in _FILLED and result.dtype == float:
            result = result.astype(object)
        return traced(result)


_CONVERSIONS = np.array, np.asarray, np.asanyarray, np.ascontiguousarray
_FILLED = np.zeros, np.ones, np.empty, np.full, np.eye, np.identity, np.zeros_like, np.ones_like, np.empty_like, \
    np.full_like, np.diag, np.tile, np.repeat, np.copy


def _holds_traced(value: Any) -> bool:
    return isinstance(value, TracedArray) or is_traced(value)


def _with_arrays(value: Any) -> Any:
    """A list or tuple with traced values as an array, if all its rows have one length; anything else as it is."""
    if not isinstance(value, list | tuple):
        return value
    try:
        array = np.array(value)
    except ValueError:  # rows of different lengths, for np.concatenate
        return type(value)(map(_with_arrays, value)) if type(value) in (list, tuple) else value
    return array.view(TracedArray) if array.dtype == object and any(map(is_traced, array.flat)) else value
