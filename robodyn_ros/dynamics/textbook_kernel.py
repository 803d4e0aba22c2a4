"""A textbook function called as its compiled kernel would be."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.description.model import Array
from robodyn_ros.errors import InputError


class TextbookKernel:
    """Runs a textbook function on floats, with the checks and the batch form of ``compile.Kernel``.

    Args:
        function: Takes one array per input.
        inputs: Shape of each input, by name.
        name: What error messages call it.
    """

    def __init__(self, function: Callable[..., Array], inputs: Mapping[str, tuple[int, ...]], name: str) -> None:
        self.name = name
        self._function = function
        self._inputs = dict(inputs)

    def __call__(self, *arrays: ArrayLike) -> Array:
        """The function of one sample.

        Raises:
            InputError: An array is missing, superfluous, not of numbers, or of another shape.
        """
        return self._function(*self._checked(arrays, ""))

    def batch(self, *arrays: ArrayLike) -> Array:
        """The function of every sample.

        Args:
            *arrays: One per input, each of shape (N, *its input's shape).

        Returns:
            Shape (N, *the function's output shape).

        Raises:
            InputError: As for a single call, or the numbers of samples differ.
        """
        checked = self._checked(arrays, "N")
        lengths = {len(array) for array in checked}
        if len(lengths) != 1:
            shapes = ", ".join(f"{name} {array.shape}" for name, array in zip(self._inputs, checked, strict=True))
            raise InputError(f"{self.name}: expected as many samples in each array, received {shapes}")
        samples = list(zip(*checked, strict=True))
        if samples:
            return np.array([self._function(*sample) for sample in samples])
        result = self._function(*(np.zeros(shape) for shape in self._inputs.values()))
        return np.empty((0, *result.shape))

    def _checked(self, arrays: tuple[ArrayLike, ...], samples: str) -> list[Array]:
        if len(arrays) != len(self._inputs):
            raise InputError(
                f"{self.name}: expected {len(self._inputs)} arrays ({', '.join(self._inputs)}), received {len(arrays)}"
            )
        checked = []
        for (name, shape), given in zip(self._inputs.items(), arrays, strict=True):
            try:
                array = np.asarray(given, dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise InputError(f"{self.name}: {name}: expected numbers, received {given!r}") from error
            if array.shape[len(samples) :] != shape or array.ndim != len(samples) + len(shape):
                expected = ", ".join([*samples, *map(str, shape)]) + ("," if len(samples) + len(shape) == 1 else "")
                raise InputError(f"{self.name}: {name}: expected shape ({expected}), received {array.shape}")
            checked.append(array)
        return checked
