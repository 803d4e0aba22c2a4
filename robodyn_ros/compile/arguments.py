"""What a caller gives, as arrays that compiled code can read; or an error that says what is wrong with it."""

from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.compile.tape import Shape
from robodyn_ros.errors import InputError

_FLOAT64 = np.dtype(np.float64)


def real_array(function: str, name: str, given: Any) -> NDArray[np.float64]:
    """``given`` as an aligned float64 array in this machine's byte order: itself where it is one.

    Args:
        function: Who asks, for the message.
        name: The argument's name, for the message.
        given: An array or nested sequences of real numbers.

    Raises:
        InputError: It holds something other than real numbers.
    """
    try:
        array = np.asarray(given)
        if array.dtype.kind not in "fiubO":
            raise TypeError(f"dtype {array.dtype}")
        if array.dtype.kind == "O":  # NumPy would read None as NaN and "1" as 1
            for element in array.flat:
                if not isinstance(element, Real):
                    raise TypeError(f"an element is {type(element).__name__}")
        return array if array.dtype == _FLOAT64 and array.flags.aligned else array.astype(_FLOAT64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{function}: {name}: expected real numbers, received {type(given).__name__} ({error})"
        ) from error


def in_order(
    function: str, inputs: Mapping[str, Shape], positional: tuple[Any, ...], named: Mapping[str, Any]
) -> Iterable[tuple[str, Shape, Any]]:
    """Name, shape and argument of each input, some given by position and the rest by name.

    Raises:
        InputError: One is missing, superfluous, unknown, or given twice.
    """
    names = list(inputs)
    late = names[len(positional) :]
    if len(positional) > len(names) or sorted(named) != sorted(late):
        received = ", ".join([f"{len(positional)} by position", *(f"{name} by name" for name in named)])
        raise InputError(f"{function}: expected {len(names)} arrays ({', '.join(names)}), received {received}")
    given = [*positional, *(named[name] for name in late)]
    return ((name, inputs[name], value) for name, value in zip(names, given, strict=True))


def shape_error(function: str, name: str, expected: Iterable[object], received: Shape) -> InputError:
    """The error for an argument of another shape."""
    dimensions = [str(length) for length in expected]
    text = ", ".join(dimensions) + ("," if len(dimensions) == 1 else "")
    return InputError(f"{function}: {name}: expected shape ({text}), received {received}")
