# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""M X = B for the mass matrix of a tree of joints: loops in machine code, with 24 products per joint and column.

M = L^T D L, and an element of L is a scalar product of six numbers of each of two joints: L_ij = w_i^T s_j if joint j
carries joint i, see ``articulated_body.mass_matrix_tree_factors``. Sums over the joints that joint i carries, or that
carry it, are therefore six numbers, which pass from joint to joint:

    L^T Y = B:     y_i = b_i - s_i^T p_i,    p_i = sum over the joints k that i carries of w_k y_k
    D L X = Y:     x_i = y_i / d_i - w_i^T a_i,    a_i = sum over the joints k that carry i of s_k x_k

Several columns of B are computed at once in vectors, and the sums stay in registers along a chain of joints. The same
loops on single numbers, as ``compile/loops.py`` could write them, take 2.3 to 4 times as long for 6 to 60 joints (in C,
with the loops vectorised by the compiler).
"""

import ctypes
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import python_entry
from robodyn_ros.compile.llvm_text import FunctionText, function, literal, mangled, table
from robodyn_ros.compile.machine import Code, compile_module, host
from robodyn_ros.compile.runtime import DECLARATIONS, Runtime

SIZE = 6
"""Numbers in s and in w."""

FACTORS = 2 * SIZE + 1
"""Numbers per joint: s, w, 1 / d."""


class TreeSystem:
    """Solves M X = B for matrices of trees of joints on one base, with several square B for each M.

    Like M, B must be 0 in elements whose row and column belong to joints of different trees.

    Args:
        parents: The number of each joint's parent, -1 for none.
        scales: Factor of X for each B.

    Raises:
        InputError: The parents do not form a tree.

    Attributes:
        solution: The scaled X for one M, as a new array of shape (count, n, n); takes the arrays of one system in the
            form of `solve`. CPython calls the machine code directly.
    """

    solution: Callable[..., NDArray[np.float64]]

    def __init__(self, parents: Sequence[int], scales: Sequence[float]) -> None:
        joints, count = len(parents), len(scales)
        self._factors, self._right = (joints, FACTORS), (count, joints, joints)
        text = _module(_chains(parents), joints, scales) + _on_a_copy(8 * count * joints * joints)
        text += python_entry.array_entry([self._factors, self._right], self._right)
        self._code = Code(compile_module(text), ("solve", "entry"), python_entry.symbols())
        address = ctypes.c_void_p
        self._function = self._code.function("solve", None, address, address, ctypes.c_int64)
        about = python_entry.documentation("solution", "(factors, right)", "Solve one system.")
        owner = python_entry.Fallback(self._solution)
        self.solution = python_entry.python_function("solution", about, owner, self._code)

    def solve(self, factors: NDArray[np.float64], right: NDArray[np.float64]) -> None:
        """Replace each B by its scaled X in each of many systems; the GIL is released.

        Args:
            factors: s, w and 1 / d of each joint, shape (N, n, 13), float64 and C-contiguous.
            right: Several B for each M, shape (N, count, n, n), float64 and C-contiguous.

        Raises:
            InputError: A shape differs from the one that the code was made for.
        """
        expected = ((len(right), *self._factors), (len(right), *self._right))
        if (received := (factors.shape, right.shape)) != expected:
            raise InputError(f"tree system: expected shapes {expected}, received {received}")
        self._function(factors.ctypes.data, right.ctypes.data, len(right))

    def _solution(self, factors: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
        """Like `solution`, for arrays that its code does not accept."""
        result = np.array(right, dtype=np.float64, order="C")
        self.solve(np.ascontiguousarray(factors, dtype=np.float64)[None], result[None])
        return result


class _Chain(NamedTuple):
    """Joints in a row: each is the parent of the next and of no other joint."""

    parent: int  # number of the chain whose last joint is the first one's parent, counted from 1; 0 for none
    joints: list[int]  # the joints from the base outwards


def _chains(parents: Sequence[int]) -> list[_Chain]:
    """The tree as a list of chains, parents before children."""
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


class _Tree(NamedTuple):
    """A joint on the base, and all joints that it carries."""

    chains: range  # its chains' numbers
    columns: range  # range of its joints' numbers; joints of other trees in between are included


def _trees(chains: Sequence[_Chain]) -> list[_Tree]:
    """The trees on the base; the chains of a tree are consecutive in ``chains``."""
    starts = [number for number, chain in enumerate(chains) if not chain.parent]
    trees = []
    for start, end in pairwise([*starts, len(chains)]):
        joints = [joint for chain in chains[start:end] for joint in chain.joints]
        trees.append(_Tree(range(start, end), range(min(joints), max(joints) + 1)))
    return trees


def _on_a_copy(size: int) -> str:
    """``void @program(ptr factors, ptr right sides, ptr results)``: calls ``@solve`` for one system on a copy of B."""
    text = FunctionText(1)
    text.copy("%result", "%right", size)
    text.line("call void @solve(ptr %factors, ptr %result, i64 1)")
    return DECLARATIONS + function("internal void @program(ptr %factors, ptr %right, ptr %result)", text.lines)


def _module(chains: list[_Chain], size: int, scales: Sequence[float]) -> str:
    """``void @solve(ptr factors, ptr right sides, i64 samples)``.

    ``sums``, on the stack, holds p and then a at the end of each chain, after a first entry for the base.
    """
    lanes = host().lanes
    vectors = 4 if lanes == 8 else 2  # sums for this many columns fit into the registers
    text = FunctionText(lanes)
    starts = np.cumsum([0, *(len(chain.joints) for chain in chains)]).tolist()
    factors_of = ", ".join(f"double {literal(scale, 1)}" for scale in scales)
    tables = [
        table("joints", "i64", [joint for chain in chains for joint in chain.joints]),
        table("starts", "i64", starts),
        table("parents", "i64", [chain.parent for chain in chains]),
        f"@scales = private constant [{len(scales)} x double] [{factors_of}]\n",
    ]
    block = lanes * vectors
    length = SIZE * block  # size of the sums of a chain
    text.line(f"%sums = alloca [{(len(chains) + 1) * SIZE * vectors} x {text.kind}], align {8 * lanes}")
    text.clear("%sums", 8 * length)  # sums of the base, which `substitute` keeps at 0

    def row_of(pointer: str, number: str, length: int) -> str:
        return text.at(pointer, text.let(f"mul i64 {number}, {length}"))

    def fused(a: str, b: str, c: str) -> str:
        """a b + c, rounded once if the processor can."""
        given = f"{text.kind} {a}, {text.kind} {b}, {text.kind} {c}"
        return text.let(f"call {text.kind} @llvm.fmuladd.{mangled(lanes)}({given})")

    def first_lanes(count: int) -> str:
        """The mask of the first lanes of a vector."""
        return f"<{', '.join(f'i1 {str(lane < count).lower()}' for lane in range(lanes))}>"

    def sample(number: str) -> None:
        factors = row_of("%factors", number, size * FACTORS)
        first = text.let(f"mul i64 {number}, {len(scales)}")
        text.loop("0", len(scales), 1, lambda place: one_right_side(factors, first, place))

    def one_right_side(factors: str, first: str, number: str) -> None:
        right = row_of("%right", text.let(f"add i64 {first}, {number}"), size * size)
        scale = text.spread(text.load(text.at("@scales", number), "double"))
        for tree in _trees(chains):
            begin, end, rest = tree.columns.start, tree.columns.stop, len(tree.columns) % block
            if begin < end - rest:
                text.loop(str(begin), end - rest, block,
                          lambda column, tree=tree: substitute(factors, right, scale, tree, column, block))
            if rest:
                substitute(factors, right, scale, tree, str(end - rest), rest)

    def substitute(factors: str, right: str, scale: str, tree: _Tree, first: str, width: int) -> None:
        places = [text.let(f"add i64 {first}, {start}") for start in range(0, width, lanes)]
        rest = first_lanes(width % lanes) if width % lanes else ""  # mask of the last vector

        def values(row: str) -> list[str]:
            pointers = [text.at(row, place) for place in places]
            found = [text.load(pointer) for pointer in pointers[: len(pointers) - bool(rest)]]
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
            row = row_of("%sums", chain, length)
            return [text.at(row, lanes * place) for place in range(SIZE * len(places))]

        def less(total: Sequence[str], joint: str, start: int, sums: Sequence[str]) -> list[str]:
            """Subtract the scalar products of a joint's six numbers and the sums from the results."""
            for k in range(SIZE):
                number = text.load(text.at(joint, start + k), "double")
                factor = text.spread(text.let(f"fneg double {number}"))
                now = sums[k * len(places) : (k + 1) * len(places)]
                total = [fused(factor, known, value) for known, value in zip(now, total, strict=True)]
            return list(total)

        def more(sums: Sequence[str], joint: str, start: int, solved: Sequence[str]) -> list[str]:
            """Add a joint's six numbers times its results to the sums."""
            found: list[str] = []
            for k in range(SIZE):
                factor = text.spread(text.load(text.at(joint, start + k), "double"))
                now = sums[k * len(places) : (k + 1) * len(places)]
                found += [fused(factor, value, total) for value, total in zip(solved, now, strict=True)]
            return found

        def joint_at(position: str) -> tuple[str, str]:
            """Pointers to a joint's factors and to its row of B."""
            number = text.read("@joints", position, "i64")
            return row_of(factors, number, FACTORS), row_of(right, number, size)

        def to_base(backward: str) -> None:
            chain = text.let(f"sub i64 {tree.chains.stop - 1}, {backward}")
            following = text.let(f"add i64 {chain}, 1")
            end, start = text.read("@starts", following, "i64"), text.read("@starts", chain, "i64")
            last = text.let(f"sub i64 {end}, 1")

            def joint(step: str, *sums: str) -> list[str]:
                own, row = joint_at(text.let(f"sub i64 {last}, {step}"))
                solved = less(scaled(scale, values(row)), own, 0, sums)
                keep(row, solved)
                return more(sums, own, SIZE, solved)

            begin = [text.load(place) for place in sums_of(following)]
            sums = text.loop("0", text.let(f"sub i64 {end}, {start}"), 1, joint, begin)
            for value, place in zip(sums, sums_of(text.read("@parents", chain, "i64")), strict=True):
                text.store(text.let(f"fadd {text.kind} {value}, {text.load(place)}"), place)

        def from_base(chain: str) -> None:
            following = text.let(f"add i64 {chain}, 1")

            def joint(position: str, *sums: str) -> list[str]:
                own, row = joint_at(position)
                inverse = text.spread(text.load(text.at(own, 2 * SIZE), "double"))
                solved = less(scaled(inverse, values(row)), own, SIZE, sums)
                keep(row, solved)
                return more(sums, own, 0, solved)

            begin = [text.load(place) for place in sums_of(text.read("@parents", chain, "i64"))]
            start, end = text.read("@starts", chain, "i64"), text.read("@starts", following, "i64")
            for value, place in zip(text.loop(start, end, 1, joint, begin), sums_of(following), strict=True):
                text.store(value, place)

        text.clear(text.at("%sums", (tree.chains.start + 1) * length), 8 * length * len(tree.chains))
        text.loop("0", len(tree.chains), 1, to_base, at_least_once=True)
        text.clear("%sums", 8 * length)
        text.loop(str(tree.chains.start), tree.chains.stop, 1, from_base, at_least_once=True)

    text.loop("0", "%samples", 1, sample)
    head = "void @solve(ptr noalias %factors, ptr noalias %right, i64 %samples)"
    return "".join(tables) + function(f"{head} {Runtime(1, lanes, host().fused).attributes}", text.lines)
