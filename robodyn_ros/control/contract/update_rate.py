# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Update rates of a law, or of a slow part of it, below the rate of the controller.

A law declares the rate and keeps the last result of the slow part in its memory, so that nodes, rollouts, batches and C
agree:

    PLAN = UpdateRate(50.0, between=INTERPOLATE)

    class Planner(Law[Gains, JointReference, Sampled]):
        rates = {"plan": PLAN}

        def initial_memory(self, state):
            return PLAN.first(np.zeros(self.robot.n))

        @staticmethod
        def law(dynamics, parameters, state, reference, memory):
            memory = PLAN.update(memory, state, lambda: slow_formula(dynamics, state))
            return PLAN.in_force(memory) - parameters.d * state.v, memory
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.base.checks import Range, as_number
from robodyn_ros.base.errors import InputError, shown, unknown
from robodyn_ros.compile import clip, where
from robodyn_ros.compile.operations import greater_equal, minimum
from robodyn_ros.compile.records import flatten, form_of, unflatten
from robodyn_ros.compile.traced_array import is_traced
from robodyn_ros.control.contract.state import State

HOLD, INTERPOLATE = "hold", "interpolate"

EVERY_TICK = math.inf
"""The rate of a part that is updated at every tick [Hz]."""

NEVER_UPDATED = 1e9
"""`Sampled.since` before the first update [s]."""

_PERIOD_TOLERANCE = 1.01  # periods of loops are measured


class Sampled(NamedTuple):
    """Last result of a slow part; the memory of a law, or a field of it.

    Attributes:
        since: Time since the last update [s]; `NEVER_UPDATED` before the first update.
        value: The result: an array, or a record of arrays.
        before: The value at the time of the update, where interpolation starts; None: values are held.
        memory: Memory of the slow part; None: it has none.
    """

    since: Any
    value: Any
    before: Any
    memory: Any


@dataclass(frozen=True)
class UpdateRate:
    """Rate of a law or of a slow part of it, and its value between two updates.

    Updates are made at the ticks nearest to the rate, the first one at the first tick. A rate that does not divide the
    controller's rate is kept on average. Machine code has no branches: it evaluates the slow part at every tick and
    discards the result between updates.

    Attributes:
        frequency: Updates per second [Hz]; `EVERY_TICK`: one at each tick.
        between: `HOLD`: a value is held until the next one. `INTERPOLATE`: the value moves linearly to the new one and
            reaches it one update later.

    Raises:
        InputError: The frequency is not positive, or `between` is another word.
    """

    frequency: float
    between: str = HOLD

    def __post_init__(self) -> None:
        """Check the fields."""
        as_number(self.frequency, Range(0.0, above=True, or_infinite=True, unit="Hz"), "UpdateRate: frequency")
        if self.between not in (HOLD, INTERPOLATE):
            raise InputError(f"UpdateRate: between: {unknown('value', self.between, (HOLD, INTERPOLATE))}")

    @property
    def period(self) -> float:
        """Time between two updates [s]; 0: each tick."""
        return 1.0 / self.frequency

    @property
    def interpolates(self) -> bool:
        """Whether values change between two updates."""
        return self.between == INTERPOLATE and self.period > 0.0

    def ticks(self, period: float) -> int:
        """Time between two updates, rounded to whole control periods of this length [s]; at least 1."""
        return max(round(1.0 / (self.frequency * period)), 1)

    def first(self, value: Any, memory: Any = None) -> Sampled:
        """Return the state of a slow part before its first update.

        Args:
            value: An array or record of arrays with the shapes of later values; its numbers are never used.
            memory: Initial memory of the slow part; None: it has none.
        """
        return Sampled(NEVER_UPDATED, value, value if self.interpolates else None, memory)

    def update(self, last: Sampled, state: State, function: Callable[[], Any]) -> Sampled:
        """Update a slow part if it is due.

        Args:
            last: State at the previous tick, or from :meth:`first`.
            state: The measured state, with its period.
            function: Returns the new value, or value and memory if the slow part has a memory. Plain Python calls it
                only for an update.

        Raises:
            InputError: The function returned other shapes than those of :meth:`first`.
        """
        elapsed = last.since + state.period
        due = greater_equal(elapsed, self.period - 0.5 * state.period)
        is_first = greater_equal(last.since, NEVER_UPDATED)
        late = where(is_first, 0.0, minimum(elapsed - self.period, 0.5 * state.period))
        since = where(due, late, elapsed)
        if not (is_traced(due) or due):
            return last._replace(since=since)
        result = function()
        value, memory = (result, None) if last.memory is None else result
        value = _like(last.value, value)
        before = None
        if self.interpolates:
            before = _by_array(lambda new, old: where(is_first, new, old), value, self._value_after(last, elapsed))
        return Sampled(since, *(_by_array(lambda new, old: where(due, new, old), new, old) for new, old in (
            (value, last.value), (before, last.before), (_like(last.memory, memory), last.memory))))

    def in_force(self, last: Sampled) -> Any:
        """Return the value at this tick, structured like `Sampled.value`."""
        return self._value_after(last, last.since)

    def _value_after(self, last: Sampled, since: Any) -> Any:
        if not self.interpolates:
            return last.value
        share = clip(since / self.period, 0.0, 1.0)
        return _by_array(lambda new, old: old + share * (new - old), last.value, last.before)


def check_rates(name: str, rates: Any, period: float) -> None:
    """Check the rates that a controller declares.

    Args:
        name: Of the controller, for messages.
        rates: `UpdateRate` instances by name.
        period: Of the controller [s].

    Raises:
        InputError: A rate is of another class, or above the rate of the controller.
    """
    if not isinstance(rates, Mapping):
        raise InputError(f"{name}.rates: expected update rates by name, received {shown(rates)}")
    for part, rate in rates.items():
        if not isinstance(rate, UpdateRate):
            raise InputError(f"{name}.rates: {part}: expected an UpdateRate, received {shown(rate)}")
        if 0.0 < rate.period < period / _PERIOD_TOLERANCE:
            raise InputError(f"{part}: {name} asks for {rate.frequency:g} Hz, more than the controller's rate, "
                             f"{1.0 / period:g} Hz; lower it, or raise the rate of the controller")


def _like(first: Any, given: Any) -> Any:
    """Return a value in the structure of ``first``; a list becomes an array."""
    form = form_of(first, shapes=False)
    if form is None:
        return given
    found = unflatten(form, map(np.asanyarray, flatten(form, given, "UpdateRate.update")))
    if form_of(found, shapes=False) != form:
        raise InputError(f"UpdateRate.update: expected a value of the form {form}, as that of first is, received "
                         f"{form_of(found, shapes=False)}")
    return found


def _by_array(function: Callable[[Any, Any], Any], new: Any, old: Any) -> Any:
    """Combine two values of the same structure, array by array."""
    form = form_of(old, shapes=False)
    if form is None:
        return new
    pairs = zip(flatten(form, new, "UpdateRate"), flatten(form, old, "UpdateRate"), strict=True)
    return unflatten(form, iter([function(*pair) for pair in pairs]))
