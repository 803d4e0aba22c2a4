# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The fixed parts of every module, as LLVM assembly: sine and cosine, the C library, and moving rows into vectors.

**Sine and cosine** of several angles at once, without a call or a branch per angle. An angle x is reduced to
r = x - k pi/2 with abs(r) <= pi/4 by subtracting k times three parts of pi/2 (Cody and Waite); with a fused
multiply-add the first subtraction is exact, since x and k C1 are multiples of 2^-53 and r < 1. Sine and cosine of r are
minimax polynomials, exchanged and negated by the two lowest bits of k. The C library takes over for angles beyond
2^30 rad, where k has too many bits, and for all angles on processors without a fused multiply-add. A batch computes the
vectors of several joints in step, instruction by instruction, because the instructions of one vector wait for each
other.

**Rows and vectors.** A block holds ``width`` samples, one vector per element of a row. Rows are transposed in
registers, a square of ``width`` by ``width`` at a time; consecutive rows of one element already form a vector. Large
results are written with non-temporal stores, which need whole cache lines: an ordinary store first reads the line that
it changes, and that takes longer than the computation.
"""

from collections.abc import Callable
from functools import partial

from robodyn_ros.compile import operations as op
from robodyn_ros.compile.llvm_text import FunctionText, function, literal, mangled, struct_type
from robodyn_ros.compile.loops_in_llvm import llvm_functions
from robodyn_ros.compile.quadratic_program import Sizes, solve_program

MAX_REDUCED_ANGLE = float(2**30)

HALF_PI_PARTS = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
"""Three numbers with the sum pi/2, to 160 bits."""

TWO_OVER_PI = 0.6366197723675814

SINE = (-0.1666666666666663, 0.008333333333322005, -0.00019841269829495533,
        2.75573135876344e-06, -2.5050742310457733e-08, 1.589590489763986e-10)
"""(sin r - r) / r^3 in powers of r^2 on |r| <= pi/4: minimax by Remez' exchange, relative error of sin r 2^-57.9."""

COSINE = (0.041666666666666595, -0.0013888888888872895, 2.4801587288748223e-05,
          -2.755731414863447e-07, 2.087569657415078e-09, -1.1358310574836342e-11)
"""(cos r - 1 + r^2/2) / r^4 in powers of r^2 on |r| <= pi/4: the same, relative error of cos r 2^-63.9."""

_ROUNDING_OFFSET = 1.5 * 2.0**52  # adding this rounds to an integer, which is then in the lowest bits

LIBRARY = {"sin": 1, "cos": 1} | {row.llvm: row.operand_count for row in op.OPERATIONS if row.lowering == "library"}
"""Functions of the C library, and the number of their operands."""

DECLARATIONS = "".join(f"declare double @{name}({', '.join(['double'] * count)}) nounwind\n"
                       for name, count in LIBRARY.items())
DECLARATIONS += '!0 = !{!"branch_weights", i32 1, i32 100000}\n!2 = !{i32 1}\n'
"""Declarations of everything that a module may refer to."""

PREFETCH_DISTANCE = 4
"""Distance between the block that is read and the block that is prefetched into the cache: the processor does not
predict several streams of short rows. Prefetching beyond the last row has no effect."""


