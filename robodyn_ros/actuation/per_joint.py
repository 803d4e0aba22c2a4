"""Checks of the figures of actuators, one for each joint."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.description.model import Array
from robodyn_ros.errors import InputError


def per_actuator(owner: str, values: Mapping[str, ArrayLike], limits: Collection[str] = ()) -> dict[str, Array]:
    """Return one array of shape (n,) per name, read-only; single numbers stand for all actuators.

    Args:
        owner: Whose values they are, for messages.
        values: A number or shape (n,) each, by name.
        limits: Names of values that may be infinite.

    Raises:
        InputError: A value is no number or not finite, or the lengths differ.
    """
    arrays = {}
    for name, value in values.items():
        try:
            array = np.array(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(f"{owner}.{name}: expected a number or one for each joint, received {value!r}") from None
        if array.ndim > 1 or np.isnan(array).any() or (name not in limits and np.isinf(array).any()):
            raise InputError(f"{owner}.{name}: expected a finite number or one for each joint, received {value!r}")
        arrays[name] = array.reshape(-1)
    lengths = {name: len(array) for name, array in arrays.items()}
    n = max(lengths.values())
    if any(length not in (1, n) for length in lengths.values()):
        raise InputError(f"{owner}: expected single numbers or as many everywhere, received lengths {lengths}")
    spread = {name: np.full(n, array) for name, array in arrays.items()}
    for array in spread.values():
        array.setflags(write=False)
    return spread


def require(owner: str, name: str, array: Array, fits: NDArray[np.bool_], expected: str) -> None:
    """Check a condition on every value of an array.

    Args:
        owner: Whose value it is, for messages.
        name: Name of the value.
        array: The values, shape (n,).
        fits: Whether each is good, shape (n,).
        expected: What is expected, such as ``"positive numbers [ohm]"``.

    Raises:
        InputError: One is not good.
    """
    if not fits.all():
        raise InputError(f"{owner}.{name}: expected {expected}, received {array.tolist()}")
