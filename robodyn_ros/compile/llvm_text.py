# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""LLVM assembly as text: one Python object per instruction would take longer than LLVM takes to compile it."""

import struct
from collections.abc import Callable, Iterable, Sequence


def float_type(width: int) -> str:
    """LLVM type of ``width`` float64 numbers."""
    return "double" if width == 1 else f"<{width} x double>"


def truth_type(width: int) -> str:
    """LLVM type of ``width`` comparisons."""
    return "i1" if width == 1 else f"<{width} x i1>"


def struct_type(count: int, width: int) -> str:
    """LLVM type of ``count`` vectors, for a function that returns several."""
    return f"{{{', '.join([float_type(width)] * count)}}}"


def mangled(width: int) -> str:
    """``width`` float64 numbers as part of the name of an LLVM intrinsic."""
    return "f64" if width == 1 else f"v{width}f64"


def literal(value: float, width: int) -> str:
    """An LLVM constant with the same number in each lane."""
    bits = f"0x{struct.pack('>d', value).hex().upper()}"
    return bits if width == 1 else f"splat (double {bits})"


def table(name: str, kind: str, numbers: Sequence[int]) -> str:
    """A constant array of integers of an LLVM type, ``@name``."""
    return f"@{name} = private constant [{len(numbers)} x {kind}] [{', '.join(f'{kind} {n}' for n in numbers)}]\n"


def function(head: str, lines: Iterable[str], end: str = "ret void") -> str:
    """A function from its head (linkage, result, name, parameters, attributes), its lines and its last instruction."""
    return "\n".join([f"define {head} {{", *lines, f"  {end}", "}", ""])


