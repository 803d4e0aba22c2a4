# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The combinations of parameters that joint efforts depend on: base parameters, found numerically [Gautier]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.description.model import Array

DEPENDENT = 1e-7
"""Share of a column's length that lies outside of the columns before, below which it depends on them."""

_NEGLIGIBLE = 1e-6


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """Independent columns of a regressor: Y pi = Y[:, independent] (pi[independent] + regrouping pi[dependent]).

    Attributes:
        independent: Indices of b parameters, each the name of a base parameter, shape (b,).
        dependent: Indices of the others, shape (p - b,).
        regrouping: How the others count, shape (b, p - b).
        names: Names of all p parameters.
    """

    independent: NDArray[np.intp]
    dependent: NDArray[np.intp]
    regrouping: Array
    names: Sequence[str]

    @classmethod
    def from_regressor(cls, regressor: Array, names: Sequence[str]) -> BaseParameters:
        """Find the base parameters of a regressor.

        A column that depends on the columns before it is left out, so that parameters of the links near the base stay.

        Args:
            regressor: Rows for random motions, more than there are parameters, shape (rows, p).
            names: Of the parameters, length p.
        """
        lengths = np.linalg.norm(regressor, axis=0)
        reference, kept = float(lengths.max(initial=0.0)), []
        basis = np.zeros((len(regressor), 0))
        for column, length in enumerate(lengths):
            if length <= DEPENDENT * reference * _NEGLIGIBLE:
                continue
            rest = regressor[:, column] / length
            for _ in range(2):  # a second time removes what rounding left
                rest = rest - basis @ (basis.T @ rest)
            outside = float(np.linalg.norm(rest))
            if outside > DEPENDENT:
                basis = np.column_stack([basis, rest / outside])
                kept.append(column)
        independent = np.array(kept, dtype=np.intp)
        dependent = np.setdiff1d(np.arange(regressor.shape[1]), independent)
        regrouping = np.linalg.lstsq(regressor[:, independent], regressor[:, dependent], rcond=None)[0]
        return cls(independent, dependent, np.where(np.abs(regrouping) < _NEGLIGIBLE, 0.0, regrouping), names)

    @cached_property
    def combinations(self) -> Array:
        """The linear map from all parameters to the base parameters, shape (b, p)."""
        combinations = np.zeros((len(self.independent), len(self.names)))
        combinations[np.arange(len(self.independent)), self.independent] = 1.0
        combinations[:, self.dependent] = self.regrouping
        return combinations

    def values(self, parameters: Array) -> Array:
        """Base parameters of a whole set, shape (b,).

        Args:
            parameters: Shape (p,).
        """
        return self.combinations @ parameters

    def expressions(self) -> list[str]:
        """Each base parameter as a sum, such as ``link2.m + 0.5 link3.hx``, length b."""
        return [" ".join([self.names[index], *(
            f"{'-' if factor < 0.0 else '+'} {'' if abs(abs(factor) - 1.0) < _NEGLIGIBLE else f'{abs(factor):.3g} '}"
            f"{self.names[other]}" for factor, other in zip(row, self.dependent, strict=True) if factor)])
            for index, row in zip(self.independent, self.regrouping, strict=True)]
