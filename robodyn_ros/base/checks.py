# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Checks of numbers and arrays that come from outside: one wording of messages, one policy for NaN.

Numbers that configure something (parameters, limits, poses, motors, payloads) have to be finite, unless their range
lets infinity stand for "no limit". Only the shape of arrays in hot calls (q, v, a, tau) is checked: NaN passes through
the formulas, and the code that acts on the result (control loop, simulated robot, service) rejects it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.base.errors import InputError, shown
from robodyn_ros.base.fields import MAX_MAGNITUDE as MAX_MAGNITUDE
from robodyn_ros.base.fields import Range as Range

POSITIVE = Range(0.0, above=True)
NOT_NEGATIVE = Range(0.0)
ANY_FINITE = Range()


def as_number(value: Any, allowed: Range, name: str) -> float:
    """Return a number in a range.

    Args:
        value: A real number; booleans and text do not count as numbers.
        allowed: The range.
        name: What the value is called in the message.

    Raises:
        InputError: The value is no number, or not in the range.
    """
    if not isinstance(value, Real) or isinstance(value, bool) or not allowed.holds(float(value)):
        raise InputError(f"{name}: expected {allowed}, received {shown(value)}")
    return float(value)


def as_joint_array(value: ArrayLike, n: int | None, allowed: Range, name: str, joint_names: Sequence[str] = ()
                   ) -> NDArray[np.float64]:
    """Return one number for each joint as a read-only copy, from one number for all joints or one for each.

    Traced scalars pass unchecked; their values are checked where they are given.

    Args:
        value: A number, or shape (1,) or (n,).
        n: Number of joints; None: as many as there are numbers.
        allowed: Range of each number.
        name: What the value is called in the message.
        joint_names: Names of the n joints, for a message that says which joint's number is wrong; or none.

    Returns:
        Shape (n,).

    Raises:
        InputError: The value is no number, has another shape, or a number is not in the range.
    """
    if is_traced(traced := np.asarray(value)):
        return traced.reshape(-1) if n is None else np.full(n, traced)
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name}: expected {allowed}, or one for each joint, received {shown(value)}") from None
    if array.ndim > 1 or (n is not None and array.shape not in ((), (1,), (n,))):
        shape = "n" if n is None else n
        raise InputError(f"{name}: expected one number or shape ({shape},), one for each joint, "
                         f"received shape {array.shape}")
    spread = array.reshape(-1) if n is None else np.full(n, array)
    fits = allowed.holds(spread)
    if not fits.all():
        if joint_names:
            wrong = int(np.argmin(fits))
            raise InputError(f"{name} of joint {joint_names[wrong]}: expected {allowed}, received {spread[wrong]}")
        raise InputError(f"{name}: expected {allowed}, or one for each joint, received {shown(array.tolist())}")
    spread.flags.writeable = False
    return spread


def as_joint_arrays(owner: str, values: Mapping[str, ArrayLike], allowed: Mapping[str, Range]
                    ) -> dict[str, NDArray[np.float64]]:
    """Return several values as read-only arrays of one length, each from one number for all joints or one for each.

    Args:
        owner: Name of the owner of the values, for messages.
        values: A number or shape (n,) each, by name.
        allowed: Range of each value's numbers, by name; any finite number where the name is missing.

    Raises:
        InputError: As `as_joint_array`, or the lengths differ.
    """
    arrays = {name: as_joint_array(value, None, allowed.get(name, ANY_FINITE), f"{owner}.{name}")
              for name, value in values.items()}
    lengths = {name: len(array) for name, array in arrays.items()}
    n, *others = {*lengths.values()} - {1} or {1}  # also 0, of a robot on which nothing moves
    if others:
        raise InputError(f"{owner}: expected single numbers or as many everywhere, received lengths {lengths}")
    return {name: as_joint_array(array, n, allowed.get(name, ANY_FINITE), name) for name, array in arrays.items()}


def for_all_joints(value: float | None) -> Any:
    """Declare a field's default, one number for all joints; the instance has the array of `as_joint_arrays`.

    Args:
        value: The number; None: the class finds it.
    """
    return field(default=value)


def as_array(value: ArrayLike, shape: tuple[int | None, ...], name: str) -> NDArray[Any]:
    """Return ``value`` as an array of floats or of traced scalars, after a check of its shape and numbers.

    Args:
        value: Argument of the caller.
        shape: Expected shape; None allows any length of an axis.
        name: What the value is called in the message.

    Raises:
        InputError: The shape differs, an element is no number, or a number is NaN or infinite.
    """
    array = check_shape(value, shape, name)
    if array.dtype == object:
        return value if isinstance(value, np.ndarray) else array  # a traced array stays one
    if array.dtype.kind not in "fiub":
        raise InputError(f"{name}: expected real numbers, received elements of type {array.dtype}")
    array = array.astype(np.float64, copy=False)
    if not np.isfinite(array).all():
        raise InputError(f"{name}: expected finite numbers, received {shown(array.tolist())}")
    return array


def as_floats(value: ArrayLike, shape: tuple[int | None, ...], name: str) -> NDArray[np.float64]:
    """As :func:`as_array`, for functions that branch on values and so cannot be traced.

    Raises:
        InputError: As :func:`as_array`, or the elements are objects.
    """
    array = as_array(value, shape, name)
    if array.dtype == object:
        raise InputError(f"{name}: expected floats, received objects; this function branches and cannot be traced")
    return array


def check_shape(value: ArrayLike, shape: tuple[int | None, ...], name: str) -> NDArray[Any]:
    """Return ``value`` as an array, after a check of its shape alone; arguments as for `as_array`.

    Raises:
        InputError: The shape differs.
    """
    try:
        array = np.asarray(value)
    except ValueError:  # nested sequences of unequal length
        raise InputError(f"{name}: expected an array of shape {_text(shape)}, received {shown(value)}") from None
    if array.ndim != len(shape) or any(
        want is not None and have != want for have, want in zip(array.shape, shape, strict=True)
    ):
        raise InputError(f"{name}: expected an array of shape {_text(shape)}, received shape {array.shape}")
    return array


def _text(shape: tuple[int | None, ...]) -> str:
    lengths = ["any" if length is None else str(length) for length in shape]
    return f"({lengths[0]},)" if len(lengths) == 1 else f"({', '.join(lengths)})"


def is_traced(*arrays: NDArray[Any]) -> bool:
    """Return whether any of the arrays holds traced scalars, which have no values yet."""
    return any(array.dtype == object for array in arrays)


def constants(array: NDArray[Any], traced: float) -> NDArray[np.float64]:
    """Return the numbers of an array, for a decision that holds for all values of its traced scalars.

    Args:
        array: Floats, or floats and traced scalars.
        traced: Number that replaces each traced scalar.

    Returns:
        The array itself if it holds floats, else one of the same shape.
    """
    if not is_traced(array):
        return array
    numbers = [element if isinstance(element, Real) else traced for element in array.reshape(-1)]
    return np.array(numbers, dtype=np.float64).reshape(array.shape)