class Runtime:
    """The functions that a module's instructions call; each is written when it is first needed.

    Attributes:
        width: Samples computed at once: 1, or as many as a vector has lanes.
        lanes: Angles of a single sample whose sines and cosines share one vector.
        attributes: LLVM's attributes for all functions: vectors of ``lanes`` numbers are allowed, and preferred.
        routines: Modules of algorithms that the instructions call.
    """

    def __init__(self, width: int, lanes: int, fused: bool) -> None:
        self.width, self.lanes, self._fused = width, lanes, fused
        self.attributes = f'nounwind "prefer-vector-width"="{64 * lanes}" "min-legal-vector-width"="{64 * lanes}"'
        self._functions: dict[str, str] = {}
        self.routines: dict[str, str] = {}

    def text(self) -> str:
        """All functions needed so far, and the declarations for the module."""
        return DECLARATIONS + "".join(self._functions.values())

    def sincos(self, width: int, count: int, inlined: bool) -> str:
        """Name of ``{sine, cosine, sine, ...} @sincos(angles, ...)`` for ``count`` vectors of ``width`` angles."""
        name = f"sincos{width}x{count}{'_inlined' * inlined}"
        library = [self.library(each, width) for each in ("sin", "cos")]
        attributes = f"{'alwaysinline' if inlined else 'noinline'} {self.attributes}"
        return self._need(name, lambda: sincos_function(name, width, count, self._fused, library, attributes))

    def library(self, name: str, width: int) -> str:
        """Name of the function that calls a function of the C library for each lane."""
        if width == 1:
            return name
        lanes = f"{name}_lanes{width}"
        return self._need(lanes, lambda: _lanes_function(lanes, name, width, self.attributes))

    def mover(self, name: str) -> str:
        """Name of a function that moves vectors.

        - ``pack(rows, distance of rows, column count, vectors)``: ``vectors`` has room for whole squares; ``unpack`` is
          the reverse.
        - ``stream(the same arguments, aside, streamed)``: like ``unpack``, with non-temporal stores if ``streamed`` is
          not 0; ``aside`` has room for the block's rows.
        - ``merge(now, before, vector count, active)``: restores the inactive lanes.
        """
        if name == "stream":
            self.mover("unpack")
        write = {"stream": _stream, "merge": _merge}.get(name, _pack_or_unpack)
        return self._need(name, lambda: write(name, self.width, self.attributes))

    def program_solver(self, n: int, m: int) -> str:
        """Name of ``@solve(memory)``: solves a quadratic program of n variables and m rows, lane by lane.

        The memory has a vector for each argument and each result, then numbers for one lane, see `program_memory`.
        """
        name = f"solve{n}x{m}_lanes{self.width}"
        if name not in self.routines:
            self.routines[name] = _program_solver(name, Sizes(n, m), self.width)
        return self._need(name, lambda: f"declare void @{name}(ptr) nounwind\n")

    def _need(self, name: str, write: Callable[[], str]) -> str:
        if name not in self._functions:
            self._functions[name] = write()
        return name


def _lanes_function(name: str, called: str, width: int, attributes: str) -> str:
    """``@<name>``: calls a function of numbers for each lane."""
    text, parameters, result = FunctionText(width), [f"%operand{place}" for place in range(LIBRARY[called])], "poison"
    for lane in range(width):
        numbers = [text.let(f"extractelement {text.kind} {each}, i32 {lane}") for each in parameters]
        value = text.let(f"call double @{called}({', '.join(f'double {number}' for number in numbers)})")
        result = text.let(f"insertelement {text.kind} {result}, double {value}, i32 {lane}")
    given = ", ".join(f"{text.kind} {each}" for each in parameters)
    head = f"internal {text.kind} @{name}({given}) noinline {attributes}"
    return function(head, text.lines, f"ret {text.kind} {result}")


def sincos_function(name: str, width: int, count: int, fused: bool, library: list[str], attributes: str) -> str:
    """LLVM text of the function of `Runtime.sincos`; ``library`` has the functions for very large angles."""
    text, angles, results = FunctionText(width), [f"%angle{number}" for number in range(count)], list[str]()
    kind, pairs = text.kind, struct_type(2 * count, width)
    head = f"internal {pairs} @{name}({', '.join(f'{kind} {angle}' for angle in angles)}) {attributes}"

    def returned(vectors: list[str]) -> str:
        result = "poison"
        for place, vector in enumerate(vectors):
            result = text.let(f"insertvalue {pairs} {result}, {kind} {vector}, {place}")
        return f"ret {pairs} {result}"

    def from_library() -> str:
        return returned([text.let(f"call {kind} @{each}({kind} {angle})") for angle in angles for each in library])

    if not fused:
        return function(head, text.lines, from_library())
    far = ""
    for angle in angles:
        size = text.let(f"call {kind} @llvm.fabs.{mangled(width)}({kind} {angle})")
        is_far = text.let(f"fcmp ogt {kind} {size}, {literal(MAX_REDUCED_ANGLE, width)}")
        far = text.let(f"or {text.truth} {far}, {is_far}") if far else is_far
    text.branch(text.any(far), "library", "near", ", !prof !0")
    text.label("library")
    text.line(from_library())
    text.label("near")
    parts, start = [], len(text.lines)
    for angle in angles:
        results += _near_sincos(text, angle, width)
        parts.append(text.lines[start:])
        del text.lines[start:]
    text.lines += [line for lines in zip(*parts, strict=True) for line in lines]
    return function(head, text.lines, returned(results))


