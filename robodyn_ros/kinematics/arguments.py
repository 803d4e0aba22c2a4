"""Checks of array arguments, one wording for all of them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import NoneType
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.errors import InputError

P = ParamSpec("P")
R = TypeVar("R")

JOINT_ARRAYS = ("q", "v", "a", "tau")
"""What functions of a robot call their arrays of shape (n,)."""


def checks_joint_arrays(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function of a ``model`` refuse ``JOINT_ARRAYS`` and wrenches of a wrong shape, and say which.

    Too short an array would fail far from its cause, too long a one would not fail at all. Numbers are not looked at:
    NaN passes through the formulas.
    """
    names = list(inspect.signature(function).parameters)
    checked_names = (*JOINT_ARRAYS, "wrench_tip", "wrenches", "exerted")
    places = [(names.index(name), name) for name in checked_names if name in names]

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        model: Any = args[0] if args else kwargs.get("model")
        for place, name in places:
            value: Any = args[place] if place < len(args) else kwargs.get(name)
            if name in ("wrenches", "exerted"):
                if not isinstance(value, Mapping | NoneType):
                    raise InputError(
                        f"{name}: expected a mapping from names of links to wrenches, received {type(value).__name__}"
                    )
                for link, wrench in (value or {}).items():
                    _check_shape(wrench, (6,), f"{name}[{link!r}]")
            elif value is not None and model is not None:
                _check_shape(value, (6,) if name == "wrench_tip" else (model.n,), name)
        return function(*args, **kwargs)

    return checked


def as_array(value: ArrayLike, shape: tuple[int | None, ...], name: str) -> NDArray[Any]:
    """Return ``value`` as an array of floats or of traced scalars, once its shape and numbers have been checked.

    Args:
        value: What the caller was given.
        shape: Shape expected; None where any length will do.
        name: What the value is called in the message.

    Raises:
        InputError: The shape differs, an element is no number, or a number is NaN or infinite.
    """
    array = _check_shape(value, shape, name)
    if array.dtype == object:
        return array
    if array.dtype.kind not in "fiub":
        raise InputError(f"{name}: expected real numbers, received elements of type {array.dtype}")
    array = array.astype(np.float64, copy=False)
    if not np.isfinite(array).all():
        raise InputError(f"{name}: expected finite numbers, received {array.tolist()}")
    return array


def _check_shape(value: ArrayLike, shape: tuple[int | None, ...], name: str) -> NDArray[Any]:
    try:
        array = np.asarray(value)
    except ValueError:  # nested sequences of unequal length
        raise InputError(f"{name}: expected an array of shape {_text(shape)}, received {value!r}") from None
    if array.ndim != len(shape) or any(
        want is not None and have != want for have, want in zip(array.shape, shape, strict=True)
    ):
        raise InputError(f"{name}: expected an array of shape {_text(shape)}, received shape {array.shape}")
    return array


def _text(shape: tuple[int | None, ...]) -> str:
    lengths = ["any" if length is None else str(length) for length in shape]
    return f"({lengths[0]},)" if len(lengths) == 1 else f"({', '.join(lengths)})"


def as_floats(value: ArrayLike, shape: tuple[int | None, ...], name: str) -> NDArray[np.float64]:
    """As :func:`as_array`, for functions that branch on values and so cannot be traced.

    Raises:
        InputError: As :func:`as_array`, or the elements are objects.
    """
    array = as_array(value, shape, name)
    if array.dtype == object:
        raise InputError(f"{name}: expected floats, received objects; this function branches and cannot be traced")
    return array


def as_rows(rows: Sequence[bool]) -> tuple[bool, ...]:
    """Return which rows of a geometric Jacobian count (linear rows first) as six booleans; 0 and 1 count as such.

    Raises:
        InputError: They are not six booleans, or none is true.
    """
    given = list(rows)
    if len(given) != 6 or not all(row in (False, True) for row in given) or not any(given):
        raise InputError(
            "rows: expected six booleans with one or more true (translation along the base's x, y, z, rotation about "
            f"them), received {rows!r}"
        )
    return tuple(map(bool, given))


def is_traced(*arrays: NDArray[Any]) -> bool:
    """Whether any of the arrays holds traced scalars, whose values cannot be looked at."""
    return any(array.dtype == object for array in arrays)


def as_rotation(value: ArrayLike, name: str, tolerance: float = 1e-6) -> NDArray[np.float64]:
    """Return ``value`` as a float rotation matrix, shape (3, 3), which has [Yamamoto] (1.3): R^-1 = R^T.

    Raises:
        InputError: The shape differs, or the matrix is not orthonormal and right-handed within ``tolerance``.
    """
    rotation = as_floats(value, (3, 3), name)
    if np.abs(rotation.T @ rotation - np.eye(3)).max() > tolerance or np.linalg.det(rotation) < 0:
        raise InputError(
            f"{name}: expected a rotation matrix (orthonormal columns, determinant 1), received {rotation.tolist()}"
        )
    return rotation
