# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Sections of YAML files as dataclasses: every key is checked against the fields, every number against its range."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import MISSING, Field, field, fields
from typing import Any, TypeVar

import numpy as np

from robodyn_ros.checks import Range, as_number
from robodyn_ros.errors import InputError, shown, suggest

T = TypeVar("T")

_KEY = "robodyn_ros.actuation"


def number(default: Any = MISSING, *, minimum: float = 0.0, above: bool = False, maximum: float = np.inf) -> Any:
    """Declare a dataclass field that is a number in a range; a default of None may stay None.

    Args:
        default: Its value where the file has none; without a default, the file must have one.
        minimum: Lowest value.
        above: Whether the lowest value itself is too low.
        maximum: Greatest value.
    """
    return field(default=default, metadata={_KEY: Range(minimum, maximum, above=above)})


def section(kind: type[T], where: str, values: Any) -> T:
    """Make a dataclass from a section of a file.

    Args:
        kind: A dataclass.
        where: Place of the section, for messages.
        values: Content of the section: a mapping by field name; None for an empty section.

    Raises:
        InputError: The section is no mapping, a key is unknown or missing, or a value does not fit its field.
    """
    if values is None:
        values = {}
    if not isinstance(values, Mapping):
        raise InputError(f"{where}: expected keys and values, received {shown(values)}")
    known = {entry.name: entry for entry in fields(kind)}  # type: ignore[arg-type]  # a dataclass, as documented
    for key in values:
        if key not in known:
            raise InputError(f"{where}: unknown key '{key}', {suggest(str(key), known)}")
    missing = [name for name, entry in known.items() if entry.default is MISSING and name not in values]
    if missing:
        raise InputError(f"{where}: expected {', '.join(known)}; missing: {', '.join(missing)}")
    return kind(**{key: _value(f"{where}: {key}", known[key], value) for key, value in values.items()})


def _value(where: str, entry: Field[Any], value: Any) -> Any:
    allowed = entry.metadata.get(_KEY)
    if value is None and entry.default is None:
        return None
    if allowed is not None:
        return _number(where, allowed, value)
    if isinstance(entry.default, bool) and not isinstance(value, bool):
        raise InputError(f"{where}: expected true or false, received {shown(value)}")
    return value


def _number(where: str, allowed: Range, value: Any) -> float:
    with suppress(ValueError):
        value = float(value) if isinstance(value, str) else value  # YAML reads 2e-3 as text
    return as_number(value, allowed, where)