def _near_sincos(text: FunctionText, angle: str, width: int) -> tuple[str, str]:
    """Sine and cosine of angles up to `MAX_REDUCED_ANGLE`."""
    kind, suffix = text.kind, mangled(width)
    integer = "i64" if width == 1 else f"<{width} x i64>"

    def number(value: float) -> str:
        return literal(value, width)

    def do(instruction: str, a: str, b: str) -> str:
        return text.let(f"{instruction} {kind} {a}, {b}")

    def do_bits(instruction: str, a: str, value: int) -> str:
        return text.let(f"{instruction} {integer} {a}, {value if width == 1 else f'splat (i64 {value})'}")

    def fma(a: str, b: str, c: str) -> str:
        return text.let(f"call {kind} @llvm.fma.{suffix}({kind} {a}, {kind} {b}, {kind} {c})")

    def horner(coefficients: tuple[float, ...], x: str) -> str:
        value = number(coefficients[-1])
        for coefficient in coefficients[-2::-1]:
            value = fma(value, x, number(coefficient))
        return value

    shifted = fma(angle, number(TWO_OVER_PI), number(_ROUNDING_OFFSET))
    bits = text.let(f"bitcast {kind} {shifted} to {integer}")
    k = do("fsub", shifted, number(_ROUNDING_OFFSET))
    first = fma(k, number(-HALF_PI_PARTS[0]), angle)
    second = fma(k, number(-HALF_PI_PARTS[1]), first)
    r = fma(k, number(-HALF_PI_PARTS[2]), second)
    square = do("fmul", r, r)
    polynomial = horner(SINE, square)
    sine = fma(polynomial, do("fmul", square, r), r)
    # sin(-0.0) is -0.0, but the sums above give 0.0
    sine = text.let(f"call {kind} @llvm.copysign.{suffix}({kind} {sine}, {kind} {second})")
    polynomial = horner(COSINE, square)
    rough = fma(square, number(-0.5), number(1.0))
    lost = fma(square, number(-0.5), do("fsub", number(1.0), rough))
    cosine = do("fadd", rough, fma(polynomial, do("fmul", square, square), lost))
    swap = text.let(f"icmp ne {integer} {do_bits('and', bits, 1)}, {0 if width == 1 else 'splat (i64 0)'}")
    # Bit 1 of k is the sign of the sine; bit 1 of k + 1, i.e. the exclusive or of bits 1 and 0, that of the cosine.
    sine_sign = do_bits("and", do_bits("shl", bits, 62), -(2**63))
    cosine_sign = text.let(f"xor {integer} {sine_sign}, {do_bits('shl', bits, 63)}")
    results = []
    for odd, even, sign in ((cosine, sine, sine_sign), (sine, cosine, cosine_sign)):
        value = text.let(f"select {text.truth} {swap}, {kind} {odd}, {kind} {even}")
        raw = text.let(f"xor {integer} {text.let(f'bitcast {kind} {value} to {integer}')}, {sign}")
        results.append(text.let(f"bitcast {integer} {raw} to {kind}"))
    return results[0], results[1]


