# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The declaration of a value that users set: default, range, unit and meaning, and the check of a given value.

Parameters of nodes, gains of laws, keys of YAML files, varied quantities and options of commands are declared by
`Field`. A dataclass declares its fields with `declare`::

    @dataclass(frozen=True)
    class Settings:
        efficiency: float = declare(1.0, minimum=0.0, above=True, maximum=1.0, description="Efficiency of the gear")

    declared(Settings)["efficiency"].checked(1.5, "arm.yaml: efficiency")    # raises InputError
    section(Settings, "arm.yaml: joint1", {"efficiency": 0.9})               # Settings(0.9)
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple, Self, TypeVar

from robodyn_ros.base.bounded_files import yaml_value
from robodyn_ros.base.errors import InputError, shown, unknown

_KEY = "robodyn_ros.field"

T = TypeVar("T")

MAX_MAGNITUDE = 1e9
"""Largest magnitude of a number from a user or a message, unless a smaller limit is declared: no formula overflows with
it."""


@dataclass(frozen=True)
class Range:
    """The numbers that a value may have, and their unit."""

    minimum: float = -math.inf  # lowest number allowed
    maximum: float = math.inf  # highest number allowed
    unit: str = ""  # unit, for messages; empty without one
    above: bool = False  # whether ``minimum`` itself is too low
    or_infinite: bool = False  # whether positive infinity is allowed too; it stands for "no limit"
    whole: bool = False  # whether the numbers are whole
    not_zero: bool = False  # whether 0 is not allowed

    def holds(self, values: Any) -> Any:
        """Return whether each number is in the range: a bool, or an array of the shape of ``values``."""
        if isinstance(values, int | float):
            finite = math.isfinite(values) or (self.or_infinite and values == math.inf)
            return (finite and self.minimum <= values <= self.maximum and not (self.above and values == self.minimum)
                    and not (self.whole and values % 1.0) and not (self.not_zero and values == 0.0))
        import numpy as np  # programs that read a number from the command line start without it

        numbers = np.asarray(values)
        high_enough = numbers > self.minimum if self.above else numbers >= self.minimum
        finite = ~np.isnan(numbers) if self.or_infinite else np.isfinite(numbers)
        fits = finite & high_enough & (numbers <= self.maximum)
        if self.whole:
            fits = fits & (numbers == np.rint(numbers))
        return fits & (numbers != 0.0) if self.not_zero else fits

    def __str__(self) -> str:
        text = "a number" if self.or_infinite else "a whole number" if self.whole else "a finite number"
        lower, upper = f"{self.minimum:g}", f"{self.maximum:g}"
        if self.minimum == -math.inf:
            text += "" if self.maximum == math.inf else f" up to {upper}"
        elif self.above:
            text += f" above {lower}" + ("" if self.maximum == math.inf else f" and up to {upper}")
        else:
            text += f" of {lower} or more" if self.maximum == math.inf else f" from {lower} to {upper}"
        return text + (f" [{self.unit}]" if self.unit else "") + ", other than 0" * self.not_zero


class Unit(NamedTuple):
    """A unit that depends on the kind of the joint."""

    revolute: str  # for revolute and continuous joints
    prismatic: str  # for prismatic joints

    def __str__(self) -> str:
        return f"{self.revolute} or {self.prismatic}"

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)


STIFFNESS = Unit("N m/rad", "N/m")
DAMPING = Unit("N m s/rad", "N s/m")
EFFORT = Unit("N m", "N")
POSITION = Unit("rad", "m")
VELOCITY = Unit("rad/s", "m/s")


