# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A kernel behind others that compute some of its inputs, called as one kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import Kernel
from robodyn_ros.compile.batch_abi import checked_arrays, result_array
from robodyn_ros.compile.python_entry import forwarding_function
from robodyn_ros.description.model import Array

SAMPLES = 4096
"""Samples of a batch for which the other kernels' results are in memory at the same time."""


class ComposedKernel:
    """Computes the last inputs of a kernel by other kernels, then the kernel.

    For large robots, code that several functions need is compiled once in this way.

    Args:
        kernel: The kernel.
        others: One kernel for each of its last inputs; each takes first inputs of the same names.
    """

    def __init__(self, kernel: Kernel, others: Sequence[Kernel]) -> None:
        names = list(kernel.inputs)[: len(kernel.inputs) - len(others)]
        self._kernel, self._inputs = kernel, {name: kernel.inputs[name] for name in names}
        self._others = [(other, [names.index(name) for name in other.inputs]) for other in others]

    def __call__(self, *arrays: Any, **named: Any) -> Array:
        """Compute one sample; arguments and errors as for `Kernel`."""
        return self._composed(checked_arrays(self._kernel.name, self._inputs, arrays, named))

    def with_fallback(self, fallback: Callable[..., Any], text: str) -> Callable[..., Any]:
        """A function that computes one sample, and passes calls with other arguments to another; see `Kernel`."""
        count = len(self._inputs)

        def run(*arrays: Any, **named: Any) -> Any:
            if not named and len(arrays) == count:
                with suppress(InputError):  # of another kernel, which would not name this function
                    return self._composed(arrays)
            return fallback(*arrays, **named)

        return forwarding_function(self._kernel.name, text, run)

    def _composed(self, given: Sequence[Any]) -> Array:
        return self._kernel(*given, *[other(*[given[place] for place in places]) for other, places in self._others])

    def batch(self, *arrays: Any, threads: int = 1, out: Array | None = None, **named: Any) -> Array:
        """Compute many samples; arguments and errors as for `Kernel.batch`."""
        given = checked_arrays(self._kernel.name, self._inputs, arrays, named, ("N",))
        result = result_array(self._kernel.name, (len(given[0]), *self._kernel.output_shape), out)
        overlaps = any(np.may_share_memory(result, array) for array in given)
        target = np.empty(result.shape) if overlaps else result
        for first in range(0, max(len(result), 1), SAMPLES):
            part = [array[first : first + SAMPLES] for array in given]
            results = [other.batch(*(part[place] for place in places), threads=threads)
                       for other, places in self._others]
            self._kernel.batch(*part, *results, threads=threads, out=target[first : first + SAMPLES])
        if overlaps:
            result[...] = target
        return result
