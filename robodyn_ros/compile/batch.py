"""The batch form of a kernel: arrays of samples in and out, with SIMD lanes and threads."""

import ctypes
import math
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.compile.arguments import Shape, in_order, real_array, shape_error
from robodyn_ros.compile.batch_text import batch_module, section_starts
from robodyn_ros.compile.machine import Code, compile_module, host
from robodyn_ros.compile.tape import Tape
from robodyn_ros.errors import InputError


class Batch:
    """A tape compiled for many samples at once."""

    def __init__(self, tape: Tape, name: str) -> None:
        """Compile.

        Args:
            tape: What to compute.
            name: What error messages call it.
        """
        self._tape, self._name, self._width = tape, name, host().lanes
        self._block_size = section_starts(tape, self._width)[-1] * self._width
        self._code = Code(compile_module(batch_module(tape, self._width, host().fused)), ("batch",), {})
        word, address = ctypes.c_int64, ctypes.c_void_p
        self._function = self._code.function("batch", None, word, word, address, address)

    def __call__(
        self, arrays: tuple[Any, ...], named: dict[str, Any], threads: int, out: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """See `Kernel.batch`."""
        tape, name = self._tape, self._name
        if not isinstance(threads, int) or threads < 1:
            raise InputError(f"{name}: threads: expected an integer of 1 or more, received {threads!r}")
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
        self._run([*given, result], threads)
        return result

    def _result(self, samples: int, out: NDArray[np.float64] | None) -> NDArray[np.float64]:
        shape = (samples, *self._tape.output_shape)
        if out is None:
            return np.empty(shape)
        if not isinstance(out, np.ndarray) or out.dtype != np.float64 or not out.dtype.isnative:
            raise InputError(f"{self._name}: out: expected a float64 array, received {type(out).__name__}")
        if out.shape != shape:
            raise shape_error(self._name, "out", shape, out.shape)
        if not (out.flags.writeable and out.flags.aligned):
            raise InputError(f"{self._name}: out: expected a writeable, aligned array")
        return out

    def _run(self, arrays: list[NDArray[np.float64]], threads: int) -> None:
        """Compute the last array from those before it."""
        tables = [_element_distances(array) for array in arrays]
        words = [
            word
            for array, table in zip(arrays, tables, strict=True)
            for word in (array.ctypes.data, array.strides[0], 0 if table is None else table.ctypes.data)
        ]
        layout = np.array(words, dtype=np.int64)
        samples = len(arrays[-1])
        blocks = -(-samples // self._width)
        ends = [min(samples, blocks * part // threads * self._width) for part in range(threads + 1)]

        def compute(first: int, last: int) -> None:
            block = np.empty(self._block_size + self._width)
            start = -block.ctypes.data % (8 * self._width)
            self._function(first, last, layout.ctypes.data, block.ctypes.data + start)

        parts = [(first, last) for first, last in zip(ends, ends[1:], strict=False) if first < last]
        others = [threading.Thread(target=compute, args=part) for part in parts[1:]]
        for other in others:
            other.start()
        for part in parts[:1]:
            compute(*part)
        for other in others:
            other.join()


def _element_distances(array: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """Distance of each element from its row's first [bytes], flattened in C order; None if they follow each other."""
    shape: Shape = array.shape[1:]
    strides, following = array.strides[1:], 8
    for length, stride in zip(reversed(shape), reversed(strides), strict=True):
        if length > 1 and stride != following:
            break
        following *= length
    else:
        return None
    distances = np.zeros(math.prod(shape), dtype=np.int64).reshape(shape)
    for axis, stride in enumerate(strides):
        distances += (np.arange(shape[axis]) * stride).reshape([-1 if other == axis else 1 for other in range(len(shape))])
    return distances.reshape(-1)