@dataclass(frozen=True)
class Field:
    """Declaration of a value.

    Attributes:
        name: Its name, with dots for groups.
        default: The value if none is given; a function of the robot that returns it; None: the value is optional;
            `dataclasses.MISSING`: it must be given.
        description: Its meaning, without unit and full stop.
        unit: Unit of its numbers; empty without one.
        minimum: Lowest number allowed.
        maximum: Highest number allowed.
        above: Whether ``minimum`` itself is too low.
        or_infinite: Whether infinity is allowed too, for "no limit".
        not_zero: Whether 0 is not allowed.
        per_joint: Whether there is one value for every joint.
        structural: Whether it is fixed at start, or while its controller runs; otherwise it may change at any time.
        file: Whether it names a file to open. A node accepts it only at its start, so that no message can open files.
        choices: The values allowed; empty: any.
        suggestions: Values offered by completion; others are allowed too.
        check: Called with a value; raises InputError, whose message completes "<where>: ".
        kind: Type of the value, or of each element of a list; None: that of the default.
        length: Number of elements of a list; None: any number if the default is a list, else the value is no list.
    """

    name: str
    default: Any
    description: str
    unit: str | Unit = ""
    minimum: float = -MAX_MAGNITUDE
    maximum: float = MAX_MAGNITUDE
    above: bool = False
    or_infinite: bool = False
    not_zero: bool = False
    per_joint: bool = False
    structural: bool = False
    file: bool = False
    choices: tuple[Any, ...] = ()
    suggestions: tuple[Any, ...] = ()
    check: Callable[[Any], None] | None = None
    kind: type | None = None
    length: int | None = None

    def __post_init__(self) -> None:
        defaults = self.default if isinstance(self.default, list) else [self.default]
        if self.choices and not callable(self.default) and any(each not in self.choices for each in defaults
                                                              if each is not None):
            raise InputError(f"'{self.name or self.description}': expected a default that is {self.expected}; received "
                             f"{shown(self.default)}")

    @property
    def value_type(self) -> type:
        """Type of the value, or of each element of a list; ``object``: anything."""
        if self.kind is not None:
            return self.kind
        first = self.default[0] if isinstance(self.default, list) and self.default else self.default
        if self.per_joint or first is None or first is MISSING:
            return float
        if callable(first):  # of the robot: numbers have a limit
            return object if self.minimum <= -MAX_MAGNITUDE and self.maximum >= MAX_MAGNITUDE else float
        return float if isinstance(first, float) else type(first)  # also for the types of NumPy

    @property
    def is_list(self) -> bool:
        """Whether its value is a list."""
        return self.length is not None or isinstance(self.default, list)

    @property
    def numeric(self) -> bool:
        """Whether its values are numbers, or lists of numbers."""
        return self.value_type in (int, float)

    @property
    def range(self) -> Range:
        """The numbers allowed, at most `MAX_MAGNITUDE`."""
        highest = math.inf if self.or_infinite else min(self.maximum, MAX_MAGNITUDE)
        return Range(max(self.minimum, -MAX_MAGNITUDE), highest, str(self.unit), self.above, self.or_infinite,
                     self.value_type is int, self.not_zero)

    @property
    def text(self) -> str:
        """Its meaning with the unit after the first clause, and a full stop."""
        clause, mark, others = self.description.partition(";")
        return f"{clause}{f' [{self.unit}]' if self.unit else ''}{mark}{others}."

    @property
    def expected(self) -> str:
        """The values allowed, in words."""
        one = (f"one of {', '.join(map(repr, self.choices))}" if self.choices else str(self.range) if self.numeric else
               {bool: "true or false", str: "text"}.get(self.value_type, "a value"))
        if not self.is_list:
            return one
        return f"a list{'' if self.length is None else f' of {self.length}'}, each element {one}"

    def converted(self, value: Any) -> Any:
        """Return a value in the expected form: whole numbers as floats, a single number as a list of one."""
        if self.is_list:
            alone = isinstance(self.default, list) and len(self.default) == 1 and type(value) in (int, float)
            given = [value] if alone else value
            return [self._float(element) for element in given] if isinstance(given, list | tuple) else given
        return self._float(value)

    def _float(self, value: Any) -> Any:
        return float(value) if self.value_type is float and type(value) is int and abs(value) < 1e300 else value

    def checked(self, value: Any, where: str) -> Any:
        """Convert and check a value.

        Args:
            value: The value.
            where: Place of the value, for messages.

        Raises:
            InputError: The value has the wrong type, is not finite, out of range or not among the choices, or ``check``
                rejects it.
        """
        if value is None and self.default is None:
            return None
        value = self.converted(value)
        if not (self._fits_list(value) if self.is_list else self._fits(value)):
            raise InputError(f"{where}: expected {self.expected}, received {shown(value)}")
        if self.check is not None:
            try:
                self.check(value)
            except InputError as error:
                raise InputError(f"{where}: {error}") from None
        return value

    def read(self, word: str, where: str) -> Any:
        """Return the value of a word on the command line; arguments and errors as for `checked`."""
        if self.numeric:
            return self.checked(_number(word), where)
        if self.value_type is bool:
            return self.checked({"true": True, "false": False}.get(word, word), where)
        return self.checked(self.value_type(word), where)

    def _fits_list(self, value: Any) -> bool:
        if not isinstance(value, list) or (self.length is not None and len(value) != self.length):
            return False
        return all(map(self._fits, value)) and (bool(value) or self.default == [])

    def _fits(self, value: Any) -> bool:
        kind = self.value_type
        right = kind is object or (isinstance(value, kind) and (isinstance(value, bool) == (kind is bool)))
        small = not isinstance(value, int) or abs(value) < 2**63
        return right and small and (not self.numeric or bool(self.range.holds(value))) and (
            not self.choices or value in self.choices)

    def renamed(self, name: str, **changes: Any) -> Self:
        """Return this declaration under another name and with other changes."""
        return dataclasses.replace(self, name=name, **changes)


