# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Scripted signals: values of a law's declared inputs in a rollout, which has no topics."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.base.checks import NOT_NEGATIVE, as_number
from robodyn_ros.base.errors import InputError, PluginError, suggest
from robodyn_ros.control.contract.law_inputs import Input, Reading, StateForm
from robodyn_ros.description.model import Array


@dataclass(frozen=True, eq=False)
class Signal:
    """A scripted signal with the rate and latency of a sensor.

    Attributes:
        value: A constant, or a function of the time of measurement [s]; a function may return None for no message.
        period: Time between two messages [s]; 0: one at each tick.
        delay: Time from the measurement to the arrival of its message [s].
    """

    value: ArrayLike | Callable[[float], ArrayLike | None]
    period: float = 0.0
    delay: float = 0.0

    def __post_init__(self) -> None:
        for name in ("period", "delay"):
            as_number(getattr(self, name), NOT_NEGATIVE, f"signal: {name}")


def sampled_signals(form: StateForm | None, signals: Mapping[str, Any], times: Array) -> Any:
    """Sample the inputs of a law.

    Args:
        form: Inputs that the law declares; None: none.
        signals: By name a value, an array of values with a leading axis of the K ticks, a function of the time [s], or
            a `Signal`.
        times: Time of each tick, shape (K,) [s].

    Returns:
        The law's `Inputs`, each array with a leading axis of K ticks; None: it has none.

    Raises:
        InputError: A signal that the law requires is missing, or its value is older than the law accepts; the law has
            no input of a name; or a value does not fit.
        PluginError: A function raised.
    """
    inputs = {} if form is None else form.inputs
    for name in signals:
        if name not in inputs:
            raise InputError(f"signals: the law has no input '{name}': {suggest(name, tuple(inputs))}" if inputs else
                             f"signals: the law has no inputs, received '{name}'")
    if form is None or not inputs:
        return None
    return form.record({name: _sampled(name, declared, signals.get(name), times) for name, declared in inputs.items()})


def _sampled(name: str, declared: Input, given: Any, times: Array) -> Reading:
    """The readings of an input at all ticks."""
    where, count = f"signals: '{name}'", len(times)
    if given is None:
        if declared.required:
            raise InputError(f"{where}: the law requires this input; give a value of shape {declared.shape}, a "
                             "function of time or a Signal")
        rows = [declared.absent] * count
    elif not (callable(given) or isinstance(given, Signal)) and np.shape(given) == (count, *declared.shape):
        rows = [Reading(declared.checked(row, f"{where}: tick {k}"), 0.0) for k, row in enumerate(np.asarray(given))]
    else:
        signal = given if isinstance(given, Signal) else Signal(given)
        rows = _messages(declared, signal, times, where)
    values, ages = np.stack([row.value for row in rows]), np.array([row.age for row in rows])
    if declared.required and not np.isfinite(ages).all():
        first = float(times[int(np.argmin(np.isfinite(ages)))])
        raise InputError(f"{where}: the law requires a value at most {declared.greatest_age:g} s old, and there is "
                         f"none at {first:g} s")
    return Reading(values, ages)


def _messages(declared: Input, signal: Signal, times: Array, where: str) -> list[Reading]:
    """The newest message of a signal at each tick, and its age."""
    rows: list[Reading] = []
    newest: tuple[float, Array] | None = None  # arrival time, and value
    asked = -1
    for time in times.tolist():
        measured = time - signal.delay
        number = math.floor(measured / signal.period + 1e-9) if signal.period else len(rows)
        if measured > -1e-12 and number > asked:
            asked = number
            measured = number * signal.period if signal.period else max(measured, 0.0)
            value = _value(signal.value, measured, where)
            if value is not None:
                newest = measured + signal.delay, declared.checked(value, f"{where} at {measured:g} s")
        rows.append(declared.absent if newest is None else declared.at(newest[1], max(0.0, time - newest[0])))
    return rows


def _value(value: Any, time: float, where: str) -> Any:
    if not callable(value):
        return value
    try:
        return value(time)
    except Exception as error:
        raise PluginError(f"{where}: its function fails at {time:g} s: {type(error).__name__}: {error}") from error
