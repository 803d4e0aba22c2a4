# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A function in NumPy with the interface of its compiled kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from robodyn_ros.compile.batch_abi import checked_arrays, shape_error
from robodyn_ros.description.model import Array


class InterpretedKernel:
    """Runs a function on floats, with the checks and the batch form of ``compile.Kernel``.

    Args:
        function: Takes one array per input.
        inputs: Shape of each input, by name.
        name: Name in error messages.
    """

    def __init__(self, function: Callable[..., Array], inputs: Mapping[str, tuple[int, ...]], name: str) -> None:
        self.name = name
        self._function = function
        self._inputs = dict(inputs)

    def __call__(self, *arrays: Any, **named: Any) -> Array:
        """Compute one sample.

        Args:
            *arrays: One per input, each of its input's shape.
            **named: Inputs by name instead of position.

        Returns:
            The function's result.

        Raises:
            InputError: An array is missing, superfluous, not of numbers, or of another shape.
        """
        return self._function(*checked_arrays(self.name, self._inputs, arrays, named))

    def batch(self, *arrays: Any, threads: int = 1, out: Array | None = None, **named: Any) -> Array:
        """Compute each sample by itself.

        Args:
            *arrays: One per input, each of shape (N, *its input's shape).
            threads: Has no effect: samples are computed one after the other.
            out: Array to write to, of the result's shape.
            **named: Inputs by name instead of position.

        Returns:
            Shape (N, *the function's output shape); ``out`` if it was given.

        Raises:
            InputError: As for a single call, or the numbers of samples differ, or ``out`` has another shape.
        """
        result = self._computed(arrays, named)
        if out is None:
            return result
        if out.shape != result.shape:
            raise shape_error(self.name, "out", result.shape, out.shape)
        out[...] = result
        return out

    def _computed(self, arrays: tuple[Any, ...], named: dict[str, Any]) -> Array:
        """Return the results of all samples, of shape (N, ...)."""
        checked = checked_arrays(self.name, self._inputs, arrays, named, ("N",))
        samples = list(zip(*checked, strict=True))
        if samples:
            return np.array([self._function(*sample) for sample in samples])
        shape = self._function(*(np.zeros(shape) for shape in self._inputs.values())).shape
        return np.empty((0, *shape))
