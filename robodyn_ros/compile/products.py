# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Matrices whose elements are sums of products: machine code computes them in loops instead of one by one.

A robot with many joints has matrices of thousands of elements, each a scalar product of two short columns: M_ij = S_i^T
G_j S_j. Written out, they take most of LLVM's compile time, and the processor spends its time on reading instructions.
If a function returns `Products`, its columns are traced and one loop computes the scalar products.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.base.errors import CompileError
from robodyn_ros.compile.llvm_text import FunctionText, float_type, function, table
from robodyn_ros.compile.tape import Shape, Tape, trace


class Term(NamedTuple):
    """Some elements of a matrix: the sum over k of ``left[k, row] * right[k, column]`` where ``mask[row, column]``.

    Shapes: (k, rows), (k, columns), (rows, columns).
    """

    left: Any
    right: Any
    mask: np.ndarray


class Loop(NamedTuple):
    """A term in memory: products per sum, positions of the factors and of the matrix, and the mask."""

    depth: int
    left: int
    right: int
    matrix: int
    mask: np.ndarray


class Pattern(NamedTuple):
    """How a result is computed from factors in memory."""

    shape: Shape
    loops: list[Loop]

    def array(self, factors: np.ndarray) -> np.ndarray:
        """The result for factors that are numbers or traced values, shape (..., number of their elements)."""
        leading = factors.shape[:-1]
        result = np.zeros((*leading, math.prod(self.shape)), dtype=factors.dtype)
        for depth, left, right, matrix, mask in self.loops:
            rows, columns = np.nonzero(mask)
            k = np.arange(depth)[:, None]
            first = factors[..., left + k * mask.shape[0] + rows]
            second = factors[..., right + k * mask.shape[1] + columns]
            result[..., matrix + rows * mask.shape[1] + columns] = (first * second).sum(axis=-2)
        return result.reshape((*leading, *self.shape))


class Products:
    """One matrix, or several of the same shape, given by their terms.

    Args:
        matrices: The terms of each matrix; an element is in at most one term, and 0 if it is in none.

    Raises:
        CompileError: The shapes of a term do not fit each other or the other terms, or an element is in two terms.

    Attributes:
        pattern: How the result is computed from the factors, whatever their values.
        factors: The elements of all factors, each factor once, shape (number of elements,).
    """

    def __init__(self, matrices: Sequence[Sequence[Term]]) -> None:
        rows, columns = matrices[0][0].mask.shape
        starts: dict[int, int] = {}
        elements: list[Any] = []
        loops: list[Loop] = []
        for number, terms in enumerate(matrices):
            for left, right, mask in terms:
                shapes = np.shape(left), np.shape(right), mask.shape
                if shapes != ((len(left), rows), (len(left), columns), (rows, columns)):
                    raise CompileError(f"products: expected factors and masks that fit each other, received {shapes}")
                for factor in (left, right):
                    if id(factor) not in starts:
                        starts[id(factor)] = len(elements)
                        elements += np.reshape(factor, -1).tolist()
                loops.append(Loop(len(left), starts[id(left)], starts[id(right)], number * rows * columns, mask))
            if np.sum([term.mask for term in terms], axis=0).max(initial=0) > 1:
                raise CompileError("products: expected each element of a matrix in one term, received it in two")
        self.pattern = Pattern((len(matrices), rows, columns) if len(matrices) > 1 else (rows, columns), loops)
        self.factors = np.array(elements)


class ProductsTape(Tape):
    """A tape of the elements of factors, and the pattern of the matrices that are sums of their products."""

    __slots__ = ("factors", "pattern")

    def __init__(self, factors: Tape, pattern: Pattern) -> None:
        super().__init__(factors.inputs, pattern.shape, factors.codes, factors.operands, factors.constants,
                         factors.outputs)
        self.factors, self.pattern = factors, pattern

    def __call__(self, *arrays: Any) -> np.ndarray:
        """See `Tape.__call__`."""
        return self.pattern.array(self.factors(*arrays))

    def contracted(self, *, shared: bool) -> "ProductsTape":
        """Like `Tape.contracted` for the factors; the loops always contract."""
        return ProductsTape(self.factors.contracted(shared=shared), self.pattern)

    def with_outputs(self, elements: Sequence[int]) -> Tape:
        """See `Tape.with_outputs`."""
        return trace(self, self.inputs).with_outputs(elements)