class FunctionText:
    """The lines of a function with branches and nested loops.

    Attributes:
        kind: LLVM type of a vector, of one number or more.
        truth: LLVM type of a vector's comparisons.
        lines: The lines so far.
        block: Label of the block that the last line belongs to.
    """

    def __init__(self, width: int) -> None:
        self.kind, self.truth, self._width, self._fresh = float_type(width), truth_type(width), width, 0
        self.lines: list[str] = []
        self.label("start")

    def new(self, name: str) -> str:
        """A name that is not yet used in the function."""
        self._fresh += 1
        return f"{name}{self._fresh}"

    def line(self, text: str) -> None:
        """Add an instruction without a value."""
        self.lines.append(f"  {text}")

    def let(self, text: str) -> str:
        """Add an instruction and name its value."""
        name = self.new("%x")
        self.lines.append(f"  {name} = {text}")
        return name

    def at(self, pointer: str, position: str | int, kind: str = "double") -> str:
        """Pointer to an element of an array."""
        return self.let(f"getelementptr {kind}, ptr {pointer}, i64 {position}")

    def read(self, pointer: str, position: str | int, kind: str) -> str:
        """An element of an array of integers or pointers."""
        return self.let(f"load {kind}, ptr {self.at(pointer, position, kind)}")

    def load(self, pointer: str, kind: str = "", align: int = 8) -> str:
        """A vector, or a number of another kind."""
        return self.let(f"load {kind or self.kind}, ptr {pointer}, align {align}")

    def store(self, value: str, pointer: str, align: int = 8) -> None:
        """Store a vector."""
        self.line(f"store {self.kind} {value}, ptr {pointer}, align {align}")

    def clear(self, pointer: str, size: int, align: int = 8) -> None:
        """Set memory to zeros [bytes]."""
        self.line(f"call void @llvm.memset.p0.i64(ptr align {align} {pointer}, i8 0, i64 {size}, i1 false)")

    def copy(self, target: str, source: str, size: int, align: int = 8) -> None:
        """Copy memory [bytes]."""
        given = f"ptr align {align} {target}, ptr align {align} {source}, i64 {size}, i1 false"
        self.line(f"call void @llvm.memcpy.p0.p0.i64({given})")

    def spread(self, number: str) -> str:
        """A vector with the same number in each lane."""
        first = self.let(f"insertelement {self.kind} poison, double {number}, i32 0")
        order = f"<{self._width} x i32> zeroinitializer"
        return self.let(f"shufflevector {self.kind} {first}, {self.kind} poison, {order}")

    def any(self, truths: str) -> str:
        """Whether any lane of a comparison is true."""
        reduced = f"call i1 @llvm.vector.reduce.or.v{self._width}i1({self.truth} {truths})"
        return truths if self._width == 1 else self.let(reduced)

    def masked_load(self, pointer: str, mask: str) -> str:
        """A vector with 0 in the lanes outside the mask."""
        given = f"ptr align 8 {pointer}, {self.truth} {mask}, {self.kind} zeroinitializer"
        return self.let(f"call {self.kind} @llvm.masked.load.{mangled(self._width)}.p0({given})")

    def masked_store(self, value: str, pointer: str, mask: str) -> None:
        """Store the lanes inside the mask."""
        given = f"{self.kind} {value}, ptr align 8 {pointer}, {self.truth} {mask}"
        self.line(f"call void @llvm.masked.store.{mangled(self._width)}.p0({given})")

    def label(self, name: str) -> None:
        """Begin a block."""
        self.lines.append(f"{name}:")
        self.block = name

    def jump(self, label: str) -> None:
        """End a block and continue at another one."""
        self.line(f"br label %{label}")

    def branch(self, condition: str, then: str, otherwise: str, weights: str = "") -> None:
        """End a block and continue at one of two labels; ``weights`` may name the likely one."""
        self.line(f"br i1 {condition}, label %{then}, label %{otherwise}{weights}")

    def when(self, condition: str, then: Callable[[], object] | None,
             otherwise: Callable[[], object] | None = None) -> None:
        """Write instructions that run only if a condition holds, and others that run otherwise."""
        past = self.new("past")
        bodies = [(body, self.new("inside") if body else past) for body in (then, otherwise)]
        self.branch(condition, *(label for _, label in bodies))
        for body, label in bodies:
            if body:
                self.label(label)
                body()
                self.jump(past)
        self.label(past)

    def phi(self, place: int, name: str, kind: str, *values: tuple[str, str]) -> None:
        """Insert a phi node before the given line, with a value for each block that control may come from."""
        ways = ", ".join(f"[{value}, %{block}]" for value, block in values)
        self.lines.insert(place, f"  {name} = phi {kind} {ways}")

    def loop(self, first: str, end: str | int, step: int, body: Callable[..., Sequence[str] | None],
             carried: Sequence[str] = (), *, at_least_once: bool = False) -> Sequence[str]:
        """A loop over an i64 index; returns the carried vectors after the last round.

        Args:
            first: First index.
            end: First index after the loop.
            step: Distance of the indices.
            body: Writes one round, given the index and the carried vectors, and returns the vectors for the next one.
            carried: The vectors for the first round.
            at_least_once: Whether ``first`` is known to be less than ``end``; a single test at the end then suffices.
        """
        before, head, inside, done = self.block, self.new("head"), self.new("body"), self.new("done")
        index, names = self.new("%i"), [self.new("%carried") for _ in carried]
        self.jump(head)
        self.label(head)
        place = len(self.lines)
        if not at_least_once:
            self.branch(self.let(f"icmp slt i64 {index}, {end}"), inside, done)
            self.label(inside)
        results = body(index, *names) or ()
        following = self.let(f"add i64 {index}, {step}")
        for name, begin, result in reversed(list(zip(names, carried, results, strict=True))):
            self.phi(place, name, self.kind, (begin, before), (result, self.block))
        self.phi(place, index, "i64", (first, before), (following, self.block))
        if at_least_once:
            self.branch(self.let(f"icmp slt i64 {following}, {end}"), head, done)
        else:
            self.jump(head)
        self.label(done)
        return results if at_least_once else names