def program_memory(sizes: Sizes, width: int) -> int:
    """Number of vectors that `Runtime.program_solver` needs: arguments, results, and a lane's numbers."""
    lane = sizes.work + (sizes.arguments + sizes.results if width > 1 else 0)
    return sizes.arguments + sizes.results - (-lane // width)


def _program_solver(name: str, sizes: Sizes, width: int) -> str:
    """See `Runtime.program_solver`; one sample is solved in place, of several each lane is copied out and back."""
    text, given, found = FunctionText(1), sizes.arguments, sizes.results

    def solve(arguments: str) -> None:
        results = text.at(arguments, given)
        work = text.at(results, found)
        text.line(f"call void @solve_program(i64 {sizes.n}, i64 {sizes.m}, ptr {arguments}, ptr {results}, ptr {work})")

    def lane(number: str) -> None:
        copy = text.at("%memory", (given + found) * width)

        def move(place: str, *, out: bool) -> None:
            packed = text.at("%memory", text.let(f"add i64 {text.let(f'mul i64 {place}, {width}')}, {number}"))
            alone = text.at(copy, place)
            source, target = (packed, alone) if out else (alone, packed)
            text.store(text.load(source), target)

        text.loop("0", given, 1, partial(move, out=True), at_least_once=True)
        solve(copy)
        text.loop(str(given), given + found, 1, partial(move, out=False), at_least_once=True)

    if width == 1:
        solve("%memory")
    else:
        text.loop("0", width, 1, lane, at_least_once=True)
    return llvm_functions(solve_program) + function(f"void @{name}(ptr noalias %memory) nounwind", text.lines)


_ROWS = "ptr %rows, i64 %distance, i64 %columns, ptr %vectors"
"""Parameters of ``pack`` and ``unpack``, see `Runtime.mover`."""


def _stream(name: str, width: int, attributes: str) -> str:
    """``@stream``; non-temporal stores need at least one column, and rows without gaps."""
    text = FunctionText(width)

    def unpack(rows: str) -> None:
        text.line(f"call void @unpack(ptr {rows}, i64 %distance, i64 %columns, ptr %vectors)")

    def copy(column: str) -> None:
        source, target = text.at("%aside", column, text.kind), text.at("%rows", column, text.kind)
        value = text.load(source, align=8 * width)
        text.line(f"store {text.kind} {value}, ptr {target}, align {8 * width}, !nontemporal !2")

    def together() -> None:
        unpack("%aside")
        text.loop("0", "%columns", 1, copy, at_least_once=True)

    beyond = text.let(f"and i64 {text.let('ptrtoint ptr %rows to i64')}, {8 * width - 1}")
    aligned, streamed = text.let(f"icmp eq i64 {beyond}, 0"), text.let("icmp ne i64 %streamed, 0")
    text.when(text.let(f"and i1 {aligned}, {streamed}"), together, lambda: unpack("%rows"))
    return function(f"internal void @{name}({_ROWS}, ptr %aside, i64 %streamed) noinline {attributes}", text.lines)


def _merge(name: str, width: int, attributes: str) -> str:
    """``@merge``, see `Runtime.mover`."""
    text, align = FunctionText(width), 8 * width

    def restore(number: str) -> None:
        to, from_ = text.at("%now", number, text.kind), text.at("%before", number, text.kind)
        new, old = text.load(to, align=align), text.load(from_, align=align)
        text.store(text.let(f"select {text.truth} %active, {text.kind} {new}, {text.kind} {old}"), to, align)

    some = text.let("icmp sgt i64 %count, 0")
    text.when(some, lambda: text.loop("0", "%count", 1, restore, at_least_once=True))
    parameters = f"ptr %now, ptr %before, i64 %count, {text.truth} %active"
    return function(f"internal void @{name}({parameters}) noinline {attributes}", text.lines)


def _pack_or_unpack(name: str, width: int, attributes: str) -> str:
    """``@pack`` or ``@unpack``, see `Runtime.mover`."""
    text, packs, align = FunctionText(width), name == "pack", 8 * width
    words, numbers = f"<{width} x i64>", ", ".join(f"i64 {lane}" for lane in range(width))

    def column(number: str) -> None:
        row, vector = text.at("%rows", number), text.at("%vectors", number, text.kind)
        if packs:
            text.store(text.load(row), vector, align)
        else:
            text.store(text.load(vector, align=align), row)

    def square(first: str) -> None:
        """Transpose a square that starts at a column; positions beyond the last column stay unchanged."""
        corner, target = text.at("%rows", first), text.at("%vectors", first, text.kind)
        rows = [text.at(corner, text.let(f"mul i64 %distance, {lane}"), "i8") for lane in range(width)]
        vectors = [text.at(target, lane, text.kind) for lane in range(width)]
        left = text.let(f"insertelement {words} poison, i64 {text.let(f'sub i64 %columns, {first}')}, i32 0")
        left = text.let(f"shufflevector {words} {left}, {words} poison, <{width} x i32> zeroinitializer")
        mask = text.let(f"icmp slt {words} <{numbers}>, {left}")
        ahead = text.let(f"mul i64 %distance, {PREFETCH_DISTANCE * width}") if packs else ""
        for row in rows if packs else ():  # prefetch for reading, into all caches, data
            text.line(f"call void @llvm.prefetch.p0(ptr {text.at(row, ahead, 'i8')}, i32 0, i32 3, i32 1)")
        given = ([text.masked_load(row, mask) for row in rows] if packs else
                 [text.load(vector, align=align) for vector in vectors])
        for value, row, vector in zip(_transpose(text, given), rows, vectors, strict=True):
            if packs:
                text.store(value, vector, align)
            else:
                text.masked_store(value, row, mask)

    ways = [lambda step=step, body=body: text.loop("0", "%columns", step, body, at_least_once=True)
            for step, body in ((1, column), (width, square))]
    text.when(text.let("icmp sgt i64 %columns, 0"), lambda: text.when(text.let("icmp eq i64 %distance, 8"), *ways))
    return function(f"internal void @{name}({_ROWS}) noinline {attributes}", text.lines)


def _transpose(text: FunctionText, rows: list[str]) -> list[str]:
    """Transpose a square of row vectors: exchange its quarters, then theirs, down to single numbers."""
    width, distance = len(rows), 1
    while distance < width:
        after = list(rows)
        for row in range(width):
            if row & distance:
                continue
            partner = row + distance
            first = [width + lane - distance if lane & distance else lane for lane in range(width)]
            second = [width + lane if lane & distance else lane + distance for lane in range(width)]
            for target, order in ((row, first), (partner, second)):
                lanes = ", ".join(f"i32 {lane}" for lane in order)
                pair = f"{text.kind} {rows[row]}, {text.kind} {rows[partner]}"
                after[target] = text.let(f"shufflevector {pair}, <{width} x i32> <{lanes}>")
        rows = after
        distance *= 2
    return rows
