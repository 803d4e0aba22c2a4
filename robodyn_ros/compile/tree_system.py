"""M X = B for the mass matrix of a tree of joints: loops in machine code, with 24 products a joint and column.

M = L^T D L, and an element of L is a scalar product of six numbers of each of two joints: L_ij = w_i^T s_j where joint
j carries joint i, see ``articulated_body.mass_matrix_tree_factors``. Sums over the joints that joint i carries, or that
carry it, are therefore six numbers, which pass from joint to joint:

    L^T Y = B:     y_i = b_i - s_i^T p_i,    p_i = sum over the joints k that i carries of w_k y_k
    D L X = Y:     x_i = y_i / d_i - w_i^T a_i,    a_i = sum over the joints k that carry i of s_k x_k

Columns of B are computed side by side in vectors, and the sums stay in registers along a chain of joints.
"""

import ctypes
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.compile.machine import Code, compile_module, host
from robodyn_ros.compile.runtime import Runtime, float_type
from robodyn_ros.errors import InputError

SIZE = 6
"""Numbers in s and in w."""

FACTORS = 2 * SIZE + 1
"""Numbers of a joint: s, w, 1 / d."""


class TreeSystem:
    """Solves M X = B for matrices of one tree.

    Args:
        parents: The number of each joint's parent, -1 for none.
        columns: Number of columns of B.

    Raises:
        InputError: The parents are not those of a tree.
    """

    def __init__(self, parents: Sequence[int], columns: int) -> None:
        self._shape, self._chains = (len(parents), columns), _chains(parents)
        lanes = host().lanes
        self._vectors = 4 if lanes == 8 else 2  # sums of as many columns fit into the registers
        text = _module(self._chains, self._shape, lanes, self._vectors)
        self._code = Code(compile_module(text), ("solve",), {})
        address, word = ctypes.c_void_p, ctypes.c_int64
        self._function = self._code.function("solve", None, address, address, address, address, word, word)

    def solve(
        self, factors: NDArray[np.float64], right: NDArray[np.float64], scales: NDArray[np.float64]
    ) -> None:
        """Replace each B by a multiple of X in each of many systems; the GIL is released.

        Args:
            factors: s, w and 1 / d of each joint, shape (N, n, 13), float64 and C-contiguous.
            right: Several B for each M, shape (N, count, n, columns), float64 and C-contiguous.
            scales: Factor of X for each of the several B, shape (count,), float64 and C-contiguous.

        Raises:
            InputError: A shape is another one than the code was made for.
        """
        samples, count = right.shape[:2]
        expected = ((samples, self._shape[0], FACTORS), (samples, count, *self._shape), (count,))
        if (received := (factors.shape, right.shape, scales.shape)) != expected:
            raise InputError(f"tree system: expected shapes {expected}, received {received}")
        sums = np.empty((len(self._chains) + 1, SIZE, self._vectors * host().lanes))
        memory = (array.ctypes.data for array in (factors, sums, right, scales))
        self._function(*memory, count, samples)


class _Chain(NamedTuple):
    """Joints of which each but the last is the parent of the next, and of no other.

    Attributes:
        parent: Number of the chain whose last joint is the first one's parent, counted from 1; 0 for none.
        joints: The joints from the base outwards.
    """

    parent: int
    joints: list[int]


def _chains(parents: Sequence[int]) -> list[_Chain]:
    """The tree as chains, parents before children."""
    children: dict[int, list[int]] = {}
    for joint, parent in enumerate(parents):
        children.setdefault(parent, []).append(joint)
    chains: list[_Chain] = []
    waiting = [(0, joint) for joint in reversed(children.get(-1, []))]
    while waiting:
        parent, joint = waiting.pop()
        joints = [joint]
        while len(behind := children.get(joints[-1], [])) == 1:
            joints += behind
        chains.append(_Chain(parent, joints))
        waiting += [(len(chains), child) for child in reversed(behind)]
    if sorted(joint for chain in chains for joint in chain.joints) != list(range(len(parents))):
        raise InputError(f"tree system: expected the parents of a tree of joints, received {list(parents)}")
    return chains


