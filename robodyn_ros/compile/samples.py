"""How the rows of arrays reach code that works on blocks of samples: where they are, and which thread does which."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.errors import InputError


def checked_threads(function: str, threads: Any) -> int:
    """The number of threads.

    Args:
        function: Who asks, for the message.
        threads: What was given.

    Raises:
        InputError: It is not an integer of 1 or more.
    """
    if not isinstance(threads, int) or threads < 1:
        raise InputError(f"{function}: threads: expected an integer of 1 or more, received {threads!r}")
    return threads


class RowWords:
    """Words that tell compiled code where the rows of arrays are, for as long as this is kept.

    Attributes:
        words: `layout_text.ROW_WORDS` for each array that was added.
    """

    def __init__(self) -> None:
        self.words: list[int] = []
        self._tables: list[NDArray[np.int64] | None] = []  # whose addresses are among the words

    def add(self, array: NDArray[np.float64], steps: bool = False) -> None:
        """Describe an array.

        Args:
            array: Its first axis numbers the samples.
            steps: Whether the second one numbers rows of the same sample.
        """
        table = _element_distances(array, 2 if steps else 1)
        self._tables.append(table)
        later = array.strides[1] if steps else 0
        self.words += [array.ctypes.data, array.strides[0], 0 if table is None else table.ctypes.data, later]


def _element_distances(array: NDArray[np.float64], axes: int) -> NDArray[np.int64] | None:
    """Distance of each element from its row's first [bytes], flattened in C order; None if they follow each other.

    Args:
        array: Rows.
        axes: How many of the first axes number the rows.
    """
    shape, strides, following = array.shape[axes:], array.strides[axes:], 8
    for length, stride in zip(reversed(shape), reversed(strides), strict=True):
        if length > 1 and stride != following:
            break
        following *= length
    else:
        return None
    steps = np.meshgrid(
        *(np.arange(length) * stride for length, stride in zip(shape, strides, strict=True)), indexing="ij"
    )
    return np.sum(steps, axis=0, dtype=np.int64).reshape(-1)


def share_samples(
    samples: int, width: int, threads: int, memory_size: int, compute: Callable[[int, int, int], None]
) -> None:
    """Have samples computed by threads, each taking neighbouring ones in whole blocks.

    Args:
        samples: How many there are.
        width: Samples in a block.
        threads: How many threads, this one included.
        memory_size: Size of the memory that each has to itself [float64].
        compute: Computes samples from the first number to before the second with memory at the third, which is aligned
            to a block.
    """
    blocks = -(-samples // width)
    ends = [min(samples, blocks * part // threads * width) for part in range(threads + 1)]
    parts = [
        (first, last, np.empty(memory_size + width, np.float64)) for first, last in pairwise(ends) if first < last
    ]

    def run(first: int, last: int, memory: NDArray[np.float64]) -> None:
        address = memory.ctypes.data
        compute(first, last, address + -address % (8 * width))

    if len(parts) < 2:
        for part in parts:
            run(*part)
        return
    with ThreadPoolExecutor(len(parts) - 1) as pool:
        others = [pool.submit(run, *part) for part in parts[1:]]
        run(*parts[0])
        for other in others:
            other.result()
