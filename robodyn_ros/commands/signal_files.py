# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Reads scripted inputs of laws from the command line and study files: numbers, or tables over time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robodyn_ros.base.bounded_files import expand_user, read_file
from robodyn_ros.base.errors import InputError, shown, unknown
from robodyn_ros.base.fields import declare, section
from robodyn_ros.commands.trajectory_files import MAX_CSV_BYTES
from robodyn_ros.control.contract.law_inputs import Input, StateForm
from robodyn_ros.description.model import Array
from robodyn_ros.simulation.signals import Signal


@dataclass(frozen=True)
class SignalSection:
    """A scripted input of a study's law."""

    value: Any = declare(kind=object, description="numbers of the value, in its order; or a CSV file whose first "
                         "column is the time [s], and whose others are these numbers")
    period: float = declare(0.0, unit="s", minimum=0.0, maximum=1e6, description="time between two messages; 0: one at "
                            "each tick")
    delay: float = declare(0.0, unit="s", minimum=0.0, maximum=1e6, description="time from the measurement to the "
                           "arrival of its message")


def read_signals(where: str, given: Any, form: StateForm, folder: Path) -> dict[str, Signal]:
    """Read the scripted inputs of a law.

    Args:
        where: Their location, for messages.
        given: By input name, fields of `SignalSection` or only its ``value``; None: no inputs.
        form: Inputs of the law.
        folder: Folder of the named files.

    Raises:
        InputError: The law has no such input, or a value does not fit.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(f"{where}: expected values by the name of the input, received {shown(given)}")
    found = {}
    for name, value in given.items():
        if name not in form.inputs:
            raise InputError(f"{where}: {unknown('input', str(name), tuple(form.inputs))}")
        place = f"{where}: {name}"
        fields = section(SignalSection, place, value if isinstance(value, Mapping) else {"value": value})
        found[str(name)] = Signal(_value(place, fields.value, form.inputs[name], folder), fields.period, fields.delay)
    return found


def signals_of_words(words: Iterable[str], forms: Mapping[str, StateForm]) -> dict[str, dict[str, Signal]]:
    """Read ``NAME=VALUE`` from the command line, for the laws with this input.

    Args:
        words: The words; VALUE is comma-separated numbers, or a CSV file.
        forms: Inputs of each law, by its name.

    Returns:
        The scripted inputs of each law, by its name.

    Raises:
        InputError: No law has the input, or a value does not fit.
    """
    known = sorted({name for form in forms.values() for name in form.inputs})
    values: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not text:
            raise InputError(f"--signal: expected NAME=VALUE, received '{word}'")
        if name not in known:
            raise InputError(f"--signal: {unknown('input', name, known)}")
        values[name] = text
    return {law: read_signals("--signal", {name: values[name] for name in form.inputs if name in values}, form, Path())
            for law, form in forms.items()}


def _value(where: str, given: Any, declared: Input, folder: Path) -> Any:
    """Return the value of a signal, or a function of time."""
    if isinstance(given, str) and given.endswith(".csv"):
        times, rows = _table(where, folder / expand_user(given), declared)
        return lambda time: rows[max(int(np.searchsorted(times, time + 1e-9, "right")) - 1, 0)]
    numbers = given.split(",") if isinstance(given, str) else given
    try:
        return np.array(numbers, dtype=np.float64).reshape(declared.shape)
    except (TypeError, ValueError):
        raise InputError(f"{where}: expected {declared.size} numbers, or the name of a .csv file, received "
                         f"{shown(given)}") from None


def _table(where: str, path: Path, declared: Input) -> tuple[Array, Array]:
    """Return times, shape (K,), and values, each of the declared shape, from a CSV file with a heading."""
    text = read_file(path, MAX_CSV_BYTES).decode("utf-8-sig", "replace")
    lines = [line for line in text.splitlines()[1:] if line.strip()]
    try:
        table = np.array([line.split(",") for line in lines], dtype=np.float64).reshape(len(lines), 1 + declared.size)
    except ValueError:
        raise InputError(f"{where}: {path}: expected a heading, and lines of {1 + declared.size} numbers: the time, "
                         "and the value") from None
    if not len(table) or not np.isfinite(table).all() or (np.diff(table[:, 0]) <= 0.0).any():
        raise InputError(f"{where}: {path}: expected finite numbers and times that increase, in one line or more")
    return table[:, 0], table[:, 1:].reshape(-1, *declared.shape)