def _module(chains: list[_Chain], shape: tuple[int, int], lanes: int, vectors: int) -> str:
    """``void @solve(ptr factors, ptr sums, ptr right sides, ptr scales, i64 count, i64 samples)``.

    ``sums`` holds p and then a at the end of each chain, behind a first one for the base.
    """
    (size, columns), text = shape, _Text(lanes)
    starts = np.cumsum([0, *(len(chain.joints) for chain in chains)]).tolist()
    tables = [
        f"@{name} = internal constant [{len(words)} x i64] [{', '.join(f'i64 {word}' for word in words)}]"
        for name, words in (
            ("joints", [joint for chain in chains for joint in chain.joints]),
            ("starts", starts),
            ("parents", [chain.parent for chain in chains]),
        )
    ]
    in_blocks = columns - columns % (lanes * vectors)

    def sample(number: str, _: Sequence[str]) -> list[str]:
        factors = text.row("%factors", number, str(size * FACTORS))
        first = text.let(f"mul i64 {number}, %count")
        text.loop("0", "%count", 1, lambda place, _: one_right_side(factors, first, place))
        return []

    def one_right_side(factors: str, first: str, number: str) -> list[str]:
        right = text.row("%right", text.let(f"add i64 {first}, {number}"), str(size * columns))
        scale = text.spread(text.load(text.at("%scales", number)))
        text.loop(
            "0", str(in_blocks), lanes * vectors,
            lambda column, _: substitute(factors, right, scale, column, lanes * vectors),
        )
        if in_blocks < columns:
            substitute(factors, right, scale, str(in_blocks), columns - in_blocks)
        return []

    def substitute(factors: str, right: str, scale: str, first: str, width: int) -> list[str]:
        places = [text.let(f"add i64 {first}, {start}") for start in range(0, width, lanes)]
        rest = text.mask(width % lanes) if width % lanes else ""  # of the last vector

        def values(row: str) -> list[str]:
            pointers = [text.at(row, place) for place in places]
            found = [text.load(pointer, text.kind) for pointer in pointers[: len(pointers) - bool(rest)]]
            return [*found, text.masked_load(pointers[-1], rest)] if rest else found

        def keep(row: str, results: Sequence[str]) -> None:
            for number, (value, place) in enumerate(zip(results, places, strict=True), 1):
                if rest and number == len(places):
                    text.masked_store(value, text.at(row, place), rest)
                else:
                    text.store(value, text.at(row, place))

        def scaled(factor: str, given: Sequence[str]) -> list[str]:
            return [text.let(f"fmul {text.kind} {factor}, {value}") for value in given]

        def sums_of(chain: str) -> list[str]:
            """Pointers to the six sums of a chain, for each vector of columns."""
            row = text.row("%sums", chain, str(SIZE * lanes * vectors))
            return [text.at(row, str(lanes * place)) for place in range(SIZE * len(places))]

        def less(total: Sequence[str], joint: str, start: int, sums: Sequence[str]) -> list[str]:
            """The results less the scalar products of six numbers of a joint and the sums."""
            for k in range(SIZE):
                factor = text.spread(text.let(f"fneg double {text.load(text.at(joint, str(start + k)))}"))
                now = sums[k * len(places) : (k + 1) * len(places)]
                total = [text.fused(factor, known, value) for known, value in zip(now, total, strict=True)]
            return list(total)

        def more(sums: Sequence[str], joint: str, start: int, solved: Sequence[str]) -> list[str]:
            """The sums with a joint's six numbers times its results added."""
            found: list[str] = []
            for k in range(SIZE):
                factor = text.spread(text.load(text.at(joint, str(start + k))))
                now = sums[k * len(places) : (k + 1) * len(places)]
                found += [text.fused(factor, value, total) for value, total in zip(solved, now, strict=True)]
            return found

        def joint_at(position: str) -> tuple[str, str]:
            """Pointers to a joint's factors and to its row of B."""
            number = text.load_word("joints", position)
            return text.row(factors, number, str(FACTORS)), text.row(right, number, str(columns))

        def to_base(backward: str, _: Sequence[str]) -> list[str]:
            chain = text.let(f"sub i64 {len(chains) - 1}, {backward}")
            end, start = text.load_word("starts", text.let(f"add i64 {chain}, 1")), text.load_word("starts", chain)
            last = text.let(f"sub i64 {end}, 1")

            def joint(step: str, sums: Sequence[str]) -> list[str]:
                own, row = joint_at(text.let(f"sub i64 {last}, {step}"))
                solved = less(scaled(scale, values(row)), own, 0, sums)
                keep(row, solved)
                return more(sums, own, SIZE, solved)

            begin = [text.load(place, text.kind) for place in sums_of(text.let(f"add i64 {chain}, 1"))]
            sums = text.loop("0", text.let(f"sub i64 {end}, {start}"), 1, joint, begin)
            for value, place in zip(sums, sums_of(text.load_word("parents", chain)), strict=True):
                total = text.let(f"fadd {text.kind} {value}, {text.load(place, text.kind)}")
                text.store(total, place)
            return []

        def from_base(chain: str, _: Sequence[str]) -> list[str]:
            following = text.let(f"add i64 {chain}, 1")

            def joint(position: str, sums: Sequence[str]) -> list[str]:
                own, row = joint_at(position)
                inverse = text.spread(text.load(text.at(own, str(2 * SIZE))))
                solved = less(scaled(inverse, values(row)), own, SIZE, sums)
                keep(row, solved)
                return more(sums, own, 0, solved)

            begin = [text.load(place, text.kind) for place in sums_of(text.load_word("parents", chain))]
            start, end = text.load_word("starts", chain), text.load_word("starts", following)
            for value, place in zip(text.loop(start, end, 1, joint, begin), sums_of(following), strict=True):
                text.store(value, place)
            return []

        bytes_ = 8 * SIZE * lanes * vectors
        text.clear("%sums", bytes_ * (len(chains) + 1))
        text.loop("0", str(len(chains)), 1, to_base)
        text.clear("%sums", bytes_)
        text.loop("0", str(len(chains)), 1, from_base)
        return []

    text.loop("0", "%samples", 1, sample)
    return "\n".join(
        [
            *tables,
            "define void @solve(ptr noalias %factors, ptr noalias %sums, ptr noalias %right, ptr noalias %scales, "
            f"i64 %count, i64 %samples) {Runtime(1, lanes, host().fused).attributes} {{",
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

    def line(self, text: str) -> None:
        """Add an instruction without a value."""
        self.lines.append(f"  {text}")

    def let(self, text: str) -> str:
        """Add an instruction and name its value."""
        self._fresh += 1
        self.lines.append(f"  %x{self._fresh} = {text}")
        return f"%x{self._fresh}"

    def at(self, pointer: str, position: str) -> str:
        """The pointer to a number."""
        return self.let(f"getelementptr double, ptr {pointer}, i64 {position}")

    def row(self, pointer: str, number: str, length: str) -> str:
        """The pointer to a row."""
        return self.at(pointer, self.let(f"mul i64 {number}, {length}"))

    def load(self, pointer: str, kind: str = "double") -> str:
        """A number, or a vector of neighbours."""
        return self.let(f"load {kind}, ptr {pointer}, align 8")

    def load_word(self, table: str, position: str) -> str:
        """A number of a table."""
        return self.let(f"load i64, ptr {self.let(f'getelementptr i64, ptr @{table}, i64 {position}')}")

    def store(self, value: str, pointer: str) -> None:
        """Store a vector."""
        self.line(f"store {self.kind} {value}, ptr {pointer}, align 8")

    def clear(self, pointer: str, size: int) -> None:
        """Set memory to zeros [bytes]."""
        self.line(f"call void @llvm.memset.p0.i64(ptr align 8 {pointer}, i8 0, i64 {size}, i1 false)")

    def spread(self, number: str) -> str:
        """A vector of the same number everywhere."""
        first = self.let(f"insertelement {self.kind} poison, double {number}, i32 0")
        order = f"<{self._lanes} x i32> zeroinitializer"
        return self.let(f"shufflevector {self.kind} {first}, {self.kind} poison, {order}")

    def fused(self, a: str, b: str, c: str) -> str:
        """a b + c."""
        given = f"{self.kind} {a}, {self.kind} {b}, {self.kind} {c}"
        return self.let(f"call {self.kind} @llvm.fmuladd.v{self._lanes}f64({given})")

    def mask(self, count: int) -> str:
        """The first lanes of a vector."""
        return f"<{', '.join(f'i1 {str(lane < count).lower()}' for lane in range(self._lanes))}>"

    def masked_load(self, pointer: str, mask: str) -> str:
        """A vector, 0 beyond the mask."""
        given = f"ptr align 8 {pointer}, <{self._lanes} x i1> {mask}, {self.kind} zeroinitializer"
        return self.let(f"call {self.kind} @llvm.masked.load.v{self._lanes}f64.p0({given})")

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
