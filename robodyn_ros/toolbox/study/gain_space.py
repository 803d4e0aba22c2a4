# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The gains that a search varies, their range, and its result."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_ros.base.errors import InputError
from robodyn_ros.control.contract.parameters import EFFORT, Field, Parameters
from robodyn_ros.description.model import Array

GAINS = ("p", "d", "i", "translation", "rotation")
"""Parameters to search by default."""


@dataclass(frozen=True, eq=False)
class Tuning:
    """Result of a search."""

    fields: tuple[str, ...]  # fields of the parameters that were searched
    before: Parameters  # initial parameters of the search
    after: Parameters  # the best parameters found, to four digits
    cost_before: float  # cost of `before`
    cost_after: float  # cost of `after`
    costs: tuple[float, ...]  # lowest cost so far after each generation
    rollouts: int  # number of simulated robots


class GainSpace:
    """Logarithms of factors on the numbers of the searched fields, one field after the other.

    Args:
        own: Parameters whose factors are all 1.
        fields: Searched fields.
        reach: Greatest logarithm of a factor.

    Attributes:
        fields: Searched fields.
        reach: Greatest logarithm of a factor.
        size: Number of searched numbers.
    """

    def __init__(self, own: Parameters, fields: tuple[str, ...], reach: float) -> None:
        self.fields, self.reach = fields, reach
        self._own = own
        self._declared = own.declarations()
        self.size = sum(np.size(getattr(own, name)) for name in fields)

    def parameters(self, exponents: Array, digits: int | None = None) -> Parameters:
        """Return the parameters for logarithms of factors, within their ranges.

        Args:
            exponents: The logarithms, shape (size,).
            digits: Digits to round the numbers to; None: do not round.
        """
        changed, begin = {}, 0
        for name in self.fields:
            own, declaration = np.asarray(getattr(self._own, name)), self._declared[name]
            end = begin + own.size
            value = own * np.exp(exponents[begin:end].reshape(own.shape))
            if digits is not None:
                value = np.vectorize(lambda number: float(f"{number:.{digits}g}"))(value)
            value = np.clip(value, declaration.minimum, declaration.maximum)
            changed[name] = value if own.ndim else float(value)
            begin = end
        return dataclasses.replace(self._own, **changed)

    def rounded(self, exponents: Array) -> Parameters:
        """Return the parameters for logarithms of factors, rounded to four digits."""
        return self.parameters(exponents, digits=4)

    def tuning(self, best: Array, costs_of: Callable[[list[Parameters]], Sequence[float]], costs: Sequence[float],
               rollouts: int) -> Tuning:
        """Return the result of a search: the rounded best parameters, or the initial ones if these cost less.

        Args:
            best: Logarithms of factors with the lowest cost, shape (size,).
            costs_of: Returns the costs of parameters.
            costs: Lowest cost so far after each generation.
            rollouts: Number of simulated robots.
        """
        before, after = self._own, self.rounded(best)
        cost_before, cost_after = costs_of([before, after])
        if cost_after > cost_before:  # due to rounding
            after, cost_after = before, cost_before
        return Tuning(self.fields, before, after, cost_before, cost_after, tuple(costs), rollouts)


def searched_fields(parameters: Parameters, fields: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the names of the fields to search.

    Args:
        parameters: Parameters of a controller.
        fields: The fields; None: those of `GAINS` that the controller has, or else every positive field with one number
            per joint, except efforts.

    Raises:
        InputError: The parameters have no such field, or its numbers are not positive.
    """
    declared = parameters.declarations()
    suited = {name for name, declaration in declared.items() if _suits(parameters, name, declaration)}
    if fields is None:
        known = [name for name in GAINS if name in suited]
        fields = known or [name for name in declared if name in suited and declared[name].unit != EFFORT
                           and declared[name].per_joint]
    for name in fields:
        if name not in suited:
            raise InputError(f"tune: gains of {type(parameters).__name__}: expected some of "
                             f"{', '.join(sorted(suited)) or 'none'}, which are positive, received '{name}'")
    if not fields:
        others = [name for name in declared if name in suited]
        advice = f": name others, such as --gains {' '.join(others)}" if others else ""
        raise InputError(f"tune: {type(parameters).__name__} has no positive gain for each joint to search{advice}")
    return tuple(fields)


def _suits(parameters: Parameters, name: str, declaration: Field) -> bool:
    value = getattr(parameters, name)
    return isinstance(value, float | np.ndarray) and not declaration.structural and bool(np.all(value > 0.0))
