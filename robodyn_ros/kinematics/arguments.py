# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Checks of arguments that functions of a robot share: joint arrays, wrenches, rows of a Jacobian, rotations."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import NoneType
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.base.checks import as_floats, check_shape
from robodyn_ros.base.errors import InputError, shown

P = ParamSpec("P")
R = TypeVar("R")

JOINT_ARRAYS = ("q", "v", "a", "tau")
"""Names of the arguments of shape (n,) in functions of a robot."""


def checks_joint_arrays(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function of a ``model`` to refuse ``JOINT_ARRAYS`` and ``exerted`` wrenches of a wrong shape.

    The error names the argument. Without the check, an array that is too short would fail far from its cause, and one
    that is too long would not fail at all. The check ignores the values: NaN passes through the formulas.
    """
    names = list(inspect.signature(function).parameters)
    places = [(names.index(name), name) for name in (*JOINT_ARRAYS, "exerted") if name in names]

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        model: Any = args[0] if args else kwargs.get("model")
        for place, name in places:
            value: Any = args[place] if place < len(args) else kwargs.get(name)
            if name == "exerted":
                if not isinstance(value, Mapping | NoneType):
                    raise InputError(
                        f"{name}: expected a mapping from names of links to wrenches, received {type(value).__name__}"
                    )
                for link, wrench in (value or {}).items():
                    check_shape(wrench, (6,), f"{name}[{link!r}]")
            elif value is not None and model is not None:
                check_shape(value, (model.n,), name)
        return function(*args, **kwargs)

    return checked


def as_rows(rows: Sequence[bool]) -> tuple[bool, ...]:
    """Return the selection of rows of a geometric Jacobian (linear rows first) as six booleans; 0 and 1 are accepted.

    Raises:
        InputError: The selection is not six booleans, or none is true.
    """
    given = list(rows)
    if len(given) != 6 or not all(row in (False, True) for row in given) or not any(given):
        raise InputError(
            "rows: expected six booleans with one or more true (translation along the base's x, y, z, rotation about "
            f"them), received {shown(rows)}"
        )
    return tuple(map(bool, given))


def as_rotation(value: ArrayLike, name: str, tolerance: float = 1e-6) -> NDArray[np.float64]:
    """Return ``value`` as a float rotation matrix, shape (3, 3), and check [Yamamoto] (1.3): R^-1 = R^T.

    Raises:
        InputError: The shape differs, or the matrix is not orthonormal and right-handed within ``tolerance``.
    """
    rotation = as_floats(value, (3, 3), name)
    if np.abs(rotation.T @ rotation - np.eye(3)).max() > tolerance or np.linalg.det(rotation) < 0:
        raise InputError(
            f"{name}: expected a rotation matrix (orthonormal columns, determinant 1), "
            f"received {shown(rotation.tolist())}"
        )
    return rotation
