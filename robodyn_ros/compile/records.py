# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Records of arrays as arguments, results and variables of compiled code: named tuples and frozen dataclasses, nested.

A `Structure` flattens a record into its arrays and builds it again. Compiled code sees only arrays; the functions that
are traced, and callers, see records. The array ``q`` of a record ``state`` has the path ``state.q``.
"""

import functools
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from robodyn_ros.base.errors import InputError
from robodyn_ros.compile.scalar import Scalar

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Structure:
    """The structure of a record.

    Attributes:
        kind: Its class.
        parts: Shape of each array and structure of each record among its fields, by name, in the order of the fields.
        fixed: The other fields, which are constants in compiled code.
    """

    kind: type
    parts: tuple[tuple[str, "Form"], ...]
    fixed: tuple[tuple[str, Any], ...] = ()

    @functools.cached_property
    def layout(self) -> tuple[tuple[int, int, Shape], ...]:
        """Where the numbers of each array begin and end in `to_numbers`, and its shape."""
        shapes = array_shapes("", self).values()
        ends = itertools.accumulate(map(math.prod, shapes))
        return tuple((end - math.prod(shape), end, shape) for end, shape in zip(ends, shapes, strict=True))

    @functools.cached_property
    def is_in_order(self) -> bool:
        """Whether it is a named tuple whose fields are all parts."""
        return getattr(self.kind, "_fields", None) == tuple(name for name, _ in self.parts)


Form = Shape | Structure
"""The shape of an array, or the structure of a record."""


def is_record(value: Any) -> bool:
    """Whether a value is a named tuple, or an instance of a frozen dataclass."""
    kind = type(value)
    if isinstance(value, tuple):
        return hasattr(kind, "_fields")
    return is_dataclass(kind) and kind.__dataclass_params__.frozen  # type: ignore[attr-defined]


def form_of(value: Any, *, shapes: bool = True, integers: bool = False) -> Form | None:
    """The shape of an array or number, or the structure of a record; None for anything else.

    The fields of a record that become arrays are floats, traced numbers and arrays.

    Args:
        value: An array, or a record of arrays.
        shapes: Whether a tuple of lengths means an array of this shape.
        integers: Whether integer fields become numbers of the record instead of constants.
    """
    if is_record(value):
        names: Iterable[str] = getattr(value, "_fields", None) or [field.name for field in fields(value)]
        forms = {name: form_of(getattr(value, name), shapes=shapes, integers=integers) for name in names}
        return Structure(type(value), tuple((name, form) for name, form in forms.items() if form is not None),
                         tuple((name, getattr(value, name)) for name, form in forms.items() if form is None))
    if isinstance(value, float | Scalar) or (integers and isinstance(value, int) and not isinstance(value, bool)):
        return ()
    if isinstance(value, np.ndarray):
        return value.shape
    if shapes and type(value) is tuple and all(isinstance(length, int) and length >= 0 for length in value):
        return value
    return None


def part_of(form: Form, path: Iterable[str]) -> Form | None:
    """The form of a part of a record, given the names of the fields that lead to it; None if there is no such part."""
    for name in path:
        found = dict(form.parts).get(name) if isinstance(form, Structure) else None
        if found is None:
            return None
        form = found
    return form


def array_shapes(name: str, form: Form) -> dict[str, Shape]:
    """The shape of each array in a variable with this name and form, by its path."""
    if not isinstance(form, Structure):
        return {name: form}
    return {path: shape for field, part in form.parts for path, shape in array_shapes(f"{name}.{field}", part).items()}


def flatten(form: Form, value: Any, where: str) -> list[Any]:
    """The arrays of a value with this form, in the order of `array_shapes`; their shapes are not checked.

    Raises:
        InputError: A record has another class, or a constant field has another value; the message begins with
            ``where``.
    """
    if not isinstance(form, Structure):
        return [value]
    if type(value) is not form.kind:
        raise InputError(f"{where}: expected {form.kind.__name__}, received {type(value).__name__}")
    for name, expected in form.fixed:
        if not _same(received := getattr(value, name), expected):
            raise InputError(f"{where}.{name}: expected {expected!r}, which is built in, received {received!r}")
    return [array for name, part in form.parts for array in flatten(part, getattr(value, name), f"{where}.{name}")]


def unflatten(form: Form, arrays: Iterator[Any]) -> Any:
    """Build a value of this form from an iterator over its arrays."""
    if not isinstance(form, Structure):
        return next(arrays)
    if form.is_in_order:
        return form.kind(*[unflatten(part, arrays) for _, part in form.parts])
    return form.kind(**{name: unflatten(part, arrays) for name, part in form.parts}, **dict(form.fixed))


def to_numbers(form: Form, value: Any, where: str) -> np.ndarray:
    """All (possibly traced) numbers of a value of this form, one array after the other, shape (size,)."""
    return np.concatenate([np.zeros(0), *(np.ravel(array) for array in flatten(form, value, where))])


def places(form: Form) -> dict[str, slice]:
    """Slice of each array in `to_numbers`, by its path within the record."""
    if not isinstance(form, Structure):
        return {"": slice(0, math.prod(form))}
    return {path.removeprefix("."): slice(start, end) for path, (start, end, _) in
            zip(array_shapes("", form), form.layout, strict=True)}


def from_numbers(form: Form, numbers: np.ndarray) -> Any:
    """Inverse of `to_numbers`; leading axes of the numbers become the first axes of each array."""
    if not isinstance(form, Structure):
        return numbers.reshape(*numbers.shape[:-1], *form) if form or numbers.ndim > 1 else numbers[0]
    if numbers.ndim > 1:
        leading = numbers.shape[:-1]
        parts = [numbers[..., start:end].reshape(*leading, *shape) for start, end, shape in form.layout]
    else:
        parts = [numbers[start] if not shape else numbers[start:end] if len(shape) == 1
                 else numbers[start:end].reshape(shape) for start, end, shape in form.layout]
    return unflatten(form, iter(parts))


def flatten_all(forms: Mapping[str, Form], values: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The arrays of several values, by path.

    Raises:
        InputError: As in :func:`flatten`.
    """
    found: dict[str, Any] = {}
    for name, form in forms.items():
        paths = array_shapes(name, form)
        found.update(zip(paths, flatten(form, values[name], f"{where}: {name}"), strict=True))
    return found


def unflatten_all(forms: Mapping[str, Form], arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Inverse of :func:`flatten_all`."""
    return {name: unflatten(form, iter([arrays[path] for path in array_shapes(name, form)]))
            for name, form in forms.items()}


def _same(received: Any, expected: Any) -> bool:
    return received is expected or (type(received) is type(expected) and bool(received == expected))
