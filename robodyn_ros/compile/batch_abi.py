# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""How a caller's arrays reach compiled code: checks of the arguments, words that describe arrays, threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.base.errors import InputError
from robodyn_ros.compile.tape import Shape

ROW_WORDS = 4
"""Words that describe the rows of an array to block code (code that computes many samples at once): the address of the
first row; the distance of rows [bytes]; the distance from one row of a sample to its next [bytes]; 1 for non-temporal
stores, else 0."""

STREAMED_BYTES = 12 * 2**20
"""Total size of the arrays of a call above which results bypass the caches: they would be evicted before they are
read."""

ALIGNED_BYTES = 2**18
"""Size above which a new result begins at a cache line, as non-temporal stores need it."""

CACHE_LINE = 64
"""Bytes in a cache line."""

_FLOAT64 = np.dtype(np.float64)


def real_array(function: str, name: str, given: Any) -> NDArray[np.float64]:
    """Return an argument as an aligned float64 array in native byte order; unchanged if it is one already.

    Raises:
        InputError: It holds something other than real numbers; the message names function and argument.
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
        raise InputError(f"{function}: {name}: expected real numbers, received {type(given).__name__} "
                         f"({error})") from error


def checked_arrays(function: str, inputs: Mapping[str, Shape], positional: tuple[Any, ...], named: Mapping[str, Any],
                   leading: tuple[str, ...] = ()) -> list[NDArray[np.float64]]:
    """Return the arguments of a function as float64 arrays, in the order of ``inputs`` (shapes by name).

    ``leading`` names an axis of samples before those of the inputs.

    Raises:
        InputError: An array is missing, superfluous, unknown, given twice, not of real numbers, or of another shape, or
            the numbers of samples differ.
    """
    names = list(inputs)
    late = names[len(positional) :]
    if len(positional) > len(names) or sorted(named) != sorted(late):
        received = ", ".join([f"{len(positional)} by position", *(f"{name} by name" for name in named)])
        raise InputError(f"{function}: expected {len(names)} arrays ({', '.join(names)}), received {received}")
    given = [*positional, *(named[name] for name in late)]
    checked = [real_array(function, name, value) for name, value in zip(names, given, strict=True)]
    for (name, shape), array in zip(inputs.items(), checked, strict=True):
        if array.shape[len(leading) :] != shape or array.ndim != len(leading) + len(shape):
            raise shape_error(function, name, (*leading, *shape), array.shape)
    if leading and len({len(array) for array in checked}) > 1:
        lengths = ", ".join(f"{len(array)} in {name}" for name, array in zip(names, checked, strict=True))
        raise InputError(f"{function}: expected as many samples in each array, received {lengths}")
    return checked


def shape_error(function: str, name: str, expected: Sequence[object], received: Shape) -> InputError:
    """The error for an argument of the wrong shape."""
    text = ", ".join(map(str, expected)) + "," * (len(expected) == 1)
    return InputError(f"{function}: {name}: expected shape ({text}), received {received}")


def checked_integer(function: str, name: str, given: Any, least: int) -> int:
    """Return an argument that must be an integer of at least ``least``; raise InputError otherwise."""
    if not isinstance(given, int | np.integer) or given < least:
        raise InputError(f"{function}: {name}: expected an integer of {least} or more, received {given!r}")
    return int(given)


def empty_result(shape: Shape) -> NDArray[np.float64]:
    """A new array, aligned if it is large; see `ALIGNED_BYTES`."""
    size = math.prod(shape)
    if 8 * size < ALIGNED_BYTES:
        return np.empty(shape, np.float64)
    memory = np.empty(size + CACHE_LINE // 8 - 1, np.float64)
    start = -memory.ctypes.data % CACHE_LINE // 8
    return memory[start : start + size].reshape(shape)


def result_array(function: str, shape: Shape, out: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """The array that receives a function's result: a new one, or ``out``.

    Raises:
        InputError: ``out`` is not a writeable, aligned float64 array of this shape.
    """
    if out is None:
        return empty_result(shape)
    if not isinstance(out, np.ndarray) or out.dtype != np.float64 or not out.dtype.isnative:
        raise InputError(f"{function}: out: expected a float64 array, received {type(out).__name__}")
    if out.shape != shape:
        raise shape_error(function, "out", shape, out.shape)
    if not (out.flags.writeable and out.flags.aligned):
        raise InputError(f"{function}: out: expected a writeable, aligned array")
    return out


def has_adjacent_rows(array: NDArray[np.float64], axes: int = 1) -> bool:
    """Whether each row of an array is contiguous; the first ``axes`` axes number the rows."""
    return array[(slice(1),) * axes].flags.c_contiguous


def row_words(arrays: Iterable[tuple[NDArray[np.float64], str]]) -> tuple[list[int], list[NDArray[np.float64]]]:
    """Describe arrays to block code: `ROW_WORDS` words for each, and the arrays to keep alive while the words are used.

    The first axis of an array numbers the samples. Its role is input, output, sequence or record; the second axis of a
    sequence or record numbers the rows of a sample. Inputs and sequences with non-contiguous rows are copied.
    """
    arrays, words, kept = list(arrays), [], []
    moved = sum(array.nbytes for array, _ in arrays if array.strides[0])  # stride 0: all samples share one row
    for given, role in arrays:
        steps = role in ("sequence", "record")
        array = given if has_adjacent_rows(given, 2 if steps else 1) else np.ascontiguousarray(given)
        kept.append(array)
        streamed = role == "output" and moved >= STREAMED_BYTES and array.size > 0 and array.flags.c_contiguous
        words += [array.ctypes.data, array.strides[0], array.strides[1] if steps else 0, int(streamed)]
    return words, kept


def sample_parts(samples: int, width: int, threads: int) -> list[tuple[int, int]]:
    """First sample and end of each thread's share, in whole blocks of ``width``."""
    blocks = -(-samples // width)
    ends = [min(samples, blocks * part // threads * width) for part in range(threads + 1)]
    return [(first, end) for first, end in pairwise(ends) if first < end]


def share_samples(samples: int, width: int, threads: int, memory_size: int,
                  compute: Callable[[int, int, int], None]) -> None:
    """Divide the samples among threads, this one included, in whole blocks of ``width``.

    ``compute`` takes the first sample, the end, and the address of scratch memory of ``memory_size`` [float64].
    """
    parts = [(first, end, np.empty(memory_size + width, np.float64)) for first, end in
             sample_parts(samples, width, threads)]

    def run(first: int, end: int, memory: NDArray[np.float64]) -> None:
        address = memory.ctypes.data
        compute(first, end, address + -address % (8 * width))

    if len(parts) > 1:
        with ThreadPoolExecutor(len(parts) - 1) as pool:
            others = [pool.submit(run, *part) for part in parts[1:]]
            run(*parts[0])
            for other in others:
                other.result()
    elif parts:
        run(*parts[0])
