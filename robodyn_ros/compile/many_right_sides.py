"""M X = B for a symmetric positive definite M with many right sides: loops in machine code, for sizes up to hundreds.

M = L^T D L is factored from the last row to the first, [Featherstone] 6.5, so that what branches leave zero in M stays
zero in L; tables name the elements that are not. Columns of B are computed side by side in vectors.
"""

import ctypes
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.compile.machine import Code, compile_module, host
from robodyn_ros.compile.runtime import Runtime, float_type
from robodyn_ros.errors import InputError

MOST_VECTORS = 8
"""Most vectors of neighbouring columns that are computed together: each factor is then loaded once for all."""

BLOCK_BYTES = 32_768
"""Bytes of B that are worked on at a time: the first cache holds them, with room for the factors."""


class ManyRightSides:
    """Solves M X = B for matrices of one size and one pattern of zeros.

    Args:
        pattern: Which elements of M may differ from 0, symmetric, shape (n, n), of bool.
        columns: Number of columns of B.
    """

    def __init__(self, pattern: NDArray[np.bool_], columns: int) -> None:
        self._columns = columns
        self._code = Code(compile_module(_module(_filled(pattern), columns, host().lanes)), ("solve",), {})
        address, word = ctypes.c_void_p, ctypes.c_int64
        self._function = self._code.function("solve", None, address, address, address, word, word)

    def solve(self, matrices: NDArray[np.float64], right: NDArray[np.float64]) -> None:
        """Replace B by X in each of many systems; the GIL is released.

        Args:
            matrices: M, shape (N, n, n), float64 and C-contiguous; their lower triangles are read and overwritten.
            right: Several B for each M, shape (N, count, n, columns), float64 and C-contiguous.

        Raises:
            InputError: The number of columns is another one than the code was made for.
        """
        samples, count, size, columns = right.shape
        if columns != self._columns:
            raise InputError(f"right sides: expected {self._columns} columns, received {columns}")
        inverse_pivots = np.empty(size)
        memory = (array.ctypes.data for array in (matrices, inverse_pivots, right))
        self._function(*memory, count, samples)


