# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The named parts of a law's effort, such as feedback, gravity and friction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import add
from typing import Any, Self

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import ArrayLike, DTypeLike

from robodyn_ros.base.errors import InputError, shown
from robodyn_ros.description.model import Array

TRANSFER, LIMITS, CALMING, DRIVER = "transfer", "limits", "calming", "driver"
"""Terms that the control loop and rollouts add to those of a law."""

WHOLE, OTHER = "law", "other"
"""The term of a law that names none, and that of an array added to terms."""

RESERVED = (TRANSFER, LIMITS, CALMING, DRIVER, WHOLE)


class Terms(NDArrayOperatorsMixin):
    """The effort of a law as a sum of named terms: ``return Terms(feedback=..., gravity=...)``.

    The sum is taken from left to right. Terms of two laws or formulas are added with ``+``; terms of the same name
    become one. An array added to them becomes the term ``other``. All other arithmetic is that of the effort, and gives
    an array without names.

    Args:
        **terms: Efforts by name, each array-like of shape (n,) [N m or N], of numbers or traced scalars.

    Raises:
        InputError: There is no term, a name is no identifier or is one of `RESERVED`, or the shapes differ.

    Attributes:
        effort: The sum, shape (n,) [N m or N].
    """

    def __init__(self, **terms: ArrayLike) -> None:
        if not terms:
            raise InputError("Terms: expected at least one term, such as Terms(gravity=...), received none")
        arrays = {_checked_name(name): np.asanyarray(term) for name, term in terms.items()}
        first = next(iter(arrays))
        for name, array in arrays.items():
            if array.ndim != 1 or array.shape != arrays[first].shape:
                like = "shape (n,)" if name == first else f"the shape {arrays[first].shape} of '{first}'"
                raise InputError(f"Terms: {name}: expected {like}, received the shape {array.shape}")
        self.effort: Any = reduce(add, arrays.values())
        self._parts: Callable[[], Mapping[str, Any]] = lambda: arrays

    @classmethod
    def split(cls, effort: Any, parts: Callable[[], Mapping[str, Any]]) -> Self:
        """Return terms of an effort that is not computed as their sum.

        Inverse dynamics, for example, computes inertia, Coriolis and gravity efforts at once, see `model_terms`.

        Args:
            effort: Shape (n,) [N m or N].
            parts: Returns the terms, which add up to the effort except for rounding. It is only called where somebody
                reads the terms.
        """
        terms = cls.__new__(cls)
        terms.effort, terms._parts = effort, parts
        return terms

    def parts(self) -> dict[str, Any]:
        """Return the efforts by name, each of shape (n,) [N m or N]."""
        return dict(self._parts())

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if any(each is self for each in options.get("out", ())):  # terms += array gives the name a new object
            del options["out"]
        if ufunc is np.add and method == "__call__" and not options:
            return _sum(*(each if isinstance(each, Terms) else self._with_effort(each) for each in inputs))
        return getattr(ufunc, method)(*(each.effort if isinstance(each, Terms) else each for each in inputs), **options)

    def __len__(self) -> int:
        return len(self.effort)

    def __getitem__(self, index: Any) -> Any:
        return self.effort[index]

    def _with_effort(self, other: Any) -> Terms:
        """Return terms of what is added to these."""
        return Terms(**{OTHER: np.broadcast_to(np.asanyarray(other), np.shape(self.effort))})

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        return np.array(self.effort, dtype=dtype)


def _sum(first: Terms, second: Terms) -> Terms:
    def parts() -> dict[str, Any]:
        together = first.parts()
        for name, term in second.parts().items():
            together[name] = together[name] + term if name in together else term
        return together

    return Terms.split(first.effort + second.effort, parts)


def as_terms(effort: Any) -> Terms:
    """Return the answer of a law as terms; efforts without names are the term ``law``."""
    if isinstance(effort, Terms):
        return effort
    array = np.asarray(effort)
    return Terms.split(array, lambda: {WHOLE: array})


def model_terms(dynamics: Any, q: Array, v: Array, a: Array, accelerations: Callable[[], Mapping[str, Array]]) -> Terms:
    """Return M(q) a + h(q, v) + g(q), computed at once by inverse dynamics, with the terms of its parts.

    Args:
        dynamics: Of the robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
        a: Joint accelerations, shape (n,) [rad/s^2 or m/s^2].
        accelerations: Returns parts of a by name, which add up to it, each of shape (n,): M(q) times each is a term.
            The further terms are ``coriolis`` and ``gravity``.
    """
    def parts() -> dict[str, Array]:
        mass_matrix = dynamics.mass_matrix(q)
        return {name: mass_matrix @ each for name, each in accelerations().items()} | bias_terms(dynamics, q, v).parts()

    return Terms.split(dynamics.inverse_dynamics(q, v, a), parts)


def bias_terms(dynamics: Any, q: Array, v: Array) -> Terms:
    """Return h(q, v) + g(q), computed at once, with the terms ``coriolis`` and ``gravity``.

    Args:
        dynamics: Of the robot.
        q: Joint positions, shape (n,) [rad or m].
        v: Joint velocities, shape (n,) [rad/s or m/s].
    """
    def parts() -> dict[str, Array]:
        gravity = dynamics.gravity(q)
        return {"coriolis": bias - gravity, "gravity": gravity}

    bias = dynamics.bias(q, v)
    return Terms.split(bias, parts)


def _checked_name(name: str) -> str:
    if not name.isidentifier():
        raise InputError(f"Terms: expected names that are Python identifiers, such as gravity, received {shown(name)}")
    if name in RESERVED:
        raise InputError(f"Terms: {name}: expected another name; this term is added to those of the law")
    return name
