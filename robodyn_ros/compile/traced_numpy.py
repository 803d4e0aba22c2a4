# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Copies of functions in which ``np`` creates arrays that can hold traced values.

NumPy passes functions of traced arrays to `traced_array`, but not the creation of arrays: ``np.zeros(3)`` holds only
floats, ``np.array([q[0], 1.0])`` is an array of objects, and a list is no array. A copy of the function gets a NumPy
that creates a `TracedArray` in these cases. The same holds for functions that it calls by name, in a module or a law's
class.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from robodyn_ros.compile.traced_array import TracedArray, is_traced, traced

Function = Callable[..., Any]


_LEFT_AS_THEY_ARE = ("numpy", "scipy", "robodyn_ros.compile", "robodyn_ros.dynamics")
"""Prefixes of modules whose functions are not copied."""


class TracedCopies:
    """Copies of functions that can be traced although they use NumPy, each made once, since functions may be recursive.

    The original functions and the variables of their modules stay unchanged. A copy prints nothing.

    Attributes:
        printing: Places at which copies called ``print``: files and line numbers.
    """

    def __init__(self) -> None:
        self._functions: dict[Function, FunctionType] = {}
        self._originals: dict[Function, dict[str | int, Any]] = {}
        self.printing: set[tuple[str, int]] = set()

    def copy_of(self, function: Function) -> Function:
        """The copy of a function."""
        if not isinstance(function, FunctionType) or str(function.__module__).startswith(_LEFT_AS_THEY_ARE):
            return function
        if function not in self._functions:
            names = function.__globals__.copy()
            names["__builtins__"] = vars(builtins) | {"__import__": self._imported, "print": self._print}
            cells = [(CellType(), cell) for cell in function.__closure__ or ()]
            copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__,
                                tuple(cell for cell, _ in cells))
            copy.__kwdefaults__, self._functions[function] = function.__kwdefaults__, copy
            self._originals[function] = {}
            self._take_over(function)
        return self._functions[function]

    def refresh(self) -> None:
        """Update the copies' variables that were assigned in the originals; the copies' own assignments stay."""
        for function in list(self._functions):
            self._take_over(function)

    def _take_over(self, function: Any) -> None:
        """Give a copy those variables of the function that are new since the last time."""
        copy, known = self._functions[function], self._originals[function]
        for name in names_read(function.__code__):
            if name in function.__globals__ and known.get(name, self) is not (value := function.__globals__[name]):
                known[name], copy.__globals__[name] = value, self.replaced(value)
        for place, (cell, original) in enumerate(zip(copy.__closure__ or (), function.__closure__ or (), strict=True)):
            if known.get(place, self) is not (value := original.cell_contents):
                known[place], cell.cell_contents = value, self.replaced(value)

    def replaced(self, value: Any) -> Any:
        """The value that replaces a variable in a copy."""
        module = getattr(value, "__module__", None)
        if isinstance(value, np.ufunc) or (str(module).startswith("numpy") and callable(value)
                                           and not isinstance(value, type)):
            return TracedForm(value)
        if isinstance(value, FunctionType):
            return self.copy_of(value)
        if isinstance(value, ModuleType) or (isinstance(value, type) and hasattr(value, "law")):
            return Namespace(value, self)
        return value

    def _imported(self, *arguments: Any, **options: Any) -> Any:
        """Replaces ``__import__`` in a copy."""
        return self.replaced(__import__(*arguments, **options))

    def _print(self, *arguments: Any, file: Any = None, **options: Any) -> None:
        """Replaces ``print`` in a copy."""
        frame = sys._getframe(1)
        self.printing.add((frame.f_code.co_filename, frame.f_lineno))
        if file not in (None, sys.stdout, sys.stderr):
            file.write("")  # writing to a file is more than printing


def names_read(code: CodeType) -> Iterator[str]:
    """Names that a function and its nested functions read."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_read(constant)


class Namespace:
    """A module, or the class of a law, with its functions replaced by copies."""

    def __init__(self, original: Any, copies: TracedCopies) -> None:
        self._original, self._copies = original, copies

    def __getattr__(self, name: str) -> Any:
        return self._copies.replaced(getattr(self._original, name))

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Construct an instance of the original."""
        return self._original(*arguments, **options)


class TracedForm:
    """A function of NumPy that accepts lists of traced values, and returns arrays that can hold them."""

    def __init__(self, function: Function) -> None:
        self.function = function

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.function, name)
        return TracedForm(value) if name in _METHODS else value

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the function with lists of traced values replaced by arrays."""
        if self.function is not np.block:  # its lists define the layout of the blocks
            arguments = tuple(map(_with_arrays, arguments))
        if self.function in _CONVERSIONS and arguments and _holds_traced(arguments[0]):
            options.pop("dtype", None)
            arguments = arguments[:1]  # the second one is the dtype
            return np.array(arguments[0], dtype=object, ndmin=options.get("ndmin", 0)).view(TracedArray)
        result = self.function(*arguments, **options)
        if self.function in _FILLED and result.dtype == float:
            result = result.astype(object)
        return traced(result)


_METHODS = "reduce", "accumulate", "outer", "at"
_CONVERSIONS = np.array, np.asarray, np.asanyarray, np.ascontiguousarray
_FILLED = (np.array, np.zeros, np.ones, np.empty, np.full, np.eye, np.identity, np.zeros_like, np.ones_like,
           np.empty_like, np.full_like, np.diag, np.tile, np.repeat, np.copy)


def _holds_traced(value: Any) -> bool:
    return isinstance(value, TracedArray) or is_traced(value)


def _with_arrays(value: Any) -> Any:
    """Convert a list or tuple with traced values to an array if its rows have equal lengths, else return it."""
    if not isinstance(value, list | tuple):
        return value
    try:
        array = np.array(value)
    except ValueError:  # rows of different lengths, as for np.concatenate
        return type(value)(map(_with_arrays, value)) if type(value) in (list, tuple) else value
    return array.view(TracedArray) if array.dtype == object and any(map(is_traced, array.flat)) else value