def _filled(pattern: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which elements of L below its diagonal may differ from 0."""
    lower = np.tril(pattern, -1)
    for k in reversed(range(len(lower))):
        for i in np.flatnonzero(lower[k]):
            lower[i, :i] |= lower[k, :i]
    return lower


def _module(lower: NDArray[np.bool_], columns: int, lanes: int) -> str:
    """``void @solve(ptr matrices, ptr inverse pivots, ptr right sides, i64 count, i64 samples)``."""
    size, text = len(lower), _Text(lanes)
    vectors = max(1, min(MOST_VECTORS, BLOCK_BYTES // (8 * lanes * size)))
    in_blocks = columns - columns % (lanes * vectors)
    before = [np.flatnonzero(row)[::-1].tolist() for row in lower]  # the deepest first
    behind = [np.flatnonzero(column).tolist() for column in lower.T]
    tables = text.table("before", before) + text.table("behind", behind)

    def sample(number: str, _: Sequence[str]) -> list[str]:
        factors = text.row("%matrices", number, str(size * size))
        text.loop("0", str(size), 1, lambda k, _: factor(factors, k))
        first = text.let("i64", f"mul i64 {number}, %count")
        text.loop(first, text.let("i64", f"add i64 {first}, %count"), 1, lambda right, _: columns_of(factors, right))
        return []

    def columns_of(factors: str, number: str) -> list[str]:
        right = text.row("%right", number, str(size * columns))
        text.loop(
            "0", str(in_blocks), lanes * vectors, lambda column, _: substitute(factors, right, column, lanes * vectors)
        )
        if in_blocks < columns:
            substitute(factors, right, str(in_blocks), columns - in_blocks)
        return []

    def factor(factors: str, forward: str) -> list[str]:
        k = text.let("i64", f"sub i64 {size - 1}, {forward}")
        row = text.row(factors, k, str(size))
        pivot = text.load(text.at(row, k))
        inverse = text.let("double", f"fdiv double 1.0, {pivot}")
        text.line(f"store double {inverse}, ptr {text.at('%pivots', k)}")

        def eliminate(i: str) -> None:
            place = text.at(row, i)
            ratio = text.let("double", f"fmul double {text.load(place)}, {inverse}")
            target, end = text.row(factors, i, str(size)), text.let("i64", f"add i64 {i}, 1")
            spread = text.spread(text.let("double", f"fneg double {ratio}"))

            def update(j: str, _: Sequence[str]) -> list[str]:
                mask, here = text.mask(j, end), text.at(target, j)
                value = text.fused(spread, text.masked_load(text.at(row, j), mask), text.masked_load(here, mask))
                text.masked_store(value, here, mask)
                return []

            text.loop("0", end, lanes, update)
            text.line(f"store double {ratio}, ptr {place}")

        text.each("before", k, eliminate)
        return []

    def substitute(factors: str, right: str, first: str, width: int) -> list[str]:
        places = [text.let("i64", f"add i64 {first}, {start}") for start in range(0, width, lanes)]
        rest = text.mask("0", str(width % lanes)) if width % lanes else ""  # of the last vector

        def values(row: str) -> list[str]:
            pointers = [text.at(row, place) for place in places]
            found = [text.load(pointer, text.kind) for pointer in pointers[: len(pointers) - bool(rest)]]
            return [*found, text.masked_load(pointers[-1], rest)] if rest else found

        def keep(row: str, sums: Sequence[str]) -> None:
            for number, (value, place) in enumerate(zip(sums, places, strict=True), 1):
                if rest and number == len(places):
                    text.masked_store(value, text.at(row, place), rest)
                else:
                    text.line(f"store {text.kind} {value}, ptr {text.at(row, place)}, align 8")

        def upwards(forward: str, _: Sequence[str]) -> list[str]:  # L^T Y = B
            i = text.let("i64", f"sub i64 {size - 1}, {forward}")
            row = text.row(right, i, str(columns))

            def add(k: str, sums: Sequence[str]) -> list[str]:
                other = text.load(text.at(text.row(factors, k, str(size)), i))
                spread = text.spread(text.let("double", f"fneg double {other}"))
                known = values(text.row(right, k, str(columns)))
                return [text.fused(spread, value, total) for value, total in zip(known, sums, strict=True)]

            keep(row, text.each_sum("behind", i, values(row), add))
            return []

        def downwards(i: str, _: Sequence[str]) -> list[str]:  # D Z = Y, L X = Z
            row, lower_row = text.row(right, i, str(columns)), text.row(factors, i, str(size))
            pivot = text.spread(text.load(text.at("%pivots", i)))
            scaled = [text.let(text.kind, f"fmul {text.kind} {pivot}, {value}") for value in values(row)]

            def add(j: str, sums: Sequence[str]) -> list[str]:
                other = text.load(text.at(lower_row, j))
                spread = text.spread(text.let("double", f"fneg double {other}"))
                known = values(text.row(right, j, str(columns)))
                return [text.fused(spread, value, total) for value, total in zip(known, sums, strict=True)]

            keep(row, text.each_sum("before", i, scaled, add))
            return []

        text.loop("0", str(size), 1, upwards)
        text.loop("0", str(size), 1, downwards)
        return []

    text.loop("0", "%samples", 1, sample)
    return "\n".join(
        [
            *tables,
            "define void @solve(ptr noalias %matrices, ptr noalias %pivots, ptr noalias %right, i64 %count, "
            f"i64 %samples) {Runtime(1, lanes, host().fused).attributes} {{",
            *text.lines,
            "  ret void",
            "}",
            "",
        ]
    )


class _Text:
    """Lines of a function made of nested loops.

    Args:
        lanes: Numbers in a vector.

    Attributes:
        kind: LLVM type of a vector.
        lines: The lines so far.
    """

    def __init__(self, lanes: int) -> None:
        self.kind, self._lanes, self._fresh = float_type(lanes), lanes, 0
        self.lines: list[str] = []
        self._words = f"<{lanes} x i64>"

    def line(self, text: str) -> None:
        """Add an instruction without a value."""
        self.lines.append(f"  {text}")

    def let(self, _: str, text: str) -> str:
        """Add an instruction and name its value; the first argument says its type to readers."""
        self._fresh += 1
        self.lines.append(f"  %x{self._fresh} = {text}")
        return f"%x{self._fresh}"

    def at(self, pointer: str, position: str) -> str:
        """The pointer to a number."""
        return self.let("ptr", f"getelementptr double, ptr {pointer}, i64 {position}")

    def row(self, pointer: str, number: str, length: str) -> str:
        """The pointer to a row."""
        return self.at(pointer, self.let("i64", f"mul i64 {number}, {length}"))

    def load(self, pointer: str, kind: str = "double") -> str:
        """A number, or a vector of neighbours."""
        return self.let(kind, f"load {kind}, ptr {pointer}, align 8")

    def spread(self, number: str) -> str:
        """A vector of the same number everywhere."""
        first = self.let(self.kind, f"insertelement {self.kind} poison, double {number}, i32 0")
        order = f"<{self._lanes} x i32> zeroinitializer"
        return self.let(self.kind, f"shufflevector {self.kind} {first}, {self.kind} poison, {order}")

    def fused(self, a: str, b: str, c: str) -> str:
        """a b + c."""
        given = f"{self.kind} {a}, {self.kind} {b}, {self.kind} {c}"
        return self.let(self.kind, f"call {self.kind} @llvm.fmuladd.v{self._lanes}f64({given})")

    def mask(self, first: str, end: str) -> str:
        """Which of the positions from ``first`` on are before ``end``."""
        left = self.let("i64", f"sub i64 {end}, {first}")
        one = self.let(self._words, f"insertelement {self._words} poison, i64 {left}, i32 0")
        order = f"<{self._lanes} x i32> zeroinitializer"
        lefts = self.let(self._words, f"shufflevector {self._words} {one}, {self._words} poison, {order}")
        numbers = ", ".join(f"i64 {lane}" for lane in range(self._lanes))
        return self.let("mask", f"icmp slt {self._words} <{numbers}>, {lefts}")

    def masked_load(self, pointer: str, mask: str) -> str:
        """A vector, 0 beyond the mask."""
        given = f"ptr align 8 {pointer}, <{self._lanes} x i1> {mask}, {self.kind} zeroinitializer"
        return self.let(self.kind, f"call {self.kind} @llvm.masked.load.v{self._lanes}f64.p0({given})")

    def masked_store(self, value: str, pointer: str, mask: str) -> None:
        """Store the lanes of the mask."""
        given = f"{self.kind} {value}, ptr align 8 {pointer}, <{self._lanes} x i1> {mask}"
        self.line(f"call void @llvm.masked.store.v{self._lanes}f64.p0({given})")

    def loop(
        self, first: str, end: str, step: int, body: Callable[[str, Sequence[str]], Sequence[str]],
        sums: Sequence[str] = (),
    ) -> list[str]:
        """A loop over i64; ``body`` takes the index and the vectors that it hands on, and returns these anew."""
        self._fresh += 1
        k = self._fresh
        self.lines += [f"  br label %enter{k}", f"enter{k}:", f"  br label %head{k}", f"head{k}:"]
        self.line(f"%i{k} = phi i64 [{first}, %enter{k}], [%next{k}, %end{k}]")
        carried = [f"%sum{k}_{number}" for number in range(len(sums))]
        position = len(self.lines)
        self.line(f"%more{k} = icmp slt i64 %i{k}, {end}")
        self.lines += [f"  br i1 %more{k}, label %body{k}, label %done{k}", f"body{k}:"]
        results = body(f"%i{k}", carried)
        self.lines[position:position] = [
            f"  {name} = phi {self.kind} [{begin}, %enter{k}], [{result}, %end{k}]"
            for name, begin, result in zip(carried, sums, results, strict=True)
        ]
        self.lines += [f"  br label %end{k}", f"end{k}:"]
        self.line(f"%next{k} = add i64 %i{k}, {step}")
        self.lines += [f"  br label %head{k}", f"done{k}:"]
        return carried

    def table(self, name: str, lists: list[list[int]]) -> list[str]:
        """Constants ``@name`` with all numbers of the lists, and ``@name_starts``; for `each`."""
        starts = np.cumsum([0, *map(len, lists)]).tolist()
        numbers = [number for each in lists for number in each] or [0]
        return [
            f"@{each} = internal constant [{len(words)} x i64] [{', '.join(f'i64 {word}' for word in words)}]"
            for each, words in ((name, numbers), (f"{name}_starts", starts))
        ]

    def each_sum(
        self, table: str, number: str, sums: Sequence[str], body: Callable[[str, Sequence[str]], Sequence[str]]
    ) -> list[str]:
        """A loop over the numbers of a list of a table, which hands on vectors."""
        start = self.let("ptr", f"getelementptr i64, ptr @{table}_starts, i64 {number}")
        after = self.let("ptr", f"getelementptr i64, ptr {start}, i64 1")
        first, end = (self.let("i64", f"load i64, ptr {place}") for place in (start, after))

        def entry(position: str, sums: Sequence[str]) -> Sequence[str]:
            place = self.let("ptr", f"getelementptr i64, ptr @{table}, i64 {position}")
            return body(self.let("i64", f"load i64, ptr {place}"), sums)

        return self.loop(first, end, 1, entry, sums)

    def each(self, table: str, number: str, body: Callable[[str], None]) -> None:
        """A loop over the numbers of a list of a table."""

        def entry(each: str, _: Sequence[str]) -> Sequence[str]:
            body(each)
            return []

        self.each_sum(table, number, [], entry)