def is_named(name: str, wanted: str) -> bool:
    """Whether a name equals a parameter or a group of parameters; ``*`` stands for any part of it."""
    parts, wants = name.split("."), wanted.split(".")
    return len(parts) >= len(wants) and all(want in ("*", part) for part, want in zip(parts, wants, strict=False))


def declare(default: Any = MISSING, *, description: str, **options: Any) -> Any:
    """Declare a field of a dataclass.

    Args:
        default: Its default; None: the value is optional; omitted: it must be given.
        description: See `Field`.
        **options: Other attributes of `Field`.
    """
    return declare_as(Field("", default, description, **options))


def declare_as(field: Field, default: Any = MISSING) -> Any:
    """Declare a field of a dataclass like an existing one.

    Args:
        field: The declaration.
        default: Default of the dataclass; omitted: that of the declaration.
    """
    default = field.default if default is MISSING else default
    if isinstance(default, list):
        return dataclasses.field(default_factory=lambda: list(default), metadata={_KEY: field})
    return dataclasses.field(default=default, metadata={_KEY: field})


def declared(kind: Any) -> Mapping[str, Field]:
    """Return the declarations of the fields of a dataclass by name; undeclared fields are left out."""
    return _declared(kind)


@lru_cache(maxsize=256)
def _declared(kind: Any) -> Mapping[str, Field]:
    return MappingProxyType({entry.name: entry.metadata[_KEY].renamed(entry.name)
                             for entry in dataclasses.fields(kind) if _KEY in entry.metadata})


def flat_items(table: Mapping[Any, Any], front: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the name, such as ``gains.joint1.p``, and the value of each entry of nested mappings."""
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from flat_items(value, f"{front}{name}.")
        else:
            yield f"{front}{name}", value


def section(kind: type[T], where: str, values: Any) -> T:
    """Make a dataclass from a section of a file.

    Args:
        kind: A dataclass; a field without a declaration accepts any value, and the code that uses it checks it.
        where: Place of the section, for messages.
        values: Content of the section: a mapping by field name; None for an empty section.

    Raises:
        InputError: The section is no mapping, a key is unknown or missing, or a value does not fit its field.
    """
    values = {} if values is None else values
    if not isinstance(values, Mapping):
        raise InputError(f"{where}: expected keys and values, received {shown(values)}")
    known, checks = {entry.name: entry for entry in dataclasses.fields(kind)}, declared(kind)  # type: ignore[arg-type]
    for key in values:
        if key not in known:
            raise InputError(f"{where}: {unknown('key', key, known)}")
    missing = [name for name, entry in known.items() if entry.default is MISSING and entry.default_factory is MISSING
               and name not in values]
    if missing:
        raise InputError(f"{where}: expected {', '.join(known)}; missing: {', '.join(missing)}")
    return kind(**{key: _from_yaml(f"{where}: {key}", checks[key], value) if key in checks else value
                   for key, value in values.items()})


def _from_yaml(where: str, field: Field, value: Any) -> Any:
    if field.numeric:
        value = list(map(_number, value)) if isinstance(value, list) else _number(value)
    if field.value_type is int and isinstance(value, float) and value.is_integer():
        value = int(value)
    return field.checked(value, where)


def _number(value: Any) -> Any:
    """Return the number in a text, such as 2e-3, which PyYAML reads as text; return anything else unchanged."""
    with suppress(InputError):  # text with brackets, which is no number
        found = yaml_value(value, "") if isinstance(value, str) else value
        return found if isinstance(found, int | float) else value
    return value