def trace_products(function: Callable[..., Any], inputs: Mapping[str, Shape]) -> Tape:
    """Like `trace`, for a function that may return `Products`; the result is then a `ProductsTape`."""
    patterns: list[Pattern] = []

    def factors(*arrays: np.ndarray) -> Any:
        result = function(*arrays)
        if not isinstance(result, Products):
            return result
        patterns.append(result.pattern)
        return result.factors

    factors.__name__ = str(getattr(function, "__name__", repr(function)))
    tape = trace(factors, inputs)
    return ProductsTape(tape, patterns[0]) if patterns else tape


def products_text(name: str, pattern: Pattern, width: int, lanes: int, attributes: str) -> str:
    """``void @name(ptr factors, ptr result)``: the loops as LLVM assembly, for vectors of ``width`` samples.

    For a single sample the code computes up to ``lanes`` neighbouring columns at once.
    """
    columns = lanes if width == 1 and lanes >= 4 else 1  # smaller vectors have no masked loads and stores
    text, tables = FunctionText(max(width, columns)), []
    kind, align = float_type(width), 8 * width
    text.clear("%result", 8 * width * math.prod(pattern.shape))

    def group(loop: Loop, words: str, number: str) -> None:
        """Some neighbouring columns of a row, as given by the loop's table."""
        entry = text.at(f"@{words}", number, "[4 x i32]")
        left, right, matrix = (text.let(f"getelementptr {kind}, ptr {memory}, i32 {text.read(entry, place, 'i32')}")
                               for place, memory in enumerate(("%factors", "%factors", "%result")))
        total = mask = ""
        if columns > 1:
            # Numbers next to the group are not loaded: arithmetic on denormals would take a hundred times as long.
            bits = text.let(f"trunc i32 {text.read(entry, 3, 'i32')} to i{columns}")
            mask = text.let(f"bitcast i{columns} {bits} to {text.truth}")
        for k in range(loop.depth):
            left_at, right_at = (text.at(factor, k * length, kind)
                                 for factor, length in zip((left, right), loop.mask.shape, strict=True))
            one = text.load(left_at, kind, align)
            other = text.masked_load(right_at, mask) if mask else text.load(right_at, align=align)
            product = text.let(f"fmul contract {text.kind} {text.spread(one) if mask else one}, {other}")
            total = text.let(f"fadd contract {text.kind} {total}, {product}") if total else product
        if mask:
            text.masked_store(total, matrix, mask)
        else:
            text.store(total, matrix, align)

    for place, loop in enumerate(pattern.loops):
        words, groups = f"{name}_groups{place}", _groups(loop, columns)
        tables.append(table(words, "i32", [word for each in groups for word in each]))
        if groups:
            text.loop("0", len(groups), 1, partial(group, loop, words), at_least_once=True)
    head = f"internal void @{name}(ptr noalias %factors, ptr noalias %result) noinline {attributes}"
    return "".join(tables) + function(head, text.lines)


def _groups(loop: Loop, columns: int) -> list[tuple[int, int, int, int]]:
    """For each group of neighbouring columns: positions of both factors and the result, and a bit per column."""
    groups = []
    for row, mask in enumerate(loop.mask):
        bits: dict[int, int] = {}
        for column in np.flatnonzero(mask).tolist():
            first = column - column % columns
            bits[first] = bits.get(first, 0) | 1 << column - first
        groups += [(loop.left + row, loop.right + first, loop.matrix + row * len(mask) + first, found)
                   for first, found in bits.items()]
    return groups
