"""The batch form of a kernel: arrays of samples in and out, with SIMD lanes and threads."""

import ctypes
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.compile.arguments import in_order, real_array, shape_error
from robodyn_ros.compile.batch_text import batch_module
from robodyn_ros.compile.machine import Code, compile_module, host
from robodyn_ros.compile.samples import RowWords, checked_threads, share_samples
from robodyn_ros.compile.tape import Shape, Tape
from robodyn_ros.errors import InputError

STREAMED = 8 * 2**20
"""Bytes from which results go around the caches, which would not hold them until they are read."""

LINE = 64
"""Bytes in a line of the cache."""


class Batch:
    """A tape compiled for many samples at once.

    Args:
        tape: What to compute.
        name: What error messages call it.
    """

    def __init__(self, tape: Tape, name: str) -> None:
        self._tape, self._name, self._width = tape, name, host().lanes
        text, vectors = batch_module(tape, self._width, host().fused)
        self._block_size = vectors * self._width
        self._code = Code(compile_module(text), ("batch", "batch_streaming"), {})
        word, address = ctypes.c_int64, ctypes.c_void_p
        self._plain, self._streaming = (
            self._code.function(name, None, word, word, address, address) for name in ("batch", "batch_streaming")
        )

    def __call__(
        self, arrays: tuple[Any, ...], named: dict[str, Any], threads: int, out: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """See `Kernel.batch`."""
        tape, name = self._tape, self._name
        checked_threads(name, threads)
        given: list[NDArray[np.float64]] = []
        for input_name, shape, value in in_order(name, tape.inputs, arrays, named):
            array = real_array(name, input_name, value)
            if array.ndim != len(shape) + 1 or array.shape[1:] != shape:
                raise shape_error(name, input_name, ("N", *shape), array.shape)
            if given and len(array) != len(given[0]):
                first = next(iter(tape.inputs))
                raise InputError(
                    f"{name}: expected as many samples in each array, received {len(given[0])} in {first} and "
                    f"{len(array)} in {input_name}"
                )
            given.append(array)
        if not given:
            raise InputError(f"{name}: has no inputs, so that there is no number of samples; call it for one")
        result = self._result(len(given[0]), out)
        if any(np.may_share_memory(result, array) for array in given):
            separate = np.empty(result.shape, np.float64)
            self._run([*given, separate], threads)
            result[...] = separate
        else:
            self._run([*given, result], threads)
        return result

    def _result(self, samples: int, out: NDArray[np.float64] | None) -> NDArray[np.float64]:
        shape = (samples, *self._tape.output_shape)
        if out is None:
            return _empty(shape)
        if not isinstance(out, np.ndarray) or out.dtype != np.float64 or not out.dtype.isnative:
            raise InputError(f"{self._name}: out: expected a float64 array, received {type(out).__name__}")
        if out.shape != shape:
            raise shape_error(self._name, "out", shape, out.shape)
        if not (out.flags.writeable and out.flags.aligned):
            raise InputError(f"{self._name}: out: expected a writeable, aligned array")
        return out

    def _run(self, arrays: list[NDArray[np.float64]], threads: int) -> None:
        """Compute the last array from those before it."""
        rows = RowWords()
        for array in arrays:
            rows.add(array)
        layout = np.array(rows.words, dtype=np.int64)
        function = self._streaming if arrays[-1].nbytes >= STREAMED else self._plain

        def compute(first: int, last: int, memory: int) -> None:
            function(first, last, layout.ctypes.data, memory)

        share_samples(len(arrays[-1]), self._width, threads, self._block_size, compute)


def _empty(shape: Shape) -> NDArray[np.float64]:
    """A new array; if it is large, from an address where lines of the cache begin, as streaming needs it."""
    size = math.prod(shape)
    if 8 * size < STREAMED:
        return np.empty(shape, np.float64)
    memory = np.empty(size + LINE // 8 - 1, np.float64)
    start = -memory.ctypes.data % LINE // 8
    return memory[start : start + size].reshape(shape)
